/**
 * What is asked of every server under comparison, by the official clients. A check gets a server of its own, not yet
 * started, and says in a few words what it saw and whether that is right.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateTableSas,
  TableClient,
  type TransactionAction,
} from '@azure/data-tables';
import {
  AccountSASPermissions,
  BlobSASPermissions,
  BlobServiceClient,
  type BlockBlobClient,
  type ContainerClient,
} from '@azure/storage-blob';
import { ShareServiceClient } from '@azure/storage-file-share';
import { QueueServiceClient } from '@azure/storage-queue';
import { DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY } from '../../src/config/accounts.ts';
import type { Subject } from './subject.ts';

export interface Check {
  readonly title: string;
  readonly run: (subject: Subject) => Promise<Finding>;
}

export interface Finding {
  readonly seen: string;
  /** Whether Azure does the same. */
  readonly isRight: boolean;
}

export const checks: readonly Check[] = [
  { title: '100 uploads, kill -9, restart', run: killAfterUploads },
  { title: 'a counter: 8 clients, Put Block List with If-Match', run: countWithIfMatch },
  { title: 'uncommitted blocks after Put Blob', run: blocksAfterPutBlob },
  { title: 'a table batch over two partitions', run: batchOverTwoPartitions },
  { title: 'a table SAS for one of two partitions', run: sasForOnePartition },
  { title: '@azure/storage-blob 12.34 (API 2026-10-06)', run: currentVersion },
  { title: 'undelete, hold, query, Put From URL, outside copy', run: rarerOperations },
  { title: 'Azure Files', run: files },
  { title: 'Get and Delete Message, 8 clients, 5,000 waiting', run: drainQueue },
];

async function killAfterUploads(subject: Subject): Promise<Finding> {
  const count = 100;
  await subject.start();
  const container = await createContainer(subject);
  for (let index = 0; index < count; index++) await container.getBlockBlobClient(`blob-${index}`).upload('x', 1);
  await subject.kill();
  await subject.start();
  const found = await countBlobs(blobsOf(subject).getContainerClient(container.containerName));
  return { seen: `${found} of ${count} are there`, isRight: found === count };
}

async function countBlobs(container: ContainerClient): Promise<number> {
  if (!(await container.exists())) return 0;
  let count = 0;
  for await (const _ of container.listBlobsFlat()) count++;
  return count;
}

async function countWithIfMatch(subject: Subject): Promise<Finding> {
  await subject.start();
  const counter = (await createContainer(subject)).getBlockBlobClient('counter');
  await putBlockList(counter, 'first', '0');
  let acceptedCount = 0;
  await byEightClients(25, async (name) => {
    const { etag = '', readableStreamBody } = await counter.download();
    const next = Number(await text(readableStreamBody as NodeJS.ReadableStream)) + 1;
    const refusal = await refusalOf(putBlockList(counter, name, String(next), { ifMatch: etag }));
    if (refusal === null) acceptedCount++;
  });
  const value = Number(await counter.downloadToBuffer());
  return { seen: `${acceptedCount} accepted, value ${value}`, isRight: value === acceptedCount };
}

async function putBlockList(
  blob: BlockBlobClient,
  block: string,
  content: string,
  conditions: { ifMatch?: string } = {},
): Promise<void> {
  const blockId = Buffer.from(block.padEnd(10)).toString('base64');
  await blob.stageBlock(blockId, content, content.length);
  await blob.commitBlockList([blockId], { conditions });
}

async function blocksAfterPutBlob(subject: Subject): Promise<Finding> {
  await subject.start();
  const blob = (await createContainer(subject)).getBlockBlobClient('letter');
  await blob.stageBlock(Buffer.from('block').toString('base64'), 'draft', 5);
  await blob.upload('final', 5);
  const { uncommittedBlocks = [] } = await blob.getBlockList('uncommitted');
  const isRight = uncommittedBlocks.length === 0;
  return { seen: isRight ? 'discarded' : 'still there', isRight };
}

async function batchOverTwoPartitions(subject: Subject): Promise<Finding> {
  await subject.start();
  const table = await createTable(subject);
  const inserts: TransactionAction[] = ['1', '2'].map((rowKey) => ['create', { partitionKey: 'north', rowKey }]);
  // The client would refuse two partitions itself, so the second is put in when it has let the batch pass.
  table.pipeline.addPolicy({
    name: 'moveSecondSouth',
    sendRequest: (request, next) => {
      const body = request.body as string;
      request.body = body.replace('"north","RowKey":"2"', '"south","RowKey":"2"');
      return next(request);
    },
  });
  const refusal = await refusalOf(table.submitTransaction(inserts));
  return { seen: refusal === null ? 'stored' : 'refused', isRight: refusal?.startsWith('400') === true };
}

async function sasForOnePartition(subject: Subject): Promise<Finding> {
  await subject.start();
  const table = await createTable(subject);
  for (const partitionKey of ['north', 'south']) await table.createEntity({ partitionKey, rowKey: '1' });
  const sas = generateTableSas(table.tableName, new AzureNamedKeyCredential(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY), {
    startPartitionKey: 'north',
    endPartitionKey: 'north',
    permissions: { query: true },
    expiresOn: inAnHour(),
  });
  const credential = new AzureSASCredential(sas);
  const readable = await partitionsIn(
    new TableClient(subject.endpointOf('table'), table.tableName, credential, { allowInsecureConnection: true }),
  );
  return { seen: `reads ${readable.length} of 2 entities`, isRight: readable.join() === 'north' };
}

async function partitionsIn(table: TableClient): Promise<string[]> {
  const partitions: string[] = [];
  for await (const { partitionKey } of table.listEntities()) partitions.push(partitionKey as string);
  return partitions;
}

/** The version that the client named in the title sends. The client here is older, because it runs on Node 20. */
async function currentVersion(subject: Subject): Promise<Finding> {
  await subject.start({ lenient: false });
  const permissions = AccountSASPermissions.parse('l');
  const url = new URL(blobsOf(subject).generateAccountSasUrl(inAnHour(), permissions, 's'));
  url.searchParams.set('comp', 'list');
  const { status, headers } = await fetch(url, { headers: { 'x-ms-version': '2026-10-06' } });
  const isRight = status === 200;
  return { seen: isRight ? 'works' : `${status} ${headers.get('x-ms-error-code')}`, isRight };
}

async function rarerOperations(subject: Subject): Promise<Finding> {
  await subject.start();
  const container = await createContainer(subject);
  await blobsOf(subject).setProperties({ deleteRetentionPolicy: { enabled: true, days: 1 } });
  const createBlob = async (name: string): Promise<BlockBlobClient> => {
    const blob = container.getBlockBlobClient(name);
    await blob.upload('a,1\n', 4);
    return blob;
  };
  const source = await createBlob('source');
  const sourceUrl = await source.generateSasUrl({ permissions: BlobSASPermissions.parse('r'), expiresOn: inAnHour() });
  const operations: (() => Promise<unknown>)[] = [
    async () => {
      const deleted = await createBlob('deleted');
      await deleted.delete();
      await deleted.undelete();
    },
    () => source.setLegalHold(true),
    () => source.query('SELECT * FROM BlobStorage'),
    () => container.getBlockBlobClient('from-url').syncUploadFromURL(sourceUrl),
    () => copyFromElsewhere(container.getBlockBlobClient('copy')),
  ];
  let workingCount = 0;
  for (const operation of operations) if ((await refusalOf(operation())) === null) workingCount++;
  return { seen: `${workingCount} of ${operations.length} work`, isRight: workingCount === operations.length };
}

async function copyFromElsewhere(blob: BlockBlobClient): Promise<void> {
  const elsewhere = createServer((_, answer) => answer.setHeader('content-length', 5).end('hello'));
  await new Promise<void>((resolve) => {
    elsewhere.listen(0, '127.0.0.1', resolve);
  });
  try {
    const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/hello.txt`;
    await (await blob.beginCopyFromURL(url, { intervalInMs: 100 })).pollUntilDone();
  } finally {
    elsewhere.close();
    elsewhere.closeAllConnections();
  }
}

async function files(subject: Subject): Promise<Finding> {
  await subject.start();
  if (!subject.has('file')) return { seen: 'no such service', isRight: false };
  const share = ShareServiceClient.fromConnectionString(subject.connectionString).getShareClient('papers');
  await share.create();
  await share.rootDirectoryClient.getFileClient('a.txt').uploadData(Buffer.from('hello'));
  return { seen: subject.has('smb') ? 'over REST and SMB' : 'over REST', isRight: subject.has('smb') };
}

async function drainQueue(subject: Subject): Promise<Finding> {
  const [waitingCount, cycles] = [5000, 20];
  await subject.start();
  const queue = QueueServiceClient.fromConnectionString(subject.connectionString).getQueueClient('jobs');
  await queue.create();
  await byEightClients(waitingCount / 8, async () => {
    await queue.sendMessage('job');
  });
  const handed = new Set<string>();
  const startedAtMs = performance.now();
  await byEightClients(cycles, async () => {
    const [message] = (await queue.receiveMessages()).receivedMessageItems;
    if (message === undefined) return;
    handed.add(message.messageId);
    await queue.deleteMessage(message.messageId, message.popReceipt);
  });
  const seconds = (performance.now() - startedAtMs) / 1000;
  return { seen: `${Math.round(handed.size / seconds)} a second`, isRight: handed.size === 8 * cycles };
}

/** Each does the same `times` in turn; `name` is another one every time. */
async function byEightClients(times: number, work: (name: string) => Promise<void>): Promise<void> {
  const client = async (_: unknown, index: number): Promise<void> => {
    for (let turn = 0; turn < times; turn++) await work(`${index}-${turn}`);
  };
  await Promise.all(Array.from({ length: 8 }, client));
}

/** Null if the request was accepted, else the answer in a few words. */
async function refusalOf(request: Promise<unknown>): Promise<string | null> {
  try {
    await request;
    return null;
  } catch (error) {
    const { statusCode, code } = error as { statusCode?: number; code?: string };
    if (statusCode === undefined) throw error;
    return `${statusCode} ${code ?? ''}`;
  }
}

/** A refusal is looked at, not retried. */
const blobsOf = (subject: Subject): BlobServiceClient =>
  BlobServiceClient.fromConnectionString(subject.connectionString, { retryOptions: { maxTries: 1 } });

async function createContainer(subject: Subject): Promise<ContainerClient> {
  const container = blobsOf(subject).getContainerClient('letters');
  await container.create();
  return container;
}

async function createTable(subject: Subject): Promise<TableClient> {
  const options = { allowInsecureConnection: true };
  const table = TableClient.fromConnectionString(subject.connectionString, 'people', options);
  await table.createTable();
  return table;
}

const inAnHour = (): Date => new Date(Date.now() + 3_600_000);
