/**
 * The server that an example talks to. It is the one that AZURE_STORAGE_CONNECTION_STRING names. If that is not set, it
 * is a Larimar server in memory, in this process; the example moves its clock forward instead of waiting.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { type ShareClient, ShareServiceClient } from '@azure/storage-file-share';
import { type QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { ManualClock, startServer } from '../src/main.ts';

const DEFAULT_SMB_PORT = 10_445;

interface Server {
  readonly connectionString: string;
  /** The port for files over SMB. */
  readonly smbPort: number;
  readonly letTimePass: (span: { seconds: number }) => Promise<void>;
  /** Stops the server if this program started it. */
  readonly stop: () => Promise<void>;
}

export interface ExampleServer extends Pick<Server, 'connectionString' | 'smbPort' | 'letTimePass'> {
  /** A new, empty container. `end` deletes it. */
  readonly container: ContainerClient;
  /** Creates a table, which `end` deletes. */
  readonly createTable: () => Promise<TableClient>;
  /** Creates a queue, which `end` deletes. An example that needs two gives each a suffix of its own. */
  readonly createQueue: (suffix?: string) => Promise<QueueClient>;
  /** Creates a share, which `end` deletes. */
  readonly createShare: () => Promise<ShareClient>;
  readonly end: () => Promise<void>;
}

export async function connect(purpose: string): Promise<ExampleServer> {
  const given = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? '';
  const { connectionString, smbPort, letTimePass, stop } = given === '' ? await startOwnServer() : givenServer(given);
  const name = `${purpose}-${randomUUID()}`;
  const container = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(name);
  await container.create();
  const tables: TableClient[] = [];
  const createTable = async (): Promise<TableClient> => {
    const tableName = `${purpose}-${randomUUID()}`.replaceAll('-', '');
    const table = TableClient.fromConnectionString(connectionString, tableName, { allowInsecureConnection: true });
    tables.push(table);
    await table.createTable();
    return table;
  };
  const queues: QueueClient[] = [];
  const createQueue = async (suffix = ''): Promise<QueueClient> => {
    const queue = QueueServiceClient.fromConnectionString(connectionString).getQueueClient(`${name}${suffix}`);
    queues.push(queue);
    await queue.create();
    return queue;
  };
  const shares: ShareClient[] = [];
  const createShare = async (): Promise<ShareClient> => {
    const share = ShareServiceClient.fromConnectionString(connectionString).getShareClient(name);
    shares.push(share);
    await share.create();
    return share;
  };
  const end = async (): Promise<void> => {
    for (const share of shares) await share.delete({ deleteSnapshots: 'include' });
    for (const queue of queues) await queue.delete();
    for (const table of tables) await table.deleteTable();
    await container.deleteIfExists();
    await stop();
  };
  return { connectionString, smbPort, letTimePass, container, createTable, createQueue, createShare, end };
}

async function startOwnServer(): Promise<Server> {
  const clock = new ManualClock();
  const server = await startServer({ memory: true, clock, smbPort: 0 });
  console.log(
    'Server: Larimar, in memory, inside this program. Its clock is moved forward, so that nobody has to wait.',
  );
  return {
    connectionString: server.connectionString,
    smbPort: Number(new URL(server.origins.smb as string).port),
    letTimePass: async ({ seconds }) => {
      clock.advance({ seconds });
      console.log(`   (The server's clock moves forward by ${seconds} seconds.)`);
    },
    stop: () => server.close(),
  };
}

function givenServer(connectionString: string): Server {
  console.log('Server: the one in AZURE_STORAGE_CONNECTION_STRING. Where time has to pass, this program really waits.');
  return {
    connectionString,
    smbPort: Number(process.env['LARIMAR_SMB_PORT'] ?? DEFAULT_SMB_PORT),
    letTimePass: async ({ seconds }) => {
      console.log(`   (Waiting ${seconds} seconds.)`);
      await delay(seconds * 1000);
    },
    stop: async () => {},
  };
}
