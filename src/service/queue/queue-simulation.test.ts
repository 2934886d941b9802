/**
 * Random operations on queues by several consumers at once, compared after every step with a model that is nothing but maps
 * (test/simulation/). LARIMAR_SEED replays one seed.
 */
// tier: both
import { test } from 'node:test';
import { simulationSeeds } from '../../../test/harness/random.ts';
import { inMemory, recordsOnDisk } from '../../../test/simulation/place.ts';
import { simulateQueues } from '../../../test/simulation/queue-simulation.ts';

const { seeds, freshSeed } = simulationSeeds(1, 2);

for (const seed of seeds) {
  test(`queues in memory are what the model says, seed ${seed}`, async () => {
    await simulateQueues({ seed, steps: 300, place: inMemory(), nodeCount: 1 });
  });
}

test(`queues that three nodes share are what the model says, seed ${freshSeed}`, async () => {
  await simulateQueues({ seed: freshSeed, steps: 300, place: inMemory(), nodeCount: 3 });
});

test(`queues on disk are what the model says, seed ${freshSeed}`, async (t) => {
  await simulateQueues({ seed: freshSeed, steps: 60, place: await recordsOnDisk(t), nodeCount: 1 });
});
