import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EntityScope, isInScope } from './entity-scope.ts';

type Bounds = Pick<EntityScope, 'from' | 'to'>;

/** Partition and row of every entity of the table, in order. */
const ENTITIES = ['a/1', 'a/2', 'b/', 'b/1', 'b/2', 'b/3', 'ba/1', 'c/1', 'c/2', 'd/1'];

const from = (partitionKey: string, rowKey = ''): Bounds['from'] => ({ partitionKey, rowKey });
const to = (partitionKey: string, rowKey: string | null = null): Bounds['to'] => ({ partitionKey, rowKey });

const rows: readonly (readonly [what: string, bounds: Bounds, inside: readonly string[]])[] = [
  ['without bounds', { from: null, to: null }, ENTITIES],
  ['from a partition on', { from: from('b'), to: null }, ENTITIES.slice(2)],
  ['from a row on', { from: from('b', '2'), to: null }, ENTITIES.slice(4)],
  ['from behind the last row of a partition', { from: from('b', '9'), to: null }, ENTITIES.slice(6)],
  ['to a partition', { from: null, to: to('b') }, ENTITIES.slice(0, 6)],
  ['to a row', { from: null, to: to('b', '1') }, ENTITIES.slice(0, 4)],
  ['to the row without a name', { from: null, to: to('b', '') }, ENTITIES.slice(0, 3)],
  ['of one partition', { from: from('b'), to: to('b') }, ['b/', 'b/1', 'b/2', 'b/3']],
  ['of some rows of one partition', { from: from('b', '1'), to: to('b', '2') }, ['b/1', 'b/2']],
  ['of one row', { from: from('b', '2'), to: to('b', '2') }, ['b/2']],
  ['from a row of one partition to a row of another', { from: from('b', '3'), to: to('c', '1') }, ENTITIES.slice(5, 8)],
  ['that ends before it begins', { from: from('c'), to: to('b') }, []],
];

for (const [what, bounds, inside] of rows) {
  test(`a scope ${what} holds ${inside.join(' ') || 'nothing'}`, () => {
    const held = ENTITIES.filter((entity) => {
      const [partitionKey = '', rowKey = ''] = entity.split('/');
      return isInScope({ table: 't', ...bounds }, { partitionKey, rowKey });
    });
    assert.deepEqual(held, inside);
  });
}

test('keys are compared by code units, so an emoji stands before the last characters of the basic plane', () => {
  const scope: EntityScope = { table: 't', from: null, to: to('\u{1f600}') };
  assert.equal(isInScope(scope, { partitionKey: '\u{1f600}', rowKey: 'x' }), true);
  assert.equal(isInScope(scope, { partitionKey: '\uffee', rowKey: 'x' }), false);
});
