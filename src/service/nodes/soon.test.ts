import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Gate, keepAwake } from '../../../test/harness/store.ts';
import { Soon } from './soon.ts';

test('many calls are carried out as one, later, and calls after that as another', async (t) => {
  keepAwake(t);
  let runs = 0;
  let ran = new Gate();
  const soon = new Soon(() => {
    runs++;
    ran.open();
  }, 1);
  for (const round of [1, 2, 3]) {
    ran = new Gate();
    for (let calls = 0; calls < 10; calls++) soon.call();
    assert.equal(runs, round - 1);
    await ran.passed;
    assert.equal(runs, round);
  }
});

test('what was called for before stopping is not carried out', async (t) => {
  keepAwake(t);
  let runs = 0;
  const stopped = new Soon(() => runs++, 1);
  stopped.call();
  stopped.stop();
  // A timer of the same length that was set later.
  const ran = new Gate();
  new Soon(() => ran.open(), 1).call();
  await ran.passed;
  assert.equal(runs, 0);
});
