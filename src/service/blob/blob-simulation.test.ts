/**
 * Random operations on blobs of all types, compared after every step with a model that is nothing but maps, and checked
 * for what is lost and what leaks (test/simulation/). LARIMAR_SEED replays one seed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { type Place, simulateBlobs } from '../../../test/simulation/blob-simulation.ts';
import { openFilesContent } from '../../content/files/files-content.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';
import { MemoryEngine } from '../../engine/memory/memory-engine.ts';

const KIB = 1024;

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

const firstSeed = new Random().seed;

for (const seed of process.env['LARIMAR_SEED'] === undefined ? [1, 2, 3, firstSeed] : [firstSeed]) {
  test(`blobs in memory are what the model says, seed ${seed}`, async () => {
    await simulateBlobs({ seed, steps: 300, place: inMemory() });
  });
}

test(`blobs on disk are what the model says, seed ${firstSeed}`, async (t) => {
  await simulateBlobs({ seed: firstSeed, steps: 120, place: await onDisk(t) });
});
