/**
 * Deleted containers: how they are kept, listed and restored, and gone when their days are over; and the encryption scope
 * that a container is made with. Clients use a token, for signatures would not outlive the days that the clock is moved by.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions,
  BlobServiceClient,
  type ContainerItem,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const DAY_SECONDS = 86_400;
const RETENTION_DAYS = 7;

const server = await startInProcess({ settings: { containerRetentionDays: RETENTION_DAYS } });

const tokenOf = (letters: string): string =>
  generateAccountSASQueryParameters(
    {
      expiresOn: new Date(server.clock.nowMs() + 365 * DAY_SECONDS * 1000),
      permissions: AccountSASPermissions.parse(letters),
      services: 'b',
      resourceTypes: 'sco',
    },
    new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key),
  ).toString();

const service = new BlobServiceClient(`${server.endpoint()}?${tokenOf('rwdlacuptf')}`, undefined, NO_RETRIES);

async function listed(prefix: string, options = { includeDeleted: true }): Promise<ContainerItem[]> {
  const found: ContainerItem[] = [];
  for await (const item of service.listContainers({ ...options, includeMetadata: true, prefix })) found.push(item);
  return found;
}

const versionOf = async (name: string): Promise<string> => {
  const found = (await listed(name)).filter((item) => item.deleted === true);
  return found.at(-1)?.version as string;
};

const restore = (name: string, version: string): Promise<unknown> => service.undeleteContainer(name, version);

describe('a deleted container', () => {
  test('is listed where deleted ones are asked for, with its version and the days that are left', async () => {
    const container = await freshContainer(service);
    await container.setMetadata({ color: 'blue' });
    const { etag, lastModified } = await container.getProperties();
    await container.delete();
    const { containerName: name } = container;
    assert.equal(await refusal(container.getProperties()), '404 ContainerNotFound');
    assert.deepEqual(await listed(name, { includeDeleted: false }), []);
    const [item] = await listed(name);
    assert.equal(item?.name, name);
    assert.equal(item?.deleted, true);
    assert.match(item?.version ?? '', /^[0-9a-f]+$/i);
    assert.equal(item?.properties.etag, etag);
    assert.deepEqual(item?.properties.lastModified, lastModified);
    assert.deepEqual(item?.properties.deletedOn, new Date(Math.floor(server.clock.nowMs() / 1000) * 1000));
    assert.equal(item?.properties.remainingRetentionDays, RETENTION_DAYS - 1);
    assert.deepEqual(item?.metadata, { color: 'blue' });
  });

  test('comes back with its blobs, their snapshots and tags, its metadata and policies, and without its lease', async () => {
    const container = await freshContainer(service);
    const { containerName: name } = container;
    const blob = container.getBlockBlobClient('blob');
    await blob.upload('first', 5, { tags: { box: name } });
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.upload('second', 6, { tags: { box: name } });
    await blob.getBlobLeaseClient().acquireLease(-1);
    await container.setMetadata({ color: 'blue' });
    const { leaseId = '' } = await container.getBlobLeaseClient().acquireLease(-1);
    const before = await container.getProperties();
    const find = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const { name: blobName } of service.findBlobsByTags(`"box" = '${name}'`)) found.push(blobName);
      return found;
    };
    assert.deepEqual(await find(), ['blob']);
    await container.delete({ conditions: { leaseId } });
    assert.deepEqual(await find(), []);
    await restore(name, await versionOf(name));
    assert.deepEqual(await find(), ['blob']);
    const after = await container.getProperties();
    assert.equal(after.etag, before.etag);
    assert.deepEqual(after.metadata, { color: 'blue' });
    assert.equal(after.leaseState, 'available');
    assert.equal((await blob.downloadToBuffer()).toString(), 'second');
    assert.equal((await blob.withSnapshot(snapshot).downloadToBuffer()).toString(), 'first');
    assert.equal((await blob.getProperties()).leaseState, 'leased', 'what is in it is as it was');
    const [item, ...more] = await listed(name);
    assert.equal(item?.deleted, undefined);
    assert.equal(item?.version, undefined);
    assert.deepEqual(more, []);
  });

  test('does not stand in the way of a new one, which starts empty', async () => {
    const container = await freshContainer(service);
    const { containerName: name } = container;
    await container.uploadBlockBlob('blob', 'old', 3);
    await container.delete();
    const version = await versionOf(name);
    await container.create();
    assert.equal(await refusal(container.getBlobClient('blob').getProperties()), '404 BlobNotFound');
    assert.equal(await refusal(restore(name, version)), '409 ContainerAlreadyExists');
    await container.uploadBlockBlob('blob', 'newer', 5);
    await container.delete();
    assert.equal((await listed(name)).length, 2);
    await restore(name, version);
    assert.equal((await container.getBlobClient('blob').downloadToBuffer()).toString(), 'old');
    assert.equal((await listed(name)).length, 2, 'the other one is still kept');
  });

  test('is gone when its days are over', async () => {
    const container = await freshContainer(service);
    const { containerName: name } = container;
    await container.delete();
    const version = await versionOf(name);
    server.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS - 1 });
    assert.equal((await listed(name))[0]?.properties.remainingRetentionDays, 0);
    server.clock.advance({ seconds: 1 });
    assert.deepEqual(await listed(name), []);
    assert.equal(await refusal(restore(name, version)), '404 ContainerNotFound');
  });

  test('can be restored once', async () => {
    const container = await freshContainer(service);
    const { containerName: name } = container;
    await container.delete();
    const version = await versionOf(name);
    await restore(name, version);
    assert.equal(await refusal(restore(name, version)), '409 ContainerAlreadyExists');
    await container.delete();
    assert.equal(await versionOf(name), version, 'and deleted again under the same version');
    await restore(name, version);
  });
});

describe('restoring', () => {
  const NAME = 'x-ms-deleted-container-name';
  const VERSION = 'x-ms-deleted-container-version';
  const someVersion = '0123456789abcdef01234567';

  for (const [what, headers, want] of [
    ['without a name', { [VERSION]: someVersion }, '400 MissingRequiredHeader'],
    ['without a version', { [NAME]: 'some-box' }, '400 MissingRequiredHeader'],
    ['under another name', { [NAME]: 'other-box', [VERSION]: someVersion }, '400 InvalidHeaderValue'],
    ['what was never there', { [NAME]: 'some-box', [VERSION]: someVersion }, '404 ContainerNotFound'],
    ['a version that is none', { [NAME]: 'some-box', [VERSION]: 'latest' }, '404 ContainerNotFound'],
  ] as const) {
    test(`${what} gets ${want}`, async () => {
      const path = `/some-box?restype=container&comp=undelete&${tokenOf('w')}`;
      const answer = await send(server.url, { method: 'PUT', path, headers, account: null });
      assert.equal(answer.outcome, want);
    });
  }

  test('takes the right to write containers', async () => {
    const container = await freshContainer(service);
    const { containerName: name } = container;
    await container.delete();
    const version = await versionOf(name);
    const by = (letters: string): Promise<string> =>
      outcome(
        new BlobServiceClient(`${server.endpoint()}?${tokenOf(letters)}`, undefined, NO_RETRIES).undeleteContainer(
          name,
          version,
        ),
      );
    assert.equal(await by('rdl'), '403 AuthorizationPermissionMismatch');
    assert.equal(await by('w'), 'ok');
  });
});

describe('a listing of containers', () => {
  for (const maxPageSize of [1, 2, 3]) {
    test(`in pages of ${maxPageSize} has live and deleted ones in name order, each exactly once`, async () => {
      const prefix = `page-${randomUUID()}`;
      for (const name of ['a', 'b', 'c'].map((short) => `${prefix}-${short}`)) {
        for (let count = 0; count < 2; count++) {
          await service.createContainer(name);
          await service.deleteContainer(name);
        }
        if (!name.endsWith('b')) await service.createContainer(name);
      }
      const seen: string[] = [];
      const ids = new Set<string>();
      for await (const page of service.listContainers({ includeDeleted: true, prefix }).byPage({ maxPageSize })) {
        assert.ok(page.containerItems.length <= maxPageSize);
        for (const { name, deleted, version } of page.containerItems) {
          seen.push(`${name.slice(prefix.length)} ${deleted ?? false}`);
          ids.add(`${name} ${version}`);
        }
      }
      const expected = ['-a', '-b', '-c'].flatMap((name) => [
        ...(name === '-b' ? [] : [`${name} false`]),
        `${name} true`,
        `${name} true`,
      ]);
      assert.deepEqual(seen, expected);
      assert.equal(ids.size, expected.length);
    });
  }
});

describe('an encryption scope', () => {
  test('that a container is made with is told by its properties and in listings', async () => {
    const container = service.getContainerClient(`scope-${randomUUID()}`);
    const containerEncryptionScope = { defaultEncryptionScope: 'team-scope', preventEncryptionScopeOverride: true };
    await container.create({ containerEncryptionScope });
    const properties = await container.getProperties();
    assert.equal(properties.defaultEncryptionScope, 'team-scope');
    assert.equal(properties.denyEncryptionScopeOverride, true);
    const [item] = await listed(container.containerName);
    assert.equal(item?.properties.defaultEncryptionScope, 'team-scope');
    assert.equal(item?.properties.preventEncryptionScopeOverride, true);
  });

  test("is the account's own where none is named", async () => {
    const container = await freshContainer(service);
    const properties = await container.getProperties();
    assert.equal(properties.defaultEncryptionScope, '$account-encryption-key');
    assert.equal(properties.denyEncryptionScopeOverride, false);
    assert.equal(properties.hasImmutabilityPolicy, false);
    assert.equal(properties.hasLegalHold, false);
  });

  for (const [headers, want] of [
    [{ 'x-ms-default-encryption-scope': 'no/scope' }, '400 InvalidHeaderValue'],
    [{ 'x-ms-deny-encryption-scope-override': 'true' }, '400 MissingRequiredHeader'],
    [
      { 'x-ms-default-encryption-scope': 'a', 'x-ms-deny-encryption-scope-override': 'maybe' },
      '400 InvalidHeaderValue',
    ],
    [{ 'x-ms-default-encryption-scope': '$account-encryption-key' }, '201'],
  ] as const) {
    test(`${JSON.stringify(headers)} gets ${want}`, async () => {
      const path = `/scope-${randomUUID()}?restype=container&${tokenOf('c')}`;
      assert.equal((await send(server.url, { method: 'PUT', path, headers, account: null })).outcome, want);
    });
  }
});
