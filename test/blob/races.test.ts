/**
 * Races that the contract decides: real parallel requests, each on a connection of its own, against a server process
 * with its data on disk. Every round draws its order from a seed (LARIMAR_SEED replays it).
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { BlobSASPermissions, type BlockBlobClient, type ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer, outcome, outcomes, refusalOf } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';

const server = await startServerProcess();
after(() => server.stop());
const service = blobService(server);
const random = new Random();
const MIB = 1024 * 1024;

/** Lets a few turns of the event loop pass, so that the rounds of a race set off in ever other orders. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const put = (blob: BlockBlobClient, text: string, conditions = {}): ReturnType<BlockBlobClient['upload']> =>
  blob.upload(text, Buffer.byteLength(text), { conditions });

const textOf = async (blob: BlockBlobClient): Promise<string> => (await blob.downloadToBuffer()).toString();

/** The one index that succeeded. */
function winnerOf(results: readonly PromiseSettledResult<unknown>[]): number {
  const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []));
  assert.equal(winners.length, 1, `one winner, not ${winners.length}`);
  return winners[0] as number;
}

const blockId = (text: string): string => Buffer.from(text.padEnd(8)).toString('base64');

test('of 64 creators with If-None-Match * exactly one succeeds, by Put Blob or by Put Block List', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  for (let round = 0; round < 10; round++) {
    const blob = container.getBlockBlobClient(`round-${round}`);
    const byList = Array.from({ length: 64 }, () => random.chance(0.3));
    const results = await together(64, async (index) => {
      const conditions = { ifNoneMatch: '*' };
      return byList[index] ? blob.commitBlockList([], { conditions }) : put(blob, `creator ${index}`, conditions);
    });
    assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 BlobAlreadyExists': 63 });
    const winner = winnerOf(results);
    assert.equal(await textOf(blob), byList[winner] ? '' : `creator ${winner}`);
  }
});

test('of 64 writers with one ETag exactly one succeeds', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  const blob = container.getBlockBlobClient('blob');
  let { etag } = await put(blob, 'start');
  for (let round = 0; round < 10; round++) {
    const byMetadata = Array.from({ length: 64 }, () => random.chance(0.3));
    const conditions = { ifMatch: etag as string };
    const results = await together<{ etag?: string | undefined }>(64, async (index) =>
      byMetadata[index]
        ? blob.setMetadata({ writer: String(index) }, { conditions })
        : put(blob, `writer ${index}`, conditions),
    );
    assert.deepEqual(tally(outcomes(results)), { ok: 1, '412 ConditionNotMet': 63 });
    const winner = winnerOf(results);
    if (byMetadata[winner]) assert.equal((await blob.getProperties()).metadata?.['writer'], String(winner));
    else assert.equal(await textOf(blob), `writer ${winner}`);
    const now = await blob.getProperties();
    const winning = results[winner] as PromiseFulfilledResult<{ etag?: string }>;
    assert.equal(now.etag, winning.value.etag);
    etag = now.etag;
  }
});

test('of 64 acquirers exactly one gets the lease, of a blob and of a container', async () => {
  for (let round = 0; round < 5; round++) {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('blob');
    await put(blob, 'x');
    for (const resource of [blob, container]) {
      const ids = Array.from({ length: 64 }, () => randomUUID());
      const results = await together(64, (index) => resource.getBlobLeaseClient(ids[index]).acquireLease(60));
      assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 LeaseAlreadyPresent': 63 });
      const winner = resource.getBlobLeaseClient(ids[winnerOf(results)]);
      assert.equal(await outcome(winner.renewLease()), 'ok');
    }
  }
});

test('a counter that 16 clients increment by ETag ends exact', async () => {
  const incrementsEach = 10;
  const container = await freshContainer(service);
  await put(container.getBlockBlobClient('counter'), '0');
  let refused = 0;
  const results = await together(16, async () => {
    const counter = blobService(server).getContainerClient(container.containerName).getBlockBlobClient('counter');
    for (let done = 0; done < incrementsEach; ) {
      const read = await counter.download();
      const chunks: Buffer[] = [];
      for await (const chunk of read.readableStreamBody as NodeJS.ReadableStream) chunks.push(chunk as Buffer);
      const next = Number(Buffer.concat(chunks).toString()) + 1;
      const written = await outcome(put(counter, String(next), { ifMatch: read.etag }));
      if (written === 'ok') done++;
      else {
        assert.equal(written, '412 ConditionNotMet');
        refused++;
      }
    }
  });
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  assert.equal(await textOf(container.getBlockBlobClient('counter')), String(16 * incrementsEach));
  assert.ok(refused > 0, 'the clients did meet');
});

interface RacingPut {
  readonly name: string;
  readonly outcome: string;
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}

async function racingPut(container: ContainerClient, name: string): Promise<RacingPut> {
  const sentAtMs = performance.now();
  const result = await outcome(put(container.getBlockBlobClient(name), name));
  return { name, outcome: result, sentAtMs, answeredAtMs: performance.now() };
}

async function namesIn(container: ContainerClient): Promise<string[]> {
  const names = [];
  for await (const item of container.listBlobsFlat({ includeUncommitedBlobs: true })) names.push(item.name);
  return names;
}

test('after Delete Container nothing of it can be read, and an acknowledged put belonged to it before', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 15; round++) {
    const container = await freshContainer(service);
    const puts: RacingPut[] = [];
    const deleteAfterTurns = random.below(40);
    await together(17, async (index) => {
      if (index === 0) {
        await turns(deleteAfterTurns);
        await container.delete();
        return;
      }
      for (let number = 0; number < 6; number++) {
        const done = await racingPut(container, `${index}-${number}`);
        puts.push(done);
        if (done.outcome !== 'ok') break;
      }
    });
    for (const { name, outcome: result } of puts) {
      assert.ok(['ok', '404 ContainerNotFound', '409 ContainerBeingDeleted'].includes(result), `${name}: ${result}`);
      const read = await outcome(container.getBlockBlobClient(name).download());
      assert.equal(read, '404 ContainerNotFound', 'no blob outlives its container');
    }
    await container.create();
    assert.deepEqual(await namesIn(container), [], 'the new container is empty');
  }
});

test('puts beside a delete and a new create land in exactly one of the two containers', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 15; round++) {
    const container = await freshContainer(service);
    const puts: RacingPut[] = [];
    const times = { deleteSentMs: 0, createdMs: 0 };
    const waits = Array.from({ length: 33 }, () => random.below(60));
    await together(33, async (index) => {
      await turns(waits[index] as number);
      if (index > 0) {
        puts.push(await racingPut(container, `blob-${index}`));
        return;
      }
      times.deleteSentMs = performance.now();
      await container.delete();
      await container.create();
      times.createdMs = performance.now();
    });
    const listed = new Set(await namesIn(container));
    for (const { name, outcome: result, sentAtMs, answeredAtMs } of puts) {
      if (result !== 'ok') assert.equal(listed.has(name), false, `${name} was refused (${result}) and yet is there`);
      else if (answeredAtMs < times.deleteSentMs)
        assert.equal(listed.has(name), false, `${name} outlived its container`);
      else if (sentAtMs > times.createdMs) assert.equal(listed.has(name), true, `${name} was acknowledged and is lost`);
      const read = await outcome(container.getBlockBlobClient(name).download());
      assert.equal(read, listed.has(name) ? 'ok' : '404 BlobNotFound');
    }
  }
});

test('Put Block List beside Put Block commits all of its blocks or none', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  const ids = ['a', 'b', 'c'];
  for (let round = 0; round < 20; round++) {
    const blob = container.getBlockBlobClient(`round-${round}`);
    for (const id of ids) await blob.stageBlock(blockId(id), `${id}1`, 2);
    const waits = [random.below(6), random.below(6), random.below(6)];
    const results = await together<unknown>(3, async (index) => {
      await turns(waits[index] as number);
      if (index === 0) return blob.commitBlockList(ids.map(blockId));
      return index === 1 ? blob.stageBlock(blockId('a'), 'a2', 2) : blob.stageBlock(blockId('d'), 'd1', 2);
    });
    assert.deepEqual(outcomes(results), ['ok', 'ok', 'ok']);
    const content = await textOf(blob);
    assert.ok(['a1b1c1', 'a2b1c1'].includes(content), content);

    const { committedBlocks = [], uncommittedBlocks = [] } = await blob.getBlockList('all');
    assert.deepEqual(
      committedBlocks.map((block) => block.name),
      ids.map(blockId),
    );
    const left = uncommittedBlocks.map((block) => block.name);
    assert.equal(left.includes(blockId('a')), content.startsWith('a1'), 'the restaged block is in the blob or staged');
    const keepsD = left.includes(blockId('d'));
    const second = await outcome(blob.commitBlockList([blockId('d')]));
    assert.equal(
      second,
      keepsD ? 'ok' : '400 InvalidBlockList',
      'a block staged before the commit was discarded by it',
    );
    assert.equal(await textOf(blob), keepsD ? 'd1' : content);
  }
});

test('of eight block lists over the same staged blocks one commits, and the others find them discarded', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  for (let round = 0; round < 10; round++) {
    const blob = container.getBlockBlobClient(`round-${round}`);
    const ids = ['a', 'b', 'c', 'd'];
    for (const id of ids) await blob.stageBlock(blockId(id), id, 1);
    const orders = Array.from({ length: 8 }, () => ids.toSorted(() => random.next() - 0.5));
    const results = await together(8, async (index) => {
      const elements = (orders[index] as string[]).map((id) => `<Uncommitted>${blockId(id)}</Uncommitted>`);
      const path = `/${container.containerName}/${blob.name}?comp=blocklist`;
      const body = `<?xml version="1.0" encoding="utf-8"?><BlockList>${elements.join('')}</BlockList>`;
      return send(server.url, { method: 'PUT', path, body });
    });
    const answers = results.map((result) => (result.status === 'fulfilled' ? result.value.outcome : 'no answer'));
    assert.deepEqual(tally(answers), { '201': 1, '400 InvalidBlockList': 7 });
    assert.equal(await textOf(blob), (orders[answers.indexOf('201')] as string[]).join(''));
  }
});

test('two block lists over committed and staged blocks: the last one wins, whole', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  for (let round = 0; round < 10; round++) {
    const blob = container.getBlockBlobClient(`round-${round}`);
    for (const id of ['a', 'b', 'c']) await blob.stageBlock(blockId(id), id, 1);
    const lists = [
      ['a', 'b'],
      ['c', 'b', 'a'],
    ];
    const results = await together(2, (index) => blob.commitBlockList((lists[index] as string[]).map(blockId)));
    const [first, second] = outcomes(results);
    const content = await textOf(blob);
    // The list of two discards c: the list of three fails behind it.
    if (second === '400 InvalidBlockList') assert.deepEqual([first, content], ['ok', 'ab']);
    else assert.deepEqual([first, second, content], ['ok', 'ok', 'ab']);
  }
});

test('a lease broken beside writes lets each of them through only on its own side of the break', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  for (let round = 0; round < 25; round++) {
    const blob = container.getBlockBlobClient(`round-${round}`);
    await put(blob, 'start');
    const leaseId = randomUUID();
    const lease = blob.getBlobLeaseClient(leaseId);
    await lease.acquireLease(-1);
    const waits = Array.from({ length: 3 }, () => random.below(6));
    const results = await together<unknown>(3, async (index) => {
      await turns(waits[index] as number);
      if (index === 0) return lease.breakLease(0);
      return index === 1 ? put(blob, 'by the holder', { leaseId }) : put(blob, 'by another');
    });
    const [broken, holder, another] = outcomes(results);
    assert.equal(broken, 'ok');
    assert.match(holder as string, /^ok$|^412 (LeaseLost|LeaseNotPresentWithBlobOperation)$/);
    assert.match(another as string, /^ok$|^412 LeaseIdMissing$/);
    // The holder's write can only come before the break and the other only behind it.
    const last = another === 'ok' ? 'by another' : holder === 'ok' ? 'by the holder' : 'start';
    assert.equal(await textOf(blob), last);
    const late = await outcome(put(blob, 'too late', { leaseId }));
    assert.match(late, /^412 (LeaseLost|LeaseNotPresentWithBlobOperation)$/);
  }
});

test('Delete Blob beside conditional writers: a write is never half there', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  for (let round = 0; round < 20; round++) {
    const blob = container.getBlockBlobClient(`round-${round}`);
    const { etag } = await put(blob, 'start');
    const conditions = { ifMatch: etag as string };
    const results = await together<unknown>(8, async (index) =>
      index % 2 === 0 ? blob.delete({ conditions }) : put(blob, `writer ${index}`, conditions),
    );
    const winner = winnerOf(results);
    const losers = outcomes(results).filter((_, index) => index !== winner);
    // Behind a delete the blob is missing: If-Match then fails, or a second delete finds nothing.
    for (const loser of losers) assert.match(loser, /^412 ConditionNotMet$|^404 BlobNotFound$/);
    const exists = await blob.exists();
    assert.equal(exists, winner % 2 === 1);
    if (exists) assert.equal(await textOf(blob), `writer ${winner}`);
  }
});

const LARGE_BYTES = 256 * MIB;

/** The large blob's content by MiB: cheap to make, and no two MiB alike. */
function largeChunk(base: Buffer, index: number): Buffer {
  const chunk = Buffer.from(base);
  chunk.writeUInt32BE(index, 0);
  return chunk;
}

function openDownload(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest(url, resolve).on('error', reject).end();
  });
}

test('a slow reader of a large blob that is overwritten and deleted meanwhile gets the old version, whole', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  const blob = container.getBlockBlobClient('large');
  const base = random.bytes(MIB);
  const expected = createHash('sha256');
  const blockBytes = 32 * MIB;
  const ids: string[] = [];
  for (let offset = 0; offset < LARGE_BYTES; offset += blockBytes) {
    const chunks = Array.from({ length: blockBytes / MIB }, (_, at) => largeChunk(base, offset / MIB + at));
    const block = Buffer.concat(chunks);
    expected.update(block);
    ids.push(blockId(String(ids.length)));
    await blob.stageBlock(ids.at(-1) as string, block, block.length);
  }
  const { etag } = await blob.commitBlockList(ids);

  const expiresOn = new Date(Date.now() + 3_600_000);
  const url = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse('r'), expiresOn });
  const reader = await openDownload(url);
  assert.equal(reader.statusCode, 200);
  assert.equal(reader.headers.etag, etag);
  reader.pause();

  await put(blob, 'overwritten');
  assert.equal(await textOf(blob), 'overwritten');
  await blob.delete();
  assert.equal(await outcome(blob.download()), '404 BlobNotFound');
  await put(blob, 'a new blob of that name');

  const received = createHash('sha256');
  let receivedBytes = 0;
  for await (const chunk of reader as AsyncIterable<Buffer>) {
    received.update(chunk);
    receivedBytes += chunk.length;
  }
  assert.equal(receivedBytes, LARGE_BYTES);
  assert.equal(received.digest('hex'), expected.digest('hex'));
  assert.equal(await textOf(blob), 'a new blob of that name');
});

test('a reader in ranges that pins the ETag is told when the blob changes under it', async () => {
  const container = await freshContainer(service);
  const blob = container.getBlockBlobClient('blob');
  const { etag } = await put(blob, 'x'.repeat(1000));
  const conditions = { ifMatch: etag as string };
  assert.equal(await outcome(blob.download(0, 500, { conditions })), 'ok');
  await put(blob, 'y'.repeat(1000));
  const { status } = await blob.download(500, 500, { conditions }).then(() => ({ status: 200 }), refusalOf);
  assert.equal(status, 412);
});
