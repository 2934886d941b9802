import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { IdSource } from '../../base/ids.ts';
import type { PagePiece } from '../../rules/page-ranges.ts';
import { UnreadableRecord } from './codec.ts';
import { decodeChunk, encodeChunk, pieceCountOf, sinceOf } from './page-chunk.ts';

const ids = new IdSource();

const pieceAt = (offsetBytes: number, lengthBytes: number, more: Partial<PagePiece> = {}): PagePiece => ({
  extent: { id: ids.next(), inline: true },
  offsetBytes,
  lengthBytes,
  extentOffsetBytes: 0,
  isShared: false,
  ...more,
});

describe('a chunk of pages', () => {
  for (const [what, since, pieces] of [
    ['without pieces', 1, []],
    ['of one piece', 1, [pieceAt(0, 512)]],
    ['of pieces that touch', 7, [pieceAt(0, 512), pieceAt(512, 512)]],
    [
      'of pieces of every kind',
      2 ** 48 - 1,
      [
        pieceAt(0, 1, { isShared: true }),
        pieceAt(1, 1, { extent: { id: ids.next(), inline: false }, extentOffsetBytes: 2 ** 32 - 1 }),
        pieceAt(2 ** 24 - 2, 1, { extent: { id: ids.next(), inline: false }, isShared: true }),
      ],
    ],
    ['written page by page', 3, Array.from({ length: 512 }, (_, page) => pieceAt(page * 512, 512))],
  ] as const) {
    test(`${what} comes back as it was`, () => {
      const value = encodeChunk({ since, pieces });
      assert.deepEqual(decodeChunk(value), { since, pieces });
      assert.equal(sinceOf(value), since);
      assert.equal(pieceCountOf(value), pieces.length);
    });
  }

  test('written page by page takes less than 12 KiB', () => {
    const pieces = Array.from({ length: 512 }, (_, page) => pieceAt(page * 512, 512));
    assert.ok(encodeChunk({ since: 1, pieces }).length < 12 * 1024);
  });

  for (const [what, value] of [
    ['of another format', Uint8Array.of(3, 0, 0, 0, 0, 0, 1)],
    ['without bytes', new Uint8Array(0)],
    ['that ends in its header', Uint8Array.of(4, 0, 0)],
    ['that ends in a piece', encodeChunk({ since: 1, pieces: [pieceAt(0, 512)] }).subarray(0, -1)],
    ['whose pieces overlap', encodeChunk({ since: 1, pieces: [pieceAt(0, 512), pieceAt(511, 512)] })],
    ['whose pieces are not in order', encodeChunk({ since: 1, pieces: [pieceAt(512, 512), pieceAt(0, 512)] })],
    ['with a piece without bytes', encodeChunk({ since: 1, pieces: [pieceAt(0, 0)] })],
  ] as const) {
    test(`${what} is not read`, () => {
      assert.throws(() => decodeChunk(value), UnreadableRecord);
    });
  }
});
