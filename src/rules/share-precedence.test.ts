import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AVAILABLE, type Lease } from './lease.ts';
import { refuseShareChange, refuseShareDelete, refuseShareRead, resolveShareLease } from './share-precedence.ts';

const [A, B] = ['a', 'b'].map((digit) => `${digit.repeat(8)}-0000-0000-0000-000000000000`) as [string, string];
const ENDS_MS = 60_000;
const LEASED: Lease = { state: 'leased', id: A, durationSeconds: 60, expiresAtMs: ENDS_MS };
const BREAKING: Lease = { state: 'breaking', id: A, durationSeconds: 60, breaksAtMs: ENDS_MS };
const LEASES = { available: AVAILABLE, leased: LEASED, breaking: BREAKING };

const MISSING = 'LeaseIdMissing';
const MISMATCH = 'LeaseIdMismatchWithContainerOperation';
const NOT_PRESENT = 'LeaseNotPresentWithContainerOperation';
const LOST = 'LeaseLost';

for (const [state, nowMs, leaseId, read, change] of [
  ['available', 0, null, null, null],
  ['available', 0, A, NOT_PRESENT, NOT_PRESENT],
  ['leased', 0, null, null, MISSING],
  ['leased', 0, B, MISMATCH, MISMATCH],
  ['leased', 0, A, null, null],
  ['leased', ENDS_MS - 1, null, null, MISSING],
  ['leased', ENDS_MS, null, null, null],
  ['leased', ENDS_MS, A, LOST, LOST],
  ['breaking', 0, null, null, MISSING],
  ['breaking', 0, A, null, null],
  ['breaking', ENDS_MS, B, NOT_PRESENT, NOT_PRESENT],
  ['breaking', ENDS_MS, null, null, null],
] as const) {
  const asked = { lease: LEASES[state], leaseId, nowMs };
  test(`${leaseId ?? 'no id'} for a share ${state} at ${nowMs}: to read ${read}, to change or delete ${change}`, () => {
    assert.equal(refuseShareRead(asked), read);
    assert.equal(refuseShareChange(asked), change);
    assert.equal(refuseShareDelete({ ...asked, snapshotLeases: [], deleteSnapshots: null }), change);
  });
}

for (const [snapshots, deleteSnapshots, nowMs, want] of [
  [[], null, 0, null],
  [[], 'include', 0, null],
  [['available'], null, 0, 'ShareHasSnapshots'],
  [['available'], 'include', 0, null],
  [['available', 'leased'], 'include', 0, 'ShareHasSnapshots'],
  [['breaking', 'available'], 'include', 0, 'ShareHasSnapshots'],
  [['leased', 'breaking'], 'include', ENDS_MS, null],
  [['leased', 'breaking'], 'include-leased', 0, null],
] as const) {
  test(`snapshots [${snapshots.join()}] at ${nowMs} with ${deleteSnapshots} let their share go: ${want ?? 'yes'}`, () => {
    const snapshotLeases = snapshots.map((state) => LEASES[state]);
    const asked = { lease: AVAILABLE, leaseId: null, nowMs, snapshotLeases, deleteSnapshots };
    assert.equal(refuseShareDelete(asked), want);
    assert.equal(refuseShareDelete({ ...asked, lease: LEASED, nowMs: 0 }), MISSING, 'the lease is asked first');
  });
}

test('a lease is as long as one of a container, and its numbers are looked at before its state', () => {
  for (const durationSeconds of [14, 61, 0]) {
    const action = { action: 'acquire', proposedId: null, freshId: A, durationSeconds } as const;
    assert.deepEqual(resolveShareLease({ lease: LEASED, nowMs: 0 }, action), { refusal: 'InvalidHeaderValue' });
  }
  const action = { action: 'acquire', proposedId: B, freshId: A, durationSeconds: 15 } as const;
  assert.deepEqual(resolveShareLease({ lease: LEASED, nowMs: 0 }, action), { refusal: 'LeaseAlreadyPresent' });
  assert.deepEqual(resolveShareLease({ lease: LEASED, nowMs: ENDS_MS }, action), {
    lease: { state: 'leased', id: B, durationSeconds: 15, expiresAtMs: ENDS_MS + 15_000 },
    remainingSeconds: null,
  });
});
