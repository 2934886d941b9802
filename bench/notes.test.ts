import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notes } from './notes.ts';
import { parseOptions } from './options.ts';

test('what several rows remark is told once, and only by rows that were run', () => {
  const options = parseOptions(['--only', 'larimar', '--backlog', '500']);
  assert.ok(options !== null);
  const run = options.rows.filter((row) => row.name.startsWith('queue-get'));
  const told = notes({
    options,
    results: run.map((row) => ({ row, rounds: new Map(), failures: [] })),
    postgresVersion: null,
  }).join(' ');
  assert.equal(told.split('Queues hold').length - 1, 1);
  assert.ok(!notes({ options, results: [], postgresVersion: null }).join(' ').includes('Queues hold'));
});

test('when bytes reach the disk is told of those that took part in a row that was run', () => {
  const options = parseOptions([], null);
  assert.ok(options !== null);
  const toldOf = (name: string): string =>
    notes({
      options,
      results: options.rows.filter((row) => row.name === name).map((row) => ({ row, rounds: new Map(), failures: [] })),
      postgresVersion: null,
    }).join(' ');
  const overSmb = toldOf('smb-write');
  for (const text of ['Larimar answers', 'smbd lets', 'smbd (sync) answers']) assert.ok(overSmb.includes(text), text);
  for (const text of ['Azurite', 'over HTTP']) assert.ok(!overSmb.includes(text), text);
  assert.ok(toldOf('put-1k').includes('Azurite') && !toldOf('put-1k').includes('smbd'));
});
