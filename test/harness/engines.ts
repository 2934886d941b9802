/**
 * Where the servers of a test keep their data. The same test runs over each engine: LARIMAR_TEST_ENGINE says which one
 * it is this time, and the runner sets it (runner/plan.ts).
 */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreOptions } from '../../src/main.ts';
import { freshDatabase } from './postgres.ts';
import { freshBucket } from './s3.ts';

/** `embedded`: in memory, or a data folder. `postgres`: a database of the server's own. */
export const TEST_ENGINES = ['embedded', 'postgres'] as const;

export type TestEngine = (typeof TEST_ENGINES)[number];

export const ENGINE_VARIABLE = 'LARIMAR_TEST_ENGINE';

/** null: not said. */
export function givenEngine(): TestEngine | null {
  const given = process.env[ENGINE_VARIABLE] ?? '';
  if (given === '') return null;
  const engine = TEST_ENGINES.find((one) => one === given);
  if (engine === undefined) throw new Error(`${ENGINE_VARIABLE}=${given}: one of ${TEST_ENGINES.join(', ')}`);
  return engine;
}

/** Empty at first; several servers may share it where the engine allows that. */
export interface Place {
  /** For startServer. */
  readonly store: StoreOptions;
  remove(): Promise<void>;
  /** For the end of the test process, when nothing can be awaited: a database goes with its server. */
  abandon(): void;
}

export interface PlaceOptions {
  /** Of the embedded engine: in a temporary folder and not in memory. */
  readonly onDisk?: boolean;
  /** Of the database: where content is; in the database itself, unless it is said. */
  readonly content?: 'postgres' | 's3';
}

export async function freshPlace({ onDisk = false, content = 'postgres' }: PlaceOptions = {}): Promise<Place> {
  if (givenEngine() === 'postgres') return databasePlace(content);
  return onDisk ? folderPlace() : { store: { memory: true }, remove: async () => {}, abandon: () => {} };
}

async function folderPlace(): Promise<Place> {
  const data = await mkdtemp(join(tmpdir(), 'larimar-data-'));
  return {
    store: { data },
    remove: () => rm(data, { recursive: true, force: true }),
    abandon: () => rmSync(data, { recursive: true, force: true }),
  };
}

async function databasePlace(content: 'postgres' | 's3'): Promise<Place> {
  const database = await freshDatabase();
  const bucket = content === 's3' ? await freshBucket() : null;
  return {
    store: { engine: database.url, content: bucket?.url ?? 'postgres' },
    async remove() {
      await database.drop();
      await bucket?.drop();
    },
    abandon: () => {},
  };
}

/** The same for the command line, of `serve` and of `check`. */
export const storeArguments = ({ store }: Place): string[] =>
  Object.entries(store).map(([name, value]) => `--${name}=${value}`);
