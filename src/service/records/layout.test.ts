import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { UnreadableRecord } from './codec.ts';
import { decodeLayout, encodeLayout, type LayoutBlock, type LayoutPiece, layoutPieces } from './layout.ts';

const BLOCK_BYTES_MAX = 4000 * 1024 * 1024;

const blockIds = fc.uint8Array({ minLength: 1, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const plain = { noNullPrototype: true };
const extents = fc.record(
  {
    id: fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    inline: fc.boolean(),
  },
  plain,
);
const blocksUpTo = (lengthBytesMax: number) =>
  fc.array(
    fc.record({ blockId: blockIds, extent: extents, lengthBytes: fc.integer({ min: 1, max: lengthBytesMax }) }, plain),
    { maxLength: 40 },
  );

/** Byte by byte: which byte of which extent stands at each place of the blob. */
function naivePieces(blocks: readonly LayoutBlock[], range: { offsetBytes: number; lengthBytes: number }): string[] {
  const all = blocks.flatMap(({ extent, lengthBytes }, block) =>
    Array.from({ length: lengthBytes }, (_, at) => `${block} ${extent.id} ${extent.inline} ${at}`),
  );
  return all.slice(range.offsetBytes, range.offsetBytes + range.lengthBytes);
}

/** The pieces byte by byte; blocks are told apart by the order in which the pieces come. */
function bytesOf(pieces: readonly LayoutPiece[], firstBlock: number): string[] {
  return pieces.flatMap(({ extent, offsetBytes, lengthBytes }, index) =>
    Array.from(
      { length: lengthBytes },
      (_, at) => `${firstBlock + index} ${extent.id} ${extent.inline} ${offsetBytes + at}`,
    ),
  );
}

describe('a packed block list', () => {
  test('gives back what was packed', () => {
    fc.assert(
      fc.property(blocksUpTo(BLOCK_BYTES_MAX), (blocks) => {
        assert.deepEqual(decodeLayout(encodeLayout(blocks)), blocks);
      }),
      seeded,
    );
  });

  test('is read alike as a view into a larger buffer', () => {
    const blocks = [{ blockId: 'AA==', extent: { id: '0123456789abcdef01234567', inline: false }, lengthBytes: 7 }];
    const packed = encodeLayout(blocks);
    const around = Buffer.concat([Buffer.from([9, 9]), packed]).subarray(2);
    assert.deepEqual(decodeLayout(around), blocks);
    assert.deepEqual([...layoutPieces(around, { offsetBytes: 0, lengthBytes: 7 })].length, 1);
  });

  test('is walked for a range exactly as byte by byte', () => {
    const ranged = blocksUpTo(9).chain((blocks) => {
      const lengthBytes = blocks.reduce((sum, block) => sum + block.lengthBytes, 0);
      const place = fc.integer({ min: 0, max: lengthBytes });
      return fc.record({ blocks: fc.constant(blocks), one: place, other: place });
    });
    fc.assert(
      fc.property(ranged, ({ blocks, one, other }) => {
        if (one === other) return;
        const range = { offsetBytes: Math.min(one, other), lengthBytes: Math.abs(one - other) };
        const pieces = [...layoutPieces(encodeLayout(blocks), range)];
        const expected = naivePieces(blocks, range);
        const firstBlock = Number(expected[0]?.split(' ')[0] ?? 0);
        assert.deepEqual(bytesOf(pieces, firstBlock), expected);
        assert.ok(
          pieces.every((piece) => piece.lengthBytes > 0),
          'no piece is empty',
        );
      }),
      { ...seeded, numRuns: 500 },
    );
  });

  test('of 50,000 blocks of the largest size is packed, unpacked and found in', () => {
    const blocks = Array.from({ length: 50_000 }, (_, index) => ({
      blockId: Buffer.alloc(64, index % 251).toString('base64'),
      extent: { id: index.toString(16).padStart(24, '0'), inline: index % 2 === 0 },
      lengthBytes: BLOCK_BYTES_MAX,
    }));
    const packed = encodeLayout(blocks);
    assert.deepEqual(decodeLayout(packed), blocks);
    const lastByte = { offsetBytes: 50_000 * BLOCK_BYTES_MAX - 1, lengthBytes: 1 };
    assert.deepEqual(
      [...layoutPieces(packed, lastByte)],
      [{ extent: blocks.at(-1)?.extent, offsetBytes: BLOCK_BYTES_MAX - 1, lengthBytes: 1 }],
    );
    const acrossTwo = { offsetBytes: 7 * BLOCK_BYTES_MAX - 1, lengthBytes: 2 };
    assert.deepEqual(
      [...layoutPieces(packed, acrossTwo)],
      [
        { extent: blocks[6]?.extent, offsetBytes: BLOCK_BYTES_MAX - 1, lengthBytes: 1 },
        { extent: blocks[7]?.extent, offsetBytes: 0, lengthBytes: 1 },
      ],
    );
  });

  for (const format of [0, 1, 3, 0xff]) {
    test(`of format ${format} is refused as unreadable`, () => {
      const packed = encodeLayout([]);
      packed[0] = format;
      assert.throws(() => decodeLayout(packed), UnreadableRecord);
      assert.throws(() => [...layoutPieces(packed, { offsetBytes: 0, lengthBytes: 0 })], UnreadableRecord);
    });
  }

  test('without a single byte is refused as unreadable', () => {
    assert.throws(() => decodeLayout(new Uint8Array(0)), UnreadableRecord);
  });

  test('that lost its end is refused as unreadable, wherever it was cut', () => {
    const block = { blockId: 'AA==', extent: { id: '0123456789abcdef01234567', inline: false }, lengthBytes: 7 };
    const packed = encodeLayout([block, block, block]);
    for (let length = 1; length < packed.length; length++) {
      assert.throws(() => decodeLayout(packed.subarray(0, length)), UnreadableRecord, `${length} of ${packed.length}`);
    }
  });
});
