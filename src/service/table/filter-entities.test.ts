import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type ExampleEntity, entity, filter, propertyOf } from '../../../test/harness/filters.ts';
import { seeded } from '../../../test/harness/random.ts';
import { type Filter, matchesFilter, parseFilter } from '../../rules/entity-filter.ts';
import { UnreadableRecord } from '../records/codec.ts';
import { encodeEntity } from '../records/entity-record.ts';
import { entityKey, type TableAddress } from '../records/table-keys.ts';
import { compileFilter, type EntityPredicate } from './filter-entities.ts';

const ADDRESS: TableAddress = { account: 'account', tableId: '0123456789abcdef01234567' };

const judge = (isMatch: EntityPredicate, entity: ExampleEntity): boolean =>
  isMatch(entityKey(ADDRESS, entity.key), encodeEntity(entity));

function parsed(text: string): Filter {
  const result = parseFilter(text);
  assert.ok('filter' in result, text);
  return result.filter;
}

test('a compiled filter agrees with the plain meaning, of one entity after the other', () => {
  fc.assert(
    fc.property(filter, fc.array(entity, { minLength: 1, maxLength: 10 }), (filter, entities) => {
      const isMatch = compileFilter(filter);
      for (const entity of entities) assert.equal(judge(isMatch, entity), matchesFilter(filter, propertyOf(entity)));
    }),
    { numRuns: 3000, ...seeded },
  );
});

const ENTITY: ExampleEntity = {
  key: { partitionKey: 'p\u{1f5ff}', rowKey: '' },
  ticks: 638_501_636_960_000_000n,
  properties: [
    ['A', { type: 'Edm.Int32', value: 1 }],
    ['AB', { type: 'Edm.String', value: 'x'.repeat(70_000) }],
    ['BA', { type: 'Edm.String', value: '\ue000' }],
    ['C', { type: 'Edm.Boolean', value: true }],
    ['Straße', { type: 'Edm.Boolean', value: false }],
    ['D', { type: 'Edm.Binary', value: Uint8Array.of(0xff, 0) }],
  ],
};

describe('of an encoded entity', () => {
  for (const [text, want] of [
    // Names are compared whole.
    ['A eq 1', true],
    ['B eq 1', false],
    ['a eq 1', false],
    [`AB gt 'xx' and BA ge '\ue000'`, true],
    ['Straße eq false', true],
    ['Strasse eq false', false],
    // The one that stands last is asked for first, and one twice.
    [`D eq X'ff00' and A eq 1 and C and D gt X'ff' and A lt 2`, true],
    [`(None or D eq X'ff00') and A ne 1`, false],
    [`not None and not (None eq 1) and A eq 1`, true],
    // Keys and the time stand elsewhere.
    [`PartitionKey eq 'p\u{1f5ff}' and PartitionKey lt 'p\ue000' and PartitionKey gt 'p\ud7ff'`, true],
    [`PartitionKey gt 'p' and PartitionKey lt 'q'`, true],
    [`RowKey eq '' and RowKey lt 'a' and RowKey ge ''`, true],
    [`Timestamp eq datetime'2024-05-01T12:34:56Z'`, true],
    [`Timestamp gt datetime'2024-05-01T12:34:56Z'`, false],
    [`BA gt '\u{1f5ff}' and BA gt '\ud7ff' and BA lt '\uffff' and BA lt '\ue000a'`, true],
  ] as const) {
    test(`${text} is ${want}`, () => {
      const filter = parsed(text);
      assert.equal(matchesFilter(filter, propertyOf(ENTITY)), want);
      assert.equal(judge(compileFilter(filter), ENTITY), want);
    });
  }

  test('five hundred names are told apart', () => {
    const names = Array.from({ length: 500 }, (_, index) => `N${index}`);
    const isMatch = compileFilter(parsed(names.map((name, index) => `${name} eq ${index}`).join(' and ')));
    const properties = names.map((name, value) => [name, { type: 'Edm.Int32', value }] as const);
    assert.equal(judge(isMatch, { ...ENTITY, properties: properties.toReversed() }), true);
    assert.equal(judge(isMatch, { ...ENTITY, properties: properties.slice(1) }), false);
  });

  test('a record of another format is not taken for one without properties', () => {
    const isMatch = compileFilter(parsed('not A'));
    assert.equal(judge(isMatch, ENTITY), true);
    const unknown = encodeEntity(ENTITY);
    unknown[0] = 99;
    assert.throws(() => isMatch(entityKey(ADDRESS, ENTITY.key), unknown), UnreadableRecord);
  });
});
