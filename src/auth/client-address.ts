/** Where a caller comes from: IPv4 addresses as numbers (also those that IPv6 sockets report as `::ffff:a.b.c.d`). */
import { isIPv4 } from 'node:net';

const MAPPED_PREFIX = '::ffff:';

const unmapped = (address: string): string =>
  address.toLowerCase().startsWith(MAPPED_PREFIX) ? address.slice(MAPPED_PREFIX.length) : address;

/** The address as a number; null where it is none of IPv4. */
export function ipv4Number(address: string): number | null {
  const text = unmapped(address);
  if (!isIPv4(text)) return null;
  return text.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

export const isLoopback = (address: string): boolean =>
  address === '::1' || isWithin({ first: 0x7f000000, last: 0x7fffffff }, address);

export interface AddressRange {
  readonly first: number;
  readonly last: number;
}

/** `a` or `a-b`, both ends inclusive; null for any other text. */
export function parseAddressRange(text: string): AddressRange | null {
  const ends = text.split('-');
  if (ends.length > 2) return null;
  const [first, last] = [ends[0], ends.at(-1)].map((end) => (isIPv4(end ?? '') ? ipv4Number(end ?? '') : null));
  return typeof first === 'number' && typeof last === 'number' && first <= last ? { first, last } : null;
}

export function isWithin({ first, last }: AddressRange, address: string): boolean {
  const number = ipv4Number(address);
  return number !== null && number >= first && number <= last;
}
