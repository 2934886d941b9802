/**
 * The server inside the test's own process, with a clock that the test moves. It is closed, and its data removed, when
 * the suite that started it ends (or the file, when started outside every suite), whatever became of its tests.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { startServer } from '../../src/main.ts';
import { accountEndpoint, blobConnectionString, DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';

export interface InProcessServer {
  readonly clock: ManualClock;
  /** http://127.0.0.1:PORT of the blob door. */
  readonly url: string;
  endpoint(account?: TestAccount): string;
  connectionString(account?: TestAccount): string;
}

export interface InProcessOptions {
  /** Beside the development account. */
  readonly accounts?: readonly TestAccount[];
  /** Keep the data in a temporary folder, as a real server does, and not in memory. */
  readonly onDisk?: boolean;
}

export async function startInProcess({
  accounts = [],
  onDisk = false,
}: InProcessOptions = {}): Promise<InProcessServer> {
  const clock = new ManualClock();
  const folder = onDisk ? await mkdtemp(join(tmpdir(), 'larimar-data-')) : null;
  const removeFolder = async (): Promise<void> => {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  };
  try {
    const server = await startServer({
      ...(folder === null ? { memory: true } : { data: folder }),
      accounts: [DEVELOPMENT_ACCOUNT, ...accounts].map(({ name, key }) => ({ name, keys: [key] })),
      blobPort: 0,
      clock,
      log: 'silent',
    });
    after(async () => {
      await server.close();
      await removeFolder();
    });
    const url = new URL(server.endpoints.blob).origin;
    return {
      clock,
      url,
      endpoint: (account = DEVELOPMENT_ACCOUNT) => accountEndpoint(url, account),
      connectionString: (account = DEVELOPMENT_ACCOUNT) => blobConnectionString(url, account),
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}
