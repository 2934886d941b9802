/** Who may do what: Shared Key, both kinds of shared access signatures as the official client makes them, stored policies, nobody. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobClient,
  BlobSASPermissions,
  BlobServiceClient,
  type BlockBlobClient,
  ContainerClient,
  ContainerSASPermissions,
  generateAccountSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = blobService(server);

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

async function freshBlob(container?: ContainerClient): Promise<BlockBlobClient> {
  const blob = (container ?? (await freshContainer(service))).getBlockBlobClient('folder/a blob & more');
  await blob.upload('content', 7, { blobHTTPHeaders: { blobContentType: 'text/plain' } });
  return blob;
}

const guestBlob = (url: string): BlockBlobClient => new BlobClient(url, undefined, NO_RETRIES).getBlockBlobClient();
const guestContainer = (url: string): ContainerClient => new ContainerClient(url, undefined, NO_RETRIES);

const NOT_PERMITTED = '403 AuthorizationPermissionMismatch';

describe('a blob SAS', () => {
  const uses: [string, string, (blob: BlockBlobClient) => Promise<unknown>][] = [
    ['r', 'Get Blob', (blob) => blob.download()],
    ['r', 'Get Blob Properties', (blob) => blob.getProperties()],
    ['r', 'Get Block List', (blob) => blob.getBlockList('committed')],
    ['w', 'Put Blob', (blob) => blob.upload('x', 1)],
    ['w', 'Put Block', (blob) => blob.stageBlock('YQ==', 'x', 1)],
    ['w', 'Put Block List', (blob) => blob.commitBlockList([])],
    ['w', 'Set Blob Metadata', (blob) => blob.setMetadata({ a: 'b' })],
    ['w', 'Set Blob Properties', (blob) => blob.setHTTPHeaders({})],
    ['w', 'Lease Blob', (blob) => blob.getBlobLeaseClient(randomUUID()).acquireLease(15)],
    ['d', 'Delete Blob', (blob) => blob.delete()],
  ];
  for (const letter of ['r', 'w', 'd', 'a', 't']) {
    test(`with ${letter} opens what ${letter} stands for and nothing else`, async () => {
      for (const [needs, operation, use] of uses) {
        const blob = await freshBlob();
        const permissions = BlobSASPermissions.parse(letter);
        const guest = guestBlob(await blob.generateSasUrl({ permissions, expiresOn: inSeconds(60) }));
        assert.equal(await outcome(use(guest)), needs === letter ? 'ok' : NOT_PERMITTED, operation);
      }
    });
  }

  test('with c makes a new blob and overwrites none', async () => {
    const container = await freshContainer(service);
    const blob = container.getBlockBlobClient('new');
    const options = { permissions: BlobSASPermissions.parse('c'), expiresOn: inSeconds(60) };
    const guest = guestBlob(await blob.generateSasUrl(options));
    assert.equal(await outcome(guest.upload('x', 1)), 'ok');
    assert.equal(await outcome(guest.upload('y', 1)), '403 UnauthorizedBlobOverwrite');
    assert.equal((await blob.downloadToBuffer()).toString(), 'x');
  });

  test('with d breaks a lease', async () => {
    const blob = await freshBlob();
    await blob.getBlobLeaseClient().acquireLease(-1);
    const options = { permissions: BlobSASPermissions.parse('d'), expiresOn: inSeconds(60) };
    const guest = guestBlob(await blob.generateSasUrl(options));
    assert.equal(await outcome(guest.getBlobLeaseClient().breakLease(0)), 'ok');
  });

  test('is for its blob only', async () => {
    const blob = await freshBlob();
    const options = { permissions: BlobSASPermissions.parse('rw'), expiresOn: inSeconds(60) };
    const url = new URL(await blob.generateSasUrl(options));
    url.pathname = url.pathname.replace(/[^/]+$/, 'another');
    assert.equal(await refusal(guestBlob(url.href).upload('x', 1)), '403 AuthenticationFailed');
  });

  test('ends and begins to the second, by the server’s clock', async () => {
    const blob = await freshBlob();
    const permissions = BlobSASPermissions.parse('r');
    const [startsOn, expiresOn] = [inSeconds(20), inSeconds(40)];
    const guest = guestBlob(await blob.generateSasUrl({ permissions, startsOn, expiresOn }));
    assert.equal(await outcome(guest.download()), '403 AuthenticationFailed');
    server.clock.advance({ seconds: 21 });
    assert.equal(await outcome(guest.download()), 'ok');
    server.clock.advance({ seconds: 20 });
    assert.equal(await outcome(guest.download()), '403 AuthenticationFailed');
  });

  test('overrides headers of the answer', async () => {
    const blob = await freshBlob();
    const url = await blob.generateSasUrl({
      permissions: BlobSASPermissions.parse('r'),
      expiresOn: inSeconds(60),
      contentType: 'text/html',
      contentDisposition: 'attachment; filename=a.html',
      cacheControl: 'no-store',
      contentLanguage: 'fr',
      contentEncoding: 'identity',
    });
    const read = await guestBlob(url).download();
    assert.equal(read.contentType, 'text/html');
    assert.equal(read.contentDisposition, 'attachment; filename=a.html');
    assert.equal(read.cacheControl, 'no-store');
    assert.equal(read.contentLanguage, 'fr');
    assert.equal(read.contentEncoding, 'identity');
    assert.equal((await blob.getProperties()).contentType, 'text/plain');
  });

  test('that is touched in any part fails', async () => {
    const blob = await freshBlob();
    const options = { permissions: BlobSASPermissions.parse('r'), expiresOn: inSeconds(60) };
    const url = await blob.generateSasUrl(options);
    const touch: [string, string][] = [
      ['sp', 'rw'],
      ['se', inSeconds(600).toISOString()],
      ['sig', Buffer.alloc(32).toString('base64')],
      ['sv', '2020-12-06'],
      ['sr', 'c'],
    ];
    for (const [name, value] of touch) {
      const touched = new URL(url);
      touched.searchParams.set(name, value);
      assert.equal(await refusal(guestBlob(touched.href).download()), '403 AuthenticationFailed', name);
    }
  });

  test('that wants https is refused over http, and one for other addresses is refused from here', async () => {
    const blob = await freshBlob();
    const options = { permissions: BlobSASPermissions.parse('r'), expiresOn: inSeconds(60) };
    const secure = await blob.generateSasUrl({ ...options, protocol: SASProtocol.Https });
    assert.equal(await refusal(guestBlob(secure).download()), '403 AuthorizationProtocolMismatch');
    const both = await blob.generateSasUrl({ ...options, protocol: SASProtocol.HttpsAndHttp });
    assert.equal(await outcome(guestBlob(both).download()), 'ok');
    const elsewhere = await blob.generateSasUrl({ ...options, ipRange: { start: '10.0.0.1', end: '10.0.0.9' } });
    assert.equal(await refusal(guestBlob(elsewhere).download()), '403 AuthorizationSourceIPMismatch');
    const here = await blob.generateSasUrl({ ...options, ipRange: { start: '127.0.0.1' } });
    assert.equal(await outcome(guestBlob(here).download()), 'ok');
  });
});

const letGuestIn = async (container: ContainerClient, letters: string): Promise<ContainerClient> =>
  guestContainer(
    await container.generateSasUrl({ permissions: ContainerSASPermissions.parse(letters), expiresOn: inSeconds(60) }),
  );

describe('a container SAS', () => {
  test('reads, writes, lists and deletes blobs by its letters', async () => {
    const blob = await freshBlob();
    const container = service.getContainerClient(blob.containerName);
    const all = await letGuestIn(container, 'rwdl');
    assert.equal(await outcome(all.getBlockBlobClient(blob.name).download()), 'ok');
    assert.equal(await outcome(all.uploadBlockBlob('new', 'x', 1)), 'ok');
    assert.equal(await outcome(all.listBlobsFlat().next()), 'ok');
    assert.equal(await outcome(all.deleteBlob('new')), 'ok');
    const reader = await letGuestIn(container, 'r');
    assert.equal(await outcome(reader.listBlobsFlat().next()), NOT_PERMITTED);
    assert.equal(await outcome(reader.uploadBlockBlob('new', 'x', 1)), NOT_PERMITTED);
    const lister = await letGuestIn(container, 'l');
    assert.equal(await outcome(lister.listBlobsFlat().next()), 'ok');
    assert.equal(await outcome(lister.getBlockBlobClient(blob.name).download()), NOT_PERMITTED);
  });

  test('never touches the container itself', async () => {
    const container = await freshContainer(service);
    const guest = await letGuestIn(container, 'racwdl');
    const uses: [string, () => Promise<unknown>][] = [
      ['Get Container Properties', () => guest.getProperties()],
      ['Set Container Metadata', () => guest.setMetadata({})],
      ['Get Container ACL', () => guest.getAccessPolicy()],
      ['Set Container ACL', () => guest.setAccessPolicy('container')],
      ['Lease Container', () => guest.getBlobLeaseClient().acquireLease(15)],
      ['Delete Container', () => guest.delete()],
    ];
    for (const [operation, use] of uses) {
      assert.match(await outcome(use()), /^403 (AuthorizationFailure|AuthorizationPermissionMismatch)$/, operation);
    }
  });

  test('is for its container only', async () => {
    const [ours, theirs] = [await freshContainer(service), await freshContainer(service)];
    const url = new URL((await letGuestIn(ours, 'rl')).url);
    url.pathname = new URL(theirs.url).pathname;
    assert.equal(await refusal(guestContainer(url.href).listBlobsFlat().next()), '403 AuthenticationFailed');
  });
});

describe('a stored policy', () => {
  test('gives permissions and times to a SAS that names it', async () => {
    const blob = await freshBlob();
    const container = service.getContainerClient(blob.containerName);
    const accessPolicy = { startsOn: inSeconds(-60), expiresOn: inSeconds(60), permissions: 'r' };
    await container.setAccessPolicy(undefined, [{ id: 'p', accessPolicy }]);
    const guest = guestBlob(await blob.generateSasUrl({ identifier: 'p' }));
    assert.equal(await outcome(guest.download()), 'ok');
    assert.equal(await outcome(guest.delete()), NOT_PERMITTED);
    server.clock.advance({ seconds: 61 });
    assert.equal(await outcome(guest.download()), '403 AuthenticationFailed');
  });

  test('shares the fields with the token, each in one place', async () => {
    const blob = await freshBlob();
    const container = service.getContainerClient(blob.containerName);
    await container.setAccessPolicy(undefined, [{ id: 'p', accessPolicy: { permissions: 'r' } }]);
    const guest = guestBlob(await blob.generateSasUrl({ identifier: 'p', expiresOn: inSeconds(60) }));
    assert.equal(await outcome(guest.download()), 'ok');
    const twice = { identifier: 'p', expiresOn: inSeconds(60), permissions: BlobSASPermissions.parse('r') };
    assert.match(await outcome(guestBlob(await blob.generateSasUrl(twice)).download()), /^40[03] /);
    const endless = guestBlob(await blob.generateSasUrl({ identifier: 'p' }));
    assert.equal(await outcome(endless.download()), '403 AuthenticationFailed', 'no end in either');
  });

  test('that is unknown opens nothing', async () => {
    const blob = await freshBlob();
    const guest = guestBlob(await blob.generateSasUrl({ identifier: 'nobody' }));
    assert.equal(await outcome(guest.download()), '403 AuthenticationFailed');
  });
});

describe('an account SAS', () => {
  const credential = new StorageSharedKeyCredential(DEVELOPMENT_ACCOUNT.name, DEVELOPMENT_ACCOUNT.key);
  const guestWith = (permissions: string, resourceTypes = 'sco', services = 'b'): BlobServiceClient => {
    const sas = generateAccountSASQueryParameters(
      {
        permissions: AccountSASPermissions.parse(permissions),
        resourceTypes: AccountSASResourceTypes.parse(resourceTypes).toString(),
        services: AccountSASServices.parse(services).toString(),
        expiresOn: inSeconds(60),
      },
      credential,
    );
    return new BlobServiceClient(`${server.endpoint()}?${sas.toString()}`, undefined, NO_RETRIES);
  };

  const uses: [string, 's' | 'c' | 'o', string, (guest: BlobServiceClient, name: string) => Promise<unknown>][] = [
    ['List Containers', 's', 'l', (guest) => guest.listContainers().next()],
    ['Get Service Properties', 's', 'r', (guest) => guest.getProperties()],
    ['Set Service Properties', 's', 'w', (guest) => guest.setProperties({})],
    ['Create Container', 'c', 'cw', (guest) => guest.getContainerClient(`guest-${randomUUID()}`).create()],
    ['Get Container Properties', 'c', 'r', (guest, name) => guest.getContainerClient(name).getProperties()],
    ['Set Container Metadata', 'c', 'w', (guest, name) => guest.getContainerClient(name).setMetadata({})],
    ['List Blobs', 'c', 'l', (guest, name) => guest.getContainerClient(name).listBlobsFlat().next()],
    ['Get Blob', 'o', 'r', (guest, name) => guest.getContainerClient(name).getBlobClient('blob').download()],
    [
      'Set Blob Metadata',
      'o',
      'w',
      (guest, name) => guest.getContainerClient(name).getBlobClient('blob').setMetadata({}),
    ],
    ['Delete Blob', 'o', 'd', (guest, name) => guest.getContainerClient(name).deleteBlob('blob')],
    ['Delete Container', 'c', 'd', (guest, name) => guest.getContainerClient(name).delete()],
  ];
  let name = '';
  before(async () => {
    name = (await freshContainer(service)).containerName;
  });
  for (const letter of ['r', 'w', 'd', 'l', 'c']) {
    test(`with ${letter} opens what ${letter} stands for, at every level`, async () => {
      for (const [operation, , needs, use] of uses) {
        await service.getContainerClient(name).createIfNotExists();
        await service.getContainerClient(name).uploadBlockBlob('blob', 'x', 1);
        const want = needs.includes(letter) ? 'ok' : NOT_PERMITTED;
        assert.equal(await outcome(use(guestWith(letter), name)), want, operation);
      }
    });
  }

  test('for some levels or services only is refused at the others', async () => {
    for (const level of ['s', 'c', 'o']) {
      for (const [operation, needs, , use] of uses) {
        await service.getContainerClient(name).createIfNotExists();
        await service.getContainerClient(name).uploadBlockBlob('blob', 'x', 1);
        const want = needs === level ? 'ok' : '403 AuthorizationResourceTypeMismatch';
        assert.equal(await outcome(use(guestWith('rwdlc', level), name)), want, `${operation} with srt=${level}`);
      }
    }
    const queues = guestWith('rwdlc', 'sco', 'q');
    assert.equal(await outcome(queues.listContainers().next()), '403 AuthorizationServiceMismatch');
  });

  test('never reads or writes an ACL', async () => {
    const container = guestWith('rwdlc').getContainerClient(name);
    await service.getContainerClient(name).createIfNotExists();
    assert.match(await outcome(container.getAccessPolicy()), /^403 /);
    assert.match(await outcome(container.setAccessPolicy('blob')), /^403 /);
  });
});

describe('Shared Key', () => {
  test('of another account, with a wrong key, or with an account that is unknown is refused', async () => {
    const path = '/?comp=list';
    const wrongKey = { name: DEVELOPMENT_ACCOUNT.name, key: SECOND_ACCOUNT.key };
    assert.equal(
      (await send(server.url, { method: 'GET', path, account: wrongKey })).outcome,
      '403 AuthenticationFailed',
    );
    const other = await send(server.url, {
      method: 'GET',
      path,
      account: SECOND_ACCOUNT,
      pathAccount: DEVELOPMENT_ACCOUNT.name,
    });
    assert.equal(other.outcome, '403 AuthenticationFailed');
    const unknown = await send(server.url, {
      method: 'GET',
      path,
      account: { name: 'nobody', key: SECOND_ACCOUNT.key },
    });
    assert.ok([403, 404].includes(unknown.status), unknown.outcome);
  });

  test('dated more than fifteen minutes off is refused', async () => {
    for (const [seconds, want] of [
      [-14 * 60, 200],
      [-16 * 60, 403],
      [14 * 60, 200],
      [16 * 60, 403],
    ] as const) {
      const headers = { 'x-ms-date': new Date(Date.now() + seconds * 1000).toUTCString() };
      const { status } = await send(server.url, { method: 'GET', path: '/?comp=list', headers });
      assert.equal(status, want, `${seconds} s`);
    }
  });

  for (const value of ['SharedKey', 'SharedKey devstoreaccount1', 'Basic eDp5', 'SharedKey :', '']) {
    test(`an Authorization header of "${value}" is refused`, async () => {
      const headers = { authorization: value };
      const { status } = await send(server.url, { method: 'GET', path: '/?comp=list', headers, account: null });
      assert.ok([400, 401, 403].includes(status), String(status));
    });
  }
});

describe('nobody', () => {
  test('gets 401 and a challenge where nothing is public', async () => {
    const blob = await freshBlob();
    const path = `/${blob.containerName}/${encodeURIComponent(blob.name)}`;
    const { outcome, headers } = await send(server.url, { method: 'GET', path, account: null });
    assert.equal(outcome, '401 NoAuthenticationInformation');
    assert.match(headers['www-authenticate'] ?? '', /^Bearer /);
  });

  test('gets 404 from versions that know no challenge', async () => {
    const blob = await freshBlob();
    const path = `/${blob.containerName}/${encodeURIComponent(blob.name)}`;
    const headers = { 'x-ms-version': '2019-07-07' };
    const { outcome } = await send(server.url, { method: 'GET', path, headers, account: null });
    assert.equal(outcome, '404 ResourceNotFound');
  });

  const operations: [string, 'blob' | 'container' | null, (container: ContainerClient) => Promise<unknown>][] = [
    ['Get Blob', 'blob', (container) => container.getBlobClient('blob').download()],
    ['Get Blob Properties', 'blob', (container) => container.getBlobClient('blob').getProperties()],
    ['Get Block List', 'blob', (container) => container.getBlockBlobClient('blob').getBlockList('committed')],
    ['List Blobs', 'container', (container) => container.listBlobsFlat().next()],
    ['Get Container Properties', 'container', (container) => container.getProperties()],
    ['Put Blob', null, (container) => container.uploadBlockBlob('new', 'x', 1)],
    ['Delete Blob', null, (container) => container.deleteBlob('blob')],
    ['Set Container Metadata', null, (container) => container.setMetadata({})],
    ['Get Container ACL', null, (container) => container.getAccessPolicy()],
    ['Delete Container', null, (container) => container.delete()],
  ];
  for (const access of ['blob', 'container'] as const) {
    test(`gets what public access to the ${access} opens, and nothing else`, async () => {
      const container = await freshContainer(service);
      await container.uploadBlockBlob('blob', 'x', 1);
      await container.setAccessPolicy(access);
      const guest = guestContainer(container.url);
      for (const [operation, needs, use] of operations) {
        const open = needs === 'blob' || (needs === 'container' && access === 'container');
        const got = await outcome(use(guest));
        if (open) assert.equal(got, 'ok', operation);
        else
          assert.match(
            got,
            /^(401 NoAuthenticationInformation|403 AuthenticationFailed|404 ResourceNotFound)$/,
            operation,
          );
      }
    });
  }
});
