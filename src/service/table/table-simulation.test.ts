/**
 * Random operations on tables by several actors at once, compared after every step with a model that is nothing but maps
 * (test/simulation/). LARIMAR_SEED replays one seed.
 */
// tier: both
import { test } from 'node:test';
import { simulationSeeds } from '../../../test/harness/random.ts';
import { inMemory, recordsOnDisk } from '../../../test/simulation/place.ts';
import { simulateTables } from '../../../test/simulation/table-simulation.ts';

const { seeds, freshSeed } = simulationSeeds(1, 2);

for (const seed of seeds) {
  test(`tables in memory are what the model says, seed ${seed}`, async () => {
    await simulateTables({ seed, steps: 100, place: inMemory(), nodeCount: 1 });
  });
}

test(`tables that three nodes share are what the model says, seed ${freshSeed}`, async () => {
  await simulateTables({ seed: freshSeed, steps: 100, place: inMemory(), nodeCount: 3 });
});

test(`tables on disk are what the model says, seed ${freshSeed}`, async (t) => {
  await simulateTables({ seed: freshSeed, steps: 40, place: await recordsOnDisk(t), nodeCount: 1 });
});
