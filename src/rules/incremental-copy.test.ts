import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CopyState } from './copy.ts';
import { type Following, hidesContent, refuseIncrementalCopy } from './incremental-copy.ts';

const FOLLOWED = { account: 'a', container: 'c', blob: 'disk', mapId: '1' };
const EARLIER = '2024-01-01T00:00:00.0000001Z';
const LAST = '2024-01-01T00:00:00.0000002Z';
const LATER = '2024-01-01T00:00:00.0000003Z';
const FOLLOWING: Following = { ...FOLLOWED, snapshot: LAST };

for (const [what, following, source, want] of [
  ['a later snapshot', FOLLOWING, { snapshot: LATER }, null],
  ['the first one', { ...FOLLOWING, snapshot: null }, { snapshot: EARLIER }, null],
  ['a blob that is no incremental copy', undefined, { snapshot: LATER }, 'IncrementalCopyBlobMismatch'],
  ['another account', FOLLOWING, { account: 'b', snapshot: LATER }, 'IncrementalCopyBlobMismatch'],
  ['another container', FOLLOWING, { container: 'd', snapshot: LATER }, 'IncrementalCopyBlobMismatch'],
  ['another blob', FOLLOWING, { blob: 'other', snapshot: LATER }, 'IncrementalCopyBlobMismatch'],
  ['a source made anew', FOLLOWING, { mapId: '2', snapshot: LATER }, 'IncrementalCopyBlobMismatch'],
  ['one made anew, and an earlier one', FOLLOWING, { mapId: '2', snapshot: EARLIER }, 'IncrementalCopyBlobMismatch'],
  ['the same again', FOLLOWING, { snapshot: LAST }, 'IncrementalCopyOfEarlierVersionSnapshotNotAllowed'],
  ['an earlier one', FOLLOWING, { snapshot: EARLIER }, 'IncrementalCopyOfEarlierVersionSnapshotNotAllowed'],
] as const) {
  test(`an incremental copy with ${what} gets ${want ?? 'through'}`, () => {
    assert.equal(refuseIncrementalCopy(following, { ...FOLLOWED, ...source }), want);
  });
}

const copy = (state: Partial<CopyState>): CopyState => ({
  id: '1',
  source: 'url',
  status: 'success',
  bytesCopied: 1,
  bytesTotal: 1,
  ...state,
});

for (const [what, state, isPast, want] of [
  ['a blob that is no copy', undefined, false, false],
  ['any other copy', copy({}), false, false],
  ['an incremental copy', copy({ incremental: true }), false, true],
  ['a snapshot of one', copy({ incremental: true }), true, false],
  ['what was left of one that failed', copy({ incremental: true, status: 'failed' }), true, true],
  ['what was left of one that was aborted', copy({ incremental: true, status: 'aborted' }), true, true],
] as const) {
  test(`${what} ${want ? 'hides' : 'shows'} its content`, () => assert.equal(hidesContent(state, { isPast }), want));
}
