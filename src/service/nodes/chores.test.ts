import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Gate } from '../../../test/harness/store.ts';
import { ManualClock } from '../../base/clock.ts';
import { Chores } from './chores.ts';

const MINUTE = 60;

/** A chore that is due ten minutes after the node began to lead, and an hour after each run. */
function start(run: (signal: AbortSignal) => Promise<unknown> = async () => {}) {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const done = { runs: 0 };
  const chore = {
    firstAfterMs: 10 * MINUTE * 1000,
    everyMs: 60 * MINUTE * 1000,
    run: async (signal: AbortSignal) => {
      done.runs++;
      await run(signal);
    },
  };
  const chores = new Chores({ clock, chores: [chore], onError: (error) => errors.push(error) });
  return { clock, chores, errors, done };
}

/** Minutes that pass before a beat, whether the node leads then, and the runs there have been by then. */
const ROWS = [
  [0, false, 0],
  [500, false, 0],
  [0, true, 0],
  [9, true, 0],
  [1, true, 1],
  [0, true, 1],
  [59, true, 1],
  [1, true, 2],
  [30, false, 2],
  // It leads again: that counts from now.
  [60, true, 2],
  [10, true, 3],
  [60, true, 4],
] as const;

test('a chore is done when it is due, by whoever leads then', async () => {
  const { clock, chores, done } = start();
  for (const [row, [minutes, leads, runs]] of ROWS.entries()) {
    clock.advance({ seconds: minutes * MINUTE });
    chores.look({ leads });
    await nextTurn();
    assert.equal(done.runs, runs, `row ${row}`);
  }
});

test('a chore that takes long is not done twice at once, and is due again after its end', async () => {
  const end = new Gate();
  const { clock, chores, done } = start(() => end.passed);
  chores.look({ leads: true });
  for (let hours = 0; hours < 5; hours++) {
    clock.advance({ seconds: 60 * MINUTE });
    chores.look({ leads: true });
  }
  assert.equal(done.runs, 1);
  end.open();
  await nextTurn();
  chores.look({ leads: true });
  assert.equal(done.runs, 1);
  clock.advance({ seconds: 60 * MINUTE });
  chores.look({ leads: true });
  assert.equal(done.runs, 2);
});

test('a chore that fails is reported, and done again when it is due', async () => {
  const { clock, chores, done, errors } = start(async () => {
    throw new Error('no');
  });
  chores.look({ leads: true });
  for (let runs = 1; runs <= 3; runs++) {
    clock.advance({ seconds: 60 * MINUTE });
    chores.look({ leads: true });
    await nextTurn();
    assert.equal(done.runs, runs);
    assert.equal(errors.length, runs);
  }
});

test('stopping tells a chore to end, waits until it has, and lets no other begin', async () => {
  const begun = new Gate();
  let hasEnded = false;
  const { clock, chores, done, errors } = start(async (signal) => {
    begun.open();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    hasEnded = true;
    signal.throwIfAborted();
  });
  chores.look({ leads: true });
  clock.advance({ seconds: 10 * MINUTE });
  chores.look({ leads: true });
  await begun.passed;
  await chores.stop();
  assert.ok(hasEnded);
  assert.deepEqual(errors, []);
  clock.advance({ seconds: 100 * MINUTE });
  chores.look({ leads: true });
  assert.equal(done.runs, 1);
});
