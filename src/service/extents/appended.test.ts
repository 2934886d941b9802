import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { IdSource } from '../../base/ids.ts';
import type { ByteRange } from '../../content/content.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { transact } from '../../engine/transact.ts';
import type { AppendedContent } from '../records/blob-record.ts';
import { encodeJson, UnreadableRecord } from '../records/codec.ts';
import { appendedBlockKey } from '../records/keys.ts';
import type { LayoutPiece } from '../records/layout.ts';
import { freshSnapshots } from '../records/scan.ts';
import { appendedPieces } from './appended.ts';

/** Lists of blocks, and the bytes that each extent holds. */
class Blocks {
  readonly engine = openMemoryEngine();
  readonly #ids = new IdSource();
  readonly #bytes = new Map<string, Buffer>();

  newList(): string {
    return this.#ids.next();
  }

  async add(listId: string, startBytes: number, bytes: Buffer): Promise<void> {
    const extent = { id: this.#ids.next(), inline: true };
    this.#bytes.set(extent.id, bytes);
    await transact(this.engine, async (tx) => {
      tx.put(appendedBlockKey(listId, startBytes), encodeJson({ extent, lengthBytes: bytes.length }));
    });
  }

  async read(content: AppendedContent, range: ByteRange): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const window of appendedPieces(freshSnapshots(this.engine), content, range)) {
      for (const piece of window) pieces.push(this.#bytesOf(piece));
    }
    return Buffer.concat(pieces);
  }

  #bytesOf({ extent, offsetBytes, lengthBytes }: LayoutPiece): Buffer {
    const bytes = this.#bytes.get(extent.id) as Buffer;
    assert.ok(lengthBytes > 0 && offsetBytes + lengthBytes <= bytes.length, 'a piece lies within its extent');
    return bytes.subarray(offsetBytes, offsetBytes + lengthBytes);
  }
}

/** Lists that follow each other. Some were appended to by another, further than this content goes. */
async function someContent(random: Random, blocks: Blocks): Promise<{ content: AppendedContent; whole: Buffer }> {
  const lists: { id: string; endBytes: number }[] = [];
  let whole = Buffer.alloc(0);
  let blockCount = 0;
  for (let list = 0; list < 1 + random.below(4); list++) {
    const id = blocks.newList();
    for (let block = 0; block < 1 + random.below(random.chance(0.3) ? 150 : 5); block++) {
      const bytes = random.bytes(1 + random.below(9));
      await blocks.add(id, whole.length, bytes);
      whole = Buffer.concat([whole, bytes]);
      blockCount++;
    }
    lists.push({ id, endBytes: whole.length });
    if (random.chance(0.5)) await blocks.add(id, whole.length, Buffer.from('beyond the end of this content'));
  }
  return { content: { kind: 'appended', lists, blockCount }, whole };
}

test('any range is what the blocks say, over any lists', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 40; round++) {
    const blocks = new Blocks();
    const { content, whole } = await someContent(random, blocks);
    const read = (offsetBytes: number, lengthBytes: number) => blocks.read(content, { offsetBytes, lengthBytes });
    assert.ok((await read(0, whole.length)).equals(whole), `all of it, round ${round}`);
    for (let trial = 0; trial < 20; trial++) {
      const from = random.below(whole.length);
      const count = random.below(whole.length - from + 1);
      const expected = whole.subarray(from, from + count);
      assert.ok((await read(from, count)).equals(expected), `${count} bytes from ${from} on, round ${round}`);
    }
  }
});

test('a range is read in windows of 64 rows, none of them twice', async () => {
  const blocks = new Blocks();
  const id = blocks.newList();
  for (let block = 0; block < 130; block++) await blocks.add(id, block, Buffer.from('x'));
  const content: AppendedContent = { kind: 'appended', lists: [{ id, endBytes: 130 }], blockCount: 130 };
  const counts: number[] = [];
  const range = { offsetBytes: 1, lengthBytes: 128 };
  for await (const window of appendedPieces(freshSnapshots(blocks.engine), content, range)) counts.push(window.length);
  assert.deepEqual(counts, [64, 64]);
});

test('a list without the block that a range begins in is broken, and not empty', async () => {
  const blocks = new Blocks();
  const content: AppendedContent = {
    kind: 'appended',
    lists: [{ id: blocks.newList(), endBytes: 3 }],
    blockCount: 1,
  };
  await assert.rejects(blocks.read(content, { offsetBytes: 0, lengthBytes: 3 }), UnreadableRecord);
});
