/**
 * Races around past states, with real clients and a clock that stands still, so that everything happens at one time: no
 * state is lost, none is torn, none is left behind.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BlobClient, BlobItem, BlockBlobClient, ContainerClient } from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { blobService, freshContainer, outcomes } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';

const SOFT_ACCOUNT: TestAccount = { name: 'softaccount', key: SECOND_ACCOUNT.key };

const server = await startInProcess({
  accounts: [SECOND_ACCOUNT, SOFT_ACCOUNT],
  settings: { versioning: [SECOND_ACCOUNT.name], containerRetentionDays: 1 },
});
const plain = blobService(server, DEVELOPMENT_ACCOUNT);
const versioned = blobService(server, SECOND_ACCOUNT);
const soft = blobService(server, SOFT_ACCOUNT);
await soft.setProperties({ deleteRetentionPolicy: { enabled: true, days: 1 } });

const textOf = async (blob: Pick<BlobClient, 'downloadToBuffer'>): Promise<string> =>
  (await blob.downloadToBuffer()).toString();

async function items(container: ContainerClient): Promise<BlobItem[]> {
  const found: BlobItem[] = [];
  const asked = { includeDeleted: true, includeSnapshots: true, includeVersions: true, includeMetadata: true };
  for await (const item of container.listBlobsFlat(asked)) found.push(item);
  return found;
}

/** The texts of the blob, of its snapshots and of its versions, in this order; each must be readable. */
async function texts(container: ContainerClient, blob: BlockBlobClient): Promise<string[]> {
  const found = await items(container);
  assert.ok(
    found.every((item) => !item.deleted),
    'nothing is deleted any more',
  );
  return Promise.all(
    found.map((item) => {
      if (item.snapshot) return textOf(blob.withSnapshot(item.snapshot));
      return textOf(item.versionId ? blob.withVersion(item.versionId) : blob);
    }),
  );
}

/** Long enough for content of its own for some, short enough for the record's commit for others. */
const bodyOf = (name: string, random: Random): string => name.padEnd(random.chance(0.5) ? 100 : 10_000, '.');
const nameIn = (text: string): string => text.replace(/\.+$/, '');

describe('snapshots', () => {
  test('50 at once have 50 ids, and each is there', async () => {
    const container = await freshContainer(plain);
    const blob = container.getBlockBlobClient('blob');
    await blob.upload('text', 4);
    const taken = await together(50, () => blob.createSnapshot());
    assert.deepEqual(tally(outcomes(taken)), { ok: 50 });
    const ids = new Set(taken.map((result) => (result.status === 'fulfilled' ? result.value.snapshot : '')));
    assert.equal(ids.size, 50);
    const listed = (await items(container)).flatMap((item) => (item.snapshot ? [item.snapshot] : []));
    assert.deepEqual(new Set(listed), ids);
    assert.equal(listed.length, 50);
    assert.deepEqual(new Set(await texts(container, blob)), new Set(['text']));
    await blob.delete({ deleteSnapshots: 'include' });
    assert.deepEqual(await items(container), []);
  });

  test('taken while the blob is written are each one state that was committed, whole', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const container = await freshContainer(plain);
    const blob = container.getBlockBlobClient('blob');
    const written = new Map<string, string>();
    const write = async (name: string): Promise<void> => {
      const body = bodyOf(name, random);
      const { etag = '' } = await blob.upload(body, body.length, { metadata: { name } });
      written.set(etag, name);
    };
    await write('first');
    const taken: { snapshot: string; etag: string }[] = [];
    await together(60, async (index) => {
      if (index % 3 !== 0) return write(`write ${index}`);
      const { snapshot = '', etag = '' } = await blob.createSnapshot();
      taken.push({ snapshot, etag });
    });
    assert.equal(taken.length, 20);
    for (const { snapshot, etag } of taken) {
      const name = written.get(etag);
      assert.ok(name !== undefined, 'the ETag is that of a write that was acknowledged');
      const past = blob.withSnapshot(snapshot);
      assert.equal(nameIn(await textOf(past)), name);
      assert.equal((await past.getProperties()).metadata?.['name'], name);
    }
  });

  test('taken while the blob is deleted with its snapshots go with it, or come too late', async () => {
    for (let round = 0; round < 10; round++) {
      const container = await freshContainer(plain);
      const blob = container.getBlockBlobClient('blob');
      await blob.upload('text', 4);
      await blob.createSnapshot();
      const results = await together(9, async (index) => {
        if (index === 4) return void (await blob.delete({ deleteSnapshots: 'include' }));
        await blob.createSnapshot();
      });
      const told = outcomes(results);
      assert.equal(told[4], 'ok');
      for (const [index, outcome] of told.entries()) {
        if (index !== 4) assert.ok(outcome === 'ok' || outcome === '404 BlobNotFound', outcome);
      }
      assert.deepEqual(await items(container), [], 'no snapshot is left without its blob');
    }
  });

  test('taken while the blob is deleted without them keep it, or come too late', async () => {
    for (let round = 0; round < 10; round++) {
      const container = await freshContainer(plain);
      const blob = container.getBlockBlobClient('blob');
      await blob.upload('text', 4);
      const results = await together(5, async (index) => {
        if (index === 2) await blob.delete();
        else await blob.createSnapshot();
      });
      const told = outcomes(results);
      const takenCount = told.filter((outcome, index) => index !== 2 && outcome === 'ok').length;
      const found = await items(container);
      if (told[2] === 'ok') assert.deepEqual({ takenCount, found: found.length }, { takenCount: 0, found: 0 });
      else assert.deepEqual([told[2], takenCount, found.length], ['409 SnapshotsPresent', 4, 5]);
    }
  });
});

describe('versions', () => {
  test('no state is lost while the blob is written, changed and deleted: each is the blob or a version', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const container = await freshContainer(versioned);
    const blob = container.getBlockBlobClient('blob');
    const acknowledged = new Map<string, string>();
    const write = async (name: string): Promise<void> => {
      const body = bodyOf(name, random);
      const { versionId = '' } = await blob.upload(body, body.length);
      assert.ok(!acknowledged.has(versionId), 'no id is given twice');
      acknowledged.set(versionId, name);
    };
    const commit = async (): Promise<void> => {
      const { versionId = '' } = await blob.commitBlockList([]);
      assert.ok(!acknowledged.has(versionId), 'no id is given twice');
      acknowledged.set(versionId, '');
    };
    const results = await together(48, async (index) => {
      if (index % 4 === 1) await blob.delete();
      else if (index % 8 === 2) await commit();
      else await write(`write ${index}`);
    });
    const told = tally(outcomes(results));
    assert.deepEqual(
      Object.keys(told).filter((outcome) => outcome !== 'ok' && outcome !== '404 BlobNotFound'),
      [],
    );
    const found = await items(container);
    assert.deepEqual(
      found.map((item) => item.versionId),
      [...acknowledged.keys()].sort(),
    );
    for (const [versionId, name] of acknowledged) {
      assert.equal(nameIn(await textOf(blob.withVersion(versionId))), name);
    }
    assert.ok(found.filter((item) => item.isCurrentVersion).length <= 1);
  });

  test('metadata that is set by many makes a version each, all over the same content', async () => {
    const container = await freshContainer(versioned);
    const blob = container.getBlockBlobClient('blob');
    await blob.upload('x'.repeat(10_000), 10_000);
    const results = await together(24, (index) => blob.setMetadata({ index: String(index) }));
    assert.deepEqual(tally(outcomes(results)), { ok: 24 });
    const found = await items(container);
    assert.equal(found.length, 25);
    assert.equal(new Set(found.map((item) => item.metadata?.['index'])).size, 25);
    await blob.delete();
    for (const { versionId = '' } of found.slice(1)) await blob.withVersion(versionId).delete();
    assert.equal((await textOf(blob.withVersion(found[0]?.versionId as string))).length, 10_000);
  });

  test('deleted by many at once go once', async () => {
    const container = await freshContainer(versioned);
    const blob = container.getBlockBlobClient('blob');
    const { versionId = '' } = await blob.upload('1', 1);
    await blob.upload('2', 1);
    const results = await together(8, () => blob.withVersion(versionId).delete());
    assert.deepEqual(tally(outcomes(results)), { ok: 1, '404 BlobNotFound': 7 });
    assert.equal(await textOf(blob), '2');
  });
});

describe('soft delete', () => {
  test('no state is lost while the blob is written, deleted and undeleted by many', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    for (let round = 0; round < 3; round++) {
      const container = await freshContainer(soft);
      const blob = container.getBlockBlobClient('blob');
      const acknowledged = ['first'];
      await blob.upload('first', 5);
      const results = await together(32, async (index) => {
        if (index % 4 === 0) await blob.undelete();
        else if (index % 4 === 1) await blob.delete({ deleteSnapshots: 'include' });
        else {
          const body = bodyOf(`write ${index}`, random);
          await blob.upload(body, body.length);
          acknowledged.push(`write ${index}`);
        }
      });
      assert.deepEqual(
        Object.keys(tally(outcomes(results))).filter((told) => told !== 'ok' && told !== '404 BlobNotFound'),
        [],
      );
      await blob.undelete();
      const found = (await texts(container, blob)).map(nameIn);
      assert.deepEqual(found.toSorted(), acknowledged.toSorted(), 'each exactly once');
    }
  });

  test('a blob is either undeleted or made anew, and is not lost either way', async () => {
    for (let round = 0; round < 10; round++) {
      const container = await freshContainer(soft);
      const blob = container.getBlockBlobClient('blob');
      await blob.upload('old', 3);
      await blob.delete();
      const results = await together(8, async (index) => {
        if (index % 2 === 0) await blob.undelete();
        else await blob.upload(`new ${index}`, 5, { conditions: { ifNoneMatch: '*' } });
      });
      const told = outcomes(results);
      const madeCount = told.filter((outcome, index) => index % 2 === 1 && outcome === 'ok').length;
      assert.ok(madeCount <= 1);
      for (const [index, outcome] of told.entries()) {
        assert.ok(outcome === 'ok' || (index % 2 === 1 && outcome === '409 BlobAlreadyExists'), outcome);
      }
      const found = await texts(container, blob);
      if (madeCount === 0) assert.deepEqual(found, ['old']);
      else assert.deepEqual([found.length, found[0], found[1]?.slice(0, 3)], [2, 'old', 'new']);
    }
  });
});

describe('containers', () => {
  test('of those that restore and create one of the name, one succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const container = await freshContainer(plain);
      const { containerName: name } = container;
      for (const text of ['a', 'b']) {
        await container.createIfNotExists();
        await container.uploadBlockBlob('blob', text, 1);
        await container.delete();
      }
      const versions: string[] = [];
      for await (const item of plain.listContainers({ includeDeleted: true, prefix: name })) {
        versions.push(item.version as string);
      }
      assert.equal(versions.length, 2);
      const results = await together(9, async (index) => {
        if (index % 3 === 2) await container.create();
        else await plain.undeleteContainer(name, versions[index % 3] as string);
      });
      const told = outcomes(results);
      assert.deepEqual(tally(told), { ok: 1, '409 ContainerAlreadyExists': 8 });
      const winner = told.indexOf('ok') % 3;
      const left: (boolean | undefined)[] = [];
      for await (const item of plain.listContainers({ includeDeleted: true, prefix: name })) left.push(item.deleted);
      assert.deepEqual(left, [undefined, ...(winner === 2 ? [true, true] : [true])]);
      const text = winner === 2 ? null : ['a', 'b'][winner];
      const blob = container.getBlobClient('blob');
      assert.equal((await blob.exists()) ? await textOf(blob) : null, text);
      await container.deleteIfExists();
    }
  });

  test('deleted and restored by many keep every blob that was written', async () => {
    const container = await freshContainer(plain);
    const { containerName: name } = container;
    const written: string[] = [];
    const version = async (): Promise<string | undefined> => {
      for await (const item of plain.listContainers({ includeDeleted: true, prefix: name })) {
        if (item.deleted === true) return item.version;
      }
      return undefined;
    };
    await together(24, async (index) => {
      if (index % 4 === 0) await container.delete();
      else if (index % 4 === 1) {
        const found = await version();
        if (found !== undefined) await plain.undeleteContainer(name, found);
      } else {
        await container.uploadBlockBlob(`blob ${index}`, 'x', 1);
        written.push(`blob ${index}`);
      }
    });
    const left = await version();
    if (left !== undefined) await plain.undeleteContainer(name, left);
    const found: string[] = [];
    for await (const item of container.listBlobsFlat()) found.push(item.name);
    assert.deepEqual(found, written.toSorted());
  });
});

test('a container is deleted, or a legal hold is set in it: never both', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const seen = { deleted: 0, held: 0 };
  // Until both have been the first, however quick either is here.
  for (let round = 0; round < 200 && (round < 20 || seen.deleted === 0 || seen.held === 0); round++) {
    const within = await freshContainer(plain);
    const blobs = Array.from({ length: 4 }, (_, index) => within.getBlockBlobClient(`blob-${index}`));
    for (const blob of blobs) await blob.upload('x', 1);
    const holdLateTurns = random.below(20);
    const deleteLateTurns = random.below(60);
    const results = await together(5, async (index) => {
      await turns(index === 4 ? deleteLateTurns : holdLateTurns);
      return index === 4 ? within.delete() : (blobs[index] as BlockBlobClient).setLegalHold(true);
    });
    const wasDeleted = results[4]?.status === 'fulfilled';
    seen[wasDeleted ? 'deleted' : 'held']++;
    assert.equal(await within.exists(), !wasDeleted);
    if (wasDeleted) assert.ok(results.slice(0, 4).every((hold) => hold.status === 'rejected'));
    else assert.deepEqual(tally(outcomes(results)), { ok: 4, '409 ContainerHasLegalHold': 1 });
  }
  t.diagnostic(JSON.stringify(seen));
  assert.ok(seen.deleted > 0 && seen.held > 0, 'one of the two was always first');
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
