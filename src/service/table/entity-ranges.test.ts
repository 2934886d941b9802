import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { entity, filter, filterOf, key, keyComparison, propertyOf } from '../../../test/harness/filters.ts';
import { seeded } from '../../../test/harness/random.ts';
import { compareBytes, successor } from '../../base/bytes.ts';
import type { Key, KeyRange } from '../../engine/engine.ts';
import { type Filter, matchesFilter, parseFilter } from '../../rules/entity-filter.ts';
import { keyBoxes } from '../../rules/entity-key-ranges.ts';
import { entitiesRange, entityKey, partitionEnd, type TableAddress } from '../records/table-keys.ts';
import { entityRanges } from './entity-ranges.ts';

const ADDRESS: TableAddress = { account: 'account', tableId: '0123456789abcdef01234567' };
const WHOLE = entitiesRange(ADDRESS);

const at = (partitionKey: string, rowKey = ''): Key => entityKey(ADDRESS, { partitionKey, rowKey });
const behind = (partitionKey: string, rowKey: string): Key => successor(at(partitionKey, rowKey));
const behindAll = (partitionKey: string): Key => partitionEnd(ADDRESS, partitionKey);

const rangesOf = (filter: Filter): KeyRange[] => entityRanges(ADDRESS, keyBoxes(filter));

const rendered = (ranges: readonly KeyRange[]): string[] =>
  ranges.map(({ from, to }) => `${Buffer.from(from).toString('hex')} to ${Buffer.from(to).toString('hex')}`);

const LONG = 'b'.repeat(512);

describe('the ranges', () => {
  for (const [text, want] of [
    ['Name eq 1', [[WHOLE.from, WHOLE.to]]],
    ['false', []],
    [`PartitionKey eq 'a'`, [[at('a'), behindAll('a')]]],
    [`PartitionKey eq ''`, [[at(''), behindAll('')]]],
    [`PartitionKey gt 'a'`, [[behindAll('a'), WHOLE.to]]],
    [`PartitionKey ge 'a'`, [[at('a'), WHOLE.to]]],
    [`PartitionKey lt 'a'`, [[WHOLE.from, at('a')]]],
    [`PartitionKey le 'a'`, [[WHOLE.from, behindAll('a')]]],
    [`PartitionKey ge 'a' and PartitionKey lt 'b'`, [[at('a'), at('b')]]],
    // In one partition, rows are ranges of their own.
    [`PartitionKey eq 'a' and RowKey eq 'r'`, [[at('a', 'r'), behind('a', 'r')]]],
    [`PartitionKey eq 'a' and RowKey gt 'r'`, [[behind('a', 'r'), behindAll('a')]]],
    [`PartitionKey eq 'a' and RowKey ge 'r'`, [[at('a', 'r'), behindAll('a')]]],
    [`PartitionKey eq 'a' and RowKey lt 'r'`, [[at('a'), at('a', 'r')]]],
    [`PartitionKey eq 'a' and RowKey le 'r'`, [[at('a'), behind('a', 'r')]]],
    [`PartitionKey eq 'a' and RowKey lt ''`, []],
    // In several, they cut off the ends alone.
    [`RowKey eq 'r'`, [[WHOLE.from, WHOLE.to]]],
    [`PartitionKey ge 'a' and PartitionKey le 'b' and RowKey eq 'r'`, [[at('a', 'r'), behind('b', 'r')]]],
    [`PartitionKey gt 'a' and PartitionKey lt 'b' and RowKey eq 'r'`, [[behindAll('a'), at('b')]]],
    // In order, and as few as can be.
    [
      `PartitionKey eq 'b' or PartitionKey eq 'a'`,
      [
        [at('a'), behindAll('a')],
        [at('b'), behindAll('b')],
      ],
    ],
    [`PartitionKey eq 'a' or PartitionKey eq 'a'`, [[at('a'), behindAll('a')]]],
    [`PartitionKey lt 'b' or PartitionKey ge 'b'`, [[WHOLE.from, WHOLE.to]]],
    [`PartitionKey ge 'a' or PartitionKey eq 'b'`, [[at('a'), WHOLE.to]]],
    [`PartitionKey eq 'a' and (RowKey lt 'r' or RowKey eq 'r')`, [[at('a'), behind('a', 'r')]]],
    // Texts that are no keys lie between keys.
    [`PartitionKey ge 'a\0b'`, [[behindAll('a'), WHOLE.to]]],
    [`PartitionKey lt 'a\0b'`, [[WHOLE.from, behindAll('a')]]],
    [`PartitionKey eq 'a\0b'`, []],
    [`PartitionKey gt '${LONG}c'`, [[behindAll(LONG), WHOLE.to]]],
    [`PartitionKey lt '${LONG}c'`, [[WHOLE.from, behindAll(LONG)]]],
    [`PartitionKey eq 'a' and RowKey ge '${LONG}c'`, [[behind('a', LONG), behindAll('a')]]],
  ] as const) {
    test(`of ${text.replaceAll('\0', '\\0').replaceAll(LONG, 'bbb…')}`, () => {
      const parsed = parseFilter(text);
      assert.ok('filter' in parsed);
      assert.deepEqual(rendered(rangesOf(parsed.filter)), rendered(want.map(([from, to]) => ({ from, to }))));
    });
  }
});

const liesIn = (key: Key, ranges: readonly KeyRange[]): boolean =>
  ranges.some(({ from, to }) => compareBytes(from, key) <= 0 && compareBytes(key, to) < 0);

/** Not empty, within the table, and each begins behind the end of the one before. */
function areInOrder(ranges: readonly KeyRange[]): boolean {
  return ranges.every(({ from, to }, index) => {
    const before = ranges[index - 1];
    return (
      compareBytes(from, to) < 0 &&
      compareBytes(WHOLE.from, from) <= 0 &&
      compareBytes(to, WHOLE.to) <= 0 &&
      (before === undefined || compareBytes(before.to, from) < 0)
    );
  });
}

test('whatever matches is in a range, and ranges stand in order', () => {
  fc.assert(
    fc.property(filter, fc.array(entity, { maxLength: 10 }), (filter, entities) => {
      const ranges = rangesOf(filter);
      assert.ok(areInOrder(ranges));
      for (const entity of entities) {
        if (matchesFilter(filter, propertyOf(entity))) assert.ok(liesIn(entityKey(ADDRESS, entity.key), ranges));
      }
    }),
    { numRuns: 1000, ...seeded },
  );
});

test('of a filter that orders partition keys and does nothing else, what is in a range matches', () => {
  const partitions = filterOf(keyComparison(fc.constantFrom('gt', 'ge', 'lt', 'le'))).map(withoutRows);
  fc.assert(
    fc.property(partitions, key, (filter, key) => {
      const isMatch = matchesFilter(filter, propertyOf({ key, ticks: 0n, properties: [] }));
      assert.equal(liesIn(entityKey(ADDRESS, key), rangesOf(filter)), isMatch);
    }),
    { numRuns: 1000, ...seeded },
  );
});

function withoutRows(filter: Filter): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { kind: filter.kind, left: withoutRows(filter.left), right: withoutRows(filter.right) };
    case 'not':
      return { kind: 'not', operand: withoutRows(filter.operand) };
    case 'compare':
      return { ...filter, property: 'PartitionKey' };
    default:
      return filter;
  }
}
