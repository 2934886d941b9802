import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf } from './pgbench.ts';

const printed = (failed: string): string => `progress: 1.0 s, 400.0 tps, lat 30.519 ms stddev 70.119, 0 failed
progress: 2.0 s, 5000.5 tps, lat 12.800 ms stddev 6.001, 0 failed
progress: 3.0 s, 6000.5 tps, lat 10.603 ms stddev 5.204, 0 failed
pgbench (15.14 (Debian 15.14-0+deb12u1))
transaction type: update.sql
query mode: prepared
number of clients: 64
number of transactions actually processed: 9876
number of failed transactions: ${failed}
latency average = 12.958 ms
initial connection time = 271.190 ms
tps = 4938.963112 (without initial connection time)
`;

test('the rate of pgbench is that of its seconds after the first', () => {
  assert.deepEqual(outcomeOf(printed('0 (0.000%)')), { value: 5500.5, failureCount: 0, failure: null });
});

test('transactions of pgbench that failed make its round no measurement', () => {
  const { failureCount, failure } = outcomeOf(printed('12 (0.120%)'));
  assert.deepEqual([failureCount, failure], [12, '12 transactions failed']);
});

test('a pgbench that ends without a rate is reported with what it printed', () => {
  assert.throws(() => outcomeOf('pgbench: error: connection refused'), /no result: .*connection refused/);
  assert.throws(() => outcomeOf('progress: 1.0 s, 400.0 tps, lat 30.519 ms'), /no result: progress/);
});
