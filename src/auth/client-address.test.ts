import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ipv4Number, isLoopback, isWithin, parseAddressRange } from './client-address.ts';

for (const [address, loopback] of [
  ['127.0.0.1', true],
  ['127.255.255.255', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['::FFFF:127.9.9.9', true],
  ['128.0.0.1', false],
  ['126.255.255.255', false],
  ['::ffff:10.0.0.1', false],
  ['::2', false],
  ['fe80::1', false],
  ['127.0.0.1.example.org', false],
  ['', false],
] as const) {
  test(`'${address}' is ${loopback ? '' : 'not '}on the same machine`, () =>
    assert.equal(isLoopback(address), loopback));
}

test('addresses are numbers, those mapped into IPv6 too', () => {
  assert.equal(ipv4Number('1.2.3.4'), 0x01020304);
  assert.equal(ipv4Number('255.255.255.255'), 0xffffffff);
  assert.equal(ipv4Number('::ffff:1.2.3.4'), 0x01020304);
  assert.equal(ipv4Number('::1'), null);
});

for (const text of [
  '',
  '-',
  '1.2.3.4-',
  '-1.2.3.4',
  '1.2.3',
  '1.2.3.256',
  '1.2.3.4-1.2.3.5-1.2.3.6',
  '::1',
  '::ffff:1.2.3.4',
]) {
  test(`'${text}' is no range of IPv4 addresses`, () => assert.equal(parseAddressRange(text), null));
}

test('a range holds both of its ends', () => {
  const range = parseAddressRange('10.0.0.5-10.0.1.2');
  assert.ok(range !== null);
  for (const [address, within] of [
    ['10.0.0.4', false],
    ['10.0.0.5', true],
    ['10.0.0.255', true],
    ['10.0.1.2', true],
    ['10.0.1.3', false],
    ['2001:db8::1', false],
  ] as const) {
    assert.equal(isWithin(range, address), within, address);
  }
});
