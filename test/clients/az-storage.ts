/** `az storage` as tests run it: in a folder of its own, as one account, its answers as data. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { type Tool, tool } from './tool.ts';

export interface AzStorage {
  readonly program: Tool;
  /** Where it runs. */
  readonly folder: string;
  /** Without an account. */
  readonly environment: Readonly<Record<string, string>>;
  /** What a command under `az storage` answers. */
  readonly storage: <T>(...args: readonly string[]) => Promise<T>;
  /** A command that must be refused with this code. */
  readonly refused: (code: string, ...args: readonly string[]) => Promise<void>;
  readonly remove: () => Promise<void>;
}

export async function azStorage(connectionString: string): Promise<AzStorage> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-az-'));
  const environment = {
    AZURE_CONFIG_DIR: join(folder, 'config'),
    AZURE_CORE_COLLECT_TELEMETRY: 'false',
    AZURE_CORE_OUTPUT: 'json',
    AZURE_CORE_ONLY_SHOW_ERRORS: 'true',
  };
  const program = tool('az', {
    cwd: folder,
    env: { ...environment, AZURE_STORAGE_CONNECTION_STRING: connectionString },
  });
  return {
    program,
    folder,
    environment,
    storage: async <T>(...args: readonly string[]): Promise<T> =>
      JSON.parse((await program.succeed('storage', ...args)) || 'null') as T,
    refused: async (code, ...args) => {
      const { exitCode, stderr } = await program.run('storage', ...args);
      assert.notEqual(exitCode, 0, `${args.join(' ')} should have been refused`);
      assert.match(stderr, new RegExp(`ErrorCode:${code}\\b`, 'u'));
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface AzSuite extends Pick<AzStorage, 'storage' | 'refused'> {
  /** Both only while tests run. */
  readonly server: ServerProcess;
  readonly az: AzStorage;
}

/** A server for the suite that calls it, and `az` as its development account. */
export function azSuite(): AzSuite {
  let server: ServerProcess;
  let az: AzStorage;
  before(async () => {
    server = await startServerProcess();
    az = await azStorage(server.connectionString());
  });
  after(async () => {
    await server.stop();
    await az.remove();
  });
  return {
    get server() {
      return server;
    },
    get az() {
      return az;
    },
    storage: (...args) => az.storage(...args),
    refused: (code, ...args) => az.refused(code, ...args),
  };
}
