/**
 * Random operations on queues by several consumers at once, compared after every step with a model that is nothing but maps
 * (test/simulation/). LARIMAR_SEED replays one seed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { type Place, simulateQueues } from '../../../test/simulation/queue-simulation.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';
import { MemoryEngine } from '../../engine/memory/memory-engine.ts';

function inMemory(): Place {
  let engine = new MemoryEngine();
  const content = openMemoryContent();
  return {
    open: async () => ({ engine, content }),
    async close() {
      engine = engine.restart();
    },
  };
}

async function onDisk(t: TestContext): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-simulation-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const content = openMemoryContent();
  return {
    open: async () => ({ engine: await openLmdbEngine({ path: join(folder, 'records') }), content }),
    close: ({ engine }) => engine.close(),
  };
}

const firstSeed = new Random().seed;

for (const seed of process.env['LARIMAR_SEED'] === undefined ? [1, 2, firstSeed] : [firstSeed]) {
  test(`queues in memory are what the model says, seed ${seed}`, async () => {
    await simulateQueues({ seed, steps: 300, place: inMemory(), nodeCount: 1 });
  });
}

test(`queues that three nodes share are what the model says, seed ${firstSeed}`, async () => {
  await simulateQueues({ seed: firstSeed, steps: 300, place: inMemory(), nodeCount: 3 });
});

test(`queues on disk are what the model says, seed ${firstSeed}`, async (t) => {
  await simulateQueues({ seed: firstSeed, steps: 60, place: await onDisk(t), nodeCount: 1 });
});
