/**
 * Keys that customers provide: what is written with one is read, changed and added to with that one only; the official
 * client sends keys over TLS alone, and so does it here. And encryption scopes, by their names.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type BlobClient,
  BlobServiceClient,
  type BlockBlobClient,
  type ContainerClient,
  type CpkInfo,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { startServer } from '../../src/main.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { writeCertificate } from '../harness/certificate.ts';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { freshPlace } from '../harness/engines.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { Random } from '../harness/random.ts';

const NO_KEY = '409 BlobUsesCustomerSpecifiedEncryption';
const OTHER_KEY = '409 BlobCustomerSpecifiedEncryptionMismatch';
const NOT_KEYED = '409 BlobDoesNotUseCustomerSpecifiedEncryption';

const random = new Random();
const SHORT = Buffer.from('a short text');
const LONG = random.bytes(50_000);

function freshKey(): Required<Pick<CpkInfo, 'encryptionKey' | 'encryptionKeySha256'>> & CpkInfo {
  const key = randomBytes(32);
  return {
    encryptionKey: key.toString('base64'),
    encryptionKeySha256: createHash('sha256').update(key).digest('base64'),
    encryptionAlgorithm: 'AES256',
  };
}

const KEY = freshKey();
const OTHER = freshKey();
const keyed = { customerProvidedKey: KEY };
const otherwise = { customerProvidedKey: OTHER };

async function read(blob: BlobClient, options: object, offset = 0, count?: number): Promise<Buffer> {
  const { readableStreamBody } = await blob.download(offset, count, options);
  const chunks: Buffer[] = [];
  for await (const chunk of readableStreamBody as NodeJS.ReadableStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('the official client with a key', () => {
  let container: ContainerClient;
  const endings: (() => Promise<void>)[] = [];

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'larimar-keys-'));
    endings.push(() => rm(folder, { recursive: true }));
    const { certFile, keyFile } = writeCertificate(folder, 'localhost');
    const [cert, key] = [await readFile(certFile), await readFile(keyFile)];
    const place = await freshPlace();
    endings.push(() => place.remove());
    const server = await startServer({ ...place.store, tls: { cert, key } });
    endings.push(() => server.close());
    const { name, key: accountKey } = DEVELOPMENT_ACCOUNT;
    const options = { ...NO_RETRIES, tlsOptions: { ca: cert } } as StoragePipelineOptions;
    const url = `https://localhost:${new URL(server.origins.blob).port}/${name}`;
    container = await freshContainer(
      new BlobServiceClient(url, new StorageSharedKeyCredential(name, accountKey), options),
    );
  });
  after(async () => {
    for (const end of endings.toReversed()) await end();
  });

  const freshName = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());

  async function freshBlob(content: Buffer = SHORT, options: object = keyed): Promise<BlockBlobClient> {
    const blob = freshName();
    await blob.upload(content, content.length, { metadata: { a: 'b' }, ...options });
    return blob;
  }

  for (const [what, content] of [
    ['short', SHORT],
    ['long', LONG],
  ] as const) {
    test(`writes and reads a ${what} blob, whole and in parts`, async () => {
      const blob = freshName();
      const written = await blob.upload(content, content.length, keyed);
      assert.equal(written.encryptionKeySha256, KEY.encryptionKeySha256);
      assert.deepEqual(Buffer.from(written.contentMD5 as Uint8Array), createHash('md5').update(content).digest());
      assert.ok((await read(blob, keyed)).equals(content));
      for (let round = 0; round < 20; round++) {
        const offset = random.below(content.length);
        const count = 1 + random.below(content.length - offset);
        const part = await read(blob, keyed, offset, count);
        assert.ok(part.equals(content.subarray(offset, offset + count)), `${count} bytes from ${offset} on`);
      }
      const found = await blob.getProperties(keyed);
      assert.equal(found.encryptionKeySha256, KEY.encryptionKeySha256);
      assert.equal(found.contentLength, content.length);
    });
  }

  const uses: readonly (readonly [string, (blob: BlockBlobClient, options: object) => Promise<unknown>])[] = [
    ['Get Blob', (blob, options) => blob.download(0, undefined, options)],
    ['Get Blob of a range', (blob, options) => blob.download(1, 2, options)],
    ['Get Blob Properties', (blob, options) => blob.getProperties(options)],
    ['Set Blob Metadata', (blob, options) => blob.setMetadata({ c: 'd' }, options)],
    ['Snapshot Blob', (blob, options) => blob.createSnapshot(options)],
  ];
  for (const [operation, use] of uses) {
    test(`needs the blob’s own key for ${operation}`, async () => {
      const blob = await freshBlob();
      assert.equal(await refusal(use(blob, {})), NO_KEY);
      assert.equal(await refusal(use(blob, otherwise)), OTHER_KEY);
      assert.equal(await outcome(use(blob, keyed)), 'ok');
      const plain = await freshBlob(SHORT, {});
      assert.equal(await refusal(use(plain, keyed)), NOT_KEYED);
      assert.equal(await outcome(use(plain, {})), 'ok');
    });
  }

  const others: readonly (readonly [string, (blob: BlockBlobClient) => Promise<unknown>])[] = [
    ['Set Blob Properties', (blob) => blob.setHTTPHeaders({ blobContentType: 'text/plain' })],
    ['Get Blob Tags', (blob) => blob.getTags()],
    ['Set Blob Tags', (blob) => blob.setTags({ a: 'b' })],
    ['Set Blob Tier', (blob) => blob.setAccessTier('Cool')],
    ['Lease Blob', (blob) => blob.getBlobLeaseClient().acquireLease(15)],
    ['Get Block List', (blob) => blob.getBlockList('all')],
    ['Put Blob', (blob) => blob.upload('in the clear', 12)],
    ['Delete Blob', (blob) => blob.delete()],
  ];
  for (const [operation, use] of others) {
    test(`needs no key for ${operation}`, async () => {
      assert.equal(await outcome(use(await freshBlob())), 'ok');
    });
  }

  test('puts another blob in the place of one, with another key or none', async () => {
    const blob = await freshBlob();
    await blob.upload('other', 5, otherwise);
    assert.equal(await refusal(read(blob, keyed)), OTHER_KEY);
    assert.equal((await read(blob, otherwise)).toString(), 'other');
    await blob.upload('plain', 5);
    assert.equal((await read(blob, {})).toString(), 'plain');
    assert.equal((await blob.getProperties()).encryptionKeySha256, undefined);
  });

  test('is refused for the conditions and the lease before the key', async () => {
    const blob = await freshBlob();
    const conditions = { ifMatch: '"0x0"' };
    assert.equal(await refusal(blob.download(0, 1, { conditions })), '412 ConditionNotMet');
    await blob.getBlobLeaseClient().acquireLease(-1);
    assert.equal(await refusal(blob.setMetadata({})), '412 LeaseIdMissing');
  });

  test('stages blocks with one key, and commits them with that', async () => {
    const blob = freshName();
    const [a, b] = ['a', 'b'].map((id) => Buffer.from(id).toString('base64')) as [string, string];
    const staged = await blob.stageBlock(a, SHORT, SHORT.length, keyed);
    assert.equal(staged.encryptionKeySha256, KEY.encryptionKeySha256);
    assert.equal(await refusal(blob.stageBlock(b, 'x', 1)), NO_KEY);
    assert.equal(await refusal(blob.stageBlock(b, 'x', 1, otherwise)), OTHER_KEY);
    await blob.stageBlock(b, LONG, LONG.length, keyed);
    assert.equal(await refusal(blob.commitBlockList([a, b])), NO_KEY);
    assert.equal(await refusal(blob.commitBlockList([a, b], otherwise)), OTHER_KEY);
    const committed = await blob.commitBlockList([a, b], keyed);
    assert.equal(committed.encryptionKeySha256, KEY.encryptionKeySha256);
    assert.ok((await read(blob, keyed)).equals(Buffer.concat([SHORT, LONG])));
    const across = await read(blob, keyed, SHORT.length - 3, 10);
    assert.ok(across.equals(Buffer.concat([SHORT.subarray(-3), LONG.subarray(0, 7)])));
    assert.equal(await refusal(read(blob, {})), NO_KEY);
  });

  test('commits blocks of the blob again with their key only, and none with any', async () => {
    const blob = freshName();
    await blob.stageBlock('YQ==', 'x', 1, keyed);
    await blob.commitBlockList(['YQ=='], keyed);
    // Blocks of a new upload may have another key, as long as none of the old ones is named.
    await blob.stageBlock('Yg==', 'y', 1, otherwise);
    assert.equal(await refusal(blob.commitBlockList(['YQ==', 'Yg=='], otherwise)), OTHER_KEY);
    await blob.commitBlockList(['Yg=='], otherwise);
    assert.equal((await read(blob, otherwise)).toString(), 'y');
    await blob.commitBlockList([]);
    assert.equal((await read(blob, {})).length, 0);
  });

  test('appends to an append blob with its key', async () => {
    const blob = container.getAppendBlobClient(randomUUID());
    const created = await blob.create(keyed);
    assert.equal(created.encryptionKeySha256, KEY.encryptionKeySha256);
    for (const block of [SHORT, LONG]) {
      assert.equal(await refusal(blob.appendBlock(block, block.length)), NO_KEY);
      assert.equal(await refusal(blob.appendBlock(block, block.length, otherwise)), OTHER_KEY);
      const appended = await blob.appendBlock(block, block.length, keyed);
      assert.equal(appended.encryptionKeySha256, KEY.encryptionKeySha256);
    }
    assert.ok((await read(blob, keyed)).equals(Buffer.concat([SHORT, LONG])));
    assert.ok(
      (await read(blob, keyed, SHORT.length - 1, 2)).equals(Buffer.concat([SHORT.subarray(-1), LONG.subarray(0, 1)])),
    );
    assert.equal(await outcome(blob.seal()), 'ok');
  });

  test('writes pages with the key of the page blob', async () => {
    const blob = container.getPageBlobClient(randomUUID());
    await blob.create(4_096, keyed);
    const pages = random.bytes(1_024);
    assert.equal(await refusal(blob.uploadPages(pages, 512, 1_024)), NO_KEY);
    await blob.uploadPages(pages, 512, 1_024, keyed);
    await blob.uploadPages(pages.subarray(0, 512), 1_024, 512, keyed);
    const expected = Buffer.alloc(4_096);
    pages.copy(expected, 512);
    pages.copy(expected, 1_024, 0, 512);
    assert.ok((await read(blob, keyed)).equals(expected));
    assert.ok((await read(blob, keyed, 700, 500)).equals(expected.subarray(700, 1_200)));
  });

  test('reads a snapshot with the key that the blob had', async () => {
    const blob = await freshBlob();
    const { snapshot = '' } = await blob.createSnapshot(keyed);
    await blob.upload('plain', 5);
    const past = blob.withSnapshot(snapshot);
    assert.equal(await refusal(past.getProperties()), NO_KEY);
    assert.ok((await read(past, keyed)).equals(SHORT));
  });

  test('lists what a key seals, without its metadata', async () => {
    const own = container.getBlockBlobClient(`listed/${randomUUID()}`);
    await own.upload('x', 1, { metadata: { a: 'b' }, ...keyed });
    const listed = [];
    for await (const item of container.listBlobsFlat({ prefix: 'listed/', includeMetadata: true })) listed.push(item);
    assert.deepEqual(
      listed.map(({ properties, metadata }) => [properties.customerProvidedKeySha256, metadata?.['a']]),
      [[KEY.encryptionKeySha256, undefined]],
    );
  });

  test('cannot query what a key seals', async () => {
    const blob = await freshBlob(Buffer.from('1,2\n'));
    assert.equal(await refusal(blob.query('SELECT * from BlobStorage')), NO_KEY);
  });
});

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);

const put = (
  headers: Record<string, string>,
  path = `/${container.containerName}/${randomUUID()}`,
): Promise<RawResponse> =>
  send(server.url, { method: 'PUT', path, headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body: 'text' });

const headersOf = ({ encryptionKey, encryptionKeySha256 }: typeof KEY): Record<string, string> => ({
  'x-ms-encryption-key': encryptionKey,
  'x-ms-encryption-key-sha256': encryptionKeySha256,
  'x-ms-encryption-algorithm': 'AES256',
});

describe('a key in the headers', () => {
  const complete = headersOf(KEY);
  const without = (name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(complete).filter(([header]) => header !== name));

  for (const [what, headers, want] of [
    ['with its digest and algorithm', complete, '201'],
    ['without its digest', without('x-ms-encryption-key-sha256'), '400 MissingRequiredHeader'],
    ['that is only a digest', without('x-ms-encryption-key'), '400 MissingRequiredHeader'],
    ['without its algorithm', without('x-ms-encryption-algorithm'), '400 MissingRequiredHeader'],
    ['with another algorithm', { ...complete, 'x-ms-encryption-algorithm': 'AES128' }, '400 InvalidHeaderValue'],
    [
      'with the digest of another',
      { ...complete, 'x-ms-encryption-key-sha256': OTHER.encryptionKeySha256 },
      '400 InvalidHeaderValue',
    ],
    [
      'that is too short',
      { ...complete, 'x-ms-encryption-key': Buffer.alloc(16).toString('base64') },
      '400 InvalidHeaderValue',
    ],
    ['that is no Base64', { ...complete, 'x-ms-encryption-key': 'key' }, '400 InvalidHeaderValue'],
    ['beside a scope', { ...complete, 'x-ms-encryption-scope': 'scope' }, '400 InvalidHeaderValue'],
    ['of which only the algorithm is there', { 'x-ms-encryption-algorithm': 'AES256' }, '201'],
  ] as const) {
    test(`${what}: ${want}`, async () => {
      const answer = await put(headers);
      assert.equal(answer.outcome, want);
      assert.ok(!answer.body.toString().includes(KEY.encryptionKey), 'the key is not told to anybody');
    });
  }

  test('needs no algorithm to read', async () => {
    const path = `/${container.containerName}/${randomUUID()}`;
    assert.equal((await put(complete, path)).headers['x-ms-encryption-key-sha256'], KEY.encryptionKeySha256);
    const get = await send(server.url, { method: 'GET', path, headers: without('x-ms-encryption-algorithm') });
    assert.deepEqual([get.status, get.body.toString()], [200, 'text']);
    assert.equal(get.headers['x-ms-encryption-key-sha256'], KEY.encryptionKeySha256);
    const metadata = await send(server.url, { method: 'GET', path: `${path}?comp=metadata` });
    assert.equal(metadata.outcome, NO_KEY);
  });
});

const prescribed = async (preventEncryptionScopeOverride: boolean): Promise<ContainerClient> => {
  const own = service.getContainerClient(`scoped-${randomUUID()}`);
  const containerEncryptionScope = { defaultEncryptionScope: 'own', preventEncryptionScopeOverride };
  await own.create({ containerEncryptionScope });
  return own;
};

describe('an encryption scope', () => {
  test('is told of the blob that it was asked for', async () => {
    const blob = container.getBlockBlobClient(randomUUID());
    const written = await blob.upload('x', 1, { encryptionScope: 'scope-1' });
    assert.equal(written.encryptionScope, 'scope-1');
    assert.equal((await blob.getProperties()).encryptionScope, 'scope-1');
    const path = `/${container.containerName}/${blob.name}`;
    assert.equal((await send(server.url, { method: 'GET', path })).headers['x-ms-encryption-scope'], 'scope-1');
    await blob.upload('x', 1);
    assert.equal((await blob.getProperties()).encryptionScope, undefined);
    const staged = await blob.stageBlock('YQ==', 'x', 1, { encryptionScope: 'scope-2' });
    assert.equal(staged.encryptionScope, 'scope-2');
    assert.equal((await blob.commitBlockList(['YQ=='], { encryptionScope: 'scope-2' })).encryptionScope, 'scope-2');
    const log = container.getAppendBlobClient(randomUUID());
    assert.equal((await log.create({ encryptionScope: 'scope-3' })).encryptionScope, 'scope-3');
    assert.equal((await log.appendBlock('x', 1)).encryptionScope, 'scope-3');
  });

  test('needs no key, and takes none', async () => {
    const path = `/${container.containerName}/${randomUUID()}`;
    await put({ 'x-ms-encryption-scope': 'scope' }, path);
    assert.equal((await send(server.url, { method: 'GET', path })).status, 200);
    const withKey = await send(server.url, { method: 'GET', path, headers: headersOf(KEY) });
    assert.equal(withKey.outcome, NOT_KEYED);
  });

  for (const name of ['a b', '-a', 'a-', 'x'.repeat(64), 'ä']) {
    test(`is not called ${name}`, async () => {
      const answer = await put({ 'x-ms-encryption-scope': encodeURI(name) });
      assert.equal(answer.outcome, '400 InvalidHeaderValue');
    });
  }

  test('is the container’s where none is asked for, and no other where it insists', async () => {
    const open = (await prescribed(false)).getBlockBlobClient('blob');
    assert.equal((await open.upload('x', 1)).encryptionScope, 'own');
    assert.equal((await open.upload('x', 1, { encryptionScope: 'other' })).encryptionScope, 'other');
    const strict = await prescribed(true);
    const blob = strict.getBlockBlobClient('blob');
    assert.equal((await blob.upload('x', 1, { encryptionScope: 'own' })).encryptionScope, 'own');
    const refused = '403 RequestForbiddenByContainerEncryptionPolicy';
    const other = { encryptionScope: 'other' };
    assert.equal(await refusal(blob.upload('x', 1, other)), refused);
    assert.equal(await refusal(blob.stageBlock('YQ==', 'x', 1, other)), refused);
    await blob.stageBlock('YQ==', 'x', 1);
    assert.equal(await refusal(blob.stageBlock('Yg==', 'x', 1, other)), refused);
    assert.equal(await refusal(strict.getAppendBlobClient('log').create(other)), refused);
    assert.equal((await put(headersOf(KEY), `/${strict.containerName}/keyed`)).outcome, refused);
  });
});
