/**
 * Shares through the official client and bare requests: created, described, listed, snapshotted, leased, deleted and
 * restored; their access policies, and the permissions that files in them name by a key.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { ShareItem, SignedIdentifier } from '@azure/storage-file-share';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { outcomes, refusal } from '../harness/clients.ts';
import { freshShare, shareClient, shareService } from '../harness/file-clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = shareService(server);
const raw = (request: RawRequest): Promise<RawResponse> => send(server.fileUrl, request);
const freshName = (prefix = 's'): string => `${prefix}-${randomUUID()}`;

const GIB = 1024 ** 3;

async function listed(prefix: string, include: Parameters<typeof service.listShares>[0] = {}): Promise<ShareItem[]> {
  const items: ShareItem[] = [];
  for await (const item of service.listShares({ prefix, ...include })) items.push(item);
  return items;
}

const namesOf = (items: readonly ShareItem[]): string[] =>
  items.map(({ name, snapshot }) => (snapshot === undefined ? name : `${name} ${snapshot}`));

describe('a share', () => {
  test('is created, found, listed and deleted by the official client', async () => {
    const name = freshName();
    const share = shareClient(server, name);
    assert.equal(await share.exists(), false);
    assert.equal((await share.createIfNotExists()).succeeded, true);
    assert.equal((await share.createIfNotExists()).succeeded, false);
    assert.equal(await share.exists(), true);
    assert.deepEqual(namesOf(await listed(name)), [name]);
    assert.equal((await share.deleteIfExists()).succeeded, true);
    assert.equal((await share.deleteIfExists()).succeeded, false);
    assert.deepEqual(await listed(name), []);
    assert.equal(await refusal(share.getProperties()), '404 ShareNotFound');
  });

  test('is created with 201 and deleted with 202, without a body', async () => {
    const name = freshName();
    const created = await raw({ method: 'PUT', path: `/${name}?restype=share` });
    assert.deepEqual([created.status, created.body.length], [201, 0]);
    assert.match(created.headers.etag ?? '', /^"0x[0-9A-F]+"$/);
    assert.ok(created.headers['last-modified']);
    const again = await raw({ method: 'PUT', path: `/${name}?restype=share` });
    assert.equal(again.outcome, '409 ShareAlreadyExists');
    const deleted = await raw({ method: 'DELETE', path: `/${name}/?restype=share` });
    assert.deepEqual([deleted.status, deleted.body.length], [202, 0]);
  });

  test('has what is usual where nothing is said', async () => {
    const share = shareClient(server, freshName());
    const created = await share.create();
    const properties = await share.getProperties();
    assert.equal(properties.etag, created.etag);
    assert.deepEqual(properties.lastModified, created.lastModified);
    assert.equal(properties.quota, 5_120);
    assert.equal(properties.accessTier, 'TransactionOptimized');
    assert.deepEqual(properties.accessTierChangeTime, created.lastModified);
    assert.equal(properties.leaseState, 'available');
    assert.equal(properties.leaseStatus, 'unlocked');
    assert.equal(properties.leaseDuration, undefined);
    assert.deepEqual(properties.metadata, {});
    const { headers } = await raw({ method: 'HEAD', path: `/${share.name}?restype=share` });
    assert.equal(headers['x-ms-has-immutability-policy'], 'false');
    assert.equal(headers['x-ms-has-legal-hold'], 'false');
  });

  test('has the quota, the tier and the metadata that it is created with', async () => {
    const share = shareClient(server, freshName());
    await share.create({ quota: 7, accessTier: 'Hot', metadata: { Colour: 'blue', size: '1' } });
    const properties = await share.getProperties();
    assert.deepEqual([properties.quota, properties.accessTier], [7, 'Hot']);
    assert.deepEqual(properties.metadata, { colour: 'blue', size: '1' });
  });

  test('has its quota, tier and metadata changed, each with a new ETag', async () => {
    const share = await freshShare(server);
    const created = await share.getProperties();
    server.clock.advance({ seconds: 5 });
    await share.setProperties({ quotaInGB: 102_400 });
    const grown = await share.getProperties();
    assert.deepEqual([grown.quota, grown.accessTier], [102_400, 'TransactionOptimized']);
    assert.deepEqual(grown.accessTierChangeTime, created.accessTierChangeTime);
    assert.notEqual(grown.etag, created.etag);
    await share.setProperties({ accessTier: 'Cool' });
    const cooled = await share.getProperties();
    assert.deepEqual([cooled.quota, cooled.accessTier], [102_400, 'Cool']);
    assert.notDeepEqual(cooled.accessTierChangeTime, created.accessTierChangeTime);
    await share.setMetadata({ a: 'b' });
    assert.deepEqual((await share.getProperties()).metadata, { a: 'b' });
    await share.setMetadata({});
    assert.deepEqual((await share.getProperties()).metadata, {});
  });

  test('tells its metadata and nothing else to those who ask for that', async () => {
    const share = await freshShare(server);
    await share.setMetadata({ a: 'b' });
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await raw({ method, path: `/${share.name}?restype=share&comp=metadata` });
      assert.deepEqual([status, headers['x-ms-meta-a'], headers['x-ms-share-quota']], [200, 'b', undefined]);
    }
  });

  test('is not there in another account', async () => {
    const share = await freshShare(server);
    assert.equal(await shareClient(server, share.name, SECOND_ACCOUNT).exists(), false);
  });

  test('tells how much its files hold, in bytes, and in GiB to older clients', async () => {
    const share = await freshShare(server);
    assert.equal((await share.getStatistics()).shareUsageBytes, 0);
    await share.rootDirectoryClient.getFileClient('a').create(1000);
    await share.rootDirectoryClient.getFileClient('b').create(GIB);
    const statistics = await share.getStatistics();
    assert.deepEqual([statistics.shareUsageBytes, statistics.shareUsage], [GIB + 1000, 2]);
    const old = await raw({
      method: 'GET',
      path: `/${share.name}?restype=share&comp=stats`,
      headers: { 'x-ms-version': '2017-11-09' },
    });
    assert.match(old.body.toString(), /<ShareStats><ShareUsage>2<\/ShareUsage><\/ShareStats>$/);
  });

  test('of one name is created once by many at the same time', async () => {
    const name = freshName();
    const results = await together(12, () => shareClient(server, name).create());
    assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 ShareAlreadyExists': 11 });
  });

  for (const [name, headers, want] of [
    ['a quota of 0', { 'x-ms-share-quota': '0' }, '400 InvalidHeaderValue'],
    ['a quota that is too large', { 'x-ms-share-quota': '102401' }, '400 InvalidHeaderValue'],
    ['a quota that is no number', { 'x-ms-share-quota': 'much' }, '400 InvalidHeaderValue'],
    ['a tier that is none', { 'x-ms-access-tier': 'Lukewarm' }, '400 InvalidHeaderValue'],
    ['NFS', { 'x-ms-enabled-protocols': 'NFS' }, '400 InvalidHeaderValue'],
    ['root squash', { 'x-ms-root-squash': 'RootSquash' }, '400 UnsupportedHeader'],
    ['provisioned performance', { 'x-ms-share-provisioned-iops': '500' }, '400 UnsupportedHeader'],
    ['a condition', { 'If-None-Match': '*' }, '400 ConditionHeadersNotSupported'],
    ['metadata without a name', { 'x-ms-meta-': 'x' }, '400 EmptyMetadataKey'],
  ] as const) {
    test(`is not created with ${name}`, async () => {
      const path = `/${freshName()}?restype=share`;
      assert.equal((await raw({ method: 'PUT', path, headers })).outcome, want);
      assert.equal((await raw({ method: 'GET', path })).outcome, '404 ShareNotFound');
    });
  }

  test('is created with what says no more than the usual', async () => {
    const headers = { 'x-ms-enabled-protocols': 'SMB', 'x-ms-share-paid-bursting-enabled': 'false' };
    const { status } = await raw({ method: 'PUT', path: `/${freshName()}?restype=share`, headers });
    assert.equal(status, 201);
  });

  for (const [name, want] of [
    ['ab', '400 OutOfRangeInput'],
    ['Shares', '400 InvalidResourceName'],
    ['a--b', '400 InvalidResourceName'],
  ] as const) {
    test(`is not called ${name}`, async () => {
      assert.equal((await raw({ method: 'PUT', path: `/${name}?restype=share` })).outcome, want);
    });
  }

  test('answers a read with conditions in full', async () => {
    const share = await freshShare(server);
    const { etag } = await share.getProperties();
    const headers = { 'If-None-Match': etag as string };
    assert.equal((await raw({ method: 'GET', path: `/${share.name}?restype=share`, headers })).status, 200);
  });
});

describe('a listing', () => {
  test('comes in pages, in the order of names, with metadata where asked for', async () => {
    const prefix = freshName('list');
    for (const name of ['c', 'a', 'b']) await service.createShare(`${prefix}-${name}`, { metadata: { name } });
    assert.deepEqual(namesOf(await listed(prefix)), [`${prefix}-a`, `${prefix}-b`, `${prefix}-c`]);
    assert.deepEqual(
      (await listed(prefix, { includeMetadata: true })).map(({ metadata }) => metadata),
      [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    );
    const pages: string[][] = [];
    for await (const page of service.listShares({ prefix }).byPage({ maxPageSize: 2 })) {
      pages.push(namesOf(page.shareItems ?? []));
    }
    assert.deepEqual(pages, [[`${prefix}-a`, `${prefix}-b`], [`${prefix}-c`]]);
    const { body } = await raw({ method: 'GET', path: `/?comp=list&prefix=${prefix}&maxresults=1` });
    const text = body.toString();
    const endpoint = `${server.fileEndpoint()}/`;
    assert.ok(text.includes(`<EnumerationResults ServiceEndpoint="${endpoint}"><Prefix>${prefix}</Prefix>`), text);
    assert.ok(text.includes('<MaxResults>1</MaxResults><Shares><Share><Name>'), text);
    assert.match(text, /<NextMarker>[^<]+<\/NextMarker>/);
    assert.ok(!text.includes('<Metadata'), text);
  });

  test('tells what the properties of a share tell', async () => {
    const share = shareClient(server, freshName());
    await share.create({ quota: 3, accessTier: 'Hot' });
    await share.getShareLeaseClient().acquireLease(-1);
    const [item] = await listed(share.name);
    const properties = await share.getProperties();
    assert.equal(item?.properties.etag, properties.etag);
    assert.deepEqual(item?.properties.lastModified, properties.lastModified);
    assert.deepEqual([item?.properties.quota, item?.properties.accessTier], [3, 'Hot']);
    assert.deepEqual(
      [item?.properties.leaseState, item?.properties.leaseStatus, item?.properties.leaseDuration],
      ['leased', 'locked', 'infinite'],
    );
  });

  for (const [query, want] of [
    ['maxresults=0', '400 OutOfRangeQueryParameterValue'],
    ['maxresults=many', '400 InvalidQueryParameterValue'],
    ['include=everything', '400 InvalidQueryParameterValue'],
    ['marker=made-up', '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`with ${query} is refused`, async () =>
      assert.equal((await raw({ method: 'GET', path: `/?comp=list&${query}` })).outcome, want));
  }
});

describe('a snapshot', () => {
  test('keeps what the share said of itself, is listed before it, and goes alone', async () => {
    const share = await freshShare(server, 'snap');
    await share.setMetadata({ a: 'first' });
    const base = await share.getProperties();
    const { snapshot = '', etag } = await share.createSnapshot();
    assert.match(snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.0000000Z$/);
    assert.equal(etag, base.etag);
    await share.setMetadata({ a: 'second' });
    await share.setProperties({ quotaInGB: 9 });
    const past = await share.withSnapshot(snapshot).getProperties();
    assert.deepEqual([past.metadata, past.quota, past.etag], [{ a: 'first' }, 5_120, base.etag]);
    assert.deepEqual(namesOf(await listed(share.name)), [share.name]);
    assert.deepEqual(namesOf(await listed(share.name, { includeSnapshots: true })), [
      `${share.name} ${snapshot}`,
      share.name,
    ]);
    await share.withSnapshot(snapshot).delete();
    assert.equal(await refusal(share.withSnapshot(snapshot).getProperties()), '404 ShareNotFound');
    assert.equal(await share.exists(), true);
  });

  test('has metadata of its own where it is given some', async () => {
    const share = await freshShare(server);
    const { snapshot = '' } = await share.createSnapshot({ metadata: { own: 'yes' } });
    assert.deepEqual((await share.withSnapshot(snapshot).getProperties()).metadata, { own: 'yes' });
    assert.deepEqual((await share.getProperties()).metadata, {});
  });

  test('keeps its share from being deleted, unless it goes with it', async () => {
    const share = await freshShare(server);
    const { snapshot = '' } = await share.createSnapshot();
    assert.equal(await refusal(share.delete()), '409 ShareHasSnapshots');
    const path = `/${share.name}?restype=share`;
    const headers = { 'x-ms-delete-snapshots': 'include' };
    const both = await raw({ method: 'DELETE', path: `${path}&sharesnapshot=${snapshot}`, headers });
    assert.equal(both.outcome, '400 InvalidQueryParameterValue');
    const wrong = await raw({ method: 'DELETE', path, headers: { 'x-ms-delete-snapshots': 'some' } });
    assert.equal(wrong.outcome, '400 InvalidHeaderValue');
    await share.delete({ deleteSnapshots: 'include' });
    assert.equal(await share.exists(), false);
  });

  test('that is leased goes with its share only where leased ones are named', async () => {
    const share = await freshShare(server);
    const { snapshot = '' } = await share.createSnapshot();
    await share.withSnapshot(snapshot).getShareLeaseClient().acquireLease(-1);
    assert.equal(await refusal(share.delete({ deleteSnapshots: 'include' })), '409 ShareHasSnapshots');
    await share.delete({ deleteSnapshots: 'include-leased' });
  });

  test('is no target of a write', async () => {
    const share = await freshShare(server);
    const { snapshot = '' } = await share.createSnapshot();
    for (const [method, comp] of [
      ['PUT', 'metadata'],
      ['PUT', 'properties'],
      ['PUT', 'acl'],
      ['GET', 'acl'],
      ['GET', 'stats'],
      ['PUT', 'snapshot'],
      ['PUT', 'filepermission'],
    ] as const) {
      const path = `/${share.name}?restype=share&comp=${comp}&sharesnapshot=${snapshot}`;
      assert.equal((await raw({ method, path })).outcome, '400 InvalidQueryParameterValue', `${method} ${comp}`);
    }
  });

  for (const [moment, want] of [
    ['2001-01-01T00:00:00.0000000Z', '404 ShareNotFound'],
    ['yesterday', '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`that is not there: ${moment}`, async () => {
      const share = await freshShare(server);
      const path = `/${share.name}?restype=share&sharesnapshot=${moment}`;
      assert.equal((await raw({ method: 'GET', path })).outcome, want);
    });
  }
});

const actOnLease = (name: string, headers: Readonly<Record<string, string>>): Promise<RawResponse> =>
  raw({ method: 'PUT', path: `/${name}?restype=share&comp=lease`, headers });

const withLease = (leaseId: string): { leaseAccessConditions: { leaseId: string } } => ({
  leaseAccessConditions: { leaseId },
});

describe('a lease on a share', () => {
  const [A, B] = [randomUUID(), randomUUID()];

  test('is acquired, renewed, changed, broken and released', async () => {
    const share = await freshShare(server);
    const before = await share.getProperties();
    const lease = share.getShareLeaseClient(A);
    const acquired = await lease.acquireLease(15);
    assert.deepEqual([acquired.leaseId, acquired.etag], [A, before.etag]);
    const leased = await share.getProperties();
    assert.deepEqual([leased.leaseState, leased.leaseStatus, leased.leaseDuration], ['leased', 'locked', 'fixed']);
    server.clock.advance({ seconds: 16 });
    assert.equal((await share.getProperties()).leaseState, 'expired');
    // The official client takes every share for a file here, and refuses by itself.
    const renewed = await actOnLease(share.name, { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': A });
    assert.deepEqual([renewed.status, renewed.headers['x-ms-lease-id']], [200, A]);
    assert.equal((await share.getProperties()).leaseState, 'leased');
    assert.equal((await lease.changeLease(B)).leaseId, B);
    assert.equal((await share.getProperties()).etag, before.etag);
    const broken = await actOnLease(share.name, { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '5' });
    assert.deepEqual([broken.status, broken.headers['x-ms-lease-time']], [202, '5']);
    assert.equal((await share.getProperties()).leaseState, 'breaking');
    await lease.releaseLease();
    assert.equal((await share.getProperties()).leaseState, 'available');
  });

  test('guards the share against those who change or delete it', async () => {
    const share = await freshShare(server);
    await share.getShareLeaseClient(A).acquireLease(-1);
    assert.equal(await refusal(share.setMetadata({})), '412 LeaseIdMissing');
    assert.equal(await refusal(share.setAccessPolicy([])), '412 LeaseIdMissing');
    assert.equal(await refusal(share.delete()), '412 LeaseIdMissing');
    assert.equal(await refusal(share.delete(withLease(B))), '412 LeaseIdMismatchWithContainerOperation');
    assert.equal(await refusal(share.getProperties(withLease(B))), '412 LeaseIdMismatchWithContainerOperation');
    await share.getProperties();
    await share.rootDirectoryClient.getFileClient('f').create(1);
    await share.setMetadata({}, withLease(A));
    await share.delete(withLease(A));
  });

  for (const [headers, want] of [
    [{}, '400 MissingRequiredHeader'],
    [{ 'x-ms-lease-action': 'borrow' }, '400 InvalidHeaderValue'],
    [{ 'x-ms-lease-action': 'acquire' }, '400 MissingRequiredHeader'],
    [{ 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '14' }, '400 InvalidHeaderValue'],
    [{ 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '61' }, '400 InvalidHeaderValue'],
    [{ 'x-ms-lease-action': 'release', 'x-ms-lease-id': 'mine' }, '400 InvalidHeaderValue'],
    [{ 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '61' }, '400 InvalidHeaderValue'],
    [{ 'x-ms-lease-action': 'break' }, '409 LeaseNotPresentWithLeaseOperation'],
  ] as const) {
    test(`is refused with ${JSON.stringify(headers)}`, async () => {
      const share = await freshShare(server);
      assert.equal((await actOnLease(share.name, headers)).outcome, want);
    });
  }
});

describe('access policies', () => {
  const STARTS_ON = new Date('2026-01-02T03:04:05Z');
  const policyOf = (id: string, permissions: string): SignedIdentifier => ({
    id,
    accessPolicy: { startsOn: STARTS_ON, expiresOn: new Date('2027-01-01T00:00:00Z'), permissions },
  });

  test('are set, told and replaced', async () => {
    const share = await freshShare(server);
    assert.deepEqual((await share.getAccessPolicy()).signedIdentifiers, []);
    const policies = [policyOf('all', 'rcwdl'), policyOf('reading', 'r')];
    const { etag } = await share.setAccessPolicy(policies);
    const told = await share.getAccessPolicy();
    assert.equal(told.etag, etag);
    assert.deepEqual(
      told.signedIdentifiers.map(({ id, accessPolicy }) => [id, accessPolicy?.permissions]),
      [
        ['all', 'rcwdl'],
        ['reading', 'r'],
      ],
    );
    assert.deepEqual(told.signedIdentifiers[0]?.accessPolicy?.startsOn, STARTS_ON);
    await share.setAccessPolicy([]);
    assert.deepEqual((await share.getAccessPolicy()).signedIdentifiers, []);
  });

  test('are five at most, with letters that mean something', async () => {
    const share = await freshShare(server);
    const many = Array.from({ length: 6 }, (_, index) => policyOf(`p${index}`, 'r'));
    assert.equal(await refusal(share.setAccessPolicy(many)), '400 InvalidXmlDocument');
    assert.equal(await refusal(share.setAccessPolicy([policyOf('p', 'rx')])), '400 InvalidXmlNodeValue');
  });
});

describe('a deleted share', () => {
  test('is gone where nothing keeps it, and its name is free', async () => {
    const share = await freshShare(server);
    await share.rootDirectoryClient.getFileClient('f').create(1);
    await share.delete();
    assert.deepEqual(await listed(share.name, { includeDeleted: true }), []);
    await share.create();
    assert.equal(await share.rootDirectoryClient.getFileClient('f').exists(), false);
  });

  test('is listed and restored where the service keeps it', async () => {
    const kept = shareService(server, SECOND_ACCOUNT);
    const policy = '<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></ShareDeleteRetentionPolicy>';
    const properties = {
      path: '/?restype=service&comp=properties',
      account: SECOND_ACCOUNT,
    };
    const body = `<StorageServiceProperties>${policy}</StorageServiceProperties>`;
    assert.equal((await raw({ method: 'PUT', ...properties, body })).status, 202);
    assert.ok((await raw({ method: 'GET', ...properties })).body.toString().includes(policy));
    const share = kept.getShareClient(freshName());
    await share.create({ metadata: { a: 'b' } });
    await share.rootDirectoryClient.getFileClient('f').create(1);
    await share.createSnapshot();
    await share.delete({ deleteSnapshots: 'include' });
    const items: ShareItem[] = [];
    for await (const item of kept.listShares({ prefix: share.name, includeDeleted: true })) items.push(item);
    const [item] = items;
    assert.ok(item?.version);
    assert.deepEqual([items.length, item.deleted, item.properties.remainingRetentionDays], [1, true, 6]);
    assert.ok(item.properties.deletedTime);
    assert.equal(await refusal(kept.undeleteShare(share.name, '0'.repeat(24))), '404 ShareNotFound');
    await kept.undeleteShare(share.name, item.version);
    assert.deepEqual((await share.getProperties()).metadata, { a: 'b' });
    assert.equal(await share.rootDirectoryClient.getFileClient('f').exists(), true);
    assert.equal(await refusal(kept.undeleteShare(share.name, item.version)), '409 ShareAlreadyExists');
  });

  test('is restored under its name and with its version, both of which are said', async () => {
    const share = await freshShare(server);
    const path = `/${share.name}?restype=share&comp=undelete`;
    for (const [headers, want] of [
      [{ 'x-ms-deleted-share-version': '1' }, '400 MissingRequiredHeader'],
      [{ 'x-ms-deleted-share-name': share.name }, '400 MissingRequiredHeader'],
      [{ 'x-ms-deleted-share-name': 'other', 'x-ms-deleted-share-version': '1' }, '400 InvalidHeaderValue'],
    ] as const) {
      assert.equal((await raw({ method: 'PUT', path, headers })).outcome, want);
    }
  });
});

describe('permissions', () => {
  /** As official clients test with: the same descriptor, as text and as bytes. */
  const SDDL =
    'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)S:NO_ACCESS_CONTROL';
  const BINARY =
    'AQAUhGwAAACIAAAAAAAAABQAAAACAFgAAwAAAAAAFAD/AR8AAQEAAAAAAAUSAAAAAAAYAP8BHwABAgAAAAAABSAAAAAgAgAAAAAkAKkAEgABBQAAAAAABRUAAABZUbgXZnJdJWRjOwuMmS4AAQUAAAAAAAUVAAAAoGXPfnhLm1/nfIdwr/1IAQEFAAAAAAAFFQAAAKBlz354S5tf53yHcAECAAA=';

  test('are created once and told, as text and as bytes', async () => {
    const share = await freshShare(server);
    const { filePermissionKey: key = '' } = await share.createPermission(SDDL);
    assert.match(key, /^\d+\*\d+$/);
    assert.equal((await share.createPermission(SDDL)).filePermissionKey, key);
    const binary = { permission: BINARY, format: 'Binary' as const };
    assert.equal((await share.createPermission(binary)).filePermissionKey, key);
    assert.equal((await share.getPermission(key)).permission, SDDL);
    const told = await share.getPermission(key, { filePermissionFormat: 'Binary' });
    assert.deepEqual([told.permission, told.format], [BINARY, 'Binary']);
  });

  test('are named by files and directories, in whose share alone they are known', async () => {
    const share = await freshShare(server);
    const { filePermissionKey = '' } = await share.createPermission(SDDL);
    const file = share.rootDirectoryClient.getFileClient('f');
    assert.equal((await file.create(1, { filePermissionKey })).filePermissionKey, filePermissionKey);
    const given = share.rootDirectoryClient.getFileClient('g');
    assert.equal((await given.create(1, { filePermission: SDDL })).filePermissionKey, filePermissionKey);
    const other = await freshShare(server);
    const elsewhere = other.rootDirectoryClient.getFileClient('f').create(1, { filePermissionKey });
    assert.equal(await refusal(elsewhere), '400 InvalidHeaderValue');
    assert.equal(await refusal(other.getPermission(filePermissionKey)), '404 ResourceNotFound');
  });

  test('of a new file come from its directory, and the same from the same', async () => {
    const [share, other] = [await freshShare(server), await freshShare(server)];
    const created = await share.rootDirectoryClient.getFileClient('f').create(1);
    const elsewhere = await other.rootDirectoryClient.getFileClient('f').create(1);
    assert.equal(created.filePermissionKey, elsewhere.filePermissionKey);
    const { permission } = await share.getPermission(created.filePermissionKey as string);
    assert.match(permission, /^O:SYG:SYD:AI\(A;ID;FA;;;BA\)/);
  });

  test('are JSON whose names have any case', async () => {
    const share = await freshShare(server);
    const path = `/${share.name}?restype=share&comp=filepermission`;
    const put = (body: string) => raw({ method: 'PUT', path, body, headers: { 'Content-Type': 'application/json' } });
    const created = await put(JSON.stringify({ Permission: SDDL }));
    assert.equal(created.status, 201);
    const key = created.headers['x-ms-file-permission-key'] as string;
    const get = (headers: Record<string, string>) => raw({ method: 'GET', path, headers });
    const told = await get({ 'x-ms-file-permission-key': key });
    assert.deepEqual(JSON.parse(told.body.toString()), { permission: SDDL, format: 'Sddl' });
    const old = await get({ 'x-ms-file-permission-key': key, 'x-ms-version': '2019-02-02' });
    assert.deepEqual(JSON.parse(old.body.toString()), { permission: SDDL });
    assert.equal((await get({})).outcome, '400 MissingRequiredHeader');
    assert.equal((await get({ 'x-ms-file-permission-key': 'invalid' })).outcome, '400 InvalidHeaderValue');
    for (const body of [
      '',
      '{',
      '[]',
      '"x"',
      '{}',
      '{"permission":1}',
      '{"permission":"O:SYG:SYD:","format":"x"}',
      '{"permission":"invalidPermission"}',
    ]) {
      assert.equal((await put(body)).status, 400, body);
    }
    assert.equal((await put('x'.repeat(513 * 1024))).outcome, '413 RequestBodyTooLarge');
  });
});
