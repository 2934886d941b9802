/** Nodes that know the time to within some milliseconds, each off in its own way, on one store. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { TestStore } from '../../../test/harness/store.ts';
import { holdOf, TestQueue } from '../../../test/harness/test-queue.ts';
import { ManualClock } from '../../base/clock.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { openLocalSignals } from '../../signals/local/local-signals.ts';

class OffClock extends ManualClock {
  readonly #right: ManualClock;
  readonly #uncertaintyMs: number;
  /** At most the uncertainty, either way. */
  offMs = 0;

  constructor(right: ManualClock, uncertaintyMs: number) {
    super();
    this.#right = right;
    this.#uncertaintyMs = uncertaintyMs;
  }

  override nowMs(): number {
    return Math.floor(this.#right.nowMs() + this.offMs);
  }

  uncertaintyMs(): number {
    return this.#uncertaintyMs;
  }
}

interface Node {
  readonly clock: OffClock;
  readonly store: TestStore;
  readonly queue: TestQueue;
}

const UNCERTAINTIES_MS = [0.7, 40, 300];

async function openNodes(right: ManualClock): Promise<[Node, ...Node[]]> {
  const parts = { engine: openMemoryEngine(), content: openMemoryContent(), signals: openLocalSignals() };
  const nodes: Node[] = [];
  for (const [slot, uncertaintyMs] of UNCERTAINTIES_MS.entries()) {
    const clock = new OffClock(right, uncertaintyMs);
    const store = await TestStore.open({ ...parts, clock, isShared: true, slot: () => slot });
    nodes.push({ clock, store, queue: new TestQueue(store) });
  }
  return nodes as [Node, ...Node[]];
}

const seed = new Random().seed;

test(`what is put is seen by all at once, what is hidden by nobody too early, LARIMAR_SEED=${seed}`, async () => {
  const random = new Random(seed);
  const right = new ManualClock();
  const nodes = await openNodes(right);
  await nodes[0].queue.create();
  const turn = (): Node => {
    for (const { clock } of nodes) clock.offMs = random.pick([-1, 0, 1, 2 * random.next() - 1]) * clock.uncertaintyMs();
    return random.pick(nodes);
  };
  for (let round = 0; round < 300; round++) {
    const put = await turn().queue.put('text');
    const seen = await turn().queue.peek();
    assert.deepEqual(seen, ['text'], `round ${round}: put, and not seen`);
    const hiddenSeconds = 1 + random.below(3);
    const getter = turn();
    const hiddenAtMs = right.nowMs();
    const got = random.chance(0.5)
      ? await getter.queue.getOne(hiddenSeconds)
      : { ...put, ...(await getter.queue.update(holdOf(put), hiddenSeconds)) };
    const dueMs = hiddenAtMs + hiddenSeconds * 1000;
    right.advance({ seconds: (dueMs - 1 - random.below(700) - hiddenAtMs) / 1000 });
    while ((await turn().queue.peek()).length === 0) {
      right.advance({ seconds: random.pick([1, 5, 50]) / 1000 });
      assert.ok(right.nowMs() < dueMs + 2_000, `round ${round}: hidden for too long`);
    }
    assert.ok(right.nowMs() >= dueMs, `round ${round}: ${dueMs - right.nowMs()} ms too early`);
    await turn().queue.delete(holdOf(got));
    right.advance({ seconds: random.below(3) / 1000 });
  }
  for (const { store } of nodes) await store.close();
});
