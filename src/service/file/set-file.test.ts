import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { transact } from '../../engine/transact.ts';
import { ARCHIVE, DIRECTORY, HIDDEN, READ_ONLY } from '../../rules/file-attributes.ts';
import { fileTimeAt } from '../../rules/file-time.ts';
import { INFINITE_SECONDS } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import type { FileRecord } from '../records/node-record.ts';
import { changeNode } from './keep-past.ts';
import { leaseFile } from './lease-file.ts';
import { type FoundFile, findNode } from './load.ts';
import { NO_CHANGES } from './properties.ts';
import { type SetFilePropertiesRequest, setFileMetadata, setFileProperties } from './set-file.ts';
import { getDirectory, setDirectoryMetadata, setDirectoryProperties } from './use-directory.ts';

const A = 'aaaaaaaa-0000-0000-0000-000000000000';
const COPY = { id: A, source: 'http://elsewhere', status: 'success', bytesCopied: 1, bytesTotal: 1 } as const;
const THEN = fileTimeAt(1_000);
const GIB = 1024 ** 3;

async function createShare(): Promise<TestShare> {
  const share = await TestShare.create();
  await share.createDirectory('d');
  await share.createFile('d/f', Buffer.alloc(1_500, 'x'), { metadata: [['colour', 'blue']] });
  share.store.clock.advance({ seconds: 5 });
  return share;
}

const setProperties = async (
  share: TestShare,
  given: Partial<SetFilePropertiesRequest>,
  path = 'd/f',
): Promise<FileRecord> => {
  const nothing = { headers: null, lengthBytes: null, properties: NO_CHANGES };
  return (await setFileProperties(share.store.storage, { ...share.requestOf(path), ...nothing, ...given })).node;
};

const setMetadata = async (share: TestShare, colour: string, leaseId: string | null = null): Promise<FileRecord> =>
  (
    await setFileMetadata(share.store.storage, {
      ...share.requestOf('d/f', { leaseId }),
      metadata: [['colour', colour]],
    })
  ).node;

async function noteCopy(share: TestShare, copy: FileRecord['copy'] & object): Promise<void> {
  const { engine, storage } = share.store;
  await transact(engine, async (tx) => {
    const found = (await findNode(tx, share.nameOf('d/f'), storage.known)) as FoundFile;
    await changeNode(tx, found, (file) => ({ ...file, copy }));
  });
}

const leaseIt = (share: TestShare) =>
  leaseFile(share.store.storage, {
    ...share.requestOf('d/f'),
    action: { action: 'acquire', proposedId: A, freshId: A, durationSeconds: INFINITE_SECONDS },
  });

const attributes = (bits: number) => ({ properties: { ...NO_CHANGES, attributes: bits } });

const get = (share: TestShare, path: string, snapshot: Moment | null = null) =>
  getDirectory(share.store.storage, { name: share.nameOf(path, snapshot), waitMs: 0 });

describe('the properties of a file', () => {
  test('stay what they are where nothing is said, under a new ETag', async () => {
    const share = await createShare();
    const before = await share.write('d/f', 0, Buffer.from('y'));
    share.store.clock.advance({ seconds: 1 });
    const after = await setProperties(share, {});
    const nowMs = share.store.clock.nowMs();
    assert.ok(after.etag > before.etag);
    assert.deepEqual(after, {
      ...before,
      etag: after.etag,
      lastModifiedMs: nowMs,
      changedAt: fileTimeAt(nowMs),
    });
  });

  test('are set to what is given, headers all together', async () => {
    const share = await createShare();
    await setProperties(share, { headers: { contentType: 'a/b', cacheControl: 'no-cache' } });
    const after = await setProperties(share, {
      headers: { contentLanguage: 'de' },
      properties: {
        ...NO_CHANGES,
        attributes: HIDDEN,
        createdAt: { at: THEN },
        writtenAt: { at: THEN },
        changedAt: THEN,
      },
    });
    assert.deepEqual(
      [after.headers, after.attributes, after.createdAt, after.writtenAt, after.changedAt],
      [{ contentLanguage: 'de' }, HIDDEN, THEN, THEN, THEN],
    );
    assert.deepEqual((await setProperties(share, { lengthBytes: 7 })).headers, { contentLanguage: 'de' });
  });

  test('move the time of the last write where the length changes, unless one is given', async () => {
    const share = await createShare();
    const now = fileTimeAt(share.store.clock.nowMs());
    const { writtenAt: before } = await setProperties(share, { lengthBytes: 1_500 });
    assert.notEqual(before, now);
    assert.equal((await setProperties(share, { lengthBytes: 10 })).writtenAt, now);
    const properties = { ...NO_CHANGES, writtenAt: { at: THEN } };
    assert.equal((await setProperties(share, { lengthBytes: 20, properties })).writtenAt, THEN);
  });

  test('let a file shrink and grow: what was cut off is zeros, and a snapshot still has it', async () => {
    const share = await createShare();
    const snapshot: Moment = await share.snapshot();
    await setProperties(share, { lengthBytes: 700 });
    await setProperties(share, { lengthBytes: 2_000 });
    const want = Buffer.concat([Buffer.alloc(700, 'x'), Buffer.alloc(1_300)]);
    assert.ok((await share.read('d/f')).equals(want));
    assert.ok((await share.read('d/f', snapshot)).equals(Buffer.alloc(1_500, 'x')));
    assert.equal((await setProperties(share, { lengthBytes: 0 })).lengthBytes, 0);
    assert.equal((await share.read('d/f')).length, 0);
  });

  test('cut within a page that lies in the content store', async () => {
    const share = await createShare();
    const bytes = Buffer.alloc(100_000, 'abc');
    await share.createFile('large', bytes.length);
    await share.write('large', 0, bytes);
    await setProperties(share, { lengthBytes: 70_001 }, 'large');
    await setProperties(share, { lengthBytes: 80_000 }, 'large');
    const want = Buffer.concat([bytes.subarray(0, 70_001), Buffer.alloc(9_999)]);
    assert.ok((await share.read('large')).equals(want));
  });

  test('do not let a file grow beyond the quota', async () => {
    const share = await TestShare.create({}, { quotaGiB: 1 });
    await share.createFile('a', GIB - 10);
    await share.createFile('b', 10);
    assert.equal(await refusal(setProperties(share, { lengthBytes: 11 }, 'b')), 'ShareSizeLimitReached');
    await setProperties(share, { lengthBytes: 100 }, 'a');
    assert.equal((await setProperties(share, { lengthBytes: GIB - 100 }, 'b')).lengthBytes, GIB - 100);
    assert.equal(await refusal(share.createFile('c', 1)), 'ShareSizeLimitReached');
  });

  test('forget a copy that has ended; metadata does not', async () => {
    const share = await createShare();
    await noteCopy(share, COPY);
    assert.deepEqual((await setMetadata(share, 'red')).copy, COPY);
    const after = await setProperties(share, {});
    assert.equal('copy' in after, false);
  });

  test('and metadata wait for a copy under way', async () => {
    const share = await createShare();
    await noteCopy(share, { ...COPY, status: 'pending' });
    assert.equal(await refusal(setProperties(share, {})), 'PendingCopyOperation');
    assert.equal(await refusal(setMetadata(share, 'red')), 'PendingCopyOperation');
  });

  test('of a read-only file can be set by whoever takes that mark off, and by nobody else', async () => {
    const share = await createShare();
    await setProperties(share, attributes(READ_ONLY));
    assert.equal(await refusal(setProperties(share, { lengthBytes: 5 })), 'ReadOnlyAttribute');
    assert.equal(await refusal(setProperties(share, attributes(READ_ONLY | HIDDEN))), 'ReadOnlyAttribute');
    assert.equal(await refusal(setMetadata(share, 'red')), 'ReadOnlyAttribute');
    assert.equal((await setProperties(share, { ...attributes(ARCHIVE), lengthBytes: 5 })).lengthBytes, 5);
    assert.deepEqual((await setMetadata(share, 'red')).metadata, [['colour', 'red']]);
  });

  test('and metadata need the lease', async () => {
    const share = await createShare();
    await leaseIt(share);
    assert.equal(await refusal(setProperties(share, {})), 'LeaseIdMissing');
    assert.equal(await refusal(setMetadata(share, 'red')), 'LeaseIdMissing');
    await setProperties(share, { leaseId: A });
    await setMetadata(share, 'red', A);
  });

  for (const [path, want] of [
    ['d', 'ResourceTypeMismatch'],
    ['d/nothing', 'ResourceNotFound'],
    ['nothing/f', 'ParentNotFound'],
  ] as const) {
    test(`of ${path} cannot be set: ${want}`, async () => {
      assert.equal(await refusal(setProperties(await createShare(), {}, path)), want);
    });
  }
});

describe('a directory', () => {
  for (const path of ['', 'd']) {
    test(`keeps its ETag whatever is done in it, and gets a new one with its own properties: ${path || 'the root'}`, async () => {
      const share = await createShare();
      const { node: before, parentId } = await get(share, path);
      assert.equal(parentId, (await get(share, '')).node.id);
      await share.createFile(path === '' ? 'new' : `${path}/new`, 0);
      assert.deepEqual((await get(share, path)).node, before);
      const snapshot = await share.snapshot();
      const { storage } = share.store;
      const properties = { ...NO_CHANGES, attributes: DIRECTORY | HIDDEN, writtenAt: { at: THEN } };
      const set = await setDirectoryProperties(storage, { ...share.requestOf(path), properties });
      assert.deepEqual([set.node.attributes, set.node.writtenAt], [DIRECTORY | HIDDEN, THEN]);
      const described = await setDirectoryMetadata(storage, { ...share.requestOf(path), metadata: [['a', 'b']] });
      assert.deepEqual([described.node.metadata, described.node.attributes], [[['a', 'b']], DIRECTORY | HIDDEN]);
      assert.ok(described.node.etag > set.node.etag && set.node.etag > before.etag);
      assert.deepEqual((await get(share, path)).node, described.node);
      assert.deepEqual((await get(share, path, snapshot)).node, before);
    });
  }

  for (const [path, got, want] of [
    ['d/f', 'ResourceNotFound', 'ResourceTypeMismatch'],
    ['nothing', 'ResourceNotFound', 'ResourceNotFound'],
    ['nothing/d', 'ParentNotFound', 'ParentNotFound'],
  ] as const) {
    test(`is not ${path}: who reads it gets ${got}, who changes it ${want}`, async () => {
      const share = await createShare();
      const { storage } = share.store;
      const request = share.requestOf(path);
      assert.equal(await refusal(get(share, path)), got);
      assert.equal(await refusal(setDirectoryProperties(storage, { ...request, properties: NO_CHANGES })), want);
      assert.equal(await refusal(setDirectoryMetadata(storage, { ...request, metadata: [] })), want);
    });
  }
});
