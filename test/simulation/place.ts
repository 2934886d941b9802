/** What all simulations share: where their store is, over restarts, and how their steps follow each other. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ContentStore } from '../../src/content/content.ts';
import { openMemoryContent } from '../../src/content/memory/memory-content.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openLmdbEngine } from '../../src/engine/lmdb/lmdb-engine.ts';
import { MemoryEngine } from '../../src/engine/memory/memory-engine.ts';

export interface Parts {
  readonly engine: Engine;
  readonly content: ContentStore;
}

/** How a simulation gets at its store, the first time and after each restart. */
export interface Place {
  open(): Promise<Parts>;
  close(parts: Parts): Promise<void>;
}

export function inMemory(): Place {
  let engine = new MemoryEngine();
  const content = openMemoryContent();
  return {
    open: async () => ({ engine, content }),
    async close() {
      engine = engine.restart();
    },
  };
}

/** Records on disk: for what has no content. */
export async function recordsOnDisk(t: TestContext): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-simulation-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const content = openMemoryContent();
  return {
    open: async () => ({ engine: await openLmdbEngine({ path: join(folder, 'records') }), content }),
    close: ({ engine }) => engine.close(),
  };
}

export interface Simulation {
  /** For whoever reads of a failure. */
  doing: string;
  step(): Promise<void>;
  end(): Promise<void>;
}

export async function runSteps(
  simulation: Simulation,
  run: { readonly seed: number; readonly steps: number },
): Promise<void> {
  for (let step = 0; step < run.steps; step++) {
    await simulation.step().catch((error: unknown) => {
      throw new Error(`LARIMAR_SEED=${run.seed}, step ${step}: ${simulation.doing}`, { cause: error });
    });
  }
  simulation.doing = 'the end';
  await simulation.end();
}
