import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { refusal } from '../../../test/harness/file-store.ts';
import { Random } from '../../../test/harness/random.ts';
import { gather, TestStore } from '../../../test/harness/store.ts';
import { SourceLengthMismatch } from '../../content/content.ts';
import { INLINE_BYTES_MAX, type StagedExtent } from '../extents/extents.ts';
import type { Body } from '../extents/take-body.ts';
import { splitPages } from './file-bytes.ts';
import { takeFew, takeMany, takeRange } from './take-range.ts';

const md5Of = (bytes: Uint8Array): Buffer => createHash('md5').update(bytes).digest();

/** A body that comes in pieces of these lengths, over and over. */
function inPieces(
  bytes: Uint8Array,
  pieceLengths: readonly number[],
  { md5 = null }: { md5?: Buffer | null } = {},
): Body {
  async function* stream(): AsyncGenerator<Uint8Array> {
    for (let at = 0, index = 0; at < bytes.length; index++) {
      const length = pieceLengths[index % pieceLengths.length] as number;
      yield bytes.subarray(at, at + length);
      at += length;
    }
  }
  return { stream, whole: async () => bytes, lengthBytes: bytes.length, md5, crc64: null };
}

async function bytesOf({ content }: TestStore, extent: StagedExtent | null): Promise<Buffer> {
  if (extent === null) return Buffer.alloc(0);
  const { body, lengthBytes } = extent;
  if ('bytes' in body) return Buffer.from(body.bytes);
  return gather(content.read(body.placement, { offsetBytes: 0, lengthBytes }));
}

const strays = async ({ content }: TestStore): Promise<number> =>
  (await content.strays((async function* () {})())).extentCount;

const LENGTHS = [1, 511, 512, 513, 1_500, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, 20_000, 300_001];

describe('a body is taken apart where pages begin and end', () => {
  for (const pieceLengths of [[1 << 20], [1], [511, 2], [512], [65_536, 1], [7, 0, 4_099]]) {
    test(`in pieces of ${pieceLengths.join(', ')}`, async () => {
      const store = await TestStore.open();
      const random = new Random(1);
      for (const lengthBytes of LENGTHS.filter((length) => length < 100_000 || pieceLengths[0] !== 1)) {
        for (const offsetBytes of [0, 1, 511, 512, 700]) {
          const bytes = random.bytes(lengthBytes);
          const taken = await takeRange(store.storage, offsetBytes, inPieces(bytes, pieceLengths));
          const { head, middle, tail } = taken.bytes;
          const { headBytes, middleBytes, tailBytes } = splitPages({ offsetBytes, lengthBytes });
          assert.deepEqual([head.length, middle?.lengthBytes ?? 0, tail.length], [headBytes, middleBytes, tailBytes]);
          const all = Buffer.concat([head, await bytesOf(store, middle), tail]);
          assert.ok(all.equals(bytes), `${lengthBytes} at ${offsetBytes}`);
          assert.deepEqual(taken.md5, md5Of(bytes));
        }
      }
    });
  }
});

test('bytes that are here already are taken apart in the same way', async () => {
  const store = await TestStore.open();
  const random = new Random(1);
  for (const lengthBytes of LENGTHS) {
    for (const offsetBytes of [0, 1, 511, 512, 700]) {
      const bytes = random.bytes(lengthBytes);
      const take = lengthBytes <= INLINE_BYTES_MAX ? takeFew : takeMany;
      const { head, middle, tail } = await take(store.storage, offsetBytes, bytes);
      const { headBytes, middleBytes, tailBytes } = splitPages({ offsetBytes, lengthBytes });
      assert.deepEqual([head.length, middle?.lengthBytes ?? 0, tail.length], [headBytes, middleBytes, tailBytes]);
      const all = Buffer.concat([head, await bytesOf(store, middle), tail]);
      assert.ok(all.equals(bytes), `${lengthBytes} at ${offsetBytes}`);
    }
  }
});

for (const lengthBytes of [100, 20_000]) {
  describe(`of ${lengthBytes} bytes`, () => {
    const bytes = Buffer.alloc(lengthBytes, 'x');

    test('a hash that is right is accepted, one that is not is refused and leaves nothing', async () => {
      const store = await TestStore.open();
      const { md5 } = await takeRange(store.storage, 3, inPieces(bytes, [999], { md5: md5Of(bytes) }));
      assert.deepEqual(md5, md5Of(bytes));
      const before = await strays(store);
      const wrong = inPieces(bytes, [999], { md5: md5Of(Buffer.from('other')) });
      assert.equal(await refusal(takeRange(store.storage, 3, wrong)), 'Md5Mismatch');
      assert.equal(await strays(store), before);
    });

    test('a body that is shorter or longer than it said is refused and leaves nothing', async () => {
      const store = await TestStore.open();
      for (const saidBytes of [lengthBytes - 1, lengthBytes + 1]) {
        const body = { ...inPieces(bytes, [999]), lengthBytes: saidBytes };
        await assert.rejects(takeRange(store.storage, 0, body), SourceLengthMismatch, String(saidBytes));
      }
      assert.equal(await strays(store), 0);
    });
  });
}
