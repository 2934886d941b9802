/** Set Blob Expiry: its four options, what it refuses, and a blob whose time has come. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { BlobClient, BlobSASPermissions, type BlockBlobClient, type ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);

const HOUR_MS = 3_600_000;
const OPTION = 'x-ms-expiry-option';
const TIME = 'x-ms-expiry-time';

async function freshBlob(within: ContainerClient = container): Promise<BlockBlobClient> {
  const blob = within.getBlockBlobClient(randomUUID());
  await blob.upload('content', 7, { tags: { expiring: blob.name } });
  return blob;
}

const set = (
  blob: BlobClient,
  headers: Record<string, string>,
  { url = server.url, query = '' } = {},
): Promise<RawResponse> =>
  send(url, { method: 'PUT', path: `/${blob.containerName}/${blob.name}?comp=expiry${query}`, headers });

async function expireIn(blob: BlobClient, seconds: number, url = server.url): Promise<void> {
  const answer = await set(blob, { [OPTION]: 'RelativeToNow', [TIME]: String(seconds * 1000) }, { url });
  assert.equal(answer.status, 200);
}

const endOf = async (blob: BlobClient): Promise<number | undefined> =>
  (await blob.getProperties()).expiresOn?.getTime();

/** In whole seconds, as headers tell times. */
const toSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

describe('Set Blob Expiry', () => {
  test('counts from now, from the creation, or to a date', async () => {
    const blob = await freshBlob();
    const createdMs = server.clock.nowMs();
    assert.equal(await endOf(blob), undefined);
    server.clock.advance({ seconds: 60 });
    await set(blob, { [OPTION]: 'RelativeToNow', [TIME]: String(HOUR_MS) });
    assert.equal(await endOf(blob), toSeconds(server.clock.nowMs() + HOUR_MS));
    await set(blob, { [OPTION]: 'RelativeToCreation', [TIME]: String(HOUR_MS) });
    assert.equal(await endOf(blob), toSeconds(createdMs + HOUR_MS));
    const date = new Date(toSeconds(server.clock.nowMs() + 5 * HOUR_MS));
    await set(blob, { [OPTION]: 'Absolute', [TIME]: date.toUTCString() });
    assert.equal(await endOf(blob), date.getTime());
    assert.equal((await blob.download()).contentLength, 7);
    assert.equal((await set(blob, { [OPTION]: 'neverexpire' })).status, 200);
    assert.equal(await endOf(blob), undefined);
  });

  test('is a change of the blob', async () => {
    const blob = await freshBlob();
    const before = await blob.getProperties();
    server.clock.advance({ seconds: 5 });
    const answer = await set(blob, { [OPTION]: 'RelativeToNow', [TIME]: '60000' });
    const after = await blob.getProperties();
    assert.equal(answer.headers.etag, after.etag);
    assert.notEqual(after.etag, before.etag);
    assert.equal(answer.headers['last-modified'], after.lastModified?.toUTCString());
    assert.equal(Number(after.lastModified) - Number(before.lastModified), 5_000);
    assert.deepEqual((await blob.getTags()).tags, { expiring: blob.name });
  });

  for (const [what, headers, want] of [
    ['without an option', {}, '400 MissingRequiredHeader'],
    ['with an option that is none', { [OPTION]: 'Someday' }, '400 InvalidHeaderValue'],
    ['without a time', { [OPTION]: 'RelativeToNow' }, '400 MissingRequiredHeader'],
    ['with a time for never', { [OPTION]: 'NeverExpire', [TIME]: '1000' }, '400 InvalidHeaderValue'],
    ['with a date where a time is wanted', { [OPTION]: 'RelativeToNow', [TIME]: 'Mon' }, '400 InvalidHeaderValue'],
    ['with a time where a date is wanted', { [OPTION]: 'Absolute', [TIME]: '1000' }, '400 InvalidHeaderValue'],
    ['with a time that is negative', { [OPTION]: 'RelativeToNow', [TIME]: '-1' }, '400 InvalidHeaderValue'],
    ['for now', { [OPTION]: 'RelativeToNow', [TIME]: '0' }, '400 InvalidHeaderValue'],
    [
      'for the past',
      { [OPTION]: 'Absolute', [TIME]: new Date(server.clock.nowMs() - HOUR_MS).toUTCString() },
      '400 InvalidHeaderValue',
    ],
    ['for what no date can say', { [OPTION]: 'RelativeToNow', [TIME]: '9'.repeat(15) }, '400 InvalidHeaderValue'],
  ] as const) {
    test(`${what}: ${want}`, async () => {
      const blob = await freshBlob();
      const { etag } = await blob.getProperties();
      assert.equal((await set(blob, headers)).outcome, want);
      assert.equal((await blob.getProperties()).etag, etag);
    });
  }

  test('refuses a time since the creation that is over', async () => {
    const blob = await freshBlob();
    server.clock.advance({ seconds: 3_600 });
    const answer = await set(blob, { [OPTION]: 'RelativeToCreation', [TIME]: String(HOUR_MS) });
    assert.equal(answer.outcome, '400 InvalidHeaderValue');
  });

  test('needs the blob itself, its lease, and what its conditions say', async () => {
    const never = { [OPTION]: 'NeverExpire' };
    const missing = container.getBlobClient(randomUUID());
    assert.equal((await set(missing, never)).outcome, '404 BlobNotFound');
    assert.equal((await set(missing, { ...never, 'if-match': '*' })).outcome, '412 ConditionNotMet');
    const blob = await freshBlob();
    const { snapshot = '' } = await blob.createSnapshot();
    const past = await set(blob, never, { query: `&snapshot=${encodeURIComponent(snapshot)}` });
    assert.equal(past.outcome, '400 InvalidQueryParameterValue');
    assert.equal((await set(blob, { ...never, 'if-match': '"0x0"' })).outcome, '412 ConditionNotMet');
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(-1);
    assert.equal((await set(blob, never)).outcome, '412 LeaseIdMissing');
    assert.equal((await set(blob, { ...never, 'x-ms-lease-id': lease.leaseId })).outcome, '200');
  });

  test('is open to a token with w', async () => {
    const blob = await freshBlob();
    const expiresOn = new Date(server.clock.nowMs() + HOUR_MS);
    for (const [letter, want] of [
      ['w', '200'],
      ['r', '403 AuthorizationPermissionMismatch'],
    ] as const) {
      const url = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse(letter), expiresOn });
      const { search } = new URL(url);
      const answer = await send(server.url, {
        method: 'PUT',
        path: `/${blob.containerName}/${blob.name}${search}&comp=expiry`,
        headers: { [OPTION]: 'NeverExpire' },
        account: null,
      });
      assert.equal(answer.outcome, want);
      assert.equal(
        await outcome(new BlobClient(url, undefined, NO_RETRIES).exists()),
        letter === 'r' ? 'ok' : '403 AuthorizationPermissionMismatch',
      );
    }
  });
});

async function expired(): Promise<BlockBlobClient> {
  const blob = await freshBlob();
  await expireIn(blob, 10);
  server.clock.advance({ seconds: 10 });
  return blob;
}

describe('a blob whose time has come', () => {
  test('is there up to its last moment, and not in the next', async () => {
    const blob = await freshBlob();
    await expireIn(blob, 10);
    server.clock.advance({ seconds: 9.999 });
    assert.equal((await blob.downloadToBuffer()).toString(), 'content');
    server.clock.advance({ seconds: 0.001 });
    assert.equal(await refusal(blob.download()), '404 BlobNotFound');
  });

  const operations: readonly (readonly [string, (blob: BlockBlobClient) => Promise<unknown>])[] = [
    ['Get Blob', (blob) => blob.download()],
    ['Get Blob Properties', (blob) => blob.getProperties()],
    ['Get Blob Tags', (blob) => blob.getTags()],
    ['Set Blob Tags', (blob) => blob.setTags({})],
    ['Get Block List', (blob) => blob.getBlockList('all')],
    ['Set Blob Metadata', (blob) => blob.setMetadata({})],
    ['Set Blob Properties', (blob) => blob.setHTTPHeaders({})],
    ['Set Blob Tier', (blob) => blob.setAccessTier('Cool')],
    ['Set Blob Legal Hold', (blob) => blob.setLegalHold(true)],
    ['Snapshot Blob', (blob) => blob.createSnapshot()],
    ['Lease Blob', (blob) => blob.getBlobLeaseClient().acquireLease(15)],
    ['Delete Blob', (blob) => blob.delete()],
    ['Append Block', (blob) => container.getAppendBlobClient(blob.name).appendBlock('x', 1)],
  ];
  for (const [operation, act] of operations) {
    test(`is not there to ${operation}`, async () => {
      assert.equal(await refusal(act(await expired())), '404 BlobNotFound');
    });
  }

  test('is neither listed nor found', async () => {
    const own = await freshContainer(service);
    const [ended, other] = [await freshBlob(own), await freshBlob(own)];
    await expireIn(ended, 10);
    server.clock.advance({ seconds: 10 });
    const listed: string[] = [];
    for await (const { name } of own.listBlobsFlat()) listed.push(name);
    assert.deepEqual(listed, [other.name]);
    for (const [blob, want] of [
      [ended, []],
      [other, [other.name]],
    ] as const) {
      const found: string[] = [];
      for await (const { name } of own.findBlobsByTags(`expiring = '${blob.name}'`)) found.push(name);
      assert.deepEqual(found, want);
    }
  });

  test('leaves its name free', async () => {
    const blob = await expired();
    assert.equal(await refusal(blob.upload('x', 1, { conditions: { ifMatch: '*' } })), '412 ConditionNotMet');
    await blob.upload('new', 3, { conditions: { ifNoneMatch: '*' } });
    assert.equal((await blob.downloadToBuffer()).toString(), 'new');
    assert.equal(await endOf(blob), undefined);
    const { createdOn } = await blob.getProperties();
    assert.equal(createdOn?.getTime(), toSeconds(server.clock.nowMs()));
    assert.deepEqual((await blob.getTags()).tags, {});
    server.clock.advance({ seconds: 100 });
    assert.equal(await outcome(blob.download()), 'ok');
  });

  test('takes its lease and its snapshots along', async () => {
    const blob = await freshBlob();
    const { snapshot = '' } = await blob.createSnapshot();
    await expireIn(blob, 10);
    await blob.getBlobLeaseClient().acquireLease(-1);
    server.clock.advance({ seconds: 10 });
    await blob.upload('new', 3);
    assert.equal(await refusal(blob.withSnapshot(snapshot).download()), '404 BlobNotFound');
    assert.equal((await blob.getProperties()).leaseState, 'available');
    assert.equal(await outcome(blob.delete()), 'ok');
  });

  test('was given more time, or was written anew, or is of any type: then it stays or goes like any other', async () => {
    const [longer, anew] = [await freshBlob(), await freshBlob()];
    const log = container.getAppendBlobClient(randomUUID());
    await log.create();
    const disk = container.getPageBlobClient(randomUUID());
    await disk.create(512);
    for (const blob of [longer, anew, log, disk]) await expireIn(blob, 10);
    await expireIn(longer, 20);
    await anew.upload('new', 3);
    await log.appendBlock('x', 1);
    await disk.uploadPages(Buffer.alloc(512), 0, 512);
    assert.notEqual(await endOf(log), undefined, 'an append leaves the expiry as it is');
    server.clock.advance({ seconds: 10 });
    assert.deepEqual(await Promise.all([longer, anew, log, disk].map((blob) => blob.exists())), [
      true,
      true,
      false,
      false,
    ]);
    server.clock.advance({ seconds: 10 });
    assert.deepEqual(await Promise.all([longer, anew].map((blob) => blob.exists())), [false, true]);
  });
});

describe('where what is deleted is kept', () => {
  test('an expired blob can be had back from soft delete, and then stays', async () => {
    const own = await startInProcess();
    const kept = blobService(own);
    await kept.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } });
    const blob = await freshBlob(await freshContainer(kept));
    await expireIn(blob, 10, own.url);
    own.clock.advance({ seconds: 10 });
    assert.equal(await refusal(blob.download()), '404 BlobNotFound');
    assert.equal(await outcome(blob.undelete()), 'ok');
    assert.equal(await endOf(blob), undefined);
    own.clock.advance({ seconds: 100 });
    assert.equal((await blob.downloadToBuffer()).toString(), 'content');
  });

  test('an expired blob is a version from then on, and ends no more', async () => {
    const own = await startInProcess({ settings: { versioning: ['all'] } });
    const blob = await freshBlob(await freshContainer(blobService(own)));
    const { versionId = '' } = await blob.getProperties();
    await expireIn(blob, 10, own.url);
    const { versionId: expiring = '' } = await blob.getProperties();
    assert.equal(expiring, versionId, 'setting the expiry makes no version');
    own.clock.advance({ seconds: 10 });
    await blob.upload('new', 3);
    assert.equal((await blob.withVersion(versionId).downloadToBuffer()).toString(), 'content');
    assert.equal(await endOf(blob.withVersion(versionId)), undefined);
  });

  test('an earlier version and a snapshot do not end with the blob’s expiry', async () => {
    const own = await startInProcess({ settings: { versioning: ['all'] } });
    const blob = await freshBlob(await freshContainer(blobService(own)));
    await expireIn(blob, 10, own.url);
    const { versionId = '' } = await blob.getProperties();
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.upload('new', 3);
    own.clock.advance({ seconds: 10 });
    for (const past of [blob.withVersion(versionId), blob.withSnapshot(snapshot)]) {
      assert.equal((await past.downloadToBuffer()).toString(), 'content');
    }
  });
});
