import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase } from '../../test/harness/postgres.ts';
import { missingTool } from '../../test/packages.ts';
import { type EngineHarness, engineContract } from './contract.ts';
import { openLmdbEngine } from './lmdb/lmdb-engine.ts';
import { MemoryEngine } from './memory/memory-engine.ts';
import { openPostgresEngine } from './postgres/postgres-engine.ts';

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

async function postgres(): Promise<EngineHarness> {
  const { url, drop } = await freshDatabase();
  let engine = await openPostgresEngine({ url });
  return {
    engine,
    reopen: async () => {
      await engine.close();
      engine = await openPostgresEngine({ url });
      return engine;
    },
    dispose: async () => {
      await engine.close();
      await drop();
    },
  };
}

engineContract('memory', memory);
engineContract('lmdb', lmdb);
engineContract('postgres', postgres, missingTool('postgres'));
