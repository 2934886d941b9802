/**
 * Soft delete of blobs: what is kept of what is deleted or overwritten, how it is listed, had back, and gone when its days
 * are over. Clients use a token, for signatures would not outlive the days that the clock is moved by.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  type BlobItem,
  BlobSASPermissions,
  BlobServiceClient,
  type BlockBlobClient,
  type ContainerClient,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { blobService, freshContainer, NO_RETRIES, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const DAY_SECONDS = 86_400;
const RETENTION_DAYS = 7;

const server = await startInProcess({
  accounts: [SECOND_ACCOUNT],
  settings: { versioning: [SECOND_ACCOUNT.name] },
});

const credentialOf = ({ name, key }: TestAccount): StorageSharedKeyCredential =>
  new StorageSharedKeyCredential(name, key);

/** A year, by the server's clock. */
const expiresOn = (): Date => new Date(server.clock.nowMs() + 365 * DAY_SECONDS * 1000);

const tokenOf = (account: TestAccount): string =>
  generateAccountSASQueryParameters(
    {
      expiresOn: expiresOn(),
      permissions: AccountSASPermissions.parse('rwdylacxupiftx'),
      services: AccountSASServices.parse('b').toString(),
      resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
    },
    credentialOf(account),
  ).toString();

const serviceOf = (account: TestAccount): BlobServiceClient =>
  new BlobServiceClient(`${server.endpoint(account)}?${tokenOf(account)}`, undefined, NO_RETRIES);

async function retain(account: TestAccount, policy: string): Promise<void> {
  const body = `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><DeleteRetentionPolicy>${policy}</DeleteRetentionPolicy></StorageServiceProperties>`;
  const path = `/?restype=service&comp=properties&${tokenOf(account)}`;
  const headers = { 'content-type': 'application/xml' };
  const pathAccount = account.name;
  const { outcome } = await send(server.url, { method: 'PUT', path, body, headers, account: null, pathAccount });
  assert.equal(outcome, '202');
}

const service = serviceOf(DEVELOPMENT_ACCOUNT);
const versioned = serviceOf(SECOND_ACCOUNT);
await blobService(server).setProperties({ deleteRetentionPolicy: { enabled: true, days: RETENTION_DAYS } });
await retain(
  SECOND_ACCOUNT,
  `<Enabled>true</Enabled><Days>${RETENTION_DAYS}</Days><AllowPermanentDelete>true</AllowPermanentDelete>`,
);

async function freshBlob(of = service): Promise<{ container: ContainerClient; blob: BlockBlobClient }> {
  const container = await freshContainer(of);
  return { container, blob: container.getBlockBlobClient('blob') };
}

async function write(blob: BlockBlobClient, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await blob.upload(text, text.length);
    server.clock.advance({ seconds: 0.01 });
  }
}

const textOf = async (blob: Pick<BlockBlobClient, 'downloadToBuffer'>): Promise<string> =>
  (await blob.downloadToBuffer()).toString();

async function items(container: ContainerClient): Promise<BlobItem[]> {
  const found: BlobItem[] = [];
  const asked = { includeDeleted: true, includeSnapshots: true, includeVersions: true };
  for await (const item of container.listBlobsFlat(asked)) found.push(item);
  return found;
}

/** `deleted snapshot 3`, `blob 5`: what each is, and its length. */
const told = async (container: ContainerClient): Promise<string[]> =>
  (await items(container)).map((item) => {
    const what = item.snapshot ? 'snapshot' : item.versionId && !item.isCurrentVersion ? 'version' : 'blob';
    return `${item.deleted ? 'deleted ' : ''}${what} ${item.properties.contentLength}`;
  });

const raw = (container: ContainerClient, method: string, query: string): Promise<RawResponse> => {
  const account = container.accountName === SECOND_ACCOUNT.name ? SECOND_ACCOUNT : DEVELOPMENT_ACCOUNT;
  const path = `/${container.containerName}/blob?${query}&${tokenOf(account)}`;
  return send(server.url, { method, path, account: null, pathAccount: account.name });
};

const versionQuery = (item: BlobItem | undefined): string =>
  `versionid=${encodeURIComponent(item?.versionId as string)}`;
const blockId = (number: number): string => Buffer.from(`block ${number}`).toString('base64');
const blockBody = (number: number): Buffer => Buffer.alloc(10_000, String(number));

describe('a deleted blob', () => {
  test('is not there to anybody who does not ask for such', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    const { headers } = await raw(container, 'DELETE', '');
    assert.equal(headers['x-ms-delete-type-permanent'], 'false');
    for (const request of [
      () => blob.getProperties(),
      () => blob.download(),
      () => blob.setMetadata({}),
      () => blob.createSnapshot(),
      () => blob.getBlobLeaseClient().acquireLease(-1),
      () => blob.getTags(),
      () => blob.delete(),
    ]) {
      assert.equal(await refusal(request()), '404 BlobNotFound');
    }
    const plain: string[] = [];
    for await (const item of container.listBlobsFlat({ includeSnapshots: true })) plain.push(item.name);
    assert.deepEqual(plain, []);
    await blob.upload('second', 6, { conditions: { ifNoneMatch: '*' } });
  });

  test('is listed where deleted ones are asked for, with the days that are left', async () => {
    const { container, blob } = await freshBlob();
    await blob.upload('first', 5, { metadata: { a: 'b' }, tags: { t: 'x' } });
    const { etag, lastModified } = await blob.getProperties();
    await blob.delete();
    const deletedAt = new Date(Math.floor(server.clock.nowMs() / 1000) * 1000);
    const list = async (): Promise<BlobItem> =>
      (await container.listBlobsFlat({ includeDeleted: true, includeMetadata: true, includeTags: true }).next()).value;
    const item = await list();
    assert.equal(item.name, 'blob');
    assert.equal(item.deleted, true);
    assert.ok(!item.snapshot);
    assert.equal(`"${item.properties.etag}"`, etag);
    assert.deepEqual(item.properties.lastModified, lastModified);
    assert.deepEqual(item.properties.deletedOn, deletedAt);
    assert.equal(item.properties.remainingRetentionDays, 6);
    assert.equal(item.properties.leaseState, undefined);
    assert.deepEqual(item.metadata, { a: 'b' });
    assert.equal(item.properties.tagCount, 1);
    assert.deepEqual(item.tags, { t: 'x' });
    server.clock.advance({ seconds: 2 * DAY_SECONDS });
    assert.equal((await list()).properties.remainingRetentionDays, 4);
  });

  test('stands in a hierarchy as it did', async () => {
    const { container } = await freshBlob();
    for (const name of ['a', 'dir/b', 'dir/c']) {
      await container.uploadBlockBlob(name, name, name.length);
      if (name !== 'dir/c') await container.deleteBlob(name);
    }
    await container.uploadBlockBlob('gone/d', '', 0);
    await container.deleteBlob('gone/d');
    const level = async (includeDeleted: boolean): Promise<string[]> => {
      const found: string[] = [];
      for await (const item of container.listBlobsByHierarchy('/', { includeDeleted })) found.push(item.name);
      return found.toSorted();
    };
    assert.deepEqual(await level(false), ['dir/']);
    assert.deepEqual(await level(true), ['a', 'dir/', 'gone/']);
  });

  test('comes back with ETag and times as they were, found by its tags, and without its lease', async () => {
    const { container, blob } = await freshBlob();
    await blob.upload('first', 5, { metadata: { a: 'b' }, tags: { box: container.containerName } });
    const { leaseId = '' } = await blob.getBlobLeaseClient().acquireLease(-1);
    const before = await blob.getProperties();
    await blob.delete({ conditions: { leaseId } });
    const find = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const { name } of service.findBlobsByTags(`"box" = '${container.containerName}'`)) found.push(name);
      return found;
    };
    assert.deepEqual(await find(), []);
    server.clock.advance({ seconds: 60 });
    await blob.undelete();
    const after = await blob.getProperties();
    assert.equal(after.etag, before.etag);
    assert.deepEqual(after.lastModified, before.lastModified);
    assert.deepEqual(after.createdOn, before.createdOn);
    assert.deepEqual(after.metadata, { a: 'b' });
    assert.equal(after.leaseState, 'available');
    assert.equal(await textOf(blob), 'first');
    assert.deepEqual(await find(), ['blob']);
    assert.deepEqual(await told(container), ['blob 5']);
  });

  test('is gone when its days are over', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    await blob.delete();
    server.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS - 1 });
    assert.deepEqual(await told(container), ['deleted blob 5']);
    server.clock.advance({ seconds: 1 });
    assert.deepEqual(await told(container), []);
    assert.equal(await refusal(blob.undelete()), '404 BlobNotFound');
  });
});

describe('what is overwritten', () => {
  test('is kept as a deleted snapshot, by whatever it is overwritten', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, '1', '22');
    await blob.stageBlock('YQ==', '333', 3);
    await blob.commitBlockList(['YQ==']);
    server.clock.advance({ seconds: 0.01 });
    await container.uploadBlockBlob('source', '4444', 4);
    await blob.syncCopyFromURL(container.getBlobClient('source').url);
    assert.deepEqual(
      (await told(container)).filter((text) => text !== 'blob 4'),
      ['deleted snapshot 1', 'deleted snapshot 2', 'deleted snapshot 3'],
    );
    const [first] = await items(container);
    const gone = blob.withSnapshot(first?.snapshot as string);
    assert.equal(await refusal(gone.getProperties()), '404 BlobNotFound');
    assert.equal(await refusal(gone.delete()), '404 BlobNotFound');
    await blob.undelete();
    assert.equal(await textOf(gone), '1');
    assert.deepEqual(
      (await told(container)).filter((text) => text.startsWith('snapshot')),
      ['snapshot 1', 'snapshot 2', 'snapshot 3'],
    );
    assert.equal(await textOf(blob), '4444');
    assert.equal(await refusal(blob.delete()), '409 SnapshotsPresent');
  });

  test('is not what is only changed in place', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    await blob.setMetadata({ a: 'b' });
    await blob.setHTTPHeaders({ blobContentType: 'text/html' });
    await blob.setTags({ a: 'b' });
    assert.deepEqual(await told(container), ['blob 5']);
  });

  test('keeps its blocks, though the new list takes some of them over', async () => {
    const { container, blob } = await freshBlob();
    for (const number of [1, 2, 3]) await blob.stageBlock(blockId(number), blockBody(number), 10_000);
    await blob.commitBlockList([1, 2, 3].map(blockId));
    server.clock.advance({ seconds: 0.01 });
    await blob.stageBlock(blockId(4), blockBody(4), 10_000);
    await blob.commitBlockList([2, 4].map(blockId));
    await blob.delete();
    await blob.undelete();
    const [before] = await items(container);
    const snapshot = blob.withSnapshot(before?.snapshot as string);
    assert.deepEqual(await snapshot.downloadToBuffer(), Buffer.concat([1, 2, 3].map(blockBody)));
    assert.deepEqual(await blob.downloadToBuffer(), Buffer.concat([2, 4].map(blockBody)));
  });

  test('comes back as snapshots when the blob does; the last state is the blob', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, '1', '22', '333');
    await blob.delete();
    assert.deepEqual(await told(container), ['deleted snapshot 1', 'deleted snapshot 2', 'deleted blob 3']);
    await blob.undelete();
    assert.deepEqual(await told(container), ['snapshot 1', 'snapshot 2', 'blob 3']);
  });
});

describe('snapshots', () => {
  test('that were deleted are listed as such, and come back', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    const { snapshot = '' } = await blob.createSnapshot();
    const { headers } = await raw(container, 'DELETE', `snapshot=${encodeURIComponent(snapshot)}`);
    assert.equal(headers['x-ms-delete-type-permanent'], 'false');
    assert.equal(await refusal(blob.withSnapshot(snapshot).getProperties()), '404 BlobNotFound');
    assert.deepEqual(await told(container), ['deleted snapshot 5', 'blob 5']);
    const withoutSnapshots: BlobItem[] = [];
    for await (const item of container.listBlobsFlat({ includeDeleted: true })) withoutSnapshots.push(item);
    assert.equal(withoutSnapshots.length, 1, 'deleted snapshots are snapshots, too');
    await blob.undelete();
    assert.equal(await textOf(blob.withSnapshot(snapshot)), 'first');
  });

  test('go and come with their blob', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    await blob.createSnapshot();
    assert.equal(await refusal(blob.delete()), '409 SnapshotsPresent');
    await blob.delete({ deleteSnapshots: 'include' });
    assert.deepEqual(await told(container), ['deleted snapshot 5', 'deleted blob 5']);
    await blob.undelete();
    assert.deepEqual(await told(container), ['snapshot 5', 'blob 5']);
  });

  for (const maxPageSize of [1, 2, 3]) {
    test(`and deleted states are listed in pages of ${maxPageSize}, each exactly once`, async () => {
      const { container, blob } = await freshBlob();
      await write(blob, '1', '22');
      await blob.createSnapshot();
      await write(blob, '333');
      await blob.delete({ deleteSnapshots: 'include' });
      await blob.stageBlock('YQ==', 'x', 1);
      await write(container.getBlockBlobClient('other'), 'x', 'y');
      const asked = { includeDeleted: true, includeSnapshots: true, includeUncommitedBlobs: true };
      const seen: string[] = [];
      for await (const page of container.listBlobsFlat(asked).byPage({ maxPageSize })) {
        assert.ok(page.segment.blobItems.length <= maxPageSize);
        seen.push(...page.segment.blobItems.map(({ name, deleted, snapshot }) => `${name} ${deleted} ${!!snapshot}`));
      }
      assert.deepEqual(seen, [
        'blob true true',
        'blob true true',
        'blob true true',
        'blob true false',
        'blob undefined false',
        'other true true',
        'other undefined false',
      ]);
    });
  }
});

describe('undeleting', () => {
  test('a blob that is there does nothing, and what never was is refused', async () => {
    const { container, blob } = await freshBlob();
    assert.equal(await refusal(blob.undelete()), '404 BlobNotFound');
    await write(blob, 'first');
    const { etag } = await blob.getProperties();
    await blob.undelete();
    assert.equal((await blob.getProperties()).etag, etag);
    await container.delete();
    assert.equal(await refusal(blob.undelete()), '404 ContainerNotFound');
  });

  test('takes the right to write', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    await blob.delete();
    const withToken = async (letters: string): Promise<string> => {
      const token = generateBlobSASQueryParameters(
        {
          containerName: container.containerName,
          blobName: 'blob',
          permissions: BlobSASPermissions.parse(letters),
          expiresOn: expiresOn(),
        },
        credentialOf(DEVELOPMENT_ACCOUNT),
      ).toString();
      const path = `/${container.containerName}/blob?comp=undelete&${token}`;
      return (await send(server.url, { method: 'PUT', path, account: null })).outcome;
    };
    assert.equal(await withToken('rd'), '403 AuthorizationPermissionMismatch');
    assert.equal(await withToken('w'), '200');
  });
});

describe('an account without soft delete', () => {
  test('keeps nothing from then on, and what it kept before until its days are over', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    await blob.delete();
    await retain(DEVELOPMENT_ACCOUNT, '<Enabled>false</Enabled>');
    try {
      await write(blob, 'second!');
      assert.equal((await raw(container, 'DELETE', '')).headers['x-ms-delete-type-permanent'], 'true');
      assert.deepEqual(await told(container), ['deleted blob 5']);
      await blob.undelete();
      assert.equal(await textOf(blob), 'first');
    } finally {
      await retain(DEVELOPMENT_ACCOUNT, `<Enabled>true</Enabled><Days>${RETENTION_DAYS}</Days>`);
    }
  });
});

describe('with versions', () => {
  test('a deleted blob lives on as a version, and only versions are deleted softly', async () => {
    const { container, blob } = await freshBlob(versioned);
    await write(blob, '1', '22');
    assert.deepEqual(await told(container), ['version 1', 'blob 2'], 'nothing is kept twice');
    await blob.delete();
    assert.deepEqual(await told(container), ['version 1', 'version 2']);
    const [first] = await items(container);
    await blob.withVersion(first?.versionId as string).delete();
    assert.deepEqual(await told(container), ['deleted version 1', 'version 2']);
    assert.equal(await refusal(blob.withVersion(first?.versionId as string).getProperties()), '404 BlobNotFound');
    await blob.undelete();
    assert.deepEqual(await told(container), ['version 1', 'version 2']);
    assert.equal(await refusal(blob.getProperties()), '404 BlobNotFound', 'no version becomes the blob by itself');
    assert.equal(await textOf(blob.withVersion(first?.versionId as string)), '1');
  });

  test('a deleted version can be deleted for good, where the account allows it', async () => {
    const { container, blob } = await freshBlob(versioned);
    await write(blob, '1', '22');
    const [first, second] = await items(container);
    const permanently = (query: string) => raw(container, 'DELETE', `${query}&deletetype=permanent`);
    assert.equal((await permanently(versionQuery(first))).outcome, '409 BlobSnapshotNotSoftDeleted');
    assert.equal((await permanently(versionQuery(second))).outcome, '403 OperationNotAllowedOnRootBlob');
    assert.equal((await permanently('')).outcome, '409 InvalidOperation');
    assert.equal(
      (await raw(container, 'DELETE', `${versionQuery(first)}&deletetype=soft`)).outcome,
      '400 InvalidQueryParameterValue',
    );
    assert.equal((await raw(container, 'DELETE', versionQuery(first))).outcome, '202');
    const { outcome, headers } = await permanently(versionQuery(first));
    assert.equal(outcome, '202');
    assert.equal(headers['x-ms-delete-type-permanent'], 'true');
    assert.deepEqual(await told(container), ['blob 2']);
    assert.equal((await permanently(versionQuery(first))).outcome, '404 BlobNotFound');
  });

  test('deleting for good takes a permission of its own', async () => {
    const { container, blob } = await freshBlob(versioned);
    await write(blob, '1', '22');
    const [first] = await items(container);
    const versionId = first?.versionId as string;
    const remove = async (letters: string, query: string): Promise<string> => {
      const token = generateBlobSASQueryParameters(
        {
          containerName: container.containerName,
          permissions: BlobSASPermissions.parse(letters),
          expiresOn: expiresOn(),
        },
        credentialOf(SECOND_ACCOUNT),
      ).toString();
      const path = `/${container.containerName}/blob?versionid=${encodeURIComponent(versionId)}${query}&${token}`;
      const pathAccount = SECOND_ACCOUNT.name;
      return (await send(server.url, { method: 'DELETE', path, account: null, pathAccount })).outcome;
    };
    assert.equal(await remove('rwd', ''), '403 AuthorizationPermissionMismatch');
    assert.equal(await remove('x', ''), '202');
    assert.equal(await remove('rwdx', '&deletetype=permanent'), '403 AuthorizationPermissionMismatch');
    assert.equal(await remove('y', '&deletetype=permanent'), '202');
  });
});

describe('deleting for good', () => {
  test('is refused where the account does not allow it', async () => {
    const { container, blob } = await freshBlob();
    await write(blob, 'first');
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.withSnapshot(snapshot).delete();
    const query = `snapshot=${encodeURIComponent(snapshot)}&deletetype=permanent`;
    assert.equal((await raw(container, 'DELETE', query)).outcome, '409 InvalidOperation');
    assert.deepEqual(await told(container), ['deleted snapshot 5', 'blob 5']);
  });
});
