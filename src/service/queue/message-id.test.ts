import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdSource } from '../../base/ids.ts';
import { nextMessageId } from './message-id.ts';

const VERSION_8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const timeAndCount = (id: string): string => id.slice(0, 13) + id.slice(15, 18) + id.slice(20, 21);

test('message ids are GUIDs, all different, that grow', () => {
  const ids = new IdSource();
  const made = Array.from({ length: 70_000 }, () => nextMessageId(ids));
  assert.deepEqual(
    made.filter((id) => !VERSION_8.test(id)),
    [],
  );
  assert.equal(new Set(made).size, made.length);
  const times = made.map(timeAndCount);
  assert.deepEqual(times.toSorted(), times);
});

test('message ids of two processes are different in one millisecond too', () => {
  const sources = [new IdSource(() => 1), new IdSource(() => 1)];
  const made = sources.flatMap((ids) => Array.from({ length: 100 }, () => nextMessageId(ids)));
  assert.equal(new Set(made).size, 200);
});
