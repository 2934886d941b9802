import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareBytes } from '../../base/bytes.ts';
import { isVolatile, type Key, type KeyRange } from '../../engine/engine.ts';
import {
  chunkKey,
  chunkOf,
  chunkRange,
  copiedKey,
  cutKey,
  endedKey,
  endedRange,
  epochKey,
  epochRange,
  heldEpochOf,
  holdKey,
  holdRange,
  mapNotesRange,
  newerRange,
  olderRange,
  parseEndedKey,
  parseMapRow,
  parsePastChunkKey,
  pastChunkKey,
  pastRange,
} from './page-keys.ts';

const MAP = '0123456789abcdef01234567';
const NEXT_MAP = '0123456789abcdef01234568';
const HOLD = 'fedcba98765432100fedcba9';
const LAST_CHUNK = 2 ** 25 - 1;

const isIn = ({ from, to }: KeyRange, key: Key): boolean => compareBytes(from, key) <= 0 && compareBytes(key, to) < 0;

describe('keys of maps of pages', () => {
  test('sort by what they name', () => {
    const inOrder = [
      [chunkKey(MAP, 0), chunkKey(MAP, 1), chunkKey(MAP, 256), chunkKey(MAP, LAST_CHUNK), chunkKey(NEXT_MAP, 0)],
      [pastChunkKey(MAP, 0, 9), pastChunkKey(MAP, 1, 1), pastChunkKey(MAP, 1, 300), pastChunkKey(MAP, 2, 1)],
      [
        endedKey(MAP, { epoch: 1, since: 1, chunk: 9 }),
        endedKey(MAP, { epoch: 2, since: 1, chunk: 300 }),
        endedKey(MAP, { epoch: 2, since: 2, chunk: 0 }),
        endedKey(MAP, { epoch: 3, since: 1, chunk: 0 }),
      ],
      [copiedKey(MAP), cutKey(MAP, 2), cutKey(MAP, 300), epochKey(MAP, 1), epochKey(MAP, 300), copiedKey(NEXT_MAP)],
      [holdKey(MAP, 1, HOLD), holdKey(MAP, 2, MAP), holdKey(MAP, 2, HOLD), holdKey(NEXT_MAP, 1, HOLD)],
    ];
    for (const keys of inOrder) {
      assert.deepEqual(keys.toSorted(compareBytes), keys);
    }
  });

  test('are taken apart again', () => {
    assert.equal(chunkOf(chunkKey(MAP, LAST_CHUNK)), LAST_CHUNK);
    assert.deepEqual(parsePastChunkKey(pastChunkKey(MAP, 7, 2 ** 40)), { chunk: 7, epoch: 2 ** 40 });
    const ended = { epoch: 2 ** 40, since: 3, chunk: LAST_CHUNK };
    assert.deepEqual(parseEndedKey(endedKey(MAP, ended)), ended);
    assert.equal(heldEpochOf(holdKey(MAP, 5, HOLD)), 5);
    assert.deepEqual(parseMapRow(epochKey(MAP, 5)), { kind: 'epoch', mapId: MAP, epoch: 5 });
    assert.deepEqual(parseMapRow(cutKey(MAP, 5)), { kind: 'cut', mapId: MAP, epoch: 5 });
    assert.deepEqual(parseMapRow(copiedKey(MAP)), { kind: 'copied', mapId: MAP });
  });

  for (const [what, range, inside, outside] of [
    ['all chunks', chunkRange(MAP), [chunkKey(MAP, 0), chunkKey(MAP, LAST_CHUNK)], [chunkKey(NEXT_MAP, 0)]],
    ['some chunks', chunkRange(MAP, 2, 4), [chunkKey(MAP, 2), chunkKey(MAP, 3)], [chunkKey(MAP, 1), chunkKey(MAP, 4)]],
    [
      'earlier states from one chunk on',
      pastRange(MAP, 2, 5, 4),
      [pastChunkKey(MAP, 2, 5), pastChunkKey(MAP, 3, 1)],
      [pastChunkKey(MAP, 2, 4), pastChunkKey(MAP, 4, 1)],
    ],
    [
      'older states of a chunk',
      olderRange(MAP, 2, 5),
      [pastChunkKey(MAP, 2, 1), pastChunkKey(MAP, 2, 4)],
      [pastChunkKey(MAP, 1, 9), pastChunkKey(MAP, 2, 5)],
    ],
    [
      'newer states of a chunk',
      newerRange(MAP, 2, 5),
      [pastChunkKey(MAP, 2, 6)],
      [pastChunkKey(MAP, 2, 5), pastChunkKey(MAP, 3, 1)],
    ],
    [
      'what ended in a stretch of epochs',
      endedRange(MAP, 2, 3, 5),
      [endedKey(MAP, { epoch: 2, since: 3, chunk: 0 }), endedKey(MAP, { epoch: 4, since: 1, chunk: 9 })],
      [endedKey(MAP, { epoch: 2, since: 2, chunk: 9 }), endedKey(MAP, { epoch: 5, since: 1, chunk: 0 })],
    ],
    ['all epochs', epochRange(MAP), [epochKey(MAP, 1), epochKey(MAP, 2 ** 40)], [copiedKey(MAP), cutKey(MAP, 1)]],
    ['all epochs from none on', epochRange(MAP, 0), [epochKey(MAP, 1)], [copiedKey(MAP), cutKey(MAP, 1)]],
    ['some epochs', epochRange(MAP, 2, 4), [epochKey(MAP, 2), epochKey(MAP, 3)], [epochKey(MAP, 1), epochKey(MAP, 4)]],
    ['holds', holdRange(MAP, 2, 4), [holdKey(MAP, 2, HOLD), holdKey(MAP, 3, HOLD)], [holdKey(MAP, 4, MAP)]],
    ['notes', mapNotesRange(MAP), [copiedKey(MAP), cutKey(MAP, 2 ** 40)], [epochKey(MAP, 1), copiedKey(NEXT_MAP)]],
  ] as const) {
    test(`${what} are a range of their own`, () => {
      for (const key of inside) assert.ok(isIn(range, key));
      for (const key of outside) assert.ok(!isIn(range, key));
    });
  }

  test('of holds are volatile, and no others', () => {
    assert.ok(isVolatile(holdKey(MAP, 1, HOLD)));
    for (const key of [chunkKey(MAP, 0), pastChunkKey(MAP, 0, 1), epochKey(MAP, 1)]) assert.ok(!isVolatile(key));
  });
});
