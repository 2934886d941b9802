import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { compareBytes } from '../../base/bytes.ts';
import { IdSource } from '../../base/ids.ts';
import { KEY_BYTES_MAX, type Key, type KeyRange } from '../../engine/engine.ts';
import type { EntityKey } from '../../rules/edm.ts';
import { refuseKey } from '../../rules/entity.ts';
import { ownNameOf } from './keys.ts';
import {
  entitiesRange,
  entityKey,
  entityTableIdOf,
  parseEntityKey,
  partitionEnd,
  tableKey,
  tablesRange,
} from './table-keys.ts';

const ids = new IdSource();
const ADDRESS = { account: 'account1', tableId: ids.next() };

const isIn = ({ from, to }: KeyRange, key: Key): boolean => compareBytes(from, key) <= 0 && compareBytes(key, to) < 0;
const byUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const inOrder = (a: EntityKey, b: EntityKey): number =>
  byUnits(a.partitionKey, b.partitionKey) || byUnits(a.rowKey, b.rowKey);

/** All that a key may hold, and much of what sorts or encodes in its own way. */
const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom(' ', '!', "'", 'a', 'b', '~', '\u00a0', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffff'),
      fc.constantFrom('\u{10000}', '\u{1f600}', '\u{1f601}', '\u{10ffff}'),
      fc.string({ unit: 'binary', maxLength: 2 }),
    ),
    { maxLength: 5 },
  )
  .map((pieces) => pieces.join(''))
  .filter((text) => refuseKey(text) === null);
const keys = fc.record({ partitionKey: texts, rowKey: texts }, { noNullPrototype: true });

describe('the keys of entities', () => {
  test('sort as partition key and row key do, code unit by code unit', () => {
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        const found = compareBytes(entityKey(ADDRESS, a), entityKey(ADDRESS, b));
        assert.equal(Math.sign(found), inOrder(a, b));
      }),
      { numRuns: 2_000, ...seeded },
    );
  });

  test('sort where texts are prefixes of each other, or lie about the surrogates', () => {
    const all = [
      '',
      ' ',
      '!',
      'a',
      'a ',
      'a!',
      'aa',
      '\ud7ff',
      '\u{10000}',
      '\u{10000}a',
      '\u{10ffff}',
      '\ue000',
      '\uffff',
    ];
    const pairs = all.flatMap((partitionKey) => all.map((rowKey) => ({ partitionKey, rowKey })));
    assert.deepEqual(pairs, pairs.toSorted(inOrder));
    const sorted = pairs.toSorted((a, b) => compareBytes(entityKey(ADDRESS, a), entityKey(ADDRESS, b)));
    assert.deepEqual(sorted, pairs);
  });

  test('are read back', () => {
    fc.assert(
      fc.property(keys, (key) => {
        const bytes = entityKey(ADDRESS, key);
        assert.deepEqual(parseEntityKey(bytes), key);
        assert.equal(entityTableIdOf(bytes), ADDRESS.tableId);
        // As a view into something larger, which is how an engine may hand it over.
        const around = Buffer.concat([Buffer.from([0, 9]), bytes, Buffer.from([9])]);
        assert.deepEqual(parseEntityKey(around.subarray(2, 2 + bytes.length)), key);
      }),
      { numRuns: 1_000, ...seeded },
    );
  });

  test('keep halves of a character apart, should one ever come so far', () => {
    const halves = { partitionKey: 'a\ud83d', rowKey: '\ude00\ude00\ud83d' };
    assert.deepEqual(parseEntityKey(entityKey(ADDRESS, halves)), halves);
  });

  test('may be the longest that there are', () => {
    const address = { account: 'a'.repeat(24), tableId: ids.next() };
    for (const text of ['\uffff'.repeat(512), '\u{1f600}'.repeat(256)]) {
      assert.equal(refuseKey(text), null);
      const key = { partitionKey: text, rowKey: text };
      assert.ok(entityKey(address, key).length <= KEY_BYTES_MAX);
      assert.deepEqual(parseEntityKey(entityKey(address, key)), key);
    }
  });

  test('stand in the range of their table, and of no other', () => {
    const other = { account: ADDRESS.account, tableId: ids.next() };
    const elsewhere = { account: 'account2', tableId: ADDRESS.tableId };
    fc.assert(
      fc.property(keys, (key) => {
        assert.ok(isIn(entitiesRange(ADDRESS), entityKey(ADDRESS, key)));
        assert.ok(!isIn(entitiesRange(other), entityKey(ADDRESS, key)));
        assert.ok(!isIn(entitiesRange(elsewhere), entityKey(ADDRESS, key)));
      }),
      seeded,
    );
  });

  test('stand before the end of their partition, and those of later partitions behind it', () => {
    fc.assert(
      fc.property(keys, texts, (key, partitionKey) => {
        const isBefore = compareBytes(entityKey(ADDRESS, key), partitionEnd(ADDRESS, partitionKey)) < 0;
        assert.equal(isBefore, key.partitionKey <= partitionKey);
      }),
      { numRuns: 1_000, ...seeded },
    );
  });
});

describe('the keys of tables', () => {
  test('are the same in any case of the name, and say it in lower case', () => {
    assert.deepEqual(tableKey('account1', 'People'), tableKey('account1', 'pEOPLE'));
    assert.equal(ownNameOf(tableKey('account1', 'People')), 'people');
  });

  test('stand in the range of their account, from a name on', () => {
    const range = tablesRange('account1', 'People');
    for (const [account, table, want] of [
      ['account1', 'people', true],
      ['account1', 'PEOPLE', true],
      ['account1', 'people1', true],
      ['account1', 'zebra', true],
      ['account1', 'peopl', false],
      ['account1', 'Apple', false],
      ['account', 'people', false],
      ['account11', 'people', false],
      ['account2', 'people', false],
    ] as const) {
      assert.equal(isIn(range, tableKey(account, table)), want, `${account} ${table}`);
    }
    assert.ok(isIn(tablesRange('account1', ''), tableKey('account1', 'a')));
  });
});
