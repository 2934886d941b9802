import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FIRST_KEY, SECOND_KEY } from '../../test/vectors/signed-requests.ts';
import { type DelegationKey, deriveDelegationKey, refuseKeyPeriod } from './user-delegation-key.ts';

const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const KEY: DelegationKey = {
  account: 'account',
  service: 'b',
  objectId: 'object',
  tenantId: 'tenant',
  delegatedTenantId: '',
  permissions: 'rl',
  startMs: NOW_MS,
  expiryMs: NOW_MS + DAY_MS,
  version: '2024-11-04',
};

const derived = (key: DelegationKey, accountKey = FIRST_KEY): string =>
  deriveDelegationKey(accountKey, key).toString('base64');

test('a key stays the same over releases, or the tokens that it signed would die', () => {
  assert.equal(derived(KEY), 'KC6VDyjKX451ue4CpZp6hMR6IlmivC/LhFXa8yNS99E=');
});

describe('another key comes of', () => {
  const others: readonly Partial<DelegationKey>[] = [
    { account: 'other' },
    { service: 'q' },
    { objectId: 'other' },
    { tenantId: 'other' },
    { delegatedTenantId: 'other' },
    { permissions: 'racwdltfm' },
    { permissions: '' },
    { startMs: NOW_MS + 1000 },
    { expiryMs: NOW_MS + DAY_MS + 1000 },
    { version: '2025-01-05' },
    { objectId: 'object","tenant', tenantId: '' },
    { objectId: 'objecttenant', tenantId: '' },
  ];
  for (const other of others) {
    test(JSON.stringify(other), () => assert.notEqual(derived({ ...KEY, ...other }), derived(KEY)));
  }
  test('another key of the account', () => assert.notEqual(derived(KEY, SECOND_KEY), derived(KEY)));
});

test('parts of a second do not matter, since no token can tell them', () => {
  assert.equal(derived({ ...KEY, startMs: NOW_MS + 999, expiryMs: NOW_MS + DAY_MS + 1 }), derived(KEY));
});

const rows: readonly (readonly [start: number, expiry: number, node: 'Start' | 'Expiry' | null])[] = [
  [0, DAY_MS, null],
  [0, 7 * DAY_MS, null],
  [-15 * MINUTE_MS, 7 * DAY_MS, null],
  [0, 7 * DAY_MS + 5 * MINUTE_MS, null],
  [0, 7 * DAY_MS + 5 * MINUTE_MS + 1, 'Expiry'],
  [DAY_MS, 7 * DAY_MS, null],
  [DAY_MS, 8 * DAY_MS, 'Expiry'],
  [8 * DAY_MS, 9 * DAY_MS, 'Start'],
  [-8 * DAY_MS, DAY_MS, 'Start'],
  [DAY_MS, DAY_MS, 'Expiry'],
  [2 * DAY_MS, DAY_MS, 'Expiry'],
  [-DAY_MS, 0, 'Expiry'],
  [-DAY_MS, -1, 'Expiry'],
];
for (const [start, expiry, node] of rows) {
  test(`from ${start / DAY_MS} to ${expiry / DAY_MS} days from now: ${node ?? 'may be'}`, () => {
    const refusal = refuseKeyPeriod({ startMs: NOW_MS + start, expiryMs: NOW_MS + expiry }, NOW_MS);
    assert.equal(refusal?.node ?? null, node);
  });
}
