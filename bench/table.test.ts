import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from './rows/row.ts';
import { type Column, median, type RowResult, renderTable, renderTables, resultsAsJson } from './table.ts';

const row: Row = {
  name: 'put',
  title: 'Put Blob',
  unit: 'req/s',
  better: 'higher',
  stage: 'fresh',
  rounds: 3,
  warmsUp: false,
  round: () => Promise.reject(new Error('not run here')),
};

const peers = ['larimar', 'azurite', 'bare'] as const;

function result(rounds: [Column, number[]][], failures: string[] = []): RowResult {
  return { row, rounds: new Map(rounds), failures };
}

test('the median of an even count lies between the middle two, and of nothing is no number', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([10, 1, 3, 100]), 6.5);
  assert.ok(Number.isNaN(median([])));
});

test('ratios are of medians, so one disturbed round does not change them', () => {
  const measured = result([
    ['larimar', [1000, 1010, 10]],
    ['azurite', [100, 100, 100]],
    ['bare', [4000, 1, 4000]],
  ]);
  const [report] = resultsAsJson([measured], peers);
  assert.deepEqual(report?.ratios, { 'Larimar/Azurite': 10, 'Larimar/bare': 0.25 });
});

test('a row without figures shows dashes, and one with failures is marked', () => {
  const lines = renderTable([result([['bare', [5]]], ['larimar: 3 failed'])], peers).split('\n');
  const cells = (lines[2] ?? '').split('|').map((cell) => cell.trim());
  assert.deepEqual(cells.slice(1, -1), ['Put Blob (!)', 'req/s', '-', '-', '5', '-', '-']);
});

test('nodes over a database stand beside lmdb and pgbench, in sum and per node', () => {
  const measured = result([
    ['larimar', [9000]],
    ['postgres-1', [3000]],
    ['postgres-3', [4500]],
    ['pgbench', [6000]],
  ]);
  const lines = renderTable([measured], ['larimar', 'postgres-1', 'postgres-3', 'pgbench']).split('\n');
  const [titles, , figures] = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  assert.deepEqual(
    titles?.slice(3, -1).map((title, index) => [title, figures?.[index + 3]]),
    [
      ['lmdb', '9,000'],
      ['postgres ×1', '3,000'],
      ['postgres ×3 (sum)', '4,500'],
      ['pgbench', '6,000'],
      ['×1/lmdb', '0.33'],
      ['×3/×1', '1.5'],
      ['×1/pgbench', '0.5'],
      ['×3/pgbench', '0.75'],
      ['×3/pgbench per node', '0.25'],
    ],
  );
});

const cellsOf = (table: string): string[][] =>
  table.split('\n').map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(3, -1),
  );

test('rows over SMB are a table of their own, with those that are compared over SMB', () => {
  const overHttp = result([
    ['larimar', [100]],
    ['azurite', [50]],
  ]);
  const overSmb: RowResult = {
    row: { ...row, title: 'SMB: get', protocol: 'smb' },
    rounds: new Map([
      ['larimar', [100]],
      ['smbd', [400]],
      ['smbd-sync', [80]],
    ]),
    failures: [],
  };
  const chosen = ['larimar', 'azurite', 'smbd', 'smbd-sync', 'pgbench'] as const;
  const [http, smb, ...more] = renderTables([overSmb, overHttp], chosen).map(cellsOf);
  assert.deepEqual(
    [http?.[0], http?.[2]],
    [
      ['Larimar', 'Azurite', 'pgbench', 'Larimar/Azurite'],
      ['100', '50', '-', '2'],
    ],
  );
  assert.deepEqual(
    [smb?.[0], smb?.[2]],
    [
      ['Larimar', 'smbd', 'smbd (sync)', 'Larimar/smbd', 'Larimar/smbd (sync)'],
      ['100', '400', '80', '0.25', '1.3'],
    ],
  );
  assert.deepEqual(more, []);
  assert.deepEqual(
    renderTables([overSmb], chosen).map((table) => cellsOf(table)[0]?.length),
    [5],
  );
  assert.deepEqual(
    resultsAsJson([overSmb, overHttp], chosen).map(({ ratios }) => ratios),
    [{ 'Larimar/smbd': 0.25, 'Larimar/smbd (sync)': 1.25 }, { 'Larimar/Azurite': 2 }],
  );
});
