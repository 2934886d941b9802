import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseClock } from './database-clock.ts';

/** A machine's monotonic clock and a database's, moved by hand. */
class Bench {
  monotonicMs = 1_000;
  databaseMs = 1_700_000_000_000;
  readonly clock = new DatabaseClock(() => this.monotonicMs);

  pass(ms: number): void {
    this.monotonicMs += ms;
    this.databaseMs += ms;
  }

  /** An answer that is `toMs` on its way to the database and `backMs` on its way back. */
  ask(toMs: number, backMs: number): Promise<void> {
    return this.clock.ask(async () => {
      this.pass(toMs);
      const saidMs = this.databaseMs;
      this.pass(backMs);
      return saidMs;
    });
  }

  get errorMs(): number {
    return Math.abs(this.clock.nowMs() - this.databaseMs);
  }
}

test('the time is the database’s, within half of the round trip it was asked with', async () => {
  for (const [toMs, backMs] of [
    [1, 1],
    [0, 40],
    [40, 0],
    [3, 9],
  ] as const) {
    const bench = new Bench();
    await bench.ask(toMs, backMs);
    assert.ok(bench.errorMs <= (toMs + backMs) / 2 + 1, `${toMs} there, ${backMs} back: ${bench.errorMs}`);
    bench.pass(60_000);
    assert.ok(bench.errorMs <= (toMs + backMs) / 2 + 1);
  }
});

test('an answer that took long does not spoil a better one', async () => {
  const bench = new Bench();
  await bench.ask(1, 1);
  bench.pass(3_000);
  await bench.ask(0, 2_000);
  assert.ok(bench.errorMs <= 2);
});

test('after a long time a worse answer counts again, since the clocks may have drifted apart', async () => {
  const bench = new Bench();
  await bench.ask(1, 1);
  bench.pass(3_600_000);
  bench.databaseMs += 300;
  await bench.ask(20, 20);
  assert.ok(bench.errorMs <= 21);
});

test('a database whose time has jumped ahead is followed at once', async () => {
  const bench = new Bench();
  await bench.ask(1, 1);
  bench.pass(3_000);
  bench.databaseMs += 60_000;
  await bench.ask(5, 5);
  assert.ok(bench.errorMs <= 6);
});

test('a database whose time has jumped back makes the clock stand still, not go back', async () => {
  const bench = new Bench();
  await bench.ask(1, 1);
  const before = bench.clock.nowMs();
  bench.databaseMs -= 60_000;
  await bench.ask(1, 1);
  assert.equal(bench.clock.nowMs(), before);
  bench.pass(61_000);
  assert.ok(bench.clock.nowMs() > before);
  assert.ok(bench.errorMs <= 2);
});

test('the time is never further off than the clock says, also while it stands still after a better answer', async () => {
  const bench = new Bench();
  await bench.ask(0, 400);
  assert.ok(bench.errorMs > 190 && bench.errorMs <= bench.clock.uncertaintyMs());
  await bench.ask(1, 1);
  for (let step = 0; step < 50; step++) {
    assert.ok(bench.errorMs <= bench.clock.uncertaintyMs(), `${bench.errorMs} > ${bench.clock.uncertaintyMs()}`);
    bench.pass(9.7);
  }
  assert.ok(bench.clock.uncertaintyMs() < 3);
});
