// engines: postgres
// tier: system
/**
 * Copies from outside where several nodes share a store: one node makes each of them, another takes over when that dies,
 * and whoever is asked can abort any.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { BlobClient, ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { OutsideSource } from '../harness/outside-source.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';

const skip = missingTool('postgres');
const NEVER = new Promise<void>(() => {});

const cluster: Cluster | null = skip === false ? await startCluster({ nodeCount: 2 }) : null;
after(() => cluster?.stop());
const container: ContainerClient | null = cluster === null ? null : await freshContainer(blobService(cluster.node(0)));

/** The same blob, by way of one node. */
const blobOn = (index: number, name: string): BlobClient =>
  blobService((cluster as Cluster).node(index))
    .getContainerClient((container as ContainerClient).containerName)
    .getBlobClient(name);

const endOf = (blob: BlobClient): Promise<string> =>
  until({ what: 'the copy has ended', limitSeconds: 90 }, async () => {
    const { copyStatus = 'none' } = await blob.getProperties();
    return copyStatus !== 'pending' && copyStatus;
  });

test('each of many copies is made by one node, once', { skip }, async () => {
  const source = await OutsideSource.start(randomBytes(300_000));
  const names = Array.from({ length: 24 }, () => randomUUID());
  await Promise.all(names.map((name, index) => blobOn(index, name).beginCopyFromURL(source.url)));
  for (const name of names) {
    assert.equal(await endOf(blobOn(1, name)), 'success');
    assert.ok((await blobOn(0, name).downloadToBuffer()).equals(source.bytes));
  }
  const fetched = source.seen.filter(({ ifMatch }) => ifMatch !== null).length;
  assert.equal(fetched, names.length);
});

test('an abort on one node ends the fetching on another', { skip }, async () => {
  const source = await OutsideSource.start(randomBytes(300_000));
  source.behave = ({ ifMatch }) => (ifMatch === null ? {} : { afterBytes: 1_000, gate: NEVER });
  const name = randomUUID();
  const poller = await blobOn(0, name).beginCopyFromURL(source.url);
  const { copyId = '' }: { copyId?: string; result?: unknown } = poller.getOperationState();
  await source.asked(2);
  await blobOn(1, name).abortCopyFromURL(copyId);
  assert.equal((await blobOn(0, name).getProperties()).copyStatus, 'aborted');
  await until({ what: 'the connection is closed', limitSeconds: 60 }, () => source.openCount === 0);
});

test('a copy whose node is killed is completed by another', { skip }, async () => {
  const source = await OutsideSource.start(randomBytes(300_000));
  source.behave = ({ number }) => (number === 1 ? { afterBytes: 1_000, gate: NEVER } : {});
  const name = randomUUID();
  await blobOn(0, name).beginCopyFromURL(source.url);
  await source.asked(2);
  await cluster?.node(0).kill9();
  assert.equal(await endOf(blobOn(1, name)), 'success');
  assert.ok((await blobOn(1, name).downloadToBuffer()).equals(source.bytes));
});
