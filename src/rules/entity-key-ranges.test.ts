import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { entity, filter, filterOf, key, keyComparison, propertyOf } from '../../test/harness/filters.ts';
import { seeded } from '../../test/harness/random.ts';
import type { EntityKey } from './edm.ts';
import { matchesFilter, parseFilter } from './entity-filter.ts';
import { type Interval, type KeyBox, keyBoxes } from './entity-key-ranges.ts';

function boxesOf(text: string): readonly KeyBox[] {
  const parsed = parseFilter(text);
  assert.ok('filter' in parsed, text);
  return keyBoxes(parsed.filter);
}

/** `[a,b)`, or nothing where it is open. */
function render({ low, high }: Interval): string {
  if (low === null && high === null) return '';
  const from = low === null ? '(' : `${low.included ? '[' : '('}${low.value}`;
  return `${from},${high === null ? ')' : `${high.value}${high.included ? ']' : ')'}`}`;
}

const rendered = (boxes: readonly KeyBox[]): string[] =>
  boxes.map(({ partition, row }) => `${render(partition)}|${render(row)}`);

describe('the keys that can match', () => {
  for (const [text, want] of [
    [`PartitionKey eq 'a'`, ['[a,a]|']],
    [`PartitionKey ne 'a'`, ['|']],
    [`PartitionKey gt 'a'`, ['(a,)|']],
    [`PartitionKey ge 'a'`, ['[a,)|']],
    [`PartitionKey lt 'a'`, ['(,a)|']],
    [`PartitionKey le 'a'`, ['(,a]|']],
    [`'a' lt RowKey`, ['|(a,)']],
    [`RowKey eq ''`, ['|[,]']],
    // What is no key says nothing; what cannot hold of a key holds nowhere.
    [`Name eq 'a'`, ['|']],
    [`Timestamp lt datetime'2024-05-01T00:00:00Z'`, ['|']],
    [`partitionkey eq 'a'`, ['|']],
    ['Name', ['|']],
    ['PartitionKey eq 1', []],
    ['RowKey ne 1', []],
    ['RowKey', []],
    ['true', ['|']],
    ['false', []],
    // And.
    [`PartitionKey eq 'a' and RowKey eq 'b'`, ['[a,a]|[b,b]']],
    [`PartitionKey ge 'a' and PartitionKey lt 'b' and Name eq 1`, ['[a,b)|']],
    [`PartitionKey ge 'a' and PartitionKey gt 'a'`, ['(a,)|']],
    [`PartitionKey le 'a' and PartitionKey lt 'a'`, ['(,a)|']],
    [`PartitionKey gt 'a' and PartitionKey gt 'b'`, ['(b,)|']],
    [`PartitionKey lt 'a' and PartitionKey lt 'b'`, ['(,a)|']],
    [`PartitionKey ge 'a' and PartitionKey le 'a'`, ['[a,a]|']],
    [`PartitionKey eq 'a' and PartitionKey eq 'b'`, []],
    [`PartitionKey gt 'a' and PartitionKey le 'a'`, []],
    [`PartitionKey eq 'a' and RowKey gt 'c' and RowKey lt 'b'`, []],
    [`PartitionKey eq 'a' and false`, []],
    // Or.
    [`PartitionKey eq 'a' or PartitionKey eq 'b'`, ['[a,a]|', '[b,b]|']],
    [`PartitionKey eq 'a' or Name eq 1`, ['|']],
    [`PartitionKey eq 'a' or false`, ['[a,a]|']],
    [`PartitionKey eq 'a' or RowKey eq 'b'`, ['[a,a]|', '|[b,b]']],
    [`PartitionKey eq 'a' and (RowKey eq 'b' or RowKey eq 'c')`, ['[a,a]|[b,b]', '[a,a]|[c,c]']],
    [`(PartitionKey eq 'a' or PartitionKey eq 'b') and (PartitionKey eq 'b' or PartitionKey eq 'c')`, ['[b,b]|']],
    // Not.
    [`not (PartitionKey eq 'a')`, ['|']],
    [`not (PartitionKey ne 'a')`, ['[a,a]|']],
    [`not (RowKey lt 'a')`, ['|[a,)']],
    [`not (RowKey le 'a')`, ['|(a,)']],
    [`not (RowKey gt 'a')`, ['|(,a]']],
    [`not (RowKey ge 'a')`, ['|(,a)']],
    [`not (PartitionKey lt 'a' or PartitionKey ge 'b')`, ['[a,b)|']],
    [`not (PartitionKey lt 'a' and RowKey ge 'b')`, ['[a,)|', '|(,b)']],
    [`not not (PartitionKey eq 'a')`, ['[a,a]|']],
    [`not (PartitionKey ne 'a' or Name eq 1)`, ['[a,a]|']],
    [`not (Name eq 1)`, ['|']],
    ['not (PartitionKey eq 1)', ['|']],
    ['not RowKey', ['|']],
    ['not true', []],
  ] as const) {
    test(`of ${text} are ${want.length === 0 ? 'none' : want.join(' or ')}`, () =>
      assert.deepEqual(rendered(boxesOf(text)), want));
  }
});

const anyOf = (property: string, count: number): string =>
  `(${Array.from({ length: count }, (_, index) => `${property} eq 'k${String(index).padStart(3, '0')}'`).join(' or ')})`;

describe('lists that would make too many boxes', () => {
  test('a thousand keys are a thousand boxes', () => assert.equal(boxesOf(anyOf('PartitionKey', 1_000)).length, 1_000));

  for (const [text, count, first] of [
    [`${anyOf('PartitionKey', 40)} and ${anyOf('RowKey', 26)}`, 40, '[k000,k000]|[k000,k025]'],
    [`${anyOf('RowKey', 40)} and ${anyOf('PartitionKey', 26)}`, 26, '[k000,k000]|[k000,k039]'],
    [`${anyOf('RowKey', 26)} and ${anyOf('PartitionKey', 40)}`, 40, '[k000,k000]|[k000,k025]'],
  ] as const) {
    test(`${text.slice(0, 30)}… keeps one list and the reach of the other`, () => {
      const boxes = boxesOf(text);
      assert.equal(boxes.length, count);
      assert.equal(rendered(boxes)[0], first);
    });
  }

  test('many of them become one that holds all', () => {
    const product = `(${anyOf('PartitionKey', 25)} and ${anyOf('RowKey', 25)})`;
    assert.deepEqual(rendered(boxesOf(`${product} or ${product}`)), ['[k000,k024]|[k000,k024]']);
  });

  test('a hundred pairs do not double a hundred times', () => {
    const pair = `(PartitionKey ge 'a' or RowKey ge 'b')`;
    const boxes = boxesOf(Array.from({ length: 100 }, () => pair).join(' and '));
    assert.ok(boxes.length <= 1_000, `${boxes.length} boxes`);
  });
});

const liesIn = (text: string, { low, high }: Interval): boolean =>
  (low === null || text > low.value || (low.included && text === low.value)) &&
  (high === null || text < high.value || (high.included && text === high.value));

const isInBox = ({ partitionKey, rowKey }: EntityKey, boxes: readonly KeyBox[]): boolean =>
  boxes.some(({ partition, row }) => liesIn(partitionKey, partition) && liesIn(rowKey, row));

test('whatever matches is in a box', () => {
  fc.assert(
    fc.property(filter, entity, (filter, entity) => {
      fc.pre(matchesFilter(filter, propertyOf(entity)));
      assert.ok(isInBox(entity.key, keyBoxes(filter)));
    }),
    { numRuns: 2000, ...seeded },
  );
});

test('of a filter that orders keys and does nothing else, what is in a box matches', () => {
  const ordering = filterOf(keyComparison(fc.constantFrom('gt', 'ge', 'lt', 'le')));
  fc.assert(
    fc.property(ordering, key, (filter, key) => {
      const isMatch = matchesFilter(filter, propertyOf({ key, ticks: 0n, properties: [] }));
      assert.equal(isInBox(key, keyBoxes(filter)), isMatch);
    }),
    { numRuns: 2000, ...seeded },
  );
});
