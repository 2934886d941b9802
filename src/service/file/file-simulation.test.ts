/**
 * Random operations on shares by several clients at once, compared after every step with a model that is nothing but trees
 * of maps (test/simulation/). LARIMAR_SEED replays one seed.
 */
// tier: both
import { test } from 'node:test';
import { simulationSeeds } from '../../../test/harness/random.ts';
import { byTier } from '../../../test/harness/tier.ts';
import { simulateFiles } from '../../../test/simulation/file-simulation.ts';
import { inMemory, recordsOnDisk } from '../../../test/simulation/place.ts';

const { seeds, freshSeed } = simulationSeeds(1, 2);

for (const seed of seeds) {
  test(`shares in memory are what the model says, seed ${seed}`, async () => {
    await simulateFiles({ seed, steps: byTier({ quick: 100, system: 200 }), place: inMemory(), nodeCount: 1 });
  });
}

test(`shares that three nodes use are what the model says, seed ${freshSeed}`, async () => {
  await simulateFiles({ seed: freshSeed, steps: byTier({ quick: 100, system: 200 }), place: inMemory(), nodeCount: 3 });
});

test(`shares on disk are what the model says, seed ${freshSeed}`, async (t) => {
  await simulateFiles({ seed: freshSeed, steps: 60, place: await recordsOnDisk(t), nodeCount: 1 });
});
