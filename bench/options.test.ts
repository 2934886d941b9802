import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOptions } from './options.ts';
import { allRows } from './rows/all-rows.ts';

test('without a choice, Larimar is compared with its peer and its limit in every row', () => {
  const options = parseOptions([]);
  assert.deepEqual(options?.columns, ['larimar', 'azurite', 'bare']);
  assert.equal(options?.rows.length, allRows(options.scale).length);
});

test('--scale-out compares nodes over a database on small requests to fresh servers', () => {
  const options = parseOptions(['--scale-out']);
  assert.deepEqual(options?.columns, ['larimar', 'postgres-1', 'postgres-3', 'pgbench']);
  assert.deepEqual(
    options?.rows.map((row) => [row.name, row.pgbench ?? null]),
    [
      ['put-1k', 'insert'],
      ['put-64k', null],
      ['get-1k', 'select'],
      ['properties', null],
      ['one-blob', null],
      ['set-metadata', 'update'],
      ['lease', null],
    ],
  );
  assert.ok(options?.rows.every((row) => row.stage === 'fresh'));
});

test('what is named goes before what a preset would choose', () => {
  const options = parseOptions(['--scale-out', '--only', 'pgbench,postgres-1', '--rows', 'lease']);
  assert.deepEqual(options?.columns, ['postgres-1', 'pgbench']);
  assert.deepEqual(
    options?.rows.map((row) => row.name),
    ['lease'],
  );
  assert.throws(() => parseOptions(['--only', 'postgres-2']), /no postgres-2 among larimar, azurite/);
});
