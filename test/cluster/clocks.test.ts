// engines: postgres
// tier: system
/**
 * Nodes whose own clocks are two minutes apart: deadlines are judged by the database's time, so a lease runs out, and a
 * message comes back, at the same moment wherever it is looked at, and times that are compared (If-Modified-Since) come from
 * one clock.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { BlockBlobClient } from '@azure/storage-blob';
import type { QueueClient } from '@azure/storage-queue';
import { blobService, freshContainer, outcome, refusal } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { send } from '../harness/http.ts';
import { freshQueue, queueClient } from '../harness/queue-clients.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';

const skip = missingTool('postgres') || missingTool('faketime');
/** For each node, how far its wall clock is from this machine's. The monotonic clock is left alone, as on a real machine. */
const OFFSETS = ['-60s', '+60s'];
const SECOND_MS = 1000;
/** How far a signed date may be off. */
const SIGNED_DATE_MAX_MS = 15 * 60 * SECOND_MS;
/** HTTP dates are whole seconds. */
const DATE_ROUNDING_MS = 2 * SECOND_MS;

describe('two nodes whose clocks are two minutes apart', { skip }, () => {
  let cluster: Cluster;
  let blobs: BlockBlobClient[];

  before(async () => {
    cluster = await startCluster({
      nodeCount: OFFSETS.length,
      optionsOf: (index) => ({
        env: { LD_PRELOAD: fakeTimeLibrary(), FAKETIME: OFFSETS[index] as string, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
      }),
    });
    const services = cluster.nodes.map((node) => blobService(node));
    const { containerName } = await freshContainer(services[0] as (typeof services)[0]);
    blobs = services.map((service) => service.getContainerClient(containerName).getBlockBlobClient(randomUUID()));
    blobs = services.map((service) =>
      service.getContainerClient(containerName).getBlockBlobClient((blobs[0] as BlockBlobClient).name),
    );
    await (blobs[0] as BlockBlobClient).upload('x', 1);
  });
  after(() => cluster?.stop());

  test('really have these clocks: each takes signatures that are too old, or too new, for the other', async () => {
    const statuses: number[][] = [];
    for (const node of cluster.nodes) {
      const ofNode: number[] = [];
      for (const direction of [-1, 1]) {
        const date = new Date(Date.now() + direction * (SIGNED_DATE_MAX_MS + 30 * SECOND_MS)).toUTCString();
        const request = { method: 'HEAD', path: '/none/none', headers: { 'x-ms-date': date } };
        ofNode.push((await send(node.url, request)).status);
      }
      statuses.push(ofNode);
    }
    assert.deepEqual(statuses, [
      [404, 403],
      [403, 404],
    ]);
  });

  test('a lease taken on one is still held on the other, and free on both once it has run out', async () => {
    for (const [taker, looker] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const lease = (blobs[taker] as BlockBlobClient).getBlobLeaseClient();
      await lease.acquireLease(15);
      const takenAtMs = performance.now();
      const other = (blobs[looker] as BlockBlobClient).getBlobLeaseClient();
      assert.equal(await refusal(other.acquireLease(15)), '409 LeaseAlreadyPresent');
      await until({ what: 'the lease has run out', limitSeconds: 60 }, async () =>
        (await outcome(other.acquireLease(15))) === 'ok' ? true : null,
      );
      // The other node must not have let it go early; how late it noticed is not judged.
      const heldMs = performance.now() - takenAtMs;
      assert.ok(heldMs > 14 * SECOND_MS, `held for ${heldMs} ms`);
      await other.releaseLease();
    }
  });

  test('a message that was put through one is got through the other at once, and by nobody else before its time', async () => {
    const { name } = await freshQueue(cluster.nodes[0] as ServerProcess);
    const queues = cluster.nodes.map((node) => queueClient(node, name));
    for (let round = 0; round < 6; round++) {
      const [putter, getter] = [queues[round % 2], queues[(round + 1) % 2]] as [QueueClient, QueueClient];
      await putter.sendMessage(`round ${round}`);
      const askedAtMs = performance.now();
      const { receivedMessageItems: got } = await getter.receiveMessages({ visibilityTimeout: 1 });
      assert.deepEqual(
        got.map(({ messageText }) => messageText),
        [`round ${round}`],
      );
      const back = await until({ what: 'the message is back', limitSeconds: 60 }, async () => {
        const { receivedMessageItems } = await putter.receiveMessages();
        return receivedMessageItems[0] ?? null;
      });
      // Whatever the clocks say, it was hidden for a second after it was asked for, and not seen before that was over.
      const hiddenMs = performance.now() - askedAtMs;
      assert.ok(hiddenMs >= SECOND_MS, `hidden for ${hiddenMs} ms`);
      await putter.deleteMessage(back.messageId, back.popReceipt);
    }
  });

  test('writes through both stay in one order of time', async () => {
    let lastMs = 0;
    for (let round = 0; round < 6; round++) {
      const { lastModified } = await (blobs[round % 2] as BlockBlobClient).upload('x', 1);
      const ms = (lastModified as Date).getTime();
      assert.ok(ms >= lastMs, `${ms} after ${lastMs}`);
      assert.ok(Math.abs(ms - Date.now()) < 30 * SECOND_MS, 'the time is the database’s');
      lastMs = ms;
    }
    const unmodified = { ifUnmodifiedSince: new Date(lastMs + DATE_ROUNDING_MS) };
    for (const blob of blobs) assert.equal(await outcome(blob.getProperties({ conditions: unmodified })), 'ok');
  });
});

/** Loaded into a process, it moves its wall clock. The wrapper program would stand between the process and its signals. */
function fakeTimeLibrary(): string {
  return execFileSync('faketime', ['-f', '+0s', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' }).trim();
}
