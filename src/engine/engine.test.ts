import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EngineHarness, engineContract } from './contract.ts';
import { openLmdbEngine } from './lmdb/lmdb-engine.ts';
import { MemoryEngine } from './memory/memory-engine.ts';

async function memory(): Promise<EngineHarness> {
  let engine = new MemoryEngine();
  return {
    engine,
    reopen: async () => {
      await engine.close();
      engine = engine.restart();
      return engine;
    },
    dispose: () => engine.close(),
  };
}

async function lmdb(): Promise<EngineHarness> {
  const path = await mkdtemp(join(tmpdir(), 'larimar-engine-'));
  let engine = await openLmdbEngine({ path });
  return {
    engine,
    reopen: async () => {
      await engine.close();
      engine = await openLmdbEngine({ path });
      return engine;
    },
    dispose: async () => {
      await engine.close();
      await rm(path, { recursive: true });
    },
  };
}

engineContract('memory', memory);
engineContract('lmdb', lmdb);
