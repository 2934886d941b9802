import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_CONDITIONS } from './conditions.ts';
import type { CopyState } from './copy.ts';
import { type Following, hidesContent, refuseIncrementalCopy } from './incremental-copy.ts';
import { AVAILABLE } from './lease.ts';
import {
  type BlobState,
  refuseBlobDeleteOperation,
  refuseBlobReadOperation,
  refuseBlobWriteOperation,
} from './precedence.ts';

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

const INCREMENTAL: BlobState = {
  type: 'PageBlob',
  etag: '0x1',
  lastModifiedMs: 0,
  lease: AVAILABLE,
  committed: true,
  copy: copy({ incremental: true }),
};
const ASKED = {
  containerExists: true,
  blob: INCREMENTAL,
  conditions: NO_CONDITIONS,
  leaseId: null,
  requiredType: null,
  nowMs: 0,
  version: '2024-11-04',
};
const REFUSED = 'OperationNotAllowedOnIncrementalCopyBlob';

for (const [effect, want] of [
  ['changes', REFUSED],
  ['stages', REFUSED],
  ['replaces', REFUSED],
  ['replacesKept', REFUSED],
  ['notes', null],
  ['follows', null],
] as const) {
  test(`what ${effect} a blob that takes incremental copies gets ${want ?? 'through'}`, () => {
    assert.equal(refuseBlobWriteOperation({ ...ASKED, creates: true, effect })?.code ?? null, want);
  });
}

test('a blob that takes incremental copies is read by its snapshots, and has properties of its own', () => {
  assert.equal(refuseBlobReadOperation({ ...ASKED, needsContent: true })?.code, REFUSED);
  assert.equal(refuseBlobReadOperation(ASKED), null);
  const snapshot = { ...INCREMENTAL, isPast: true } as const;
  assert.equal(refuseBlobReadOperation({ ...ASKED, blob: snapshot, needsContent: true }), null);
});

test('a blob that takes incremental copies can be deleted, but not while one is pending', () => {
  const deletion = { ...ASKED, hasSnapshots: false, deleteSnapshots: null };
  assert.equal(refuseBlobDeleteOperation(deletion), null);
  const pending = { ...INCREMENTAL, copy: copy({ incremental: true, status: 'pending' }) };
  assert.equal(refuseBlobDeleteOperation({ ...deletion, blob: pending })?.code, 'PendingCopyOperation');
  const next = { ...ASKED, blob: pending, creates: true, effect: 'follows' } as const;
  assert.equal(refuseBlobWriteOperation(next)?.code, 'PendingCopyOperation');
});
