import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ACCOUNT, blobRequest, blockIdOf, gather, TestStore } from '../../../test/harness/store.ts';
import { AVAILABLE, type LeaseId, parseLeaseId } from '../../rules/lease.ts';
import { checkStore } from '../check.ts';
import { doWhatIsDue } from '../do-what-is-due.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { setServiceProperties } from '../service-properties.ts';
import { DEFAULT_SETTINGS } from '../storage.ts';
import { type DeleteBlobRequest, deleteBlob } from './delete-blob.ts';
import { getBlob, getBlobProperties } from './get-blob.ts';
import { leaseBlob } from './lease-blob.ts';
import { type ListedBlob, listBlobs } from './list-blobs.ts';
import type { BlobAt } from './load.ts';
import { setBlobExpiry } from './set-blob-expiry.ts';
import { setBlobTags } from './set-blob-tags.ts';
import { snapshotBlob } from './snapshot-blob.ts';
import { undeleteBlob } from './undelete-blob.ts';

const DAY_SECONDS = 86_400;
const RETENTION_DAYS = 7;
const large = (text: string): Buffer => Buffer.alloc(20 * 1024, text);

let store: TestStore;
let keepsVersions = false;
beforeEach(async () => {
  keepsVersions = false;
  store = await TestStore.open({ settings: () => ({ ...DEFAULT_SETTINGS, keepsVersions }) });
  await store.createContainer('box');
  await retain(RETENTION_DAYS);
});
afterEach(async () => {
  assert.deepEqual(store.errors, []);
  const { findings } = await checkStore({ engine: store.engine, content: store.content, afterCrash: false });
  assert.deepEqual(findings, []);
  await store.close();
});

const retain = (days: number | null): Promise<void> =>
  setServiceProperties(store.storage, ACCOUNT, 'b', {
    deleteRetention: days === null ? { enabled: false } : { enabled: true, days },
  });
const put = (text: string): Promise<void> => store.put('box', 'b', large(text));
const remove = (options: Partial<DeleteBlobRequest> = {}): Promise<boolean> =>
  deleteBlob(store.storage, { ...blobRequest('box', 'b'), deleteSnapshots: null, ...options });
const undelete = (blob = 'b', container = 'box'): Promise<void> =>
  undeleteBlob(store.storage, { account: ACCOUNT, container, blob });
const properties = async (at: BlobAt | null = null): Promise<BlobRecord> =>
  (await getBlobProperties(store.storage, { ...blobRequest('box', 'b'), at })).blob;
const LEASE_ID = parseLeaseId('c17e0bd2-93a8-44d5-a318-9c7bfc1c0d50') as LeaseId;
const lease = async (): Promise<void> => {
  const action = { action: 'acquire', proposedId: LEASE_ID, freshId: LEASE_ID, durationSeconds: -1 } as const;
  await leaseBlob(store.storage, { ...blobRequest('box', 'b'), action });
};
const takeSnapshot = async (): Promise<string> =>
  (await snapshotBlob(store.storage, { ...blobRequest('box', 'b'), metadata: [] })).snapshot;
const textOf = async (at: BlobAt | null): Promise<string> => {
  const { bytes } = await getBlob(store.storage, { ...blobRequest('box', 'b'), at, range: null });
  return (await gather(bytes as Uint8Array)).toString('latin1', 0, 1);
};
const list = async (): Promise<readonly ListedBlob[]> =>
  (
    await listBlobs(store.storage, {
      name: { account: ACCOUNT, container: 'box' },
      prefix: '',
      delimiter: '',
      from: '',
      limit: 5_000,
      includeUncommitted: false,
      includeSnapshots: true,
      includeVersions: true,
      includeDeleted: true,
    })
  ).items;
/** Everything that can be read, with its first letter: `snapshot a, blob b`. */
const readable = async (): Promise<string> => {
  const texts = (await list()).map(async (item): Promise<string> => {
    if (!('blob' in item)) return item.kind;
    if (item.blob.deleted !== undefined) return `deleted ${item.kind}`;
    if (item.kind === 'snapshot') return `snapshot ${await textOf({ kind: 'snapshot', moment: item.moment })}`;
    const { versionId = '' } = item.blob;
    return `${item.kind} ${await textOf(item.kind === 'version' ? { kind: 'version', moment: versionId } : null)}`;
  });
  return (await Promise.all(texts)).join(', ');
};
const tableCounts = async (): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const key of await store.records()) counts[key[0] as string] = (counts[key[0] as string] ?? 0) + 1;
  return counts;
};

describe('a deleted blob', () => {
  test('comes back with ETag, time, content and tags as they were, and without its lease', async () => {
    await put('a');
    await setBlobTags(store.storage, { ...blobRequest('box', 'b'), tags: [['color', 'blue']] });
    const before = await properties();
    await lease();
    const indexed = (await tableCounts())['T'];
    store.clock.advance({ seconds: 60 });
    await remove({ leaseId: LEASE_ID });
    assert.equal((await tableCounts())['T'], undefined, 'what is deleted is not found by its tags');
    await assert.rejects(properties(), { code: 'BlobNotFound' });
    store.clock.advance({ seconds: 60 });
    await undelete();
    const after = await properties();
    assert.equal(after.etag, before.etag);
    assert.equal(after.lastModifiedMs, before.lastModifiedMs);
    assert.equal(after.createdMs, before.createdMs);
    assert.deepEqual(after.tags, [['color', 'blue']]);
    assert.deepEqual(after.lease, AVAILABLE);
    assert.equal(after.deleted, undefined);
    assert.equal((await tableCounts())['T'], indexed, 'and found again');
    assert.equal(await textOf(null), 'a');
  });

  test('comes back as it was last; what it was before comes back as snapshots', async () => {
    for (const text of ['a', 'b', 'c']) {
      await put(text);
      store.clock.advance({ seconds: 1 });
    }
    await remove();
    assert.equal(await readable(), 'deleted snapshot, deleted snapshot, deleted deleted');
    await undelete();
    assert.equal(await readable(), 'snapshot a, snapshot b, blob c');
  });

  test('that was made anew stays as it is; what it was before comes back as snapshots', async () => {
    await put('a');
    await remove();
    store.clock.advance({ seconds: 1 });
    await put('b');
    await undelete();
    assert.equal(await readable(), 'snapshot a, blob b');
    await assert.rejects(remove(), { code: 'SnapshotsPresent' }, 'the blob knows of them');
  });

  test('comes back with its snapshots, those deleted with it and those deleted before', async () => {
    await put('a');
    const first = await takeSnapshot();
    store.clock.advance({ seconds: 1 });
    await put('b');
    await takeSnapshot();
    await remove({ at: { kind: 'snapshot', moment: first } });
    await remove({ deleteSnapshots: 'include' });
    await undelete();
    assert.equal(await readable(), 'snapshot a, snapshot b, snapshot a, blob b');
    assert.equal(await textOf({ kind: 'snapshot', moment: first }), 'a');
  });

  test('keeps apart what happened in one millisecond', async () => {
    await put('a');
    const snapshot = await takeSnapshot();
    await put('b');
    await put('c');
    await undelete();
    assert.equal(await readable(), 'snapshot a, snapshot a, snapshot b, blob c');
    assert.equal(await textOf({ kind: 'snapshot', moment: snapshot }), 'a');
    await put('d');
    await undelete();
    assert.equal(await readable(), 'snapshot a, snapshot a, snapshot b, snapshot c, blob d');
  });

  test('that would have expired meanwhile comes back for good', async () => {
    await put('a');
    const expiry = { option: 'RelativeToNow', time: '60000' } as const;
    await setBlobExpiry(store.storage, { ...blobRequest('box', 'b'), ...expiry });
    await remove();
    store.clock.advance({ seconds: 60 });
    await undelete();
    assert.equal((await properties()).expiresMs, undefined);
  });

  test('goes on to expire when it would have', async () => {
    await put('a');
    const expiry = { option: 'RelativeToNow', time: '60000' } as const;
    await setBlobExpiry(store.storage, { ...blobRequest('box', 'b'), ...expiry });
    await remove();
    await undelete();
    store.clock.advance({ seconds: 60 });
    await assert.rejects(properties(), { code: 'BlobNotFound' });
  });
});

test('block lists that share blocks keep them, deleted, undeleted and swept, until the last of them is gone', async () => {
  const commit = async (...numbers: number[]): Promise<void> => {
    for (const number of numbers) await store.putBlock('box', 'b', blockIdOf(number), large(String(number)));
    await store.putBlockList(
      'box',
      'b',
      numbers.map((number) => ({ kind: 'uncommitted', id: blockIdOf(number) })),
    );
  };
  const keep = (...numbers: number[]): Promise<void> =>
    store.putBlockList(
      'box',
      'b',
      numbers.map((number) => ({ kind: 'committed', id: blockIdOf(number) })),
    );
  await commit(1, 2, 3);
  store.clock.advance({ seconds: 1 });
  await keep(3, 2);
  store.clock.advance({ seconds: 1 });
  await keep(2);
  await store.sweep();
  await remove();
  await store.sweep();
  await undelete();
  await store.sweep();
  const contents = await Promise.all(
    (await list()).map(async (item) => {
      const at = item.kind === 'snapshot' ? ({ kind: 'snapshot', moment: item.moment } as const) : null;
      const { bytes } = await getBlob(store.storage, { ...blobRequest('box', 'b'), at, range: null });
      return gather(bytes as Uint8Array);
    }),
  );
  assert.deepEqual(
    contents,
    [['1', '2', '3'], ['3', '2'], ['2']].map((texts) => Buffer.concat(texts.map(large))),
  );
  await remove({ deleteSnapshots: 'include' });
  store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS });
  assert.equal(await doWhatIsDue(store.storage), 3);
  await store.sweep();
  assert.deepEqual(await tableCounts(), { C: 1, P: 1 });
});

describe('versions', () => {
  test('that were deleted are live again; a blob that has versions only is not made of them', async () => {
    keepsVersions = true;
    for (const text of ['a', 'b', 'c']) {
      await put(text);
      store.clock.advance({ seconds: 1 });
    }
    const versions = (await list()).flatMap((item) => ('blob' in item ? [item.blob.versionId as string] : []));
    await remove();
    await remove({ at: { kind: 'version', moment: versions[0] as string } });
    assert.equal(await readable(), 'deleted version, version b, version c');
    await undelete();
    assert.equal(await readable(), 'version a, version b, version c');
    await assert.rejects(properties(), { code: 'BlobNotFound' });
  });

  test('and snapshots that came back without a blob still belong to the next one of the name', async () => {
    keepsVersions = true;
    await put('a');
    await takeSnapshot();
    await remove({ deleteSnapshots: 'include' });
    await undelete();
    assert.equal(await readable(), 'snapshot a, version a');
    store.clock.advance({ seconds: 1 });
    await put('b');
    await assert.rejects(remove(), { code: 'SnapshotsPresent' });
    await remove({ deleteSnapshots: 'include' });
    assert.equal(await readable(), 'deleted snapshot, version a, version b');
  });
});

describe('undeleting', () => {
  test('a blob of which nothing is deleted does nothing', async () => {
    await put('a');
    const before = await store.entries();
    await undelete();
    assert.deepEqual(await store.entries(), before);
  });

  test('what was never there is refused', async () => {
    await assert.rejects(undelete(), { code: 'BlobNotFound' });
    await assert.rejects(undelete('b', 'none'), { code: 'ContainerNotFound' });
    await store.putBlock('box', 'b', blockIdOf(1), large('a'));
    await assert.rejects(undelete(), { code: 'BlobNotFound' }, 'staged blocks are no blob');
  });

  test('needs no lease id, though the blob is leased', async () => {
    await put('a');
    await put('b');
    await lease();
    const before = (await properties()).lease;
    await undelete();
    assert.deepEqual((await properties()).lease, before, 'and the lease lives on');
    assert.equal(await readable(), 'snapshot a, blob b');
  });
});

describe('when the days are over', () => {
  test('what was deleted is gone to everybody, swept or not', async () => {
    await put('a');
    await takeSnapshot();
    await put('b');
    await remove({ deleteSnapshots: 'include' });
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS - 1 });
    assert.equal(await readable(), 'deleted snapshot, deleted snapshot, deleted deleted');
    store.clock.advance({ seconds: 1 });
    assert.equal(await readable(), '');
    await assert.rejects(undelete(), { code: 'BlobNotFound' });
    const kept = { C: 1, P: 1 };
    assert.notDeepEqual(await tableCounts(), kept);
    assert.equal(await doWhatIsDue(store.storage), 3);
    await store.sweep();
    assert.deepEqual(await tableCounts(), kept, 'records and extents are gone');
  });

  test('what was undeleted in time stays', async () => {
    await put('a');
    await put('b');
    await remove();
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS - 1 });
    await undelete();
    store.clock.advance({ seconds: DAY_SECONDS });
    assert.equal(await doWhatIsDue(store.storage), 0);
    await store.sweep();
    assert.equal(await readable(), 'snapshot a, blob b');
  });

  test('what was deleted once more has days of its own', async () => {
    await put('a');
    await remove();
    store.clock.advance({ seconds: 3 * DAY_SECONDS });
    await undelete();
    await remove();
    store.clock.advance({ seconds: 4 * DAY_SECONDS });
    assert.equal(await doWhatIsDue(store.storage), 0);
    await undelete();
    assert.equal(await readable(), 'blob a');
  });

  test('each state goes by itself, and content with the last that holds it', async () => {
    await put('a');
    await takeSnapshot();
    await remove({ deleteSnapshots: 'only' });
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS });
    await doWhatIsDue(store.storage);
    await store.sweep();
    assert.equal(await readable(), 'blob a');
    await retain(null);
    assert.equal(await remove(), true);
    await store.sweep();
    assert.deepEqual(await tableCounts(), { C: 1, P: 1 });
  });

  test('a change of the days counts for what is deleted from then on', async () => {
    await put('a');
    await remove();
    await retain(1);
    await put('b');
    await remove();
    await retain(null);
    store.clock.advance({ seconds: DAY_SECONDS });
    assert.equal(await readable(), 'deleted deleted');
    await undelete();
    assert.equal(await readable(), 'blob a');
  });

  test('a state comes back beside a snapshot of its very time that is gone, and not in its place', async () => {
    await retain(1);
    await put('a');
    await takeSnapshot();
    await remove({ deleteSnapshots: 'only' });
    await retain(RETENTION_DAYS);
    await put('b');
    store.clock.advance({ seconds: 2 * DAY_SECONDS });
    await undelete();
    assert.equal(await readable(), 'snapshot a, blob b');
    await retain(null);
    await remove({ deleteSnapshots: 'include' });
    await doWhatIsDue(store.storage);
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS });
    await doWhatIsDue(store.storage);
    await store.sweep();
    assert.deepEqual(await tableCounts(), { C: 1, P: 1 });
  });
});
