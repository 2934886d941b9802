import assert from 'node:assert/strict';
import test from 'node:test';
import { refuseAppend, refuseAppendPosition } from './append.ts';

const blob = { lengthBytes: 100, blockCount: 3, sealed: false };
const full = { ...blob, blockCount: 50_000 };
const plain = { appendedBytes: 10, positionBytes: null, sizeMaxBytes: null };
const misplaced = { ...plain, positionBytes: 99 };

for (const [what, state, request, want] of [
  ['to a sealed blob', { ...full, sealed: true }, { ...misplaced, sizeMaxBytes: 1 }, 'BlobIsSealed'],
  ['at another position', full, { ...misplaced, sizeMaxBytes: 1 }, 'AppendPositionConditionNotMet'],
  ['behind the end', blob, { ...plain, positionBytes: 101 }, 'AppendPositionConditionNotMet'],
  ['beyond the size', full, { ...plain, positionBytes: 100, sizeMaxBytes: 109 }, 'MaxBlobSizeConditionNotMet'],
  ['of one block too many', full, { ...plain, positionBytes: 100, sizeMaxBytes: 110 }, 'BlockCountExceedsLimit'],
  ['of the last block', { ...full, blockCount: 49_999 }, plain, null],
  ['up to the size', blob, { ...plain, sizeMaxBytes: 110 }, null],
  ['at the end', blob, { ...plain, positionBytes: 100 }, null],
  ['at the start of an empty blob', { ...blob, lengthBytes: 0 }, { ...plain, positionBytes: 0 }, null],
  ['without conditions', blob, plain, null],
] as const) {
  test(`an append ${what} gets ${want ?? 'through'}`, () => assert.equal(refuseAppend(state, request), want));
}

test('a seal is subject to its position alone', () => {
  assert.equal(refuseAppendPosition(full, { positionBytes: null }), null);
  assert.equal(refuseAppendPosition(full, { positionBytes: 100 }), null);
  assert.equal(refuseAppendPosition(full, { positionBytes: 99 }), 'AppendPositionConditionNotMet');
});
