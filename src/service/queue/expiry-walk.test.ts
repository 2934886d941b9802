import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { TestStore } from '../../../test/harness/store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { ExpiryWalk } from './expiry-walk.ts';

const NEVER_STOPPED = new AbortController().signal;

for (const [tookMs, everyMs] of [
  [0, 60_000],
  [10, 60_000],
  [3_000, 60_000],
  [3_001, 60_020],
  [60_000, 1_200_000],
] as const) {
  test(`after a walk that took ${tookMs} ms the next one waits for ${everyMs} ms`, async () => {
    const hooks = new Hooks();
    const store = await TestStore.open({ engine: hookEngine(openMemoryEngine(), hooks) });
    let monotonicMs = 500;
    const walk = new ExpiryWalk(store.storage, () => monotonicMs);
    hooks.before = () => {
      monotonicMs = 500 + tookMs;
    };
    await walk.run(NEVER_STOPPED);
    assert.equal(walk.everyMs, everyMs);
  });
}

test('after a long walk that failed the next one waits too, and after a short one no more', async () => {
  const hooks = new Hooks();
  const store = await TestStore.open({ engine: hookEngine(openMemoryEngine(), hooks) });
  let monotonicMs = 0;
  const walk = new ExpiryWalk(store.storage, () => monotonicMs);
  hooks.before = () => {
    monotonicMs += 10_000;
    throw new Error('no');
  };
  await assert.rejects(walk.run(NEVER_STOPPED), /no/);
  assert.equal(walk.everyMs, 200_000);
  hooks.clear();
  await walk.run(NEVER_STOPPED);
  assert.equal(walk.everyMs, 60_000);
});
