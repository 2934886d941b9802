import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Endings } from './endings.ts';

test('what was opened is closed in the reverse order, once, also when closing one of it fails', async () => {
  const endings = new Endings();
  const closed: string[] = [];
  endings.add(async () => closed.push('first'));
  endings.add(async () => {
    closed.push('second');
    throw new Error('the second fails');
  });
  endings.add(async () => {
    closed.push('third');
    throw new Error('the third fails');
  });
  await assert.rejects(endings.run(), /the third fails/);
  assert.deepEqual(closed, ['third', 'second', 'first']);
  await endings.run();
  assert.equal(closed.length, 3);
});
