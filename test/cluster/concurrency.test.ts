// engines: postgres
// tier: system
/**
 * Three nodes over one database, clients spread over them: whatever the contract promises of one server holds of all
 * of them together. Content is in the object store, so that a body passes from one node to another through it.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { BlobSASPermissions, type BlockBlobClient, type ContainerClient } from '@azure/storage-blob';
import { Database } from '../../src/postgres/database.ts';
import { blobService, freshContainer, outcomes, refusal } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { tally, together } from '../harness/parallel.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';

const MIB = 1024 * 1024;
const NODE_COUNT = 3;

const skip = missingTool('postgres') || missingTool('radosgw');

const put = (blob: BlockBlobClient, text: string, conditions = {}) =>
  blob.upload(text, Buffer.byteLength(text), { conditions });
const textOf = async (blob: BlockBlobClient): Promise<string> => (await blob.downloadToBuffer()).toString();
const idOf = (index: number): string => Buffer.from(`block-${index}`).toString('base64');

describe('three nodes', { skip }, () => {
  let cluster: Cluster;
  /** The same container by way of each node. */
  let containers: ContainerClient[];

  before(async () => {
    cluster = await startCluster({ nodeCount: NODE_COUNT, content: 's3' });
    const services = cluster.nodes.map((node) => blobService(node));
    const { containerName } = await freshContainer(services[0] as (typeof services)[0]);
    containers = services.map((service) => service.getContainerClient(containerName));
  });
  after(() => cluster?.stop());

  const blobVia = (index: number, name: string): BlockBlobClient =>
    (containers[index % NODE_COUNT] as ContainerClient).getBlockBlobClient(name);
  test('of 48 creators on three nodes exactly one succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      const name = randomUUID();
      const results = await together(48, (index) => put(blobVia(index, name), `${index}`, { ifNoneMatch: '*' }));
      assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 BlobAlreadyExists': 47 });
      const winner = results.findIndex((result) => result.status === 'fulfilled');
      for (let node = 0; node < NODE_COUNT; node++) assert.equal(await textOf(blobVia(node, name)), `${winner}`);
    }
  });

  test('of 48 writers with one ETag exactly one succeeds, whichever node it asked', async () => {
    const name = randomUUID();
    let { etag } = await put(blobVia(0, name), 'first');
    const winners = new Set<number>();
    for (let round = 0; round < 10; round++) {
      const ifMatch = etag as string;
      const results = await together(48, (index) => put(blobVia(index + round, name), `${index}`, { ifMatch }));
      assert.deepEqual(tally(outcomes(results)), { ok: 1, '412 ConditionNotMet': 47 });
      const winner = results.findIndex((result) => result.status === 'fulfilled');
      winners.add((winner + round) % NODE_COUNT);
      const properties = await blobVia(round, name).getProperties();
      assert.notEqual(properties.etag, etag);
      etag = properties.etag;
      assert.equal(await textOf(blobVia(round + 1, name)), `${winner}`);
    }
  });

  test('a counter kept by Get and Put with If-Match from all nodes ends exact', async () => {
    const name = randomUUID();
    await put(blobVia(0, name), '0');
    const worker = async (index: number): Promise<void> => {
      for (let done = 0; done < 10; ) {
        const read = await blobVia(index, name).download();
        const chunks: Buffer[] = [];
        for await (const chunk of read.readableStreamBody as NodeJS.ReadableStream) chunks.push(chunk as Buffer);
        const next = Number(Buffer.concat(chunks).toString()) + 1;
        const [result] = await Promise.allSettled([
          put(blobVia(index + done, name), String(next), { ifMatch: read.etag as string }),
        ]);
        if (result?.status === 'fulfilled') done++;
        else assert.deepEqual(outcomes([result]), ['412 ConditionNotMet']);
      }
    };
    await Promise.all(Array.from({ length: 9 }, (_, index) => worker(index)));
    assert.equal(await textOf(blobVia(0, name)), '90');
  });

  test('one of many gets the lease, every node honours it, and any node gives it back', async () => {
    const name = randomUUID();
    await put(blobVia(0, name), 'leased');
    for (let round = 0; round < 5; round++) {
      const ids = Array.from({ length: 24 }, () => randomUUID());
      const results = await together(24, (index) =>
        blobVia(index, name)
          .getBlobLeaseClient(ids[index] as string)
          .acquireLease(60),
      );
      assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 LeaseAlreadyPresent': 23 });
      const leaseId = ids[results.findIndex((result) => result.status === 'fulfilled')] as string;
      for (let node = 0; node < NODE_COUNT; node++) {
        assert.equal(await refusal(put(blobVia(node, name), 'without')), '412 LeaseIdMissing');
        await put(blobVia(node, name), `with, via ${node}`, { leaseId });
      }
      await blobVia(round, name).getBlobLeaseClient(leaseId).releaseLease();
      await put(blobVia(round + 1, name), 'free again');
    }
  });

  test('what was written through one node is read, listed and deleted through every other at once', async () => {
    for (let round = 0; round < 12; round++) {
      const name = `seen/${randomUUID()}`;
      const body = randomBytes(round % 2 === 0 ? 100 : 300_000);
      const { etag } = await blobVia(round, name).uploadData(body);
      for (let node = 0; node < NODE_COUNT; node++) {
        const blob = blobVia(node, name);
        assert.equal((await blob.getProperties()).etag, etag);
        assert.ok((await blob.downloadToBuffer()).equals(body));
        const names: string[] = [];
        for await (const item of (containers[node] as ContainerClient).listBlobsFlat({ prefix: 'seen/' })) {
          names.push(item.name);
        }
        assert.deepEqual(names, [name]);
      }
      await blobVia(round + 1, name).delete();
      for (let node = 0; node < NODE_COUNT; node++) assert.equal(await blobVia(node, name).exists(), false);
    }
  });

  test('C8 what Set Container ACL permits or forbids through one node holds on every other at once', async () => {
    const blob = blobVia(0, randomUUID());
    await put(blob, 'public');
    const read = async (node: number): Promise<number> =>
      (await fetch(blobVia(node, blob.name).url, { headers: { 'x-ms-version': '2024-11-04' } })).status;
    for (let round = 0; round < 3; round++) {
      await (containers[round % NODE_COUNT] as ContainerClient).setAccessPolicy('blob');
      for (let node = 0; node < NODE_COUNT; node++) assert.equal(await read(node), 200);
      await (containers[(round + 1) % NODE_COUNT] as ContainerClient).setAccessPolicy();
      for (let node = 0; node < NODE_COUNT; node++) assert.equal(await read(node), 401);
    }
  });

  test('appenders on three nodes lose no block and never interleave', async () => {
    const name = randomUUID();
    const appendVia = (index: number) => (containers[index % NODE_COUNT] as ContainerClient).getAppendBlobClient(name);
    await appendVia(0).create();
    const blocks = Array.from({ length: 48 }, (_, index) => `${String(index).padStart(2, '0')}:${'x'.repeat(40)};`);
    const results = await together(48, (index) => {
      const block = blocks[index] as string;
      return appendVia(index).appendBlock(block, block.length);
    });
    assert.deepEqual(tally(outcomes(results)), { ok: 48 });
    const text = (await appendVia(1).downloadToBuffer()).toString();
    assert.deepEqual(text.match(/\d\d:x{40};/g)?.sort(), blocks);
    const positioned = await together(24, (index) =>
      appendVia(index).appendBlock('y', 1, { conditions: { appendPosition: text.length } }),
    );
    assert.deepEqual(tally(outcomes(positioned)), { ok: 1, '412 AppendPositionConditionNotMet': 23 });
  });

  test('pages written through three nodes are all there, and a snapshot through any is one state', async () => {
    const name = randomUUID();
    const pagesVia = (index: number) => (containers[index % NODE_COUNT] as ContainerClient).getPageBlobClient(name);
    await pagesVia(0).create(MIB);
    const snapshots: string[] = [];
    const results = await together(32, async (index) => {
      if (index % 4 === 3) {
        const { snapshot = '' } = await pagesVia(index).createSnapshot();
        snapshots.push(snapshot);
        return;
      }
      await pagesVia(index).uploadPages(Buffer.alloc(64 * 1024, 65 + index), 0, 64 * 1024);
      await pagesVia(index + 1).uploadPages(Buffer.alloc(512, 65 + index), MIB / 2 + index * 512, 512);
    });
    assert.deepEqual(tally(outcomes(results)), { ok: 32 });
    const bytes = await pagesVia(2).downloadToBuffer();
    for (let index = 0; index < 32; index++) {
      const want = index % 4 === 3 ? 0 : 65 + index;
      assert.ok(Buffer.alloc(512, want).equals(bytes.subarray(MIB / 2 + index * 512, MIB / 2 + index * 512 + 512)));
    }
    assert.equal(new Set(snapshots).size, 8);
    for (const [index, snapshot] of snapshots.entries()) {
      const state = await pagesVia(index)
        .withSnapshot(snapshot)
        .downloadToBuffer(0, 64 * 1024);
      assert.ok(Buffer.alloc(64 * 1024, state[0]).equals(state));
    }
  });

  test('blocks staged through three nodes are committed through any of them', async () => {
    const name = randomUUID();
    const blocks = Array.from({ length: 9 }, () => randomBytes(200_000));
    await Promise.all(blocks.map((block, index) => blobVia(index, name).stageBlock(idOf(index), block, block.length)));
    await blobVia(1, name).commitBlockList(blocks.map((_, index) => idOf(index)));
    assert.ok((await blobVia(2, name).downloadToBuffer()).equals(Buffer.concat(blocks)));
  });

  test('no two ETags of one name are the same, though it is deleted and created again on other nodes', async () => {
    const name = randomUUID();
    const seen = new Set<string>();
    for (let round = 0; round < 40; round++) {
      const { etag } = await put(blobVia(round, name), 'x');
      assert.ok(!seen.has(etag as string), `${etag} again`);
      seen.add(etag as string);
      await blobVia(round + 1, name).delete();
    }
  });

  test('a reader that has begun on one node finishes though others overwrite, delete and sweep', async () => {
    const name = randomUUID();
    const body = randomBytes(24 * MIB);
    const blob = blobVia(0, name);
    await blob.uploadData(body, { blockSize: 4 * MIB, maxSingleShotSize: 4 * MIB });
    const responses: IncomingMessage[] = [];
    for (let node = 0; node < NODE_COUNT; node++) responses.push(await openSlowly(blobVia(node, name)));
    await put(blobVia(1, name), 'overwritten');
    await blobVia(2, name).delete();
    const other = randomUUID();
    await blobVia(0, other).uploadData(randomBytes(MIB));
    await blobVia(1, other).delete();
    // What nobody reads is swept; what is being read is not.
    const database = new Database({ url: cluster.databaseUrl });
    await until({ what: 'only what is being read is left to sweep', limitSeconds: 60 }, async () => {
      const [row] = await database.query({
        text: `SELECT count(*) FROM larimar_records WHERE head >= 'G'::bytea AND head < 'H'::bytea`,
      });
      return Number(row?.[0]) <= 1;
    });
    const want = createHash('sha256').update(body).digest('hex');
    for (const response of responses) {
      const hash = createHash('sha256');
      for await (const chunk of response) hash.update(chunk as Buffer);
      assert.equal(hash.digest('hex'), want);
    }
    await until({ what: 'everything is swept', limitSeconds: 60 }, async () => {
      const [row] = await database.query({
        text: `SELECT count(*) FROM larimar_records WHERE head >= 'G'::bytea AND head < 'H'::bytea`,
      });
      return Number(row?.[0]) === 0;
    });
    await database.close();
  });
});

/** A download whose body waits to be read. */
async function openSlowly(blob: BlockBlobClient): Promise<IncomingMessage> {
  const url = await blob.generateSasUrl({
    permissions: BlobSASPermissions.parse('r'),
    expiresOn: new Date(Date.now() + 600_000),
  });
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent: false }, (response) => {
      response.pause();
      resolve(response);
    })
      .on('error', reject)
      .end();
  });
}
