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
