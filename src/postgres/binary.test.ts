import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase } from '../../test/harness/postgres.ts';
import { missingTool } from '../../test/packages.ts';
import { bigint, bigintArray, byteaArray } from './binary.ts';
import { Database } from './database.ts';

test('the database reads arrays and numbers as they were meant', { skip: missingTool('postgres') }, async () => {
  const { url, drop } = await freshDatabase();
  const database = new Database({ url });
  const items = [Buffer.from('one'), null, Buffer.alloc(0), Buffer.alloc(70_000, 0xff)];
  const numbers = [0, null, -1, 2 ** 53 - 1];
  const rows = await database.query({
    text: 'SELECT b, n, $3::bigint FROM unnest($1::bytea[], $2::bigint[]) AS u(b, n)',
    values: [byteaArray(items), bigintArray(numbers), bigint(2 ** 40)],
  });
  assert.deepEqual(
    rows.map(([bytes, number, same]) => [bytes, number === null ? null : Number(number), Number(same)]),
    items.map((item, index) => [item, numbers[index], 2 ** 40]),
  );
  const none = { text: 'SELECT unnest($1::bytea[]), 1', values: [byteaArray([])] };
  assert.deepEqual(await database.query(none), []);
  await database.close();
  await drop();
});
