/**
 * The server that an example talks to: the one that AZURE_STORAGE_CONNECTION_STRING names, or else a Larimar server in
 * this very process, in memory, whose clock is moved instead of waiting.
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
  /** Of files over SMB. */
  readonly smbPort: number;
  readonly letTimePass: (span: { seconds: number }) => Promise<void>;
  /** Of a server that this program started. */
  readonly stop: () => Promise<void>;
}

export interface ExampleServer extends Pick<Server, 'connectionString' | 'smbPort' | 'letTimePass'> {
  /** New and empty; gone at the end. */
  readonly container: ContainerClient;
  /** The same of a table. */
  readonly createTable: () => Promise<TableClient>;
  /** The same of a queue. Those of one example differ in the suffix. */
  readonly createQueue: (suffix?: string) => Promise<QueueClient>;
  /** The same of a share. */
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
  console.log('Server: Larimar, inside this program, in memory. Its clock is moved, so that nobody has to wait.');
  return {
    connectionString: server.connectionString,
    smbPort: Number(new URL(server.origins.smb as string).port),
    letTimePass: async ({ seconds }) => {
      clock.advance({ seconds });
      console.log(`   (The server's clock is moved on by ${seconds} seconds.)`);
    },
    stop: () => server.close(),
  };
}

function givenServer(connectionString: string): Server {
  console.log('Server: the one of AZURE_STORAGE_CONNECTION_STRING. Where time has to pass, this program really waits.');
  return {
    connectionString,
    smbPort: Number(process.env['LARIMAR_SMB_PORT'] ?? DEFAULT_SMB_PORT),
    letTimePass: async ({ seconds }) => {
      console.log(`   (Waiting for ${seconds} seconds.)`);
      await delay(seconds * 1000);
    },
    stop: async () => {},
  };
}
