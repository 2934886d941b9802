import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type ChangedRange,
  changedRanges,
  chunkParts,
  chunksOver,
  type PagePiece,
  spanOf,
  splitSpan,
  withoutSpan,
  withPiece,
} from './page-ranges.ts';

const KIB = 1024;
const TIB = 1024 ** 4;

/** `a0-4`: bytes 0 to 4 of the chunk, of extent a, from its beginning; `a0-4+2`: from its byte 2 on. */
function piece(text: string): PagePiece {
  const [, id, from, to, extentOffset] = /^([a-z])(\d+)-(\d+)(?:\+(\d+))?$/.exec(text) as RegExpExecArray;
  return {
    extent: { id: id as string, inline: true },
    ...spanOf(Number(from), Number(to)),
    extentOffsetBytes: Number(extentOffset ?? 0),
    isShared: false,
  };
}

const pieces = (text: string): PagePiece[] => (text === '' ? [] : text.split(' ').map(piece));

const textOf = (found: readonly PagePiece[]): string =>
  found
    .map(({ extent, offsetBytes, lengthBytes, extentOffsetBytes }) => {
      const tail = extentOffsetBytes === 0 ? '' : `+${extentOffsetBytes}`;
      return `${extent.id}${offsetBytes}-${offsetBytes + lengthBytes}${tail}`;
    })
    .join(' ');

const changes = (found: Iterable<ChangedRange>): string =>
  [...found].map((one) => `${one.kind} ${one.offsetBytes}-${one.offsetBytes + one.lengthBytes}`).join(', ');

const partsText = (parts: readonly { chunk: number; offsetBytes: number; lengthBytes: number }[]): string =>
  parts.map(({ chunk, offsetBytes, lengthBytes }) => `${chunk}:${offsetBytes}-${offsetBytes + lengthBytes}`).join(' ');

describe('a write', () => {
  for (const [before, written, after] of [
    ['', 'b0-4', 'b0-4'],
    ['a0-4', 'b4-8', 'a0-4 b4-8'],
    ['a4-8', 'b0-4', 'b0-4 a4-8'],
    ['a0-4', 'b0-4', 'b0-4'],
    ['a2-4', 'b0-8', 'b0-8'],
    ['a0-8', 'b2-4', 'a0-2 b2-4 a4-8+4'],
    ['a0-8', 'b0-4', 'b0-4 a4-8+4'],
    ['a0-8', 'b4-8', 'a0-4 b4-8'],
    ['a0-8+16', 'b2-4', 'a0-2+16 b2-4 a4-8+20'],
    ['a0-4 c4-8', 'b2-6', 'a0-2 b2-6 c6-8+2'],
    ['a0-2 c2-4 d4-6 e6-8', 'b1-7', 'a0-1 b1-7 e7-8+1'],
    ['a0-2 a4-6+4', 'b1-5', 'a0-1 b1-5 a5-6+5'],
    ['a0-2 e6-8', 'b3-5', 'a0-2 b3-5 e6-8'],
  ] as const) {
    test(`of ${written} over ${before || 'nothing'} leaves ${after}`, () => {
      assert.equal(textOf(withPiece(pieces(before), piece(written))), after);
    });
  }
});

describe('a clear', () => {
  for (const [before, from, to, after] of [
    ['', 0, 8, ''],
    ['a0-4', 0, 4, ''],
    ['a0-4', 4, 8, 'a0-4'],
    ['a4-8', 0, 4, 'a4-8'],
    ['a0-8', 2, 4, 'a0-2 a4-8+4'],
    ['a0-8', 0, 2, 'a2-8+2'],
    ['a0-8', 6, 9, 'a0-6'],
    ['a0-2 c2-4 d4-6', 1, 5, 'a0-1 d5-6+1'],
  ] as const) {
    test(`from ${from} to ${to} of ${before || 'nothing'} leaves ${after || 'nothing'}`, () => {
      assert.equal(textOf(withoutSpan(pieces(before), spanOf(from, to))), after);
    });
  }

  test('leaves pieces that it does not meet as they are', () => {
    const before = pieces('a0-2 c4-6');
    const after = withoutSpan(before, spanOf(2, 4));
    assert.ok(after.every((left, index) => left === before[index]));
  });
});

describe('what changed', () => {
  for (const [before, after, expected] of [
    ['', '', ''],
    ['a0-4', 'a0-4', ''],
    ['', 'a0-4', 'page 0-4'],
    ['a0-4', '', 'clear 0-4'],
    ['a0-4', 'b0-4', 'page 0-4'],
    ['a0-8', 'a0-2 b2-4 a4-8+4', 'page 2-4'],
    ['a0-8', 'a0-2 a4-8+4', 'clear 2-4'],
    ['a0-4', 'a0-4+4', 'page 0-4'],
    ['a0-4', 'b2-6', 'clear 0-2, page 2-4, page 4-6'],
    ['a0-2 c6-8', 'c6-8', 'clear 0-2'],
    ['c6-8', 'a0-2 c6-8', 'page 0-2'],
  ] as const) {
    test(`from ${before || 'nothing'} to ${after || 'nothing'} is ${expected || 'nothing'}`, () => {
      assert.equal(changes(changedRanges(pieces(before), pieces(after))), expected);
    });
  }
});

describe('a span in chunks of 4 bytes', () => {
  for (const [from, to, edges, inner] of [
    [0, 0, '', ''],
    [5, 5, '', ''],
    [0, 4, '', '0-1'],
    [0, 3, '0:0-3', ''],
    [1, 3, '0:1-3', ''],
    [1, 4, '0:1-4', ''],
    [4, 16, '', '1-4'],
    [5, 15, '1:1-4 3:0-3', '2-3'],
    [5, 9, '1:1-4 2:0-1', ''],
    [7, 8, '1:3-4', ''],
  ] as const) {
    test(`from ${from} to ${to} has the edges ${edges || 'none'} around ${inner || 'nothing'}`, () => {
      const split = splitSpan(spanOf(from, to), 4);
      assert.equal(partsText(split.edges), edges);
      const { fromChunk, toChunk } = split.inner;
      assert.equal(fromChunk < toChunk ? `${fromChunk}-${toChunk}` : '', inner);
    });
  }

  for (const [from, to, parts, over] of [
    [0, 4, '0:0-4', '0-1'],
    [3, 9, '0:3-4 1:0-4 2:0-1', '0-3'],
    [5, 6, '1:1-2', '1-2'],
  ] as const) {
    test(`from ${from} to ${to} is ${parts}`, () => {
      assert.equal(partsText(chunkParts(spanOf(from, to), 4)), parts);
      const { fromChunk, toChunk } = chunksOver(spanOf(from, to), 4);
      assert.equal(`${fromChunk}-${toChunk}`, over);
    });
  }

  test('works at the end of 8 TiB', () => {
    const last = spanOf(8 * TIB - 512, 8 * TIB);
    assert.deepEqual(chunkParts(last, 256 * KIB), [
      { chunk: 8 * 4 * KIB * KIB - 1, offsetBytes: 256 * KIB - 512, lengthBytes: 512 },
    ]);
  });
});
