import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntityGroup } from './entity-group.ts';

/** `table partitionKey rowKey` of each change, and the refusal of the last. */
for (const [changes, want] of [
  [['t p r'], null],
  [['t p r', 't p s', 't p R'], null],
  [['t p r', 'T p s'], null],
  [['t p r', 'T p r'], 'InvalidDuplicateRow'],
  [['t p r', 't p s', 't p r'], 'InvalidDuplicateRow'],
  [['t p r', 't q r'], 'CommandsInBatchActOnDifferentPartitions'],
  [['t p r', 't P r'], 'CommandsInBatchActOnDifferentPartitions'],
  [['t p r', 'u q r'], 'InvalidInput'],
  [['t p r', 'u p s'], 'InvalidInput'],
] as const) {
  test(`of the changes ${changes.join(', ')} the last gets ${want ?? 'in'}`, () => {
    const group = new EntityGroup();
    const refusals = changes.map((change) => {
      const [table = '', partitionKey = '', rowKey = ''] = change.split(' ');
      return (group.refuseTable(table) ?? group.refuseKey({ partitionKey, rowKey }))?.code ?? null;
    });
    assert.deepEqual(
      refusals,
      changes.map((_, index) => (index === changes.length - 1 ? want : null)),
    );
  });
}

test('empty keys are keys', () => {
  const group = new EntityGroup();
  assert.equal(group.refuseKey({ partitionKey: '', rowKey: '' }), null);
  assert.equal(group.refuseKey({ partitionKey: '', rowKey: '' })?.code, 'InvalidDuplicateRow');
  assert.equal(group.refuseKey({ partitionKey: 'p', rowKey: 'r' })?.code, 'CommandsInBatchActOnDifferentPartitions');
});
