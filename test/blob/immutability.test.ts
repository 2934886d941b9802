/** Immutability policies and legal holds: setting them, what they refuse, when they end, and what versions change. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { BlobClient, BlobSASPermissions, type BlockBlobClient, type ContainerClient } from '@azure/storage-blob';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const DAY_SECONDS = 86_400;
const BY_POLICY = '409 BlobImmutableDueToPolicy';
const BY_HOLD = '409 BlobImmutableDueToLegalHold';

const server = await startInProcess();
const container = await freshContainer(blobService(server));

/** Full seconds, as headers tell them. */
const inDays = (days: number): Date =>
  new Date(Math.floor(server.clock.nowMs() / 1000) * 1000 + days * DAY_SECONDS * 1000);

async function freshBlob(within: ContainerClient = container): Promise<BlockBlobClient> {
  const blob = within.getBlockBlobClient(randomUUID());
  await blob.upload('content', 7);
  return blob;
}

type Mode = 'Unlocked' | 'Locked';

const protect = (blob: BlobClient, days: number, policyMode: Mode): ReturnType<BlobClient['setImmutabilityPolicy']> =>
  blob.setImmutabilityPolicy({ expiriesOn: inDays(days), policyMode });

async function protectionOf(blob: BlobClient): Promise<unknown> {
  const found = await blob.getProperties();
  return {
    until: found.immutabilityPolicyExpiresOn?.getTime(),
    mode: found.immutabilityPolicyMode,
    hold: found.legalHold,
  };
}

const raw = (blob: BlobClient, method: string, query: string, headers: Record<string, string>): Promise<RawResponse> =>
  send(server.url, { method, path: `/${container.containerName}/${blob.name}${query}`, headers });

const UNTIL = 'x-ms-immutability-policy-until-date';
const MODE = 'x-ms-immutability-policy-mode';
const setPolicy = (blob: BlobClient, headers: Record<string, string>): Promise<RawResponse> =>
  raw(blob, 'PUT', '?comp=immutabilityPolicies', headers);

describe('Set Blob Immutability Policy', () => {
  test('tells what it has set, and changes nothing else', async () => {
    const blob = await freshBlob();
    const { etag, lastModified } = await blob.getProperties();
    server.clock.advance({ seconds: 5 });
    const until = inDays(1);
    const answer = await setPolicy(blob, { [UNTIL]: until.toUTCString() });
    assert.equal(answer.status, 200);
    assert.deepEqual([answer.headers[UNTIL], answer.headers[MODE]], [until.toUTCString(), 'unlocked']);
    const after = await blob.getProperties();
    assert.deepEqual([after.etag, after.lastModified], [etag, lastModified]);
    assert.deepEqual(await protectionOf(blob), { until: until.getTime(), mode: 'unlocked', hold: undefined });
    assert.equal((await blob.download()).immutabilityPolicyMode, 'unlocked');
  });

  for (const [what, headers, want] of [
    ['without a date', {}, '400 MissingRequiredHeader'],
    ['with a date that is none', { [UNTIL]: 'tomorrow' }, '400 InvalidHeaderValue'],
    ['with a date that has passed', { [UNTIL]: inDays(-1).toUTCString() }, '400 InvalidHeaderValue'],
    ['with a mode that is none', { [UNTIL]: inDays(1).toUTCString(), [MODE]: 'Shut' }, '400 InvalidHeaderValue'],
    ['with the mode in any case', { [UNTIL]: inDays(1).toUTCString(), [MODE]: 'LOCKED' }, '200'],
  ] as const) {
    test(`${what}: ${want}`, async () => {
      assert.equal((await setPolicy(await freshBlob(), headers)).outcome, want);
    });
  }

  test('goes by If-Unmodified-Since, and by no lease', async () => {
    const blob = await freshBlob();
    await blob.getBlobLeaseClient().acquireLease(-1);
    const since = (date: Date): Promise<RawResponse> =>
      setPolicy(blob, { [UNTIL]: inDays(1).toUTCString(), 'if-unmodified-since': date.toUTCString() });
    assert.equal((await since(inDays(-1))).outcome, '412 ConditionNotMet');
    assert.equal((await since(inDays(1))).outcome, '200');
  });

  test('while unlocked can be made longer and shorter, locked, and deleted', async () => {
    const blob = await freshBlob();
    for (const days of [10, 20, 5]) {
      await protect(blob, days, 'Unlocked');
      assert.deepEqual(await protectionOf(blob), { until: inDays(days).getTime(), mode: 'unlocked', hold: undefined });
    }
    await blob.deleteImmutabilityPolicy();
    assert.deepEqual(await protectionOf(blob), { until: undefined, mode: undefined, hold: undefined });
    assert.equal(await outcome(blob.deleteImmutabilityPolicy()), 'ok');
    await protect(blob, 10, 'Unlocked');
    await protect(blob, 5, 'Locked');
    assert.deepEqual(await protectionOf(blob), { until: inDays(5).getTime(), mode: 'locked', hold: undefined });
  });

  test('once locked can only be made longer, also when its time is over', async () => {
    const blob = await freshBlob();
    await protect(blob, 5, 'Locked');
    for (const isOver of [false, true]) {
      if (isOver) server.clock.advance({ seconds: 6 * DAY_SECONDS });
      assert.equal(await refusal(blob.deleteImmutabilityPolicy()), BY_POLICY);
      assert.equal(await refusal(protect(blob, 10, 'Unlocked')), BY_POLICY);
    }
    await protect(blob, 5, 'Locked');
    assert.equal(await refusal(protect(blob, 4, 'Locked')), BY_POLICY);
    assert.equal(await outcome(protect(blob, 6, 'Locked')), 'ok');
    assert.deepEqual(await protectionOf(blob), { until: inDays(6).getTime(), mode: 'locked', hold: undefined });
  });

  test('needs a blob that is there', async () => {
    const blob = container.getBlockBlobClient(randomUUID());
    assert.equal(await refusal(protect(blob, 1, 'Unlocked')), '404 BlobNotFound');
    assert.equal(await refusal(blob.deleteImmutabilityPolicy()), '404 BlobNotFound');
    assert.equal(await refusal(blob.setLegalHold(true)), '404 BlobNotFound');
    await blob.stageBlock('YQ==', 'x', 1);
    assert.equal(await refusal(blob.setLegalHold(true)), '404 BlobNotFound');
  });

  test('is open to a token with i, and so is the hold', async () => {
    const blob = await freshBlob();
    const expiresOn = inDays(1);
    for (const [permissions, want] of [
      ['i', 'ok'],
      ['racwdxt', '403 AuthorizationPermissionMismatch'],
    ] as const) {
      const url = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse(permissions), expiresOn });
      const guest = new BlobClient(url, undefined, NO_RETRIES);
      assert.equal(await outcome(protect(guest, 1, 'Unlocked')), want);
      assert.equal(await outcome(guest.deleteImmutabilityPolicy()), want);
      assert.equal(await outcome(guest.setLegalHold(false)), want);
    }
  });
});

describe('Set Blob Legal Hold', () => {
  test('is told and lifted', async () => {
    const blob = await freshBlob();
    const { etag } = await blob.getProperties();
    assert.equal((await blob.setLegalHold(true)).legalHold, true);
    assert.deepEqual(await protectionOf(blob), { until: undefined, mode: undefined, hold: true });
    assert.equal(await refusal(blob.delete()), BY_HOLD);
    assert.equal((await blob.setLegalHold(false)).legalHold, false);
    assert.deepEqual(await protectionOf(blob), { until: undefined, mode: undefined, hold: false });
    assert.equal((await blob.getProperties()).etag, etag);
    assert.equal(await outcome(blob.delete()), 'ok');
  });

  test('wants to be told true or false', async () => {
    const blob = await freshBlob();
    const hold = (headers: Record<string, string>): Promise<RawResponse> =>
      raw(blob, 'PUT', '?comp=legalhold', headers);
    assert.equal((await hold({})).outcome, '400 MissingRequiredHeader');
    assert.equal((await hold({ 'x-ms-legal-hold': 'maybe' })).outcome, '400 InvalidHeaderValue');
  });

  test('stands beside a policy, and each is lifted by itself', async () => {
    const blob = await freshBlob();
    await protect(blob, 5, 'Unlocked');
    await blob.setLegalHold(true);
    assert.deepEqual(await protectionOf(blob), { until: inDays(5).getTime(), mode: 'unlocked', hold: true });
    assert.equal(await refusal(blob.delete()), BY_HOLD);
    await blob.deleteImmutabilityPolicy();
    assert.equal(await refusal(blob.delete()), BY_HOLD);
    await protect(blob, 5, 'Unlocked');
    await blob.setLegalHold(false);
    assert.equal(await refusal(blob.delete()), BY_POLICY);
    server.clock.advance({ seconds: 5 * DAY_SECONDS + 1 });
    assert.equal(await outcome(blob.delete()), 'ok');
  });

  test('does not end by itself', async () => {
    const blob = await freshBlob();
    await blob.setLegalHold(true);
    server.clock.advance({ seconds: 1_000 * DAY_SECONDS });
    assert.equal(await refusal(blob.delete()), BY_HOLD);
  });
});

interface Subject {
  readonly make: () => Promise<BlobClient>;
  readonly act: (blob: BlobClient) => Promise<unknown>;
}

const onBlocks = (act: (blob: BlockBlobClient) => Promise<unknown>): Subject => ({
  make: () => freshBlob(),
  act: (blob) => act(blob.getBlockBlobClient()),
});

async function freshLog(): Promise<BlobClient> {
  const blob = container.getAppendBlobClient(randomUUID());
  await blob.create();
  return blob;
}

async function freshDisk(): Promise<BlobClient> {
  const blob = container.getPageBlobClient(randomUUID());
  await blob.create(1_024);
  return blob;
}

const expire = async (blob: BlobClient): Promise<unknown> => {
  const headers = { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '1000' };
  const { outcome: text, status } = await raw(blob, 'PUT', '?comp=expiry', headers);
  return status === 200 ? text : Promise.reject(new Error(text));
};

const LONG = 'x'.repeat(50_000);

/** Also of requests that were sent by hand. */
const outcomeOf = (request: Promise<unknown>): Promise<string> =>
  outcome(request).catch((error: Error) => error.message);

describe('a blob under a policy or a hold', () => {
  const refused: readonly (readonly [string, Subject])[] = [
    ['Delete Blob', onBlocks((blob) => blob.delete())],
    ['Put Blob', onBlocks((blob) => blob.upload('x', 1))],
    ['Put Blob of a long body', onBlocks((blob) => blob.upload(LONG, LONG.length))],
    ['Put Blob of another type', onBlocks((blob) => container.getAppendBlobClient(blob.name).create())],
    ['Put Block List', onBlocks((blob) => blob.commitBlockList([]))],
    ['Set Blob Metadata', onBlocks((blob) => blob.setMetadata({ a: 'b' }))],
    ['Set Blob Properties', onBlocks((blob) => blob.setHTTPHeaders({}))],
    ['Set Blob Expiry', onBlocks(expire)],
    ['Append Block', { make: freshLog, act: (blob) => blob.getAppendBlobClient().appendBlock('x', 1) }],
    [
      'Append Block of a long block',
      { make: freshLog, act: (blob) => blob.getAppendBlobClient().appendBlock(LONG, LONG.length) },
    ],
    ['Append Blob Seal', { make: freshLog, act: (blob) => blob.getAppendBlobClient().seal() }],
    ['Put Page', { make: freshDisk, act: (blob) => blob.getPageBlobClient().uploadPages(Buffer.alloc(512), 0, 512) }],
    ['Clear Page', { make: freshDisk, act: (blob) => blob.getPageBlobClient().clearPages(0, 512) }],
    ['a resize', { make: freshDisk, act: (blob) => blob.getPageBlobClient().resize(512) }],
    [
      'a sequence number',
      { make: freshDisk, act: (blob) => blob.getPageBlobClient().updateSequenceNumber('increment') },
    ],
  ];

  for (const [operation, { make, act }] of refused) {
    test(`refuses ${operation} until it is lifted or over`, async () => {
      const held = await make();
      const { etag } = await held.getProperties();
      await held.setLegalHold(true);
      assert.equal(await outcomeOf(act(held)), BY_HOLD);
      assert.equal((await held.getProperties()).etag, etag);
      await held.setLegalHold(false);
      assert.equal(await outcomeOf(act(held)), 'ok');
      for (const mode of ['Unlocked', 'Locked'] as const) {
        const kept = await make();
        await protect(kept, 1, mode);
        assert.equal(await outcomeOf(act(kept)), BY_POLICY);
        server.clock.advance({ seconds: DAY_SECONDS - 2 });
        assert.equal(await outcomeOf(act(kept)), BY_POLICY);
        server.clock.advance({ seconds: 2 });
        assert.equal(await outcomeOf(act(kept)), 'ok');
      }
    });
  }

  const allowed: readonly (readonly [string, (blob: BlockBlobClient) => Promise<unknown>])[] = [
    ['Get Blob', (blob) => blob.download()],
    ['Put Block', (blob) => blob.stageBlock('YQ==', 'x', 1)],
    ['Snapshot Blob', (blob) => blob.createSnapshot()],
    ['Set Blob Tags', (blob) => blob.setTags({ a: 'b' })],
    ['Set Blob Tier', (blob) => blob.setAccessTier('Cool')],
    ['Lease Blob', (blob) => blob.getBlobLeaseClient().acquireLease(15)],
  ];
  for (const [operation, act] of allowed) {
    test(`takes ${operation}`, async () => {
      const blob = await freshBlob();
      await protect(blob, 1, 'Locked');
      await blob.setLegalHold(true);
      assert.equal(await outcome(act(blob)), 'ok');
    });
  }

  test('is refused after the conditions and the lease', async () => {
    const blob = await freshBlob();
    await blob.setLegalHold(true);
    const stale = blob.setMetadata({}, { conditions: { ifMatch: '"0x0"' } });
    assert.equal(await refusal(stale), '412 ConditionNotMet');
    await blob.getBlobLeaseClient().acquireLease(-1);
    assert.equal(await refusal(blob.setMetadata({})), '412 LeaseIdMissing');
  });

  test('does not end by the expiry that it had before', async () => {
    const blob = await freshBlob();
    await expire(blob);
    await blob.setLegalHold(true);
    server.clock.advance({ seconds: 2 });
    assert.equal((await blob.downloadToBuffer()).toString(), 'content');
  });
});

describe('a policy given with a write', () => {
  const writes = [
    ['Put Blob', (blob: BlockBlobClient, options: object) => blob.upload('x', 1, options)],
    ['Put Block List', (blob: BlockBlobClient, options: object) => blob.commitBlockList([], options)],
  ] as const;
  for (const [operation, write] of writes) {
    test(`is the blob’s from ${operation} on, and so is a hold`, async () => {
      const blob = container.getBlockBlobClient(randomUUID());
      await write(blob, { immutabilityPolicy: { expiriesOn: inDays(1), policyMode: 'Locked' }, legalHold: true });
      assert.deepEqual(await protectionOf(blob), { until: inDays(1).getTime(), mode: 'locked', hold: true });
      assert.equal(await refusal(write(blob, {})), BY_HOLD);
      await blob.setLegalHold(false);
      assert.equal(await refusal(write(blob, {})), BY_POLICY);
      server.clock.advance({ seconds: DAY_SECONDS + 1 });
      await write(blob, {});
      assert.deepEqual(await protectionOf(blob), { until: undefined, mode: undefined, hold: undefined });
    });
  }

  for (const [what, headers, want] of [
    ['for the past', { [UNTIL]: inDays(-1).toUTCString() }, '400 InvalidHeaderValue'],
    ['with a mode that is none', { [UNTIL]: inDays(1).toUTCString(), [MODE]: 'Shut' }, '400 InvalidHeaderValue'],
    ['with a mode and no date', { [MODE]: 'Locked' }, '400 MissingRequiredHeader'],
    ['that is no hold', { 'x-ms-legal-hold': 'maybe' }, '400 InvalidHeaderValue'],
  ] as const) {
    test(`${what} is refused`, async () => {
      const blob = container.getBlockBlobClient(randomUUID());
      const answer = await raw(blob, 'PUT', '', { 'x-ms-blob-type': 'BlockBlob', ...headers });
      assert.equal(answer.outcome, want);
      assert.equal(await blob.exists(), false);
    });
  }
});

describe('a snapshot', () => {
  test('has a policy and a hold of its own', async () => {
    const blob = await freshBlob();
    const { snapshot = '' } = await blob.createSnapshot();
    const past = blob.withSnapshot(snapshot);
    await protect(past, 1, 'Unlocked');
    assert.equal(await refusal(past.delete()), BY_POLICY);
    assert.deepEqual(await protectionOf(blob), { until: undefined, mode: undefined, hold: undefined });
    assert.equal(await outcome(blob.upload('new', 3)), 'ok');
    await past.deleteImmutabilityPolicy();
    await past.setLegalHold(true);
    assert.equal(await refusal(past.delete()), BY_HOLD);
    await past.setLegalHold(false);
    assert.equal(await outcome(past.delete()), 'ok');
  });

  test('under a hold keeps its blob and all snapshots from being deleted with it', async () => {
    const blob = await freshBlob();
    const first = blob.withSnapshot((await blob.createSnapshot()).snapshot ?? '');
    const second = blob.withSnapshot((await blob.createSnapshot()).snapshot ?? '');
    await second.setLegalHold(true);
    for (const deleteSnapshots of ['include', 'only'] as const) {
      assert.equal(await refusal(blob.delete({ deleteSnapshots })), BY_HOLD);
    }
    for (const one of [blob, first, second]) assert.equal(await outcome(one.download()), 'ok');
  });
});

describe('where versions are kept', async () => {
  const versioned = await startInProcess({ settings: { versioning: ['all'] }, clock: server.clock });
  const within = await freshContainer(blobService(versioned));

  test('a protected blob can be written anew, and the protected state stays', async () => {
    const blob = await freshBlob(within);
    await protect(blob, 5, 'Unlocked');
    const { versionId: first = '' } = await blob.getProperties();
    await blob.upload('second', 6);
    await blob.setLegalHold(true);
    const { versionId: second = '' } = await blob.getProperties();
    await blob.commitBlockList([]);
    assert.deepEqual(await protectionOf(blob), { until: undefined, mode: undefined, hold: undefined });
    const [one, two] = [blob.withVersion(first), blob.withVersion(second)];
    assert.deepEqual(await protectionOf(one), { until: inDays(5).getTime(), mode: 'unlocked', hold: undefined });
    assert.equal(await refusal(one.delete()), BY_POLICY);
    assert.equal(await refusal(two.delete()), BY_HOLD);
    assert.equal((await one.downloadToBuffer()).toString(), 'content');
    assert.equal((await two.downloadToBuffer()).toString(), 'second');
    await one.deleteImmutabilityPolicy();
    assert.equal(await outcome(one.delete()), 'ok');
    server.clock.advance({ seconds: 6 * DAY_SECONDS });
    assert.equal(await refusal(two.delete()), BY_HOLD);
  });

  test('a protected blob is still neither changed in place nor deleted', async () => {
    const blob = await freshBlob(within);
    await blob.setLegalHold(true);
    assert.equal(await refusal(blob.setMetadata({ a: 'b' })), BY_HOLD);
    assert.equal(await refusal(blob.setHTTPHeaders({})), BY_HOLD);
    assert.equal(await refusal(blob.delete()), BY_HOLD);
  });

  test('a version can be protected by its id', async () => {
    const blob = await freshBlob(within);
    const { versionId: first = '' } = await blob.getProperties();
    await blob.upload('second', 6);
    const old = blob.withVersion(first);
    await protect(old, 5, 'Locked');
    assert.equal(await refusal(old.delete()), BY_POLICY);
    assert.equal(await outcome(blob.delete()), 'ok');
    assert.equal((await old.downloadToBuffer()).toString(), 'content');
  });
});

describe('Delete Container', () => {
  for (const [what, guard, release, want] of [
    [
      'a blob under a hold',
      (blob: BlobClient) => blob.setLegalHold(true),
      (blob: BlobClient) => blob.setLegalHold(false),
      '409 ContainerHasLegalHold',
    ],
    [
      'a blob under a policy',
      (blob: BlobClient) => protect(blob, 1, 'Unlocked'),
      (blob: BlobClient) => blob.deleteImmutabilityPolicy(),
      '409 ContainerImmutabilityPolicyLocked',
    ],
  ] as const) {
    test(`is refused while it holds ${what}, or a snapshot of one`, async () => {
      const within = await freshContainer(blobService(server));
      const blob = await freshBlob(within);
      await freshBlob(within);
      const { snapshot = '' } = await blob.createSnapshot();
      for (const guarded of [blob, blob.withSnapshot(snapshot)]) {
        await guard(guarded);
        assert.equal(await refusal(within.delete()), want);
        await release(guarded);
      }
      assert.equal(await outcome(within.delete()), 'ok');
    });
  }

  test('is possible once a locked policy has had its time', async () => {
    const within = await freshContainer(blobService(server));
    await protect(await freshBlob(within), 1, 'Locked');
    assert.equal(await refusal(within.delete()), '409 ContainerImmutabilityPolicyLocked');
    server.clock.advance({ seconds: DAY_SECONDS + 1 });
    assert.equal(await outcome(within.delete()), 'ok');
  });
});
