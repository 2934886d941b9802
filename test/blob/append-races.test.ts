/**
 * Races over one append blob, and over the tags of one blob: real parallel requests against a server process. Appends
 * follow each other whole, whatever else goes on. LARIMAR_SEED replays a round's choices.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AppendBlobClient, BlobClient, ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer, outcome, outcomes } from '../harness/clients.ts';
import { tally, together } from '../harness/parallel.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';

const server = await startServerProcess();
after(() => server.stop());
const service = blobService(server);
const random = new Random();
const KIB = 1024;

type Appended = Awaited<ReturnType<AppendBlobClient['appendBlock']>>;

const append = (blob: AppendBlobClient, block: Buffer, appendPosition?: number): Promise<Appended> =>
  blob.appendBlock(block, block.length, appendPosition === undefined ? {} : { conditions: { appendPosition } });

async function freshBlob(container?: ContainerClient): Promise<AppendBlobClient> {
  const blob = (container ?? (await freshContainer(service))).getAppendBlobClient('log');
  await blob.create();
  return blob;
}

/** A block that says whose it is from its first byte to its last. Some are long: they go to the content store. */
const blockOf = (writer: number, number: number): Buffer =>
  Buffer.alloc(random.chance(0.1) ? 9 * KIB + random.below(9 * KIB) : 1 + random.below(100), `<${writer}.${number}>`);

function values<T>(results: readonly PromiseSettledResult<T>[]): T[] {
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

interface Placed {
  readonly offsetBytes: number;
  readonly block: Buffer;
  readonly blockCount: number;
}

const placed = (block: Buffer, { blobAppendOffset, blobCommittedBlockCount }: Appended): Placed => ({
  offsetBytes: Number(blobAppendOffset),
  block,
  blockCount: blobCommittedBlockCount as number,
});

/** The blob that these appends make, if they stand one behind the other without a gap. */
function tiled(appends: readonly Placed[]): Buffer {
  const inOrder = appends.toSorted((a, b) => a.offsetBytes - b.offsetBytes);
  let endBytes = 0;
  for (const [index, { offsetBytes, block, blockCount }] of inOrder.entries()) {
    assert.equal(offsetBytes, endBytes, 'each block begins where the one before ends');
    assert.equal(blockCount, index + 1, 'each block knows how many there are');
    endBytes += block.length;
  }
  return Buffer.concat(inOrder.map(({ block }) => block));
}

/** Where each block ends, in bytes. */
function endsOf(appends: readonly Placed[]): Set<number> {
  return new Set([0, ...appends.map(({ offsetBytes, block }) => offsetBytes + block.length)]);
}

test('of 20 appenders at one position exactly one succeeds', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const blob = await freshBlob();
  let expected = Buffer.alloc(0);
  for (let round = 0; round < 10; round++) {
    const blocks = Array.from({ length: 20 }, (_, writer) => blockOf(writer, round));
    const results = await together(20, (writer) => append(blob, blocks[writer] as Buffer, expected.length));
    assert.deepEqual(tally(outcomes(results)), { ok: 1, '412 AppendPositionConditionNotMet': 19 });
    const winner = results.findIndex(({ status }) => status === 'fulfilled');
    expected = Buffer.concat([expected, blocks[winner] as Buffer]);
    assert.ok((await blob.downloadToBuffer()).equals(expected), 'the winner’s block, and no other');
  }
});

test('of 32 appenders none loses a block, and no two blocks interleave', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const blob = await freshBlob();
  const results = await together(32, async (writer) => {
    const own: Placed[] = [];
    for (let number = 0; number < 10; number++) {
      const block = blockOf(writer, number);
      own.push(placed(block, await append(blob, block)));
    }
    return own;
  });
  const appends = values(results);
  for (const own of appends) {
    const offsets = own.map(({ offsetBytes }) => offsetBytes);
    assert.deepEqual(
      offsets,
      offsets.toSorted((a, b) => a - b),
      'the blocks of one writer stand in the order it sent them',
    );
  }
  assert.ok((await blob.downloadToBuffer()).equals(tiled(appends.flat())));
  assert.equal((await blob.getProperties()).blobCommittedBlockCount, 320);
});

test('appenders that retry at the position they see all get their blocks in, once each', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const blob = await freshBlob();
  const results = await together(8, async (writer) => {
    const block = Buffer.from(`<${writer}>`);
    for (;;) {
      const { contentLength = 0 } = await blob.getProperties();
      const result = await outcome(append(blob, block, contentLength));
      if (result === 'ok') return;
      assert.equal(result, '412 AppendPositionConditionNotMet');
    }
  });
  values(results);
  const text = (await blob.downloadToBuffer()).toString();
  assert.deepEqual(
    text.match(/<\d>/g)?.toSorted(),
    Array.from({ length: 8 }, (_, writer) => `<${writer}>`),
  );
  assert.equal(text.length, 8 * 3);
});

test('every snapshot and every read amid appends is a prefix of whole blocks', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const blob = await freshBlob();
  const appends: Placed[] = [];
  const seen: Buffer[] = [];
  const snapshots: { readonly at: BlobClient; readonly bytes: Buffer }[] = [];
  const writers = 4;
  const results = await together(writers + 2, async (index) => {
    for (let number = 0; number < 15; number++) {
      if (index < writers) {
        const block = blockOf(index, number);
        appends.push(placed(block, await append(blob, block)));
      } else if (index === writers) {
        const { snapshot = '' } = await blob.createSnapshot();
        const at = blob.withSnapshot(snapshot);
        snapshots.push({ at, bytes: await at.downloadToBuffer() });
      } else {
        const { readableStreamBody, contentLength } = await blob.download();
        const chunks: Buffer[] = [];
        for await (const chunk of readableStreamBody as NodeJS.ReadableStream) chunks.push(chunk as Buffer);
        assert.equal(Buffer.concat(chunks).length, contentLength);
        seen.push(Buffer.concat(chunks));
      }
    }
  });
  values(results);
  const whole = tiled(appends);
  const ends = endsOf(appends);
  for (const read of [...seen, ...snapshots.map(({ bytes }) => bytes)]) {
    assert.ok(ends.has(read.length), `${read.length} bytes is between two blocks`);
    assert.ok(whole.subarray(0, read.length).equals(read), 'the same bytes as in the blob at last');
  }
  for (const { at, bytes } of snapshots) assert.ok((await at.downloadToBuffer()).equals(bytes), 'for ever the same');
});

test('nothing is appended after the seal', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  for (let round = 0; round < 8; round++) {
    const blob = container.getAppendBlobClient(`log-${round}`);
    await blob.create();
    const appends: Placed[] = [];
    const turn = random.below(8);
    let sealedEtag = '';
    const results = await together(9, async (index) => {
      if (index === turn) {
        sealedEtag = (await blob.seal()).etag as string;
        return 'sealed';
      }
      const block = blockOf(index, round);
      const appending = append(blob, block);
      const result = await outcome(appending);
      if (result === 'ok') appends.push(placed(block, await appending));
      return result;
    });
    const counts = tally(values(results));
    assert.equal((counts['ok'] ?? 0) + (counts['409 BlobIsSealed'] ?? 0), 8);
    const found = await blob.getProperties();
    assert.equal(found.etag, sealedEtag, 'the seal was the last change');
    assert.ok((await blob.downloadToBuffer()).equals(tiled(appends)));
  }
});

test('whoever writes last, the index finds a blob by the tags that it has, and by no others', async (t) => {
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const container = await freshContainer(service);
  const blob = container.getBlockBlobClient('tagged');
  await blob.upload('x', 1, { tags: { round: 'first' } });
  const given = Array.from({ length: 12 }, (_, index) => `value-${index}`);
  for (let round = 0; round < 8; round++) {
    const kinds = given.map(() => random.pick(['tags', 'overwrite', 'delete'] as const));
    const results = await together(given.length, async (index) => {
      const tags = { writer: given[index] as string, round: String(round) };
      if (kinds[index] === 'tags') return outcome(blob.setTags(tags));
      if (kinds[index] === 'overwrite') return outcome(blob.upload('x', 1, { tags }));
      return outcome(blob.delete());
    });
    for (const result of values(results)) assert.match(result, /^(ok|404 BlobNotFound)$/);
    const tags = (await blob.exists()) ? (await blob.getTags()).tags : {};
    for (const value of given) {
      const found: string[] = [];
      for await (const { name } of container.findBlobsByTags(`writer = '${value}'`)) found.push(name);
      assert.deepEqual(found, tags['writer'] === value ? ['tagged'] : [], `round ${round}, ${value}`);
    }
  }
});
