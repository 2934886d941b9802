/**
 * Random operations on queues by several consumers at once, compared after every step with a model that is nothing but maps
 * (test/simulation/). LARIMAR_SEED replays one seed.
 */
import { test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { inMemory, recordsOnDisk } from '../../../test/simulation/place.ts';
import { simulateQueues } from '../../../test/simulation/queue-simulation.ts';

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
  await simulateQueues({ seed: firstSeed, steps: 60, place: await recordsOnDisk(t), nodeCount: 1 });
});
