/** Containers through the official client: create, delete, properties, metadata, ACL, and the listing of containers. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { ContainerItem, SignedIdentifier } from '@azure/storage-blob';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, outcome, refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = blobService(server);

describe('a container', () => {
  test('is created once, with metadata and public access', async () => {
    const container = service.getContainerClient(`made-${randomUUID()}`);
    const created = await container.create({ metadata: { colour: 'blue' }, access: 'blob' });
    assert.match(created.etag ?? '', /^"0x[0-9A-Fa-f]+"$/);
    assert.ok(created.lastModified instanceof Date);
    const properties = await container.getProperties();
    assert.deepEqual(properties.metadata, { colour: 'blue' });
    assert.equal(properties.blobPublicAccess, 'blob');
    assert.equal(properties.etag, created.etag);
    assert.equal(properties.leaseState, 'available');
    assert.equal(properties.leaseStatus, 'unlocked');
    assert.equal(properties.hasImmutabilityPolicy, false);
    assert.equal(properties.hasLegalHold, false);
    assert.equal(await refusal(container.create()), '409 ContainerAlreadyExists');
  });

  test('is gone at once when deleted, with everything in it, and can be made anew, empty', async () => {
    const container = await freshContainer(service);
    await container.uploadBlockBlob('inside', 'x', 1);
    await container.delete();
    assert.equal(await refusal(container.getProperties()), '404 ContainerNotFound');
    assert.equal(await refusal(container.getBlobClient('inside').getProperties()), '404 ContainerNotFound');
    assert.equal(await refusal(container.delete()), '404 ContainerNotFound');
    await container.create();
    assert.equal(await refusal(container.getBlobClient('inside').getProperties()), '404 BlobNotFound');
  });

  test('is deleted even while a blob in it is leased', async () => {
    const container = await freshContainer(service);
    const { blockBlobClient } = await container.uploadBlockBlob('leased', 'x', 1);
    await blockBlobClient.getBlobLeaseClient().acquireLease(-1);
    await container.delete();
    assert.equal(await container.exists(), false);
  });

  test('of one account is not the container of that name in another', async () => {
    const name = `twin-${randomUUID()}`;
    const [ours, theirs] = [service, blobService(server, SECOND_ACCOUNT)].map((one) => one.getContainerClient(name));
    await ours?.create();
    assert.equal(await theirs?.exists(), false);
    await theirs?.create();
    await ours?.delete();
    assert.equal(await theirs?.exists(), true);
  });

  for (const [name, want] of [
    ['ab', '400 OutOfRangeInput'],
    ['a'.repeat(64), '400 OutOfRangeInput'],
    ['Upper', '400 InvalidResourceName'],
    ['two--dashes', '400 InvalidResourceName'],
    ['-leading', '400 InvalidResourceName'],
    ['trailing-', '400 InvalidResourceName'],
    ['under_score', '400 InvalidResourceName'],
    ['dot.ted', '400 InvalidResourceName'],
  ] as const) {
    test(`cannot be named ${name.length > 20 ? `${name.length} letters` : name}`, async () => {
      assert.equal(await refusal(service.getContainerClient(name).create()), want);
    });
  }

  for (const name of ['abc', 'a'.repeat(63), '0-1-2', '$root', '$web']) {
    test(`can be named ${name.length > 20 ? `${name.length} letters` : name}`, async () => {
      assert.equal(await outcome(service.getContainerClient(name).create()), 'ok');
      await service.getContainerClient(name).delete();
    });
  }

  test('may not be made public in an unknown way', async () => {
    const path = `/public-${randomUUID()}?restype=container`;
    const headers = { 'x-ms-blob-public-access': 'everybody' };
    assert.equal((await send(server.url, { method: 'PUT', path, headers })).outcome, '400 InvalidHeaderValue');
  });

  test('keeps metadata until it is replaced, all of it, and none clears it', async () => {
    const container = await freshContainer(service);
    await container.setMetadata({ one: '1', Two: '2' });
    const raw = await send(server.url, {
      method: 'GET',
      path: `/${container.containerName}?restype=container&comp=metadata`,
    });
    assert.equal(raw.headers['x-ms-meta-one'], '1');
    assert.equal(raw.headers['x-ms-meta-two'], '2');
    await container.setMetadata({ three: '3' });
    assert.deepEqual((await container.getProperties()).metadata, { three: '3' });
    await container.setMetadata();
    assert.deepEqual((await container.getProperties()).metadata, {});
  });

  test('answers HEAD as GET, without a body', async () => {
    const container = await freshContainer(service);
    for (const query of ['restype=container', 'restype=container&comp=metadata', 'restype=container&comp=acl']) {
      const head = await send(server.url, { method: 'HEAD', path: `/${container.containerName}?${query}` });
      const get = await send(server.url, { method: 'GET', path: `/${container.containerName}?${query}` });
      assert.deepEqual([head.status, get.status], [200, 200], query);
      assert.equal(head.body.length, 0);
      assert.equal(head.headers.etag, get.headers.etag);
    }
  });

  test('that is missing is not found by any operation', async () => {
    const container = service.getContainerClient(`missing-${randomUUID()}`);
    const blob = container.getBlockBlobClient('b');
    const requests: [string, () => Promise<unknown>][] = [
      ['Get Properties', () => container.getProperties()],
      ['Set Metadata', () => container.setMetadata({})],
      ['Get ACL', () => container.getAccessPolicy()],
      ['Set ACL', () => container.setAccessPolicy()],
      ['Lease', () => container.getBlobLeaseClient().acquireLease(15)],
      ['List Blobs', () => container.listBlobsFlat().next()],
      ['Put Blob', () => blob.upload('x', 1)],
      ['Get Blob', () => blob.download()],
      ['Put Block', () => blob.stageBlock('YQ==', 'x', 1)],
      ['Put Block List', () => blob.commitBlockList([])],
      ['Get Block List', () => blob.getBlockList('all')],
      ['Delete Blob', () => blob.delete()],
      ['Lease Blob', () => blob.getBlobLeaseClient().acquireLease(15)],
    ];
    for (const [name, request] of requests) assert.equal(await refusal(request()), '404 ContainerNotFound', name);
  });
});

const POLICIES: SignedIdentifier[] = [
  {
    id: 'readers',
    accessPolicy: {
      startsOn: new Date('2024-01-01T00:00:00Z'),
      expiresOn: new Date('2034-01-01T00:00:00Z'),
      permissions: 'rl',
    },
  },
  { id: 'an id with spaces & <signs>', accessPolicy: { permissions: 'rwd' } },
];

const policies = (count: number): SignedIdentifier[] =>
  Array.from({ length: count }, (_, index) => ({ ...(POLICIES[0] as SignedIdentifier), id: `p${index}` }));

describe("a container's ACL", () => {
  test('is kept as it was set, policies and public access', async () => {
    const container = await freshContainer(service);
    await container.setAccessPolicy('container', POLICIES);
    const { blobPublicAccess, signedIdentifiers } = await container.getAccessPolicy();
    assert.equal(blobPublicAccess, 'container');
    assert.deepEqual(
      signedIdentifiers.map(({ id, accessPolicy }) => [id, accessPolicy?.permissions]),
      [
        ['readers', 'rl'],
        ['an id with spaces & <signs>', 'rwd'],
      ],
    );
    assert.deepEqual(signedIdentifiers[0]?.accessPolicy.expiresOn, new Date('2034-01-01T00:00:00Z'));
  });

  test('is printed with seven digits of a second', async () => {
    const container = await freshContainer(service);
    await container.setAccessPolicy(undefined, POLICIES);
    const path = `/${container.containerName}?restype=container&comp=acl`;
    const { body, headers } = await send(server.url, { method: 'GET', path });
    assert.match(body.toString(), /<Expiry>2034-01-01T00:00:00\.0000000Z<\/Expiry>/);
    assert.match(headers['content-type'] ?? '', /^application\/xml/);
  });

  test('without a header makes the container private, and an empty list removes all policies', async () => {
    const container = await freshContainer(service);
    await container.setAccessPolicy('blob', POLICIES);
    await container.setAccessPolicy();
    const { blobPublicAccess, signedIdentifiers } = await container.getAccessPolicy();
    assert.equal(blobPublicAccess, undefined);
    assert.deepEqual(signedIdentifiers, []);
  });

  test('holds five policies and not six', async () => {
    const container = await freshContainer(service);
    await container.setAccessPolicy(undefined, policies(5));
    assert.equal(await refusal(container.setAccessPolicy(undefined, policies(6))), '400 InvalidXmlDocument');
    assert.equal((await container.getAccessPolicy()).signedIdentifiers.length, 5);
  });

  test('refuses two policies of one id, and an id of 65 characters', async () => {
    const container = await freshContainer(service);
    const policy = POLICIES[0] as SignedIdentifier;
    assert.equal(await refusal(container.setAccessPolicy(undefined, [policy, policy])), '400 InvalidXmlDocument');
    const long = { ...policy, id: 'x'.repeat(65) };
    assert.equal(await refusal(container.setAccessPolicy(undefined, [long])), '400 InvalidXmlDocument');
    assert.equal(await outcome(container.setAccessPolicy(undefined, [{ ...policy, id: 'x'.repeat(64) }])), 'ok');
  });
});

const listed = async (options: Parameters<typeof service.listContainers>[0]): Promise<ContainerItem[]> => {
  const items = [];
  for await (const item of service.listContainers(options)) items.push(item);
  return items;
};

describe('the list of containers', () => {
  const prefix = `list-${randomUUID().slice(0, 8)}-`;
  const names = Array.from({ length: 7 }, (_, index) => `${prefix}${index}`);
  test('is in order of names, by prefix, and has properties', async () => {
    for (const name of names.toReversed()) await service.createContainer(name, { metadata: { of: name } });
    const items = await listed({ prefix });
    assert.deepEqual(
      items.map((item) => item.name),
      names,
    );
    const [first] = items;
    assert.match(first?.properties.etag ?? '', /0x[0-9A-Fa-f]+/);
    assert.equal(first?.properties.leaseState, 'available');
    assert.equal(first?.metadata, undefined, 'metadata comes only when asked for');
    const withMetadata = await listed({ prefix, includeMetadata: true });
    assert.deepEqual(
      withMetadata.map((item) => item.metadata?.['of']),
      names,
    );
  });

  for (const maxPageSize of [1, 2, 3, 7, 5000]) {
    test(`comes in pages of ${maxPageSize} and misses none`, async () => {
      const seen: string[] = [];
      for await (const page of service.listContainers({ prefix }).byPage({ maxPageSize })) {
        assert.ok(page.containerItems.length <= maxPageSize);
        seen.push(...page.containerItems.map((item) => item.name));
      }
      assert.deepEqual(seen, names);
    });
  }

  test('refuses a page size of nothing, and clips one that is too large', async () => {
    for (const size of ['0', '-1']) {
      const { outcome } = await send(server.url, { method: 'GET', path: `/?comp=list&maxresults=${size}` });
      assert.equal(outcome, '400 OutOfRangeQueryParameterValue', size);
    }
    const { status } = await send(server.url, { method: 'GET', path: '/?comp=list&maxresults=5001' });
    assert.equal(status, 200);
  });

  test('names the account that it belongs to', async () => {
    const { body } = await send(server.url, { method: 'GET', path: `/?comp=list&prefix=${prefix}&maxresults=1` });
    const text = body.toString();
    assert.match(text, new RegExp(`ServiceEndpoint="${server.endpoint()}/"`));
    assert.match(text, new RegExp(`<Prefix>${prefix}</Prefix>`));
    assert.match(text, /<MaxResults>1<\/MaxResults>/);
    assert.match(text, /<NextMarker>[^<]+<\/NextMarker>/);
  });
});
