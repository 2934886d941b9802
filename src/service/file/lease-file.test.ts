import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { together, winnerOf } from '../../../test/harness/parallel.ts';
import { INFINITE_SECONDS, type LeaseAction } from '../../rules/lease.ts';
import { getFileProperties } from './get-file.ts';
import { type FileLeaseResult, leaseFile } from './lease-file.ts';

const A = 'aaaaaaaa-0000-0000-0000-000000000000';
const B = 'bbbbbbbb-0000-0000-0000-000000000000';
const C = 'cccccccc-0000-0000-0000-000000000000';
const X = 'eeeeeeee-0000-0000-0000-000000000000';

const acquire = (proposedId: string | null, durationSeconds = INFINITE_SECONDS): LeaseAction => ({
  action: 'acquire',
  proposedId,
  freshId: X,
  durationSeconds,
});
const change = (id: string, proposedId: string): LeaseAction => ({ action: 'change', id, proposedId });
const release = (id: string): LeaseAction => ({ action: 'release', id });
const BREAK: LeaseAction = { action: 'break', periodSeconds: null };

const act = (share: TestShare, action: LeaseAction): Promise<FileLeaseResult> =>
  leaseFile(share.store.storage, { ...share.requestOf('f'), action });

const BEFORE = { available: [], leased: [acquire(A)], broken: [acquire(A), BREAK] } as const;

async function createFile(actions: readonly LeaseAction[] = []): Promise<TestShare> {
  const share = await TestShare.create();
  await share.createFile('f', 512);
  for (const action of actions) await act(share, action);
  return share;
}

/** The state, and the id if there is one; or why it was refused. */
async function outcome(share: TestShare, action: LeaseAction): Promise<string> {
  const code = await refusal(act(share, action));
  if (code !== null) return code;
  const { lease } = (await getFileProperties(share.store.storage, share.requestOf('f'))).node;
  return lease.state === 'available' ? 'available' : `${lease.state} ${lease.id[0]}`;
}

describe('a lease of a file', () => {
  for (const [what, action, available, leased, broken] of [
    ['acquire', acquire(null), 'leased e', 'LeaseAlreadyPresent', 'leased e'],
    ['acquire A', acquire(A), 'leased a', 'leased a', 'leased a'],
    ['acquire B', acquire(B), 'leased b', 'LeaseAlreadyPresent', 'leased b'],
    ['break', BREAK, 'LeaseNotPresentWithLeaseOperation', 'broken a', 'broken a'],
    [
      'break in a while',
      { action: 'break', periodSeconds: 30 },
      'LeaseNotPresentWithLeaseOperation',
      'broken a',
      'broken a',
    ],
    [
      'change A to B',
      change(A, B),
      'LeaseNotPresentWithLeaseOperation',
      'leased b',
      'LeaseNotPresentWithLeaseOperation',
    ],
    [
      'change B to A',
      change(B, A),
      'LeaseNotPresentWithLeaseOperation',
      'leased a',
      'LeaseNotPresentWithLeaseOperation',
    ],
    [
      'change B to C',
      change(B, C),
      'LeaseNotPresentWithLeaseOperation',
      'LeaseIdMismatchWithLeaseOperation',
      'LeaseNotPresentWithLeaseOperation',
    ],
    ['release A', release(A), 'LeaseIdMismatchWithLeaseOperation', 'available', 'available'],
    [
      'release B',
      release(B),
      'LeaseIdMismatchWithLeaseOperation',
      'LeaseIdMismatchWithLeaseOperation',
      'LeaseIdMismatchWithLeaseOperation',
    ],
    ['renew', { action: 'renew', id: A }, 'InvalidHeaderValue', 'InvalidHeaderValue', 'InvalidHeaderValue'],
    ['acquire for a minute', acquire(A, 60), 'InvalidHeaderValue', 'InvalidHeaderValue', 'InvalidHeaderValue'],
  ] as readonly (readonly [string, LeaseAction, string, string, string])[]) {
    for (const [state, want] of [
      ['available', available],
      ['leased', leased],
      ['broken', broken],
    ] as const) {
      test(`${state}, ${what}: ${want}`, async () => {
        assert.equal(await outcome(await createFile(BEFORE[state]), action), want);
      });
    }
  }

  for (const [state, presented, write, read, after] of [
    ['available', null, null, null, 'available'],
    ['available', A, 'LeaseNotPresentWithFileOperation', 'LeaseNotPresentWithFileOperation', 'available'],
    ['leased', null, 'LeaseIdMissing', null, 'leased'],
    ['leased', A, null, null, 'leased'],
    ['leased', B, 'LeaseIdMismatchWithFileOperation', 'LeaseIdMismatchWithFileOperation', 'leased'],
    ['broken', null, null, null, 'available'],
    ['broken', A, 'LeaseLost', 'LeaseLost', 'broken'],
    ['broken', B, 'LeaseNotPresentWithFileOperation', 'LeaseNotPresentWithFileOperation', 'broken'],
  ] as const) {
    test(`${state}: a write that presents ${presented?.[0] ?? 'nothing'} gets ${write ?? 'through'}, a read ${read ?? 'through'}`, async () => {
      const share = await createFile(BEFORE[state]);
      const { storage } = share.store;
      const leaseId = presented;
      assert.equal(await refusal(getFileProperties(storage, share.requestOf('f', { leaseId }))), read);
      assert.equal(await refusal(share.write('f', 0, Buffer.from('x'), { leaseId })), write);
      assert.equal((await getFileProperties(storage, share.requestOf('f'))).node.lease.state, after);
    });
  }

  test('never ends by itself', async () => {
    const share = await createFile([acquire(A)]);
    share.store.clock.advance({ seconds: 10_000_000 });
    assert.equal(await refusal(share.write('f', 0, Buffer.from('x'))), 'LeaseIdMissing');
  });

  test('changes neither the ETag nor any time, and a break has nothing left to wait', async () => {
    const share = await createFile();
    const before = (await getFileProperties(share.store.storage, share.requestOf('f'))).node;
    share.store.clock.advance({ seconds: 3 });
    for (const action of [acquire(A), change(A, B), release(B), acquire(A)]) {
      const { node, lease, remainingSeconds } = await act(share, action);
      assert.deepEqual([{ ...node, lease: before.lease }, node.lease, remainingSeconds], [before, lease, null]);
    }
    assert.equal((await act(share, BREAK)).remainingSeconds, 0);
  });

  test('is had by one of many who ask at once', async () => {
    const share = await createFile();
    const results = await together(16, (index) => act(share, acquire(A.replace('0000', `00${index + 10}`))));
    const { lease } = (results[winnerOf(results)] as PromiseFulfilledResult<FileLeaseResult>).value;
    assert.deepEqual((await getFileProperties(share.store.storage, share.requestOf('f'))).node.lease, lease);
  });

  test('is of files only', async () => {
    const share = await createFile();
    await share.createDirectory('d');
    const { storage } = share.store;
    assert.equal(await refusal(leaseFile(storage, { ...share.requestOf('d'), action: BREAK })), 'ResourceTypeMismatch');
    assert.equal(await refusal(leaseFile(storage, { ...share.requestOf('n'), action: BREAK })), 'ResourceNotFound');
  });
});
