/**
 * Random operations on tables by several actors at once, compared after every step with a model that is nothing but maps
 * (test/simulation/). LARIMAR_SEED replays one seed.
 */
import { test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { inMemory, recordsOnDisk } from '../../../test/simulation/place.ts';
import { simulateTables } from '../../../test/simulation/table-simulation.ts';

const firstSeed = new Random().seed;

for (const seed of process.env['LARIMAR_SEED'] === undefined ? [1, 2, firstSeed] : [firstSeed]) {
  test(`tables in memory are what the model says, seed ${seed}`, async () => {
    await simulateTables({ seed, steps: 100, place: inMemory(), nodeCount: 1 });
  });
}

test(`tables that three nodes share are what the model says, seed ${firstSeed}`, async () => {
  await simulateTables({ seed: firstSeed, steps: 100, place: inMemory(), nodeCount: 3 });
});

test(`tables on disk are what the model says, seed ${firstSeed}`, async (t) => {
  await simulateTables({ seed: firstSeed, steps: 40, place: await recordsOnDisk(t), nodeCount: 1 });
});
