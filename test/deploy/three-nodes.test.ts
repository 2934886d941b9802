/**
 * Three nodes over one database behind HAProxy, with the file that we ship: clients know one address and see one store,
 * whichever node answers, also while nodes leave and die.
 */
// tier: system
// engines: postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { ShareServiceClient } from '@azure/storage-file-share';
import { QueueServiceClient } from '@azure/storage-queue';
import { accountEndpoint, DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, NO_RETRIES, outcome, outcomes, refusal } from '../harness/clients.ts';
import { freshPlace, type Place } from '../harness/engines.ts';
import { FILE_CLIENT_OPTIONS, shareClient } from '../harness/file-clients.ts';
import { QUEUE_CLIENT_OPTIONS, queueClient } from '../harness/queue-clients.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { TABLE_CLIENT_OPTIONS, tableClient, tableRefusal } from '../harness/table-clients.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import { type Balancer, startHaproxy, type Upstream } from './balancer.ts';

const NODE_COUNT = 3;
const WORKER_COUNT = 8;
/** More than HAProxy takes to notice: two checks, a second apart. */
const DRAIN_SECONDS = 5;

const upstreamOf = (node: ServerProcess): Upstream => ({
  port: Number(new URL(node.url).port),
  queuePort: Number(new URL(node.queueUrl).port),
  tablePort: Number(new URL(node.tableUrl).port),
  filePort: Number(new URL(node.fileUrl).port),
  smbPort: node.smbPort,
  adminPort: Number(new URL(node.adminUrl).port),
});

async function namesIn(container: ContainerClient): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of container.listBlobsFlat()) names.push(name);
  return names.toSorted();
}

/** Some stand in the record itself, some in the content store. */
const bodyOf = (name: string): string => (name.endsWith('0') ? name.repeat(5000) : name);

/** Uploads, one after the other in each worker, until told to stop: what was acknowledged and what was not. */
class Uploads {
  readonly acknowledged: string[] = [];
  readonly failed: { readonly name: string; readonly why: unknown }[] = [];
  readonly #container: ContainerClient;
  readonly #workers: Promise<void>[];
  #isOver = false;

  constructor(container: ContainerClient) {
    this.#container = container;
    this.#workers = Array.from({ length: WORKER_COUNT }, (_, worker) => this.#work(worker));
  }

  /** Until so many more are acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count;
    await until({ what: `${wanted} are acknowledged`, limitSeconds: 60 }, () => this.acknowledged.length >= wanted);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
  }

  async #work(worker: number): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const name = `${worker}-${number}`;
      const body = bodyOf(name);
      try {
        await this.#container.getBlockBlobClient(name).upload(body, body.length);
        this.acknowledged.push(name);
      } catch (why) {
        this.failed.push({ name, why });
      }
    }
  }
}

describe('three nodes behind HAProxy', { skip: missingTool('haproxy') || missingTool('postgres') }, () => {
  let place: Place;
  let nodes: ServerProcess[] = [];
  let balancer: Balancer;
  let service: BlobServiceClient;

  before(async () => {
    place = await freshPlace();
    const options = [`--drain-seconds=${DRAIN_SECONDS}`];
    nodes = await Promise.all(
      Array.from({ length: NODE_COUNT }, () => startServerProcess({ place, options, smb: 'auto' })),
    );
    balancer = await startHaproxy(nodes.map(upstreamOf));
    const { name, key } = DEVELOPMENT_ACCOUNT;
    const endpoint = accountEndpoint(balancer.url, DEVELOPMENT_ACCOUNT);
    service = BlobServiceClient.fromConnectionString(
      `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};BlobEndpoint=${endpoint}`,
      NO_RETRIES,
    );
  });
  after(async () => {
    await balancer?.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    await place?.remove();
  });

  test('what was uploaded through any node is read and listed through every other', async () => {
    const container = await freshContainer(service);
    const names = Array.from({ length: 30 }, (_, at) => `a b/${at}`);
    await Promise.all(
      names.map((name) =>
        container.getBlockBlobClient(name).upload(bodyOf(name), bodyOf(name).length, {
          metadata: { my_name: encodeURIComponent(name) },
        }),
      ),
    );
    for (const node of nodes) {
      const direct = blobService(node).getContainerClient(container.containerName);
      assert.deepEqual(await namesIn(direct), names.toSorted());
      for (const name of names) {
        const { metadata } = await direct.getBlobClient(name).getProperties();
        assert.equal(metadata?.['my_name'], encodeURIComponent(name));
        assert.equal((await direct.getBlobClient(name).downloadToBuffer()).toString(), bodyOf(name));
      }
    }
  });

  test('an entity that was written through any node is read and changed through every other', async () => {
    const { name, key } = DEVELOPMENT_ACCOUNT;
    const endpoint = accountEndpoint(balancer.tableUrl, DEVELOPMENT_ACCOUNT);
    const table = TableClient.fromConnectionString(
      `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};TableEndpoint=${endpoint}`,
      'balanced',
      TABLE_CLIENT_OPTIONS,
    );
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: "it's", count: 0 });
    for (const node of nodes) {
      const direct = tableClient(node, 'balanced');
      const { etag, count } = await direct.getEntity<{ count: number }>('p', "it's");
      await table.updateEntity({ partitionKey: 'p', rowKey: "it's", count: count + 1 }, 'Merge', { etag });
      const stale = direct.updateEntity({ partitionKey: 'p', rowKey: "it's", count: 99 }, 'Replace', { etag });
      assert.equal(await tableRefusal(stale), '412 UpdateConditionNotSatisfied');
    }
    assert.equal((await table.getEntity<{ count: number }>('p', "it's")).count, NODE_COUNT);
  });

  test('a message that was put through any node is got once, whichever node is asked', async () => {
    const { name, key } = DEVELOPMENT_ACCOUNT;
    const endpoint = accountEndpoint(balancer.queueUrl, DEVELOPMENT_ACCOUNT);
    const queue = QueueServiceClient.fromConnectionString(
      `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};QueueEndpoint=${endpoint}`,
      QUEUE_CLIENT_OPTIONS,
    ).getQueueClient('balanced');
    await queue.create();
    for (const node of nodes) {
      const direct = queueClient(node, 'balanced');
      await direct.sendMessage('<one>');
      const got = await Promise.all(Array.from({ length: 2 * NODE_COUNT }, () => queue.receiveMessages()));
      const [message, ...more] = got.flatMap(({ receivedMessageItems }) => receivedMessageItems);
      assert.deepEqual([message?.messageText, message?.dequeueCount, more], ['<one>', 1, []]);
      await queue.deleteMessage(message?.messageId as string, message?.popReceipt as string);
    }
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  });

  test('what was written to a file through any node is read through any other', async () => {
    const { name, key } = DEVELOPMENT_ACCOUNT;
    const endpoint = accountEndpoint(balancer.fileUrl, DEVELOPMENT_ACCOUNT);
    const share = ShareServiceClient.fromConnectionString(
      `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};FileEndpoint=${endpoint}`,
      FILE_CLIENT_OPTIONS,
    ).getShareClient('balanced');
    await share.create();
    await share.getDirectoryClient('D').create();
    const file = share.getDirectoryClient('d').getFileClient('ä.txt');
    await file.create(NODE_COUNT);
    for (const [index, node] of nodes.entries()) {
      const direct = shareClient(node, 'balanced').getDirectoryClient('d').getFileClient('Ä.TXT');
      await direct.uploadRange(String(index), index, 1);
      assert.equal((await file.downloadToBuffer(0, index + 1)).toString(), '012'.slice(0, index + 1));
    }
  });

  test('of many who create the same blob through the balancer one succeeds', async () => {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('once');
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, at) =>
        blob.upload(String(at), String(at).length, { conditions: { ifNoneMatch: '*' } }),
      ),
    );
    assert.deepEqual(outcomes(results).toSorted(), [...Array<string>(29).fill('409 BlobAlreadyExists'), 'ok']);
    const winner = results.findIndex(({ status }) => status === 'fulfilled');
    assert.equal((await blob.downloadToBuffer()).toString(), String(winner));
  });

  test('a lease that was taken through one node is held against all of them', async () => {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('leased');
    await blob.upload('', 0);
    await blob.getBlobLeaseClient().acquireLease(60);
    for (const node of nodes) {
      const direct = blobService(node).getContainerClient(container.containerName).getBlockBlobClient('leased');
      assert.equal(await refusal(direct.getBlobLeaseClient().acquireLease(60)), '409 LeaseAlreadyPresent');
      assert.equal(await refusal(direct.upload('x', 1)), '412 LeaseIdMissing');
    }
  });

  test('a node that is told to stop costs nobody a request, and is taken back when it returns', async () => {
    const container = await freshContainer(service);
    const uploads = new Uploads(container);
    const leaving = nodes[0] as ServerProcess;
    await uploads.more(100);
    await leaving.terminate();
    await uploads.more(100);
    await leaving.start();
    await uploads.more(100);
    await uploads.end();
    assert.deepEqual(uploads.failed, []);
    assert.deepEqual(await namesIn(container), uploads.acknowledged.toSorted());
  });

  test('a node that is killed takes nothing with it that was acknowledged', async () => {
    const container = await freshContainer(service);
    const uploads = new Uploads(container);
    const dying = nodes[1] as ServerProcess;
    await uploads.more(100);
    await dying.kill9();
    await uploads.more(200);
    await uploads.end();
    // No more than was under way at that moment.
    assert.ok(uploads.failed.length <= WORKER_COUNT, String(uploads.failed.map(({ why }) => why)));
    const there = new Set(await namesIn(container));
    assert.deepEqual(
      uploads.acknowledged.filter((name) => !there.has(name)),
      [],
    );
    // What got no answer may be there or not, but then whole.
    for (const name of there) {
      const read = await container.getBlobClient(name).downloadToBuffer();
      assert.equal(read.toString(), bodyOf(name));
    }
    await dying.start();
  });

  test('while no node is ready the balancer says 503, and goes on by itself', async () => {
    const container = await freshContainer(service);
    const ends = nodes.map((node) => node.terminate());
    await until({ what: 'the balancer has no node', limitSeconds: 60 }, async () => {
      const told = await outcome(container.getBlockBlobClient('x').upload('', 0)).catch(() => 'no answer');
      return told.startsWith('503');
    });
    await Promise.all(ends);
    await Promise.all(nodes.map((node) => node.start()));
    await until({ what: 'it answers again', limitSeconds: 60 }, async () => {
      return (await outcome(container.getBlockBlobClient('x').upload('', 0))) === 'ok';
    });
  });
});
