import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accumulatorFor } from './aggregates.ts';
import { jsonText } from './json-text.ts';
import { RecordError } from './query-error.ts';
import type { AggregateName } from './syntax.ts';
import type { Value } from './value.ts';

const rows: [AggregateName, readonly Value[], Value][] = [
  ['count', [], 0n],
  ['count', [1n, null, 'a', undefined, false], 3n],
  ['sum', [], null],
  ['sum', [null, undefined], null],
  ['sum', [1n, 2n], 3n],
  ['sum', ['1', ' 2 ', '3.5'], 6.5],
  ['sum', [2n ** 62n, 2n ** 62n, -(2n ** 62n)], 2n ** 62n],
  ['sum', [9007199254740993n, 1n], 9007199254740994n],
  ['avg', [], null],
  ['avg', ['1', '2'], 1.5],
  ['avg', [1n, null, 2.5], 1.75],
  ['min', [], null],
  ['min', ['100', '20', '3'], 3n],
  ['max', ['100', '20', '3'], 100n],
  ['max', ['100', '20', 'x'], 'x'],
  ['min', ['x', '100', '20'], '100'],
  ['max', ['2024-01-02', '2024-01-10'], '2024-01-10'],
  ['min', [2.5, 2n, null], 2n],
  ['max', [true, false], true],
];
for (const [name, values, want] of rows) {
  test(`${name} of ${jsonText(values)} is ${jsonText(want)}`, () => {
    const accumulator = accumulatorFor(name);
    for (const value of values) accumulator.add(value);
    assert.deepEqual(accumulator.result(), want);
  });
}

test('a sum of what are no numbers fails, and so does one that is too large', () => {
  assert.throws(() => accumulatorFor('sum').add('x'), RecordError);
  const sum = accumulatorFor('sum');
  for (let count = 0; count < 3; count++) sum.add(2n ** 62n);
  assert.throws(() => sum.result(), RecordError);
});
