/**
 * Which addresses are never connected to, whoever names them: those where clouds hand out their machines' credentials,
 * and this server's own doors, where it would pass for a caller on its own machine. Judged after names are resolved, on
 * the very addresses that are then connected to.
 */
import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { SourceUnreachable } from '../service/copy/outside.ts';

/** Each list also holds its IPv4 members as they are written in IPv6 (::ffff:a.b.c.d); Node sees to that. */
const METADATA = new BlockList();
METADATA.addSubnet('169.254.0.0', 16, 'ipv4');
METADATA.addSubnet('fe80::', 10, 'ipv6');
// The same, through a gateway between IPv6 and IPv4 (RFC 6052, RFC 3056).
METADATA.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
METADATA.addSubnet('2002:a9fe::', 32, 'ipv6');
// Clouds that put theirs elsewhere: Amazon's over IPv6, Azure's, Alibaba's.
METADATA.addAddress('fd00:ec2::254', 'ipv6');
METADATA.addAddress('168.63.129.16', 'ipv4');
METADATA.addAddress('100.100.100.200', 'ipv4');

const THIS_MACHINE = new BlockList();
THIS_MACHINE.addSubnet('127.0.0.0', 8, 'ipv4');
THIS_MACHINE.addSubnet('0.0.0.0', 8, 'ipv4');
THIS_MACHINE.addAddress('::1', 'ipv6');
THIS_MACHINE.addAddress('::', 'ipv6');

const isIn = (list: BlockList, address: string): boolean => {
  const withoutZone = address.replace(/%.*$/, '');
  return list.check(withoutZone, isIP(withoutZone) === 6 ? 'ipv6' : 'ipv4');
};

/** All addresses of a name. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

export const resolveBySystem: Resolve = lookup;

export interface Guard {
  readonly port: number;
  /** Whether this server listens there. */
  readonly isOwnPort: (port: number) => boolean;
}

/** The refusal, or null for an address that may be asked. */
export function refuseAddress(address: string, { port, isOwnPort }: Guard): SourceUnreachable | null {
  if (isIn(METADATA, address)) {
    return new SourceUnreachable('forbidden', `${address} is an address that this server does not connect to.`);
  }
  if (isOwnPort(port) && isIn(THIS_MACHINE, address)) {
    return new SourceUnreachable(
      'forbidden',
      'The source is this server under another name. Use the name that the request uses.',
    );
  }
  return null;
}

/** For node:net, in place of its own: one forbidden address among those of a name is enough to refuse the name. */
export function guardedLookup(resolve: Resolve, guard: Guard): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const [first] = found ?? [];
      const refusal =
        error ?? found.map(({ address }) => refuseAddress(address, guard)).find((refused) => refused !== null) ?? null;
      if (refusal !== null || first === undefined) done(refusal ?? new Error('a name without addresses'), '');
      else if (options.all === true) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}
