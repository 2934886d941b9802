import assert from 'node:assert/strict';
import test from 'node:test';
import { type CopyState, isPending, resolveAbort } from './copy.ts';

const ID = '0a1b2c3d-0000-4000-8000-000000000001';
const OTHER_ID = '0a1b2c3d-0000-4000-8000-000000000002';

const copy = (status: CopyState['status']): CopyState => ({
  id: ID,
  source: 'http://127.0.0.1/a/c/b',
  status,
  bytesCopied: 3,
  bytesTotal: 10,
});

for (const [what, stored, copyId, want] of [
  ['a blob without a copy', undefined, ID, 'NoPendingCopyOperation'],
  ['a copy that is done', copy('success'), ID, 'NoPendingCopyOperation'],
  ['a copy that failed', copy('failed'), ID, 'NoPendingCopyOperation'],
  ['a copy that was aborted', copy('aborted'), ID, 'NoPendingCopyOperation'],
  ['another copy that is done', copy('success'), OTHER_ID, 'NoPendingCopyOperation'],
  ['another pending copy', copy('pending'), OTHER_ID, 'CopyIdMismatch'],
  ['a pending copy', copy('pending'), ID, null],
  ['a pending copy in upper case', copy('pending'), ID.toUpperCase(), null],
] as const) {
  test(`aborting ${what} gets ${want ?? 'through'}`, () => {
    const aborted = { ...copy('aborted'), completedMs: 77 };
    assert.deepEqual(
      resolveAbort(stored, { copyId, nowMs: 77 }),
      want === null ? { copy: aborted } : { refusal: want },
    );
  });
}

test('only a pending copy is pending', () => {
  assert.equal(isPending(copy('pending')), true);
  assert.equal(isPending(copy('success')), false);
  assert.equal(isPending(undefined), false);
});
