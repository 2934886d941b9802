import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from './rows/row.ts';
import { median, type RowResult, renderTable, resultsAsJson } from './table.ts';

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

function result(rounds: ['larimar' | 'azurite' | 'bare', number[]][], failures: string[] = []): RowResult {
  return { row, rounds: new Map(rounds), failures };
}

test('the median of an even count lies between the middle two, and of nothing is no number', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([10, 1, 3, 100]), 6.5);
  assert.ok(Number.isNaN(median([])));
});

test('ratios are of medians, so one disturbed round does not change them', () => {
  const json = resultsAsJson([
    result([
      ['larimar', [1000, 1010, 10]],
      ['azurite', [100, 100, 100]],
      ['bare', [4000, 1, 4000]],
    ]),
  ]);
  assert.deepEqual(
    json.map(({ larimarToAzurite, larimarToBare }) => [larimarToAzurite, larimarToBare]),
    [[10, 0.25]],
  );
});

test('a row without figures shows dashes, and one with failures is marked', () => {
  const lines = renderTable([result([['bare', [5]]], ['larimar: 3 failed'])]).split('\n');
  const cells = (lines[2] ?? '').split('|').map((cell) => cell.trim());
  assert.deepEqual(cells.slice(1, -1), ['Put Blob (!)', 'req/s', '-', '-', '5', '-', '-']);
});
