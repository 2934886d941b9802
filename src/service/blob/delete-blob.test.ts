import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ACCOUNT, blobRequest, gather, TestStore } from '../../../test/harness/store.ts';
import type { Engine } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { checkStore } from '../check.ts';
import { type DeleteRetention, setServiceProperties } from '../service-properties.ts';
import { DEFAULT_SETTINGS } from '../storage.ts';
import { type DeleteBlobRequest, deleteBlob } from './delete-blob.ts';
import { getBlob, getBlobProperties } from './get-blob.ts';
import { setLegalHold } from './immutability.ts';
import { type ListedBlob, listBlobs } from './list-blobs.ts';
import type { BlobAt } from './load.ts';
import { snapshotBlob } from './snapshot-blob.ts';

const large = (text: string): Buffer => Buffer.alloc(20 * 1024, text);

let readCount = 0;
let store: TestStore;
let keepsVersions = false;
beforeEach(async () => {
  keepsVersions = false;
  const settings = () => ({ ...DEFAULT_SETTINGS, keepsVersions });
  store = await TestStore.open({ engine: countingReads(openMemoryEngine()), settings });
  await store.createContainer('box');
});
afterEach(async () => {
  assert.deepEqual(store.errors, []);
  const { findings } = await checkStore({ engine: store.engine, content: store.content, afterCrash: false });
  assert.deepEqual(findings, []);
  await store.close();
});

/** Counts how often a transaction asks the engine: each time may be a round trip. */
function countingReads(inner: Engine): Engine {
  return {
    snapshot: () => inner.snapshot(),
    tip() {
      const tip = inner.tip();
      return {
        get(keys) {
          readCount++;
          return tip.get(keys);
        },
        range(range, options) {
          readCount++;
          return tip.range(range, options);
        },
        scan: (...args) => tip.scan(...args),
        settled: () => tip.settled(),
        close: () => tip.close(),
      };
    },
    commit: (batch) => inner.commit(batch),
    claim: (range, limit) => inner.claim(range, limit),
    close: () => inner.close(),
  };
}

const retain = (deleteRetention: DeleteRetention): Promise<void> =>
  setServiceProperties(store.storage, ACCOUNT, 'b', { deleteRetention });
const put = (text: string): Promise<void> => store.put('box', 'b', large(text));
const remove = (options: Partial<DeleteBlobRequest> = {}): Promise<boolean> =>
  deleteBlob(store.storage, { ...blobRequest('box', 'b'), deleteSnapshots: null, ...options });
const takeSnapshot = async (): Promise<BlobAt> => {
  const { snapshot } = await snapshotBlob(store.storage, { ...blobRequest('box', 'b'), metadata: [] });
  return { kind: 'snapshot', moment: snapshot };
};
const versionOf = async (): Promise<BlobAt> => {
  const { blob } = await getBlobProperties(store.storage, blobRequest('box', 'b'));
  return { kind: 'version', moment: blob.versionId as string };
};
const textOf = async (at: BlobAt | null = null): Promise<string> => {
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
      includeUncommitted: true,
      includeSnapshots: true,
      includeVersions: true,
      includeDeleted: true,
    })
  ).items;
const permanently = (at: BlobAt | null): Promise<boolean> => remove({ at, isPermanent: true });
const hold = (at: BlobAt | null, legalHold: boolean) =>
  setLegalHold(store.storage, { ...blobRequest('box', 'b'), at, legalHold });
const texts = async (): Promise<string[]> =>
  Promise.all(
    (await list()).map((item) => {
      const versionId = 'blob' in item ? item.blob.versionId : undefined;
      return textOf(versionId === undefined ? null : { kind: 'version', moment: versionId });
    }),
  );
const kinds = async (): Promise<string> =>
  (await list())
    .map((item) => ('blob' in item && item.blob.deleted !== undefined ? `deleted ${item.kind}` : item.kind))
    .join(', ');
const tables = async (): Promise<string> => {
  await store.sweep();
  return [...new Set((await store.records()).map((key) => key[0]))].join('');
};

describe('many snapshots', () => {
  test('go with their blob for a few reads, whether they share their content or not', async () => {
    for (let round = 0; round < 60; round++) {
      await put(String(round % 10));
      await takeSnapshot();
      if (round % 3 === 0) await takeSnapshot();
      store.clock.advance({ seconds: 1 });
    }
    readCount = 0;
    assert.equal(await remove({ deleteSnapshots: 'include' }), true);
    assert.ok(readCount <= 10, `${readCount} reads`);
    assert.equal(await kinds(), '');
    assert.equal(await tables(), 'C', 'nothing is left of their content');
  });

  test('that go alone leave the blob its content', async () => {
    await put('a');
    for (let count = 0; count < 5; count++) await takeSnapshot();
    await remove({ deleteSnapshots: 'only' });
    await store.sweep();
    assert.equal(await kinds(), 'blob');
    assert.equal(await textOf(), 'a');
    await remove();
    assert.equal(await tables(), 'C');
  });

  test('keep the blob from being deleted, unless they go too', async () => {
    await put('a');
    const at = await takeSnapshot();
    await assert.rejects(remove(), { code: 'SnapshotsPresent' });
    await remove({ at });
    await remove();
    assert.equal(await tables(), 'C');
  });
});

describe('a legal hold', () => {
  test('on a snapshot keeps it, and with it the blob and the other snapshots', async () => {
    await put('a');
    const [first, second] = [await takeSnapshot(), await takeSnapshot()];
    await hold(second, true);
    for (const options of [{ at: second }, { deleteSnapshots: 'include' }, { deleteSnapshots: 'only' }] as const) {
      await assert.rejects(remove(options), { code: 'BlobImmutableDueToLegalHold' });
    }
    assert.equal(await textOf(first), 'a');
    await hold(second, false);
    await remove({ deleteSnapshots: 'include' });
    assert.equal(await kinds(), '');
  });

  test('on a version keeps it from being deleted, softly and for good', async () => {
    keepsVersions = true;
    await put('a');
    const first = await versionOf();
    await put('b');
    await hold(first, true);
    await assert.rejects(remove({ at: first }), { code: 'BlobImmutableDueToLegalHold' });
    await retain({ enabled: true, days: 1, allowPermanentDelete: true });
    await assert.rejects(remove({ at: first }), { code: 'BlobImmutableDueToLegalHold' });
    await assert.rejects(remove({ at: first, isPermanent: true }), { code: 'BlobImmutableDueToLegalHold' });
    assert.equal(await textOf(first), 'a');
  });
});

describe('whether it is gone for good is told', () => {
  test('of a blob, with and without soft delete', async () => {
    await put('a');
    assert.equal(await remove(), true);
    await retain({ enabled: true, days: 1 });
    await put('a');
    assert.equal(await remove(), false);
  });

  test('of a blob that lives on as a version, and of that version', async () => {
    keepsVersions = true;
    await put('a');
    const version = await versionOf();
    assert.equal(await remove(), false);
    assert.equal(await remove({ at: version }), true);
    assert.equal(await tables(), 'C');
  });

  test('of snapshots', async () => {
    await put('a');
    const at = await takeSnapshot();
    assert.equal(await remove({ at }), true);
    await takeSnapshot();
    assert.equal(await remove({ deleteSnapshots: 'only' }), true);
    await retain({ enabled: true, days: 1 });
    const other = await takeSnapshot();
    assert.equal(await remove({ at: other }), false);
    await takeSnapshot();
    assert.equal(await remove({ deleteSnapshots: 'only' }), false);
  });
});

describe('an account that begins to keep versions, and ceases to', () => {
  test('keeps what it had before, at the same time even, and all that was a version', async () => {
    await put('a');
    keepsVersions = true;
    await put('b');
    assert.equal(await kinds(), 'version, blob');
    assert.deepEqual(await texts(), ['a', 'b']);
    await put('c');
    assert.deepEqual(await texts(), ['a', 'b', 'c']);
    keepsVersions = false;
    await put('d');
    assert.deepEqual(await texts(), ['a', 'b', 'c', 'd']);
    await put('e');
    assert.deepEqual(await texts(), ['a', 'b', 'c', 'e'], 'from then on nothing is kept');
    await remove();
    for (const item of await list()) {
      if ('blob' in item) await remove({ at: { kind: 'version', moment: item.blob.versionId as string } });
    }
    assert.equal(await tables(), 'C');
  });
});

describe('for good', () => {
  const ALLOWED = { enabled: true, days: 1, allowPermanentDelete: true };

  test('only where the account allows it', async () => {
    await retain({ enabled: true, days: 1 });
    await put('a');
    const at = await takeSnapshot();
    await remove({ at });
    await assert.rejects(permanently(at), { code: 'InvalidOperation', message: /not enabled for this account/ });
    await retain(ALLOWED);
    assert.equal(await permanently(at), true);
    assert.equal(await kinds(), 'blob');
    assert.equal(await textOf(), 'a');
    await assert.rejects(permanently(at), { code: 'BlobNotFound' });
  });

  test('not the blob itself, and nothing that is not deleted yet', async () => {
    await retain(ALLOWED);
    keepsVersions = true;
    await put('a');
    const [snapshot, version] = [await takeSnapshot(), await versionOf()];
    await put('b');
    await assert.rejects(permanently(null), { code: 'InvalidOperation' });
    await assert.rejects(permanently(await versionOf()), { code: 'OperationNotAllowedOnRootBlob' });
    await assert.rejects(permanently(snapshot), { code: 'BlobSnapshotNotSoftDeleted' });
    await assert.rejects(permanently(version), { code: 'BlobSnapshotNotSoftDeleted' });
    assert.equal(await kinds(), 'snapshot, version, blob');
  });

  test('a deleted version goes, and its content with it', async () => {
    await retain(ALLOWED);
    keepsVersions = true;
    await put('a');
    const version = await versionOf();
    await remove();
    await remove({ at: version });
    assert.equal(await kinds(), 'deleted version');
    await permanently(version);
    assert.equal(await kinds(), '');
    assert.equal((await tables()).replace('E', ''), 'CP');
  });

  test('a state that was overwritten goes as the snapshot that it is listed as', async () => {
    await retain(ALLOWED);
    await put('a');
    store.clock.advance({ seconds: 1 });
    await put('b');
    const [overwritten] = await list();
    assert.ok(overwritten?.kind === 'snapshot');
    await permanently({ kind: 'snapshot', moment: overwritten.moment });
    assert.equal(await kinds(), 'blob');
    assert.equal(await textOf(), 'b');
  });

  test('the current version cannot be deleted by its id', async () => {
    keepsVersions = true;
    await put('a');
    await assert.rejects(remove({ at: await versionOf() }), { code: 'OperationNotAllowedOnRootBlob' });
    assert.equal(await textOf(), 'a');
  });

  test('what is gone anyway is not found', async () => {
    await retain(ALLOWED);
    await put('a');
    const at = await takeSnapshot();
    await remove({ at });
    store.clock.advance({ seconds: 86_400 });
    await assert.rejects(permanently(at), { code: 'BlobNotFound' });
  });
});
