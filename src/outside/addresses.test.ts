import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { guardedLookup, refuseAddress } from './addresses.ts';

const OWN_PORT = 10_000;
const isOwnPort = (port: number): boolean => port === OWN_PORT;
const at = (port: number) => ({ port, isOwnPort });

for (const [address, what] of [
  ['169.254.169.254', 'the metadata of most clouds'],
  ['169.254.0.1', 'a link-local address'],
  ['fe80::1', 'a link-local address of IPv6'],
  ['fe80::1%eth0', 'the same with a zone'],
  ['febf:ffff::1', 'the last of them'],
  ['::ffff:169.254.169.254', 'an IPv4 address in IPv6'],
  ['::ffff:a9fe:a9fe', 'the same in digits'],
  ['64:ff9b::169.254.169.254', 'the same behind NAT64'],
  ['2002:a9fe:a9fe::1', 'the same behind 6to4'],
  ['fd00:ec2::254', 'the metadata of Amazon over IPv6'],
  ['168.63.129.16', 'the host of an Azure machine'],
  ['100.100.100.200', 'the metadata of Alibaba'],
] as const) {
  test(`${address} is never connected to: ${what}`, () => {
    assert.equal(refuseAddress(address, at(80))?.reason, 'forbidden');
  });
}

for (const address of [
  '127.0.0.1',
  '10.0.0.1',
  '192.168.1.1',
  '169.253.255.255',
  '8.8.8.8',
  '::1',
  'fec0::1',
  '2001:db8::1',
]) {
  test(`${address} may be connected to`, () => {
    assert.equal(refuseAddress(address, at(80)), null);
  });
}

for (const address of ['127.0.0.1', '127.1.2.3', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1']) {
  test(`the server's own port is not connected to by way of ${address}, another port is`, () => {
    assert.equal(refuseAddress(address, at(OWN_PORT))?.reason, 'forbidden');
    assert.equal(refuseAddress(address, at(OWN_PORT + 1)), null);
  });
}

test('the port that the server listens on may be connected to on another machine', () => {
  assert.equal(refuseAddress('10.0.0.1', at(OWN_PORT)), null);
});

const v4 = (address: string): LookupAddress => ({ address, family: 4 });

function lookUp(found: readonly LookupAddress[] | NodeJS.ErrnoException, all: boolean): Promise<unknown> {
  const lookup = guardedLookup((_hostname, options, done) => {
    assert.equal(options.all, true);
    if (Array.isArray(found)) done(null, found as LookupAddress[]);
    else done(found as NodeJS.ErrnoException, []);
  }, at(80));
  return new Promise((resolve, reject) => {
    lookup('name.example', { all }, (error, address, family) => {
      if (error === null) resolve(all ? address : [address, family]);
      else reject(error);
    });
  });
}

test('a name is looked up as node:net asks for it: all addresses, or the first', async () => {
  const found = [v4('10.0.0.1'), v4('10.0.0.2')];
  assert.deepEqual(await lookUp(found, true), found);
  assert.deepEqual(await lookUp(found, false), ['10.0.0.1', 4]);
});

test('one forbidden address among those of a name is enough to refuse the name', async () => {
  for (const all of [true, false]) {
    const found = [v4('10.0.0.1'), v4('169.254.169.254')];
    await assert.rejects(lookUp(found, all), { name: 'SourceUnreachable', reason: 'forbidden' });
  }
});

test('a name that is not found is an error, and so is one without addresses', async () => {
  await assert.rejects(lookUp(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), true), { code: 'ENOTFOUND' });
  await assert.rejects(lookUp([], true), /without addresses/);
});
