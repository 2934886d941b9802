/** Access tiers: Set Blob Tier, tiers given with a write, what the archive refuses, and the way back from it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { BlobClient, BlobSASPermissions, type BlockBlobClient } from '@azure/storage-blob';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { type InProcessServer, startInProcess } from '../harness/in-process.ts';

const REHYDRATION_SECONDS = 3_600;
const GIB = 2 ** 30;

const server = await startInProcess({ settings: { rehydrationSeconds: REHYDRATION_SECONDS } });
const service = blobService(server);
const container = await freshContainer(service);

const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());

async function freshBlob(tier?: string): Promise<BlockBlobClient> {
  const blob = freshName();
  await blob.upload('content', 7, tier === undefined ? {} : { tier });
  return blob;
}

/** In the archive, or on its way back to a tier. */
async function archived(backTo?: string): Promise<BlockBlobClient> {
  const blob = await freshBlob('Archive');
  if (backTo !== undefined) await blob.setAccessTier(backTo);
  return blob;
}

const setTier = (blob: BlobClient, tier: string, headers: Record<string, string> = {}): Promise<RawResponse> =>
  send(server.url, {
    method: 'PUT',
    path: `/${container.containerName}/${blob.name}?comp=tier`,
    headers: { 'x-ms-access-tier': tier, ...headers },
  });

async function tierOf(blob: BlobClient): Promise<unknown> {
  const { accessTier, accessTierInferred, archiveStatus } = await blob.getProperties();
  return {
    accessTier,
    ...(accessTierInferred === undefined ? {} : { accessTierInferred }),
    ...(archiveStatus === undefined ? {} : { archiveStatus }),
  };
}

describe('Set Blob Tier', () => {
  test('notes the tier and the time of the change, and changes nothing else', async () => {
    const blob = await freshBlob();
    assert.deepEqual(await tierOf(blob), { accessTier: 'Hot', accessTierInferred: true });
    const before = await blob.getProperties();
    assert.equal(before.accessTierChangedOn, undefined);
    server.clock.advance({ seconds: 5 });
    await blob.setAccessTier('Cool');
    const after = await blob.getProperties();
    assert.deepEqual(await tierOf(blob), { accessTier: 'Cool' });
    assert.equal(after.accessTierChangedOn?.getTime(), Math.floor(server.clock.nowMs() / 1000) * 1000);
    assert.equal(after.etag, before.etag);
    assert.deepEqual(after.lastModified, before.lastModified);
    assert.equal((await blob.downloadToBuffer()).toString(), 'content');
  });

  const targets = ['Hot', 'Cool', 'Cold', 'Archive'] as const;
  const being = '409 BlobBeingRehydrated';
  for (const [what, make, ...cells] of [
    ['Hot', () => freshBlob('Hot'), '200', '200', '200', '200'],
    ['Cool', () => freshBlob('Cool'), '200', '200', '200', '200'],
    ['Cold', () => freshBlob('Cold'), '200', '200', '200', '200'],
    ['Archive', () => archived(), '202', '202', '202', '200'],
    ['on its way to Hot', () => archived('Hot'), '202', being, being, being],
    ['on its way to Cool', () => archived('Cool'), being, '202', being, being],
    ['on its way to Cold', () => archived('Cold'), being, being, '202', being],
  ] as const) {
    for (const [index, target] of targets.entries()) {
      test(`to ${target} of a blob that is ${what}: ${cells[index]}`, async () => {
        const blob = await make();
        assert.equal((await setTier(blob, target)).outcome, cells[index]);
        if (cells[index] === '200') assert.deepEqual(await tierOf(blob), { accessTier: target });
      });
    }
  }

  test('takes a tier in any case, and no other word', async () => {
    const blob = await freshBlob();
    assert.equal((await setTier(blob, 'cOOL')).outcome, '200');
    assert.deepEqual(await tierOf(blob), { accessTier: 'Cool' });
    assert.equal((await setTier(blob, 'Lukewarm')).outcome, '400 InvalidHeaderValue');
    assert.equal((await setTier(blob, 'Smart', { 'x-ms-version': '2026-04-06' })).outcome, '400 InvalidHeaderValue');
    assert.equal((await setTier(blob, 'Smart', { 'x-ms-version': '2026-06-06' })).outcome, '200');
    assert.equal((await setTier(blob, '')).outcome, '400 MissingRequiredHeader');
    const wrong = await setTier(blob, 'Hot', { 'x-ms-rehydrate-priority': 'Urgent' });
    assert.equal(wrong.outcome, '400 InvalidHeaderValue');
    assert.deepEqual(await tierOf(blob), { accessTier: 'Smart' });
  });

  test('needs a blob that is there and committed', async () => {
    const blob = freshName();
    assert.equal(await refusal(blob.setAccessTier('Hot')), '404 BlobNotFound');
    await blob.stageBlock('YQ==', 'x', 1);
    assert.equal(await refusal(blob.setAccessTier('Hot')), '404 BlobNotFound');
    const nowhere = service.getContainerClient('nowhere').getBlobClient('x');
    assert.equal(await refusal(nowhere.setAccessTier('Hot')), '404 ContainerNotFound');
  });

  test('has a tier for block blobs only, and others for page blobs', async () => {
    const log = container.getAppendBlobClient(randomUUID());
    await log.create();
    assert.equal(await refusal(log.setAccessTier('Cool')), '400 AccessTierNotSupportedForBlobType');
    assert.equal(await refusal((await freshBlob()).setAccessTier('P10')), '400 AccessTierNotSupportedForBlobType');
    const disk = container.getPageBlobClient(randomUUID());
    await disk.create(512);
    assert.equal(await refusal(disk.setAccessTier('Cool')), '400 AccessTierNotSupportedForBlobType');
    assert.equal((await disk.getProperties()).accessTier, undefined);
  });

  test('raises a page blob to a tier that is large enough for it', async () => {
    const disk = container.getPageBlobClient(randomUUID());
    await disk.create(64 * GIB + 512);
    assert.equal(await refusal(disk.setAccessTier('P6')), '409 BlobTierInadequateForContentLength');
    assert.equal(await outcome(disk.setAccessTier('P10')), 'ok');
    assert.equal(await outcome(disk.setAccessTier('P20')), 'ok');
    assert.equal(await refusal(disk.setAccessTier('P10')), '409 CannotChangeToLowerTier');
    assert.equal((await disk.getProperties()).accessTier, 'P20');
  });

  test('needs no lease, but looks at one that is sent', async () => {
    const blob = await freshBlob();
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(-1);
    assert.equal(await outcome(blob.setAccessTier('Cool')), 'ok');
    assert.equal(await outcome(blob.setAccessTier('Hot', { conditions: { leaseId: lease.leaseId } })), 'ok');
    const other = blob.setAccessTier('Cold', { conditions: { leaseId: randomUUID() } });
    assert.equal(await refusal(other), '412 LeaseIdMismatchWithBlobOperation');
    assert.deepEqual(await tierOf(blob), { accessTier: 'Hot' });
  });

  test('is open to a token with w', async () => {
    const blob = await freshBlob();
    const expiresOn = new Date(server.clock.nowMs() + 60_000);
    for (const [letter, want] of [
      ['w', 'ok'],
      ['r', '403 AuthorizationPermissionMismatch'],
    ] as const) {
      const url = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse(letter), expiresOn });
      assert.equal(await outcome(new BlobClient(url, undefined, NO_RETRIES).setAccessTier('Cool')), want);
    }
  });
});

describe('a tier given with a write', () => {
  test('is the blob’s, from Put Blob and from Put Block List', async () => {
    for (const tier of ['Hot', 'Cool', 'Cold', 'Archive']) {
      const blob = await freshBlob(tier);
      assert.deepEqual(await tierOf(blob), { accessTier: tier });
      assert.ok((await blob.getProperties()).accessTierChangedOn);
      const listed = freshName();
      await listed.commitBlockList([], { tier });
      assert.deepEqual(await tierOf(listed), { accessTier: tier });
    }
  });

  test('is one for its type', async () => {
    const wrong = '400 AccessTierNotSupportedForBlobType';
    assert.equal(await refusal(freshBlob('P10')), wrong);
    assert.equal(await refusal(freshName().commitBlockList([], { tier: 'P10' })), wrong);
    assert.equal(await refusal(container.getPageBlobClient(randomUUID()).create(512, { tier: 'Cool' })), wrong);
    const tooSmall = container.getPageBlobClient(randomUUID()).create(64 * GIB, { tier: 'P4' });
    assert.equal(await refusal(tooSmall), '409 BlobTierInadequateForContentLength');
    const disk = container.getPageBlobClient(randomUUID());
    await disk.create(512, { tier: 'P4' });
    assert.equal((await disk.getProperties()).accessTier, 'P4');
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-access-tier': 'Lukewarm' };
    const unknown = await send(server.url, { method: 'PUT', path: `/${container.containerName}/x`, headers });
    assert.equal(unknown.outcome, '400 InvalidHeaderValue');
  });

  test('stays when the next one gives none', async () => {
    const blob = await freshBlob('Cool');
    const { accessTierChangedOn } = await blob.getProperties();
    server.clock.advance({ seconds: 5 });
    await blob.upload('new', 3);
    assert.deepEqual(await tierOf(blob), { accessTier: 'Cool' });
    assert.deepEqual((await blob.getProperties()).accessTierChangedOn, accessTierChangedOn);
    await blob.commitBlockList([]);
    assert.deepEqual(await tierOf(blob), { accessTier: 'Cool' });
    await blob.upload('new', 3, { tier: 'Hot' });
    assert.deepEqual(await tierOf(blob), { accessTier: 'Hot' });
  });

  test('does not pass to a blob of another type', async () => {
    const disk = container.getPageBlobClient(randomUUID());
    await disk.create(512, { tier: 'P10' });
    const blob = container.getBlockBlobClient(disk.name);
    await blob.upload('x', 1);
    assert.deepEqual(await tierOf(blob), { accessTier: 'Hot', accessTierInferred: true });
  });
});

describe('a blob in the archive', () => {
  const refused: readonly (readonly [string, (blob: BlockBlobClient) => Promise<unknown>])[] = [
    ['Get Blob', (blob) => blob.download()],
    ['Get Blob of a range', (blob) => blob.download(1, 2)],
    ['Put Blob', (blob) => blob.upload('x', 1)],
    ['Put Blob of a long body', (blob) => blob.upload('x'.repeat(50_000), 50_000)],
    ['Put Blob to another tier', (blob) => blob.upload('x', 1, { tier: 'Hot' })],
    ['Put Blob of an append blob', (blob) => container.getAppendBlobClient(blob.name).create()],
    ['Put Block', (blob) => blob.stageBlock('YQ==', 'x', 1)],
    ['Put Block List', (blob) => blob.commitBlockList([])],
    ['Set Blob Metadata', (blob) => blob.setMetadata({ a: 'b' })],
    ['Set Blob Properties', (blob) => blob.setHTTPHeaders({})],
    ['Snapshot Blob', (blob) => blob.createSnapshot()],
    ['Query Blob Contents', (blob) => blob.query('SELECT * from BlobStorage')],
  ];
  for (const [operation, act] of refused) {
    test(`refuses ${operation}`, async () => {
      const blob = await archived();
      assert.equal(await refusal(act(blob)), '409 BlobArchived');
      await blob.setAccessTier('Hot');
      assert.equal(await refusal(act(blob)), '409 BlobBeingRehydrated');
      server.clock.advance({ seconds: REHYDRATION_SECONDS });
      assert.equal(await outcome(act(blob)), 'ok');
    });
  }

  const allowed: readonly (readonly [string, (blob: BlockBlobClient) => Promise<unknown>])[] = [
    ['Get Blob Properties', (blob) => blob.getProperties()],
    ['Get Blob Tags', (blob) => blob.getTags()],
    ['Set Blob Tags', (blob) => blob.setTags({ a: 'b' })],
    ['Lease Blob', (blob) => blob.getBlobLeaseClient().acquireLease(15)],
    ['Delete Blob', (blob) => blob.delete()],
  ];
  for (const [operation, act] of allowed) {
    test(`takes ${operation}, also on its way back`, async () => {
      assert.equal(await outcome(act(await archived())), 'ok');
      assert.equal(await outcome(act(await archived('Hot'))), 'ok');
    });
  }

  test('is told by its properties and its length, not by its bytes', async () => {
    const blob = await archived();
    assert.deepEqual(await tierOf(blob), { accessTier: 'Archive' });
    assert.equal((await blob.getProperties()).contentLength, 7);
    const metadata = await send(server.url, {
      method: 'GET',
      path: `/${container.containerName}/${blob.name}?comp=metadata`,
    });
    assert.equal(metadata.status, 200);
  });

  test('is refused after the conditions and the lease', async () => {
    const blob = await archived();
    const stale = blob.upload('x', 1, { conditions: { ifMatch: '"0x0"' } });
    assert.equal(await refusal(stale), '412 ConditionNotMet');
    await blob.getBlobLeaseClient().acquireLease(-1);
    assert.equal(await refusal(blob.upload('x', 1)), '412 LeaseIdMissing');
  });
});

describe('the way back from the archive', () => {
  test('takes its time, and then the blob is there as it was', async () => {
    const blob = await archived();
    const { etag, lastModified } = await blob.getProperties();
    await blob.setAccessTier('Cool');
    const pending = { accessTier: 'Archive', archiveStatus: 'rehydrate-pending-to-cool' };
    assert.deepEqual(await tierOf(blob), pending);
    assert.equal((await blob.getProperties()).rehydratePriority, 'Standard');
    server.clock.advance({ seconds: REHYDRATION_SECONDS - 1 });
    assert.deepEqual(await tierOf(blob), pending);
    server.clock.advance({ seconds: 1 });
    assert.deepEqual(await tierOf(blob), { accessTier: 'Cool' });
    const after = await blob.getProperties();
    assert.equal(after.rehydratePriority, undefined);
    assert.equal(after.etag, etag);
    assert.deepEqual(after.lastModified, lastModified);
    assert.equal(Math.floor(server.clock.nowMs() / 1000), Number(after.accessTierChangedOn) / 1000);
    assert.equal((await blob.downloadToBuffer()).toString(), 'content');
  });

  test('leads to where it led at first, once it is over', async () => {
    const blob = await archived('Hot');
    server.clock.advance({ seconds: REHYDRATION_SECONDS });
    await blob.upload('new', 3);
    assert.deepEqual(await tierOf(blob), { accessTier: 'Hot' });
    assert.equal((await blob.downloadToBuffer()).toString(), 'new');
    await blob.setMetadata({ a: 'b' });
    assert.deepEqual(await tierOf(blob), { accessTier: 'Hot' });
    assert.equal((await setTier(blob, 'Archive')).outcome, '200');
    assert.equal(await refusal(blob.download()), '409 BlobArchived');
  });

  test('can be asked for with a priority, which can be raised', async () => {
    const blob = await archived();
    const priorityOf = async (): Promise<unknown> => (await blob.getProperties()).rehydratePriority;
    await blob.setAccessTier('Hot', { rehydratePriority: 'Standard' });
    assert.equal(await priorityOf(), 'Standard');
    assert.equal((await setTier(blob, 'Hot', { 'x-ms-rehydrate-priority': 'High' })).outcome, '202');
    assert.equal(await priorityOf(), 'High');
    assert.equal((await setTier(blob, 'Hot', { 'x-ms-rehydrate-priority': 'Standard' })).outcome, '202');
    assert.equal(await priorityOf(), 'High');
    const urgent = await archived();
    await urgent.setAccessTier('Hot', { rehydratePriority: 'High' });
    assert.equal((await urgent.getProperties()).rehydratePriority, 'High');
    server.clock.advance({ seconds: REHYDRATION_SECONDS });
    assert.equal(await outcome(urgent.download()), 'ok');
  });

  test('does not take longer for being asked for again', async () => {
    const blob = await archived('Hot');
    server.clock.advance({ seconds: REHYDRATION_SECONDS - 10 });
    for (const priority of ['Standard', 'High']) {
      assert.equal((await setTier(blob, 'Hot', { 'x-ms-rehydrate-priority': priority })).outcome, '202');
    }
    server.clock.advance({ seconds: 10 });
    assert.deepEqual(await tierOf(blob), { accessTier: 'Hot' });
  });

  test('is over at once where it takes no time', async () => {
    const quick = await startInProcess({ settings: { rehydrationSeconds: 0 } });
    const blob = (await freshContainer(blobService(quick))).getBlockBlobClient('blob');
    await blob.upload('content', 7, { tier: 'Archive' });
    await blob.setAccessTier('Hot');
    assert.equal((await blob.downloadToBuffer()).toString(), 'content');
  });
});

const versionedBlob = async (): Promise<{ own: InProcessServer; blob: BlockBlobClient }> => {
  const own = await startInProcess({ settings: { versioning: ['all'] } });
  return { own, blob: (await freshContainer(blobService(own))).getBlockBlobClient('blob') };
};

describe('snapshots and versions', () => {
  test('have tiers of their own', async () => {
    const { blob } = await versionedBlob();
    const { versionId: first = '' } = await blob.upload('one', 3, { tier: 'Hot' });
    await blob.upload('two', 3);
    const { snapshot = '' } = await blob.createSnapshot();
    const [version, past] = [blob.withVersion(first), blob.withSnapshot(snapshot)];
    await version.setAccessTier('Cool');
    await past.setAccessTier('Cold');
    assert.deepEqual(
      [await tierOf(version), await tierOf(past), await tierOf(blob)],
      [{ accessTier: 'Cool' }, { accessTier: 'Cold' }, { accessTier: 'Hot' }],
    );
  });

  test('stay in the archive, and leave the blob to be read', async () => {
    const { own, blob } = await versionedBlob();
    const { versionId: first = '' } = await blob.upload('one', 3);
    await blob.upload('two', 3);
    const { snapshot = '' } = await blob.createSnapshot();
    for (const past of [blob.withVersion(first), blob.withSnapshot(snapshot)]) {
      await past.setAccessTier('Archive');
      assert.equal(await refusal(past.download()), '409 BlobArchived');
      assert.equal(await outcome(past.getProperties()), 'ok');
      assert.equal(await refusal(past.setAccessTier('Hot')), '409 BlobArchived');
    }
    own.clock.advance({ seconds: REHYDRATION_SECONDS });
    assert.equal((await blob.downloadToBuffer()).toString(), 'two');
    await blob.withSnapshot(snapshot).delete();
    await blob.withVersion(first).delete();
  });

  test('by the current version’s id the blob itself is meant, and comes back', async () => {
    const { own, blob } = await versionedBlob();
    const { versionId = '' } = await blob.upload('one', 3);
    await blob.withVersion(versionId).setAccessTier('Archive');
    assert.equal(await refusal(blob.download()), '409 BlobArchived');
    await blob.withVersion(versionId).setAccessTier('Hot');
    own.clock.advance({ seconds: 5 });
    assert.equal((await blob.downloadToBuffer()).toString(), 'one');
  });

  test('that are not there have no tier', async () => {
    const blob = await freshBlob();
    const missing = blob.withSnapshot('2020-01-01T00:00:00.0000000Z');
    assert.equal(await refusal(missing.setAccessTier('Cool')), '404 BlobNotFound');
    const malformed = blob.withSnapshot('yesterday');
    assert.equal(await refusal(malformed.setAccessTier('Cool')), '400 InvalidQueryParameterValue');
  });
});
