import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { gather } from '../../../test/harness/store.ts';
import type { Moment } from '../../rules/moment.ts';
import { checkStore } from '../check.ts';
import { INLINE_BYTES_MAX } from '../extents/extents.ts';
import { PAGE_SETTINGS } from '../pages/page-settings.ts';
import { type FileReadWithBytes, getFile, getFileProperties } from './get-file.ts';
import { leaseFile } from './lease-file.ts';

const LEASE_ID = '00000000-0000-4000-8000-000000000001';
const OTHER_ID = '00000000-0000-4000-8000-000000000002';

const read = (
  share: TestShare,
  path: string,
  {
    first = null,
    last = null,
    snapshot = null,
  }: { first?: number | null; last?: number | null; snapshot?: Moment | null } = {},
): Promise<FileReadWithBytes> =>
  getFile(share.store.storage, {
    ...share.requestOf(path),
    name: share.nameOf(path, snapshot),
    range: first === null ? null : { firstOffsetBytes: first, lastOffsetBytes: last },
  });

for (const [what, path, leaseId, want] of [
  ['nothing', 'nothing', OTHER_ID, 'ResourceNotFound'],
  ['something in a directory that is not there', 'no/thing', OTHER_ID, 'ParentNotFound'],
  ['a directory', 'dir', OTHER_ID, 'ResourceNotFound'],
  ['the root', '', OTHER_ID, 'ResourceNotFound'],
  ['a file with a lease id where there is no lease', 'file', OTHER_ID, 'LeaseNotPresentWithFileOperation'],
  ['a leased file with another id', 'leased', OTHER_ID, 'LeaseIdMismatchWithFileOperation'],
  ['a leased file with its id', 'leased', LEASE_ID, null],
  ['a leased file without an id', 'leased', null, null],
] as const) {
  test(`reading ${what} gets ${want}`, async () => {
    const share = await TestShare.create();
    await share.createDirectory('dir');
    for (const name of ['file', 'leased']) await share.createFile(name, 3);
    const action = { action: 'acquire', proposedId: LEASE_ID, freshId: OTHER_ID, durationSeconds: -1 } as const;
    await leaseFile(share.store.storage, { ...share.requestOf('leased'), action });
    const request = share.requestOf(path, { leaseId });
    assert.equal(await refusal(getFileProperties(share.store.storage, request)), want);
    assert.equal(await refusal(getFile(share.store.storage, { ...request, range: null })), want);
  });
}

describe('a range', () => {
  const TEXT = Buffer.alloc(3_000, 'abcdefghij');

  for (const [what, content] of [
    ['a file that was written', TEXT],
    ['a file that never was', 3_000],
  ] as const) {
    test(`of ${what}`, async () => {
      const share = await TestShare.create();
      await share.createFile('file', content);
      const all = typeof content === 'number' ? Buffer.alloc(content) : content;
      for (const [first, last] of [
        [0, 0],
        [0, 2_999],
        [511, 512],
        [5, null],
        [2_999, 5_000],
      ] as const) {
        const { slice, bytes } = await read(share, 'file', { first, last });
        const end = Math.min(last ?? 2_999, 2_999) + 1;
        assert.deepEqual(slice, { offsetBytes: first, lengthBytes: end - first });
        assert.ok((await gather(bytes)).equals(all.subarray(first, end)), `${first}-${last}`);
      }
      assert.equal(await refusal(read(share, 'file', { first: 3_000 })), 'InvalidRange');
    });
  }

  test('of a file of no length is refused; all of it is nothing', async () => {
    const share = await TestShare.create();
    await share.createFile('file', 0);
    assert.equal(await refusal(read(share, 'file', { first: 0 })), 'InvalidRange');
    assert.equal((await gather((await read(share, 'file')).bytes)).length, 0);
  });
});

/** Holds of readers. */
const volatileCount = async ({ store }: TestShare): Promise<number> => {
  const snapshot = store.engine.snapshot();
  const range = { from: Buffer.from([0xf0, 'M'.charCodeAt(0)]), to: Buffer.from([0xf0, 'N'.charCodeAt(0)]) };
  return (await snapshot.range(range, { limit: 100 }).finally(() => snapshot.close())).length;
};

/** More pieces than one reader may have at once: it holds its epoch of the content, and reads on in steps. */
describe('a long read', () => {
  const PIECE_COUNT = PAGE_SETTINGS.plan.placedPieces + 10;
  /** Each in the content store. */
  const PIECE_BYTES = INLINE_BYTES_MAX + 512;
  const STRIDE_BYTES = PIECE_BYTES + 1_024;
  const LENGTH_BYTES = PIECE_COUNT * STRIDE_BYTES;

  async function withPieces(): Promise<{ share: TestShare; bytes: Buffer }> {
    const share = await TestShare.create();
    await share.createFile('file', LENGTH_BYTES);
    const bytes = Buffer.alloc(LENGTH_BYTES);
    for (let index = 0; index < PIECE_COUNT; index++) {
      const piece = Buffer.alloc(PIECE_BYTES, 1 + (index % 250));
      await share.write('file', index * STRIDE_BYTES, piece);
      bytes.set(piece, index * STRIDE_BYTES);
    }
    return { share, bytes };
  }

  for (const [what, act] of [
    ['written to', (share) => share.write('file', 3, Buffer.alloc(LENGTH_BYTES - 3, 'w'))],
    ['cleared', (share) => share.clear('file', 1, LENGTH_BYTES - 1)],
    ['made shorter', (share) => share.resize('file', 100)],
    ['overwritten', (share) => share.createFile('file', 1)],
    ['deleted', (share) => share.delete('file', 'file')],
    [
      'renamed and written to',
      async (share) => {
        await share.rename('file', 'file', 'other');
        await share.write('other', 0, Buffer.alloc(LENGTH_BYTES, 'r'));
      },
    ],
  ] as const satisfies readonly (readonly [string, (share: TestShare) => Promise<unknown>])[]) {
    test(`gets the file as it was when it began, though it is ${what} meanwhile; so does one of a snapshot`, async () => {
      const { share, bytes } = await withPieces();
      const snapshot = await share.snapshot();
      const opened = await read(share, 'file');
      const ofSnapshot = await read(share, 'file', { snapshot });
      assert.equal(await volatileCount(share), 2);
      await act(share);
      await share.store.sweep();
      assert.ok((await gather(opened.bytes)).equals(bytes));
      await share.deleteSnapshot(snapshot);
      await share.store.sweep();
      assert.ok((await gather(ofSnapshot.bytes)).equals(bytes));
      assert.equal(await volatileCount(share), 0);
      await share.store.sweep();
      const { engine, content } = share.store;
      assert.deepEqual((await checkStore({ engine, content, afterCrash: false })).findings, []);
    });
  }

  test('that is given up lets go', async () => {
    const { share } = await withPieces();
    const { bytes } = await read(share, 'file');
    await (bytes as AsyncIterableIterator<Uint8Array>).return?.();
    assert.equal(await volatileCount(share), 0);
  });
});
