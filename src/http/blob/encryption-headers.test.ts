import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseCustomerKey } from './encryption-headers.ts';

const KEY = Buffer.alloc(32, 'k');
const HEADERS: Readonly<Record<string, string>> = {
  'x-ms-encryption-key': KEY.toString('base64'),
  'x-ms-encryption-key-sha256': createHash('sha256').update(KEY).digest('base64'),
  'x-ms-encryption-algorithm': 'AES256',
};

const asked = (from: { secure: boolean; clientAddress: string }): Exchange =>
  ({ method: 'PUT', header: (name: string) => HEADERS[name] ?? null, ...from }) as Exchange;

const isRefusal = (error: unknown): boolean => error instanceof StorageError && error.code === 'InvalidHeaderValue';

for (const [what, secure, clientAddress, isTaken] of [
  ['over TLS', true, '203.0.113.9', true],
  ['in the clear from this machine', false, '127.0.0.1', true],
  ['in the clear from this machine, by IPv6', false, '::1', true],
  ['in the clear from this machine, by a mapped address', false, '::ffff:127.0.0.1', true],
  ['in the clear from another', false, '203.0.113.9', false],
  ['in the clear from another, by IPv6', false, '2001:db8::9', false],
] as const) {
  test(`a key that comes ${what} is ${isTaken ? 'taken' : 'refused'}`, () => {
    const exchange = asked({ secure, clientAddress });
    if (isTaken) assert.deepEqual(parseCustomerKey(exchange)?.key, KEY);
    else assert.throws(() => parseCustomerKey(exchange), isRefusal);
  });
}
