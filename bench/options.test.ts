import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contestantNames } from './contestants.ts';
import { parseOptions, wholeScale } from './options.ts';
import { allRows } from './rows/all-rows.ts';
import { takesPart } from './rows/row.ts';

test('without a choice, Larimar is compared with its peers and its limit in every row', () => {
  const options = parseOptions([], null);
  assert.deepEqual(options?.columns, ['larimar', 'azurite', 'bare', 'smbd', 'smbd-sync']);
  assert.equal(options?.rows.length, allRows(options.scale).length);
  assert.equal(options?.withoutSmb, undefined);
});

test('where Samba cannot be run, rows about SMB are left out and it is said why, unless they are named', () => {
  const options = parseOptions([], 'no smbd');
  assert.deepEqual(options?.columns, ['larimar', 'azurite', 'bare']);
  const [left] = [allRows(options.scale).filter((row) => !options.rows.some(({ name }) => name === row.name))];
  assert.ok(left.length > 0 && left.every((row) => row.protocol === 'smb'));
  assert.equal(options.withoutSmb, 'no smbd');

  const named = parseOptions(['--rows', 'smb-read,put-1k', '--only', 'larimar,smbd'], 'no smbd');
  assert.deepEqual(
    named?.rows.map((row) => row.name),
    ['put-1k', 'smb-read'],
  );
  assert.deepEqual(named?.columns, ['larimar', 'smbd']);
  assert.equal(named?.withoutSmb, undefined);
});

test('--smb compares with Samba as it is and as it is when it writes at once, over SMB alone', () => {
  const options = parseOptions(['--smb'], null);
  assert.deepEqual(options?.columns, ['larimar', 'smbd', 'smbd-sync']);
  assert.deepEqual(
    options?.rows.map((row) => [row.name, contestantNames.filter((name) => takesPart(name, row)).join()]),
    [
      'smb-write',
      'smb-read',
      'smb-write-encrypted',
      'smb-read-encrypted',
      'smb-random-read',
      'smb-random-write',
      'smb-create',
    ].map((name) => [name, 'larimar,smbd,smbd-sync']),
  );
});

test('Samba takes part in no row over HTTP, and nobody in one that leaves them out', () => {
  const rows = allRows(wholeScale).filter((row) => row.protocol !== 'smb');
  assert.ok(rows.every((row) => !takesPart('smbd', row) && !takesPart('smbd-sync', row)));
  assert.deepEqual(
    rows.filter((row) => !takesPart('azurite', row)).map((row) => row.name),
    rows.filter((row) => row.without?.includes('azurite')).map((row) => row.name),
  );
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
  assert.throws(() => parseOptions(['--only', 'postgres-2']), /"postgres-2" is unknown\. Choose from larimar, azurite/);
});
