import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHUNK_BYTES_MAX, CHUNK_COUNT_MAX, COPY_BYTES_MAX, isCopyable } from './copy-chunk.ts';

const chunks = (count: number, lengthBytes: number): number[] => Array.from({ length: count }, () => lengthBytes);

for (const [what, lengthsBytes, isAllowed] of [
  ['nothing', [], true],
  ['a chunk of one byte', [1], true],
  ['a chunk of no bytes', [0], false],
  ['an empty chunk behind others', [1, 0], false],
  ['the longest chunk', [CHUNK_BYTES_MAX], true],
  ['a longer chunk', [CHUNK_BYTES_MAX + 1], false],
  ['as many chunks as there may be', chunks(CHUNK_COUNT_MAX, 1), true],
  ['one chunk more', chunks(CHUNK_COUNT_MAX + 1, 1), false],
  ['as many bytes as there may be', chunks(16, COPY_BYTES_MAX / 16), true],
  ['one byte more', [...chunks(16, COPY_BYTES_MAX / 16), 1], false],
] as const) {
  test(`${what} can be copied at once: ${isAllowed}`, () => {
    assert.equal(isCopyable(lengthsBytes), isAllowed);
  });
}
