/**
 * Random operations on shares by several clients at once, compared after every step with a model that is nothing but trees
 * of maps (test/simulation/). LARIMAR_SEED replays one seed.
 */
import { test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { simulateFiles } from '../../../test/simulation/file-simulation.ts';
import { inMemory, recordsOnDisk } from '../../../test/simulation/place.ts';

const firstSeed = new Random().seed;

for (const seed of process.env['LARIMAR_SEED'] === undefined ? [1, 2, firstSeed] : [firstSeed]) {
  test(`shares in memory are what the model says, seed ${seed}`, async () => {
    await simulateFiles({ seed, steps: 200, place: inMemory(), nodeCount: 1 });
  });
}

test(`shares that three nodes use are what the model says, seed ${firstSeed}`, async () => {
  await simulateFiles({ seed: firstSeed, steps: 200, place: inMemory(), nodeCount: 3 });
});

test(`shares on disk are what the model says, seed ${firstSeed}`, async (t) => {
  await simulateFiles({ seed: firstSeed, steps: 60, place: await recordsOnDisk(t), nodeCount: 1 });
});
