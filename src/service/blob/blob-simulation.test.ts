/**
 * Random operations on blobs of all types, compared after every step with a model that is nothing but maps, and checked
 * for what is lost and what leaks (test/simulation/). LARIMAR_SEED replays one seed.
 */
// tier: both
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { simulationSeeds } from '../../../test/harness/random.ts';
import { simulateBlobs } from '../../../test/simulation/blob-simulation.ts';
import { inMemory, type Place } from '../../../test/simulation/place.ts';
import { openFilesContent } from '../../content/files/files-content.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';

const KIB = 1024;

async function onDisk(t: TestContext): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-simulation-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return {
    open: async () => ({
      engine: await openLmdbEngine({ path: join(folder, 'records') }),
      content: await openFilesContent({
        path: join(folder, 'content'),
        segmentBytesMax: 512 * KIB,
        segmentExtentBytesMax: 128 * KIB,
      }),
    }),
    async close({ engine, content }) {
      await engine.close();
      await content.close();
    },
  };
}

const { seeds, freshSeed } = simulationSeeds(1, 2, 3);

for (const seed of seeds) {
  test(`blobs in memory are what the model says, seed ${seed}`, async () => {
    await simulateBlobs({ seed, steps: 300, place: inMemory() });
  });
}

test(`blobs on disk are what the model says, seed ${freshSeed}`, async (t) => {
  await simulateBlobs({ seed: freshSeed, steps: 120, place: await onDisk(t) });
});
