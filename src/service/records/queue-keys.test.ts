import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { compareBytes } from '../../base/bytes.ts';
import { ID_BYTES, IdSource } from '../../base/ids.ts';
import type { Key, KeyRange } from '../../engine/engine.ts';
import { NEVER_MS, type Place } from '../../rules/message.ts';
import { accountOf, ownNameOf } from './keys.ts';
import {
  contentOf,
  countKey,
  countsRange,
  placeKey,
  placeOf,
  placesRange,
  queueKey,
  queuesRange,
  textKey,
  textMessageIdOf,
  textsRange,
  visibleRange,
} from './queue-keys.ts';

const ids = new IdSource();
const CONTENT = { account: 'account1', contentId: ids.next() };

const isIn = ({ from, to }: KeyRange, key: Key): boolean => compareBytes(from, key) <= 0 && compareBytes(key, to) < 0;
const sign = (a: number | string, b: number | string): number => (a < b ? -1 : a > b ? 1 : 0);

const idTexts = fc.oneof(
  fc.constantFrom('0'.repeat(2 * ID_BYTES), 'f'.repeat(2 * ID_BYTES)),
  fc.uint8Array({ minLength: ID_BYTES, maxLength: ID_BYTES }).map((bytes) => Buffer.from(bytes).toString('hex')),
);
const times = fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, NEVER_MS), fc.integer({ min: 0, max: NEVER_MS }));
const places: fc.Arbitrary<Place> = fc.record({ visibleMs: times, tick: idTexts }, { noNullPrototype: true });
const accounts = fc.stringMatching(/^[a-z0-9]{3,24}$/);
const contents = fc.record({ account: accounts, contentId: idTexts }, { noNullPrototype: true });

describe('the keys of places', () => {
  test('sort as their times do, and at one time as their ticks', () => {
    fc.assert(
      fc.property(places, places, (a, b) => {
        const found = compareBytes(placeKey(CONTENT, a), placeKey(CONTENT, b));
        assert.equal(Math.sign(found), sign(a.visibleMs, b.visibleMs) || sign(a.tick, b.tick));
      }),
      { numRuns: 2_000, ...seeded },
    );
  });

  test('tell the place and whose it is', () => {
    fc.assert(
      fc.property(contents, places, (content, place) => {
        const key = placeKey(content, place);
        assert.deepEqual(placeOf(key), place);
        assert.deepEqual(contentOf(key), content);
      }),
      seeded,
    );
  });

  test('are in the visible range until its millisecond, whatever their tick', () => {
    fc.assert(
      fc.property(places, times, (place, nowMs) => {
        assert.equal(isIn(visibleRange(CONTENT, nowMs), placeKey(CONTENT, place)), place.visibleMs <= nowMs);
      }),
      { numRuns: 1_000, ...seeded },
    );
  });
});

describe('what one content holds', () => {
  const messageIds = fc.uuid();

  test('is in its own ranges and in those of no other', () => {
    fc.assert(
      fc.property(contents, contents, places, messageIds, fc.nat(255), (content, other, place, messageId, shard) => {
        const isSame = content.account === other.account && content.contentId === other.contentId;
        const rows: readonly (readonly [Key, (of: typeof content) => KeyRange])[] = [
          [placeKey(content, place), placesRange],
          [textKey(content, messageId), textsRange],
          [countKey(content, shard), countsRange],
        ];
        for (const [key, rangeOf] of rows) {
          assert.ok(isIn(rangeOf(content), key));
          assert.equal(isIn(rangeOf(other), key), isSame);
          assert.deepEqual(contentOf(key), content);
        }
      }),
      { numRuns: 1_000, ...seeded },
    );
  });

  test('has texts by the ids of their messages', () => {
    fc.assert(
      fc.property(contents, messageIds, (content, messageId) => {
        assert.equal(textMessageIdOf(textKey(content, messageId)), messageId);
      }),
      seeded,
    );
  });

  test('has counts in as many shards as a byte has values', () => {
    const keys = Array.from({ length: 256 }, (_, shard) => Buffer.from(countKey(CONTENT, shard)).toString('hex'));
    assert.equal(new Set(keys).size, 256);
  });
});

describe('the keys of queues', () => {
  const names = fc.stringMatching(/^[a-z0-9](-?[a-z0-9]){2,20}$/);

  test('tell the name and the account, and sort as names do', () => {
    fc.assert(
      fc.property(accounts, names, names, (account, a, b) => {
        assert.equal(ownNameOf(queueKey(account, a)), a);
        assert.equal(accountOf(queueKey(account, a)), account);
        assert.equal(Math.sign(compareBytes(queueKey(account, a), queueKey(account, b))), sign(a, b));
      }),
      seeded,
    );
  });

  test('are listed by their prefix, from a name on, in their account alone', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('aaa', 'aaab'),
        fc.stringMatching(/^[ab]{3,5}$/),
        fc.stringMatching(/^[ab]{0,3}$/),
        fc.stringMatching(/^[ab]{0,4}$/),
        (account, name, prefix, from) => {
          const isListed = account === 'aaa' && name.startsWith(prefix) && name >= from;
          const { from: first, to } = queuesRange('aaa', prefix, from);
          // A page that would begin behind all of the prefix shows nothing.
          if (compareBytes(first, to) < 0) assert.equal(isIn({ from: first, to }, queueKey(account, name)), isListed);
          else assert.ok(!isListed);
        },
      ),
      { numRuns: 2_000, ...seeded },
    );
  });
});
