/** What operations on messages cost: as much as they hand out, put or delete, whatever else the queue holds. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine, type EngineCost } from '../../../test/harness/counted-engine.ts';
import { TestStore } from '../../../test/harness/store.ts';
import { holdOf, numbered, TestQueue } from '../../../test/harness/test-queue.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import type { GotMessage } from './hand-out.ts';

/** Nothing but the test's own operations is counted. */
async function open(): Promise<{ engine: CountedEngine; store: TestStore; queue: TestQueue }> {
  const engine = new CountedEngine(openMemoryEngine());
  const store = await TestStore.open({ engine });
  await store.sweeper.close();
  return { engine, store, queue: await TestQueue.create(store) };
}

interface Crowd {
  readonly visible: number;
  readonly hidden: number;
  /** They stand behind the visible ones. */
  readonly expired: number;
}

const FEW: Crowd = { visible: 40, hidden: 0, expired: 0 };
const CROWDS: readonly (readonly [what: string, crowd: Crowd])[] = [
  ['5,000 wait', { visible: 5_000, hidden: 0, expired: 0 }],
  ['5,000 are hidden', { visible: 40, hidden: 5_000, expired: 0 }],
  ['5,000 have expired behind the head', { visible: 40, hidden: 0, expired: 5_000 }],
  ['1,000 of each kind are there', { visible: 1_000, hidden: 1_000, expired: 1_000 }],
];

const OPERATIONS = ['Put', 'Get of 1', 'Get of 32', 'Update', 'Delete'] as const;
type Costs = Record<(typeof OPERATIONS)[number], EngineCost>;

async function costsIn({ visible, hidden, expired }: Crowd): Promise<Costs> {
  const { engine, store, queue } = await open();
  await queue.putAll(Array(visible).fill('text'));
  store.clock.advance({ seconds: 0.001 });
  await queue.putAll(Array(expired).fill('text'), { ttlSeconds: 1 });
  await queue.putAll(Array(hidden).fill('text'), { hiddenSeconds: 3_600 });
  store.clock.advance({ seconds: 1 });
  let got: GotMessage | undefined;
  return {
    Put: await engine.costOf(() => queue.put('text')),
    'Get of 1': await engine.costOf(async () => {
      [got] = await queue.get(1);
    }),
    'Get of 32': await engine.costOf(() => queue.get(32)),
    Update: await engine.costOf(async () => {
      const hold = holdOf(got as GotMessage);
      got = { ...(got as GotMessage), place: (await queue.update(hold, 10)).place };
    }),
    Delete: await engine.costOf(() => queue.delete(holdOf(got as GotMessage))),
  };
}

const few = costsIn(FEW);

for (const [what, crowd] of CROWDS) {
  describe(`where ${what}`, () => {
    const costs = costsIn(crowd);
    for (const operation of OPERATIONS) {
      test(`a ${operation} costs what it costs where few are`, async () => {
        assert.deepEqual((await costs)[operation], (await few)[operation]);
      });
    }
  });
}

describe('records read and written', () => {
  /** In order: entries read, commits, puts, deletes. */
  const rows: Record<(typeof OPERATIONS)[number], readonly [number, number, number, number]> = {
    // The queue and its count; place, text and count.
    Put: [2, 1, 3, 0],
    // Its place, claimed and loaded again; its text; the queue. It gets another place.
    'Get of 1': [4, 1, 1, 1],
    'Get of 32': [1 + 3 * 32, 1, 32, 32],
    Update: [2, 1, 1, 1],
    Delete: [3, 1, 1, 2],
  };
  for (const operation of OPERATIONS) {
    test(`by a ${operation} are these and no more`, async () => {
      const { entriesRead, commits, puts, deletes } = (await few)[operation];
      assert.deepEqual([entriesRead, commits, puts, deletes], rows[operation]);
    });
  }

  test('by a hundred who ask at once are those of one round', async () => {
    const { engine, queue } = await open();
    await queue.putAll(numbered(200));
    const cost = await engine.costOf(() => Promise.all(numbered(100).map(() => queue.get(1))));
    assert.deepEqual([cost.commits, cost.puts, cost.entriesRead], [1, 100, 1 + 3 * 100]);
  });

  test('by a Get of a long text do not include the text', async () => {
    const { engine, queue } = await open();
    await queue.put('x'.repeat(64 * 1024));
    const { bytesWritten } = await engine.costOf(() => queue.get(1));
    assert.ok(bytesWritten < 200, `${bytesWritten}`);
  });

  test('by a Get that finds nothing are none but the queue', async () => {
    const { engine, queue } = await open();
    await queue.putAll(numbered(1_000), { hiddenSeconds: 10 });
    const { entriesRead, commits } = await engine.costOf(() => queue.get(32));
    assert.deepEqual([entriesRead, commits], [1, 0]);
  });
});
