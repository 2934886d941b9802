/**
 * The concurrency contract, sentence by sentence (C1 to C16), driven by the official client against a running server
 * whose clock the test moves. Plain requests stand in only where the client has no such call. What C1 says of several
 * nodes is in test/cluster/concurrency.test.ts ("what was written through one node is read, listed and deleted through
 * every other at once").
 */
// engines: both in quick
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import {
  BlobSASPermissions,
  BlobServiceClient,
  type BlockBlobClient,
  ContainerClient,
  ContainerSASPermissions,
} from '@azure/storage-blob';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { together } from '../harness/parallel.ts';

const server = await startInProcess();
const service = blobService(server);
const STALE_ETAG = '"0x8D0000000000001"';
const PAGE = 'p'.repeat(512);
const OTHER_LEASE = '11111111-2222-4333-8444-555555555555';

async function freshBlob(container?: ContainerClient, content = 'first'): Promise<BlockBlobClient> {
  const blob = (container ?? (await freshContainer(service))).getBlockBlobClient(`blob-${randomUUID()}`);
  await blob.upload(content, content.length);
  return blob;
}

/** A page blob of one page, as the client of its name. */
async function freshPageBlob(): Promise<BlockBlobClient> {
  const blob = (await freshContainer(service)).getBlockBlobClient(`pages-${randomUUID()}`);
  await blob.getPageBlobClient().create(PAGE.length);
  await blob.getPageBlobClient().uploadPages(PAGE, 0, PAGE.length);
  return blob;
}

async function textOf(blob: BlockBlobClient): Promise<string> {
  return (await blob.downloadToBuffer()).toString();
}

async function etagOf(resource: BlockBlobClient | ContainerClient): Promise<string> {
  const { etag } = await resource.getProperties();
  assert.ok(etag !== undefined && /^"0x[0-9A-F]+"$/i.test(etag), `an ETag in quotes, not ${etag}`);
  return etag;
}

async function acquire(
  resource: BlockBlobClient | ContainerClient,
  seconds = 60,
  id: string = randomUUID(),
): Promise<string> {
  await resource.getBlobLeaseClient(id).acquireLease(seconds);
  return id;
}

const blockId = (text: string): string => Buffer.from(text).toString('base64');

const put = (blob: BlockBlobClient, text: string, conditions = {}): ReturnType<BlockBlobClient['upload']> =>
  blob.upload(text, text.length, { conditions });

const pathOf = (resource: BlockBlobClient | ContainerClient): string =>
  resource instanceof ContainerClient ? `/${resource.containerName}` : `/${resource.containerName}/${resource.name}`;

/** 64 KiB in which every part tells the version that it belongs to. */
const contentOf = (version: number): string => String(version).padStart(8, '0').repeat(8192);

describe('consistency', () => {
  test('C1 an answered write is seen by every later read, whoever reads', async () => {
    const writer = await freshBlob();
    const reader = new BlobServiceClient(service.url, service.credential, NO_RETRIES)
      .getContainerClient(writer.containerName)
      .getBlockBlobClient(writer.name);
    const container = service.getContainerClient(writer.containerName);
    for (let round = 0; round < 25; round++) {
      const { etag } = await put(writer, `round ${round}`);
      assert.equal(await textOf(reader), `round ${round}`);
      assert.equal(await etagOf(reader), etag);
      const listed = [];
      for await (const item of container.listBlobsFlat()) listed.push(`"${item.properties.etag.replaceAll('"', '')}"`);
      assert.deepEqual(listed, [etag]);
    }
    await writer.delete();
    assert.equal(await refusal(reader.download()), '404 BlobNotFound');
  });

  const SEEN_WRITES: [string, (blob: BlockBlobClient) => Promise<unknown>, (blob: BlockBlobClient) => Promise<void>][] =
    [
      ['Put Blob', (blob) => put(blob, 'seen'), async (blob) => assert.equal(await textOf(blob), 'seen')],
      [
        'Put Block List',
        async (blob) => {
          await blob.stageBlock(blockId('a'), 'block', 5);
          await blob.commitBlockList([blockId('a')]);
        },
        async (blob) => assert.equal(await textOf(blob), 'block'),
      ],
      [
        'Set Blob Metadata',
        (blob) => blob.setMetadata({ seen: 'yes' }),
        async (blob) => assert.deepEqual((await blob.getProperties()).metadata, { seen: 'yes' }),
      ],
      [
        'Set Blob Properties',
        (blob) => blob.setHTTPHeaders({ blobContentType: 'text/seen' }),
        async (blob) => assert.equal((await blob.getProperties()).contentType, 'text/seen'),
      ],
      [
        'Lease Blob',
        (blob) => acquire(blob),
        async (blob) => assert.equal((await blob.getProperties()).leaseState, 'leased'),
      ],
      [
        'Snapshot Blob',
        (blob) => blob.createSnapshot(),
        async (blob) => {
          const listed = [];
          const container = service.getContainerClient(blob.containerName);
          for await (const { snapshot } of container.listBlobsFlat({ includeSnapshots: true })) listed.push(snapshot);
          assert.equal(listed.filter((snapshot) => snapshot !== undefined).length, 1);
        },
      ],
      [
        'Copy Blob',
        async (blob) => copyInto(blob, { source: (await freshBlob(undefined, 'copied')).url }),
        async (blob) => assert.equal(await textOf(blob), 'copied'),
      ],
      [
        'Delete Blob',
        (blob) => blob.delete(),
        async (blob) => assert.equal(await refusal(blob.download()), '404 BlobNotFound'),
      ],
    ];
  for (const [operation, write, look] of SEEN_WRITES) {
    test(`C1 what ${operation} did is seen by the next to look, and by many at once`, async () => {
      const blob = await freshBlob();
      await write(blob);
      const looks = await together(8, () => look(blob));
      for (const result of looks) if (result.status === 'rejected') throw result.reason;
    });
  }

  test('C2 a read beside writes returns one committed version, whole', async () => {
    const blob = await freshBlob();
    const versions = 40;
    const numberByEtag = new Map<string, number>();
    const write = async (version: number): Promise<void> => {
      const content = contentOf(version);
      const { etag } = await blob.upload(content, content.length, {
        metadata: { version: String(version) },
        blobHTTPHeaders: { blobContentType: `text/x-${version}` },
      });
      numberByEtag.set(etag as string, version);
    };
    await write(0);
    const progress = { writing: true };
    const seen: { etag: string; metadata: string; type: string; body: string }[] = [];
    const read = async (): Promise<void> => {
      while (progress.writing) {
        const response = await blob.download();
        const chunks: Buffer[] = [];
        for await (const chunk of response.readableStreamBody as NodeJS.ReadableStream) chunks.push(chunk as Buffer);
        const { etag, metadata, contentType } = response;
        const body = Buffer.concat(chunks).toString();
        seen.push({ etag: etag ?? '', metadata: metadata?.['version'] ?? '', type: contentType ?? '', body });
      }
    };
    const readers = Promise.all([read(), read(), read(), read()]);
    for (let version = 1; version < versions; version++) await write(version);
    progress.writing = false;
    await readers;
    assert.ok(seen.length >= versions, 'readers ran beside the writer');
    for (const { etag, metadata, type, body } of seen) {
      const version = numberByEtag.get(etag);
      assert.notEqual(version, undefined, `${etag} was given to a writer`);
      assert.equal(metadata, String(version));
      assert.equal(type, `text/x-${version}`);
      assert.ok(body === contentOf(version as number), `the body belongs to version ${version}`);
    }
  });

  test("C2 a container's ETag and metadata belong together, also beside writes", async () => {
    const container = await freshContainer(service);
    const writerByEtag = new Map([[await etagOf(container), undefined as string | undefined]]);
    const progress = { writing: true };
    const seen: { etag: string; writer: string | undefined }[] = [];
    const read = async (): Promise<void> => {
      while (progress.writing) {
        const { etag = '', metadata } = await container.getProperties();
        seen.push({ etag, writer: metadata?.['writer'] });
      }
    };
    const readers = Promise.all([read(), read(), read()]);
    for (let index = 0; index < 40; index++) {
      const { etag = '' } = await container.setMetadata({ writer: String(index) });
      writerByEtag.set(etag, String(index));
    }
    progress.writing = false;
    await readers;
    assert.ok(seen.length >= 40, 'readers ran beside the writer');
    for (const { etag, writer } of seen) {
      assert.ok(writerByEtag.has(etag), `${etag} was given to a writer`);
      assert.equal(writer, writerByEtag.get(etag));
    }
  });

  test('C3 without a strategy the last writer of a blob wins', async () => {
    const blob = await freshBlob();
    await put(blob, 'one writer');
    await put(blob, 'another writer');
    assert.equal(await textOf(blob), 'another writer');
    const results = await together(8, (index) => put(blob, `writer ${index}`));
    assert.deepEqual(new Set(results.map((result) => result.status)), new Set(['fulfilled']));
    const current = await etagOf(blob);
    const last = results.findIndex((result) => result.status === 'fulfilled' && result.value.etag === current);
    assert.equal(await textOf(blob), `writer ${last}`, 'the content is that of the writer who was told this ETag');
  });

  test('C3 without a strategy the last writer of a container wins', async () => {
    const container = await freshContainer(service);
    await container.setMetadata({ writer: 'one' });
    await container.setMetadata({ writer: 'two' });
    assert.deepEqual((await container.getProperties()).metadata, { writer: 'two' });
    const results = await together(8, (index) => container.setMetadata({ writer: String(index) }));
    const { etag, metadata } = await container.getProperties();
    const last = results.findIndex((result) => result.status === 'fulfilled' && result.value.etag === etag);
    assert.deepEqual(metadata, { writer: String(last) });
  });
});

describe('optimistic concurrency', () => {
  test('C4 every update of a blob changes its ETag, and nothing else does', async () => {
    const blob = await freshBlob();
    const seen = [await etagOf(blob)];
    const updates: [string, () => Promise<{ etag?: string | undefined }>][] = [
      ['Put Blob', () => put(blob, 'second')],
      ['Put Blob with the same content', () => put(blob, 'second')],
      ['Set Blob Metadata', () => blob.setMetadata({ a: 'b' })],
      ['Set Blob Metadata to the same', () => blob.setMetadata({ a: 'b' })],
      ['Set Blob Properties', () => blob.setHTTPHeaders({ blobContentType: 'text/plain' })],
      ['Put Block List', () => blob.commitBlockList([])],
      ['Copy Blob', async () => copyInto(blob, { source: (await freshBlob()).url })],
    ];
    for (const [name, update] of updates) {
      const { etag } = await update();
      assert.equal(etag, await etagOf(blob), `${name} tells the new ETag`);
      assert.ok(!seen.includes(etag), `${name} gives an ETag never given before`);
      seen.push(etag);
    }
    const before = await blob.getProperties();
    server.clock.advance({ seconds: 5 });
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(15);
    await lease.renewLease();
    await lease.changeLease(OTHER_LEASE);
    await lease.releaseLease();
    await blob.stageBlock(blockId('x'), 'x', 1);
    await blob.createSnapshot();
    await blob.download();
    const after = await blob.getProperties();
    assert.equal(after.etag, before.etag, 'leases, staged blocks, snapshots and reads leave the ETag');
    assert.deepEqual(after.lastModified, before.lastModified);
  });

  test('C4 every update of a container changes its ETag, and nothing else does', async () => {
    const container = service.getContainerClient(`test-${randomUUID()}`);
    const created = await container.create();
    assert.equal(created.etag, await etagOf(container));
    const metadata = await container.setMetadata({ a: 'b' });
    assert.notEqual(metadata.etag, created.etag);
    const acl = await container.setAccessPolicy('blob');
    assert.notEqual(acl.etag, metadata.etag);
    const lease = container.getBlobLeaseClient();
    await lease.acquireLease(15);
    await lease.releaseLease();
    await freshBlob(container);
    assert.equal(await etagOf(container), acl.etag, 'leases and blobs inside leave the ETag');
  });

  const CONDITIONAL_WRITES: [string, (blob: BlockBlobClient, conditions: { ifMatch: string }) => Promise<unknown>][] = [
    ['Put Blob', (blob, conditions) => put(blob, 'changed', conditions)],
    ['Put Block List', (blob, conditions) => blob.commitBlockList([], { conditions })],
    ['Set Blob Metadata', (blob, conditions) => blob.setMetadata({ changed: 'yes' }, { conditions })],
    ['Set Blob Properties', (blob, conditions) => blob.setHTTPHeaders({ blobContentType: 'x/y' }, { conditions })],
    ['Copy Blob', async (blob, conditions) => copyInto(blob, { source: (await freshBlob()).url, conditions })],
  ];
  for (const [operation, write] of CONDITIONAL_WRITES) {
    test(`C5 ${operation} with the current ETag succeeds and changes it`, async () => {
      const blob = await freshBlob();
      const before = await etagOf(blob);
      await write(blob, { ifMatch: before });
      assert.notEqual(await etagOf(blob), before);
    });

    test(`C5 ${operation} with another ETag gets 412 and changes nothing`, async () => {
      const blob = await freshBlob();
      const stale = await etagOf(blob);
      await put(blob, 'newer');
      const before = await blob.getProperties();
      assert.equal(await refusal(write(blob, { ifMatch: stale })), '412 ConditionNotMet');
      const after = await blob.getProperties();
      assert.equal(after.etag, before.etag);
      assert.deepEqual(after.metadata, before.metadata);
      assert.equal(after.contentType, before.contentType);
      assert.equal(await textOf(blob), 'newer');
    });
  }

  test('C5 Delete Blob with another ETag gets 412 and deletes nothing; with the current one it deletes', async () => {
    const blob = await freshBlob();
    assert.equal(await refusal(blob.delete({ conditions: { ifMatch: STALE_ETAG } })), '412 ConditionNotMet');
    assert.equal(await textOf(blob), 'first');
    await blob.delete({ conditions: { ifMatch: await etagOf(blob) } });
    assert.equal(await blob.exists(), false);
  });

  test('C5 a change of a container with an ETag as its condition is refused, and never made unconditionally', async () => {
    const container = await freshContainer(service);
    const etag = await etagOf(container);
    for (const [method, query] of [
      ['PUT', 'restype=container&comp=metadata'],
      ['PUT', 'restype=container&comp=acl'],
      ['DELETE', 'restype=container'],
    ] as const) {
      for (const headers of [{ 'if-match': etag }, { 'if-match': STALE_ETAG }, { 'if-none-match': etag }]) {
        const got = await send(server.url, { method, path: `${pathOf(container)}?${query}`, headers });
        assert.equal(got.outcome, '400 ConditionHeadersNotSupported', `${method} ${query}`);
      }
    }
    assert.equal(await etagOf(container), etag);
  });

  // true and false as seen from an existing blob; absent: not sent.
  const READ_ROWS: [im: boolean | null, ius: boolean | null, inm: boolean | null, ims: boolean | null, want: string][] =
    [
      [true, null, null, null, 'ok'],
      [false, null, null, null, '412'],
      [null, true, null, null, 'ok'],
      [null, false, null, null, '412'],
      [null, null, true, null, 'ok'],
      [null, null, false, null, '304'],
      [null, null, null, true, 'ok'],
      [null, null, null, false, '304'],
      [null, null, false, true, 'ok'],
      [null, null, true, false, 'ok'],
      [null, null, false, false, '304'],
      [true, null, null, false, '304'],
      [false, null, false, false, '412'],
      [false, null, true, true, '412'],
      [true, false, true, true, '412'],
      [true, false, false, false, '412'],
      [true, true, false, true, 'ok'],
      [true, true, true, false, 'ok'],
      [true, true, false, false, '304'],
    ];
  test('C6 reads judge every combination of the four conditions', async () => {
    const blob = await freshBlob();
    const { etag, lastModified } = await blob.getProperties();
    const modified = lastModified as Date;
    const earlier = new Date(modified.getTime() - 60_000);
    for (const [im, ius, inm, ims, want] of READ_ROWS) {
      const conditions = {
        ...(im === null ? {} : { ifMatch: im ? (etag as string) : STALE_ETAG }),
        ...(ius === null ? {} : { ifUnmodifiedSince: ius ? modified : earlier }),
        ...(inm === null ? {} : { ifNoneMatch: inm ? STALE_ETAG : (etag as string) }),
        ...(ims === null ? {} : { ifModifiedSince: ims ? earlier : modified }),
      };
      const expected = want === 'ok' ? 'ok' : `${want} ConditionNotMet`;
      const row = `If-Match ${im}, If-Unmodified-Since ${ius}, If-None-Match ${inm}, If-Modified-Since ${ims}`;
      assert.equal(await outcome(blob.download(0, undefined, { conditions })), expected, `Get Blob, ${row}`);
      assert.equal(await outcome(blob.getProperties({ conditions })), expected, `Get Blob Properties, ${row}`);
    }
  });

  test('C6 writes judge If-None-Match, If-Modified-Since and If-Unmodified-Since', async () => {
    const blob = await freshBlob();
    const { etag, lastModified } = await blob.getProperties();
    const modified = lastModified as Date;
    const earlier = new Date(modified.getTime() - 60_000);
    const refused: [string, object][] = [
      ['If-None-Match with the current ETag', { ifNoneMatch: etag }],
      ['If-Modified-Since with the time of the change', { ifModifiedSince: modified }],
      ['If-Unmodified-Since with an earlier time', { ifUnmodifiedSince: earlier }],
    ];
    for (const [row, conditions] of refused) {
      assert.equal(await outcome(blob.setMetadata({ a: 'b' }, { conditions })), '412 ConditionNotMet', row);
      assert.equal(await outcome(put(blob, 'x', conditions)), '412 ConditionNotMet', row);
    }
    const accepted: [string, object][] = [
      ['If-None-Match with another ETag', { ifNoneMatch: STALE_ETAG }],
      ['If-Modified-Since with an earlier time', { ifModifiedSince: earlier }],
      ['If-Unmodified-Since with the time of the change', { ifUnmodifiedSince: modified }],
    ];
    for (const [row, conditions] of accepted) assert.equal(await outcome(put(blob, 'x', conditions)), 'ok', row);
  });

  test('C6 a write takes If-None-Match with If-Modified-Since and If-Match with If-Unmodified-Since, and no other mix', async () => {
    const blob = await freshBlob();
    const { etag, lastModified } = await blob.getProperties();
    const date = (lastModified as Date).toUTCString();
    const mixes: [Record<string, string>, string][] = [
      [{ 'if-none-match': STALE_ETAG, 'if-modified-since': date }, '200'],
      [{ 'if-match': STALE_ETAG, 'if-unmodified-since': date }, '412 ConditionNotMet'],
      [{ 'if-match': etag as string, 'if-none-match': STALE_ETAG }, '400 MultipleConditionHeadersNotSupported'],
      [{ 'if-match': etag as string, 'if-modified-since': date }, '400 MultipleConditionHeadersNotSupported'],
      [{ 'if-modified-since': date, 'if-unmodified-since': date }, '400 MultipleConditionHeadersNotSupported'],
      [{ 'if-match': `${etag}, ${STALE_ETAG}` }, '400 MultipleConditionHeadersNotSupported'],
    ];
    for (const [headers, want] of mixes) {
      const got = await send(server.url, { method: 'PUT', path: `${pathOf(blob)}?comp=metadata`, headers });
      assert.equal(got.outcome, want, JSON.stringify(headers));
    }
  });

  test('C6 a blob that is not there meets the conditions of a create', async () => {
    const container = await freshContainer(service);
    const missing = (): BlockBlobClient => container.getBlockBlobClient(randomUUID());
    const rows: [object, string][] = [
      [{ ifNoneMatch: '*' }, 'ok'],
      [{ ifNoneMatch: STALE_ETAG }, 'ok'],
      [{ ifModifiedSince: new Date() }, 'ok'],
      [{ ifUnmodifiedSince: new Date(0) }, 'ok'],
      [{ ifMatch: '*' }, '412 ConditionNotMet'],
      [{ ifMatch: STALE_ETAG }, '412 ConditionNotMet'],
    ];
    for (const [conditions, want] of rows) {
      assert.equal(await outcome(put(missing(), 'x', conditions)), want, `Put Blob ${JSON.stringify(conditions)}`);
      const list = missing().commitBlockList([], { conditions });
      assert.equal(await outcome(list), want, `Put Block List ${JSON.stringify(conditions)}`);
    }
  });

  test('C6 If-None-Match * refuses to replace a blob and If-Match * replaces it', async () => {
    const blob = await freshBlob();
    assert.equal(await refusal(put(blob, 'x', { ifNoneMatch: '*' })), '409 BlobAlreadyExists');
    const list = blob.commitBlockList([], { conditions: { ifNoneMatch: '*' } });
    assert.equal(await refusal(list), '409 BlobAlreadyExists');
    assert.equal(await textOf(blob), 'first');
    await put(blob, 'second', { ifMatch: '*' });
    assert.equal(await textOf(blob), 'second');
  });

  test('C6 If-None-Match * on a read cannot be satisfied', async () => {
    const blob = await freshBlob();
    assert.equal(
      await refusal(blob.download(0, undefined, { conditions: { ifNoneMatch: '*' } })),
      '400 UnsatisfiableCondition',
    );
  });
});

/** A container operation as the table has it, and how it takes a condition that holds or does not (null: takes none). */
interface ContainerRow {
  readonly operation: string;
  readonly returnsEtag: boolean;
  readonly run: (container: ContainerClient) => Promise<{ etag?: string | undefined }>;
  readonly conditional: ((container: ContainerClient, conditions: object) => Promise<unknown>) | null;
  /** The same as a plain request, to show that a condition on it is never judged. */
  readonly plain?: { method: string; query: string; onNewName?: boolean };
}

const rawEtag = (response: RawResponse): { etag?: string | undefined } => {
  assert.ok(response.status < 300, response.outcome);
  return { etag: response.headers.etag };
};

const CONTAINER_ROWS: ContainerRow[] = [
  {
    operation: 'Create Container',
    returnsEtag: true,
    run: async (container) => {
      await container.delete();
      return container.create();
    },
    conditional: null,
    plain: { method: 'PUT', query: 'restype=container', onNewName: true },
  },
  {
    operation: 'Get Container Properties',
    returnsEtag: true,
    run: (container) => container.getProperties(),
    conditional: null,
    plain: { method: 'GET', query: 'restype=container' },
  },
  {
    operation: 'Get Container Metadata',
    returnsEtag: true,
    run: async (container) =>
      rawEtag(await send(server.url, { method: 'GET', path: `${pathOf(container)}?restype=container&comp=metadata` })),
    conditional: null,
    plain: { method: 'GET', query: 'restype=container&comp=metadata' },
  },
  {
    operation: 'Set Container Metadata',
    returnsEtag: true,
    run: (container) => container.setMetadata({ a: 'b' }),
    conditional: (container, conditions) => container.setMetadata({ a: 'c' }, { conditions }),
  },
  {
    operation: 'Get Container ACL',
    returnsEtag: true,
    run: (container) => container.getAccessPolicy(),
    conditional: null,
    plain: { method: 'GET', query: 'restype=container&comp=acl' },
  },
  {
    operation: 'Set Container ACL',
    returnsEtag: true,
    run: (container) => container.setAccessPolicy(),
    conditional: (container, conditions) => container.setAccessPolicy(undefined, undefined, { conditions }),
  },
  {
    operation: 'Delete Container',
    returnsEtag: false,
    run: (container) => container.delete() as Promise<{ etag?: string }>,
    conditional: (container, conditions) => container.delete({ conditions }),
  },
  {
    operation: 'Lease Container',
    returnsEtag: true,
    run: (container) => container.getBlobLeaseClient().acquireLease(15),
    conditional: (container, conditions) => container.getBlobLeaseClient().acquireLease(15, { conditions }),
  },
  {
    operation: 'List Blobs',
    returnsEtag: false,
    run: async (container) =>
      rawEtag(await send(server.url, { method: 'GET', path: `${pathOf(container)}?restype=container&comp=list` })),
    conditional: null,
    plain: { method: 'GET', query: 'restype=container&comp=list' },
  },
];

describe('the container table', () => {
  for (const { operation, returnsEtag, run, conditional, plain } of CONTAINER_ROWS) {
    test(`C7 ${operation} ${returnsEtag ? 'returns the ETag' : 'returns no ETag'}`, async () => {
      const container = await freshContainer(service);
      const { etag } = await run(container);
      if (returnsEtag) assert.equal(etag, await etagOf(container));
      else assert.equal(etag, undefined);
    });

    if (conditional === null) {
      assert.ok(plain !== undefined, operation);
      test(`C7 ${operation} judges no condition`, async () => {
        const container = await freshContainer(service);
        const headers = { 'if-modified-since': new Date(Date.now() + 3_600_000).toUTCString() };
        const path = plain.onNewName ? `/test-${randomUUID()}` : pathOf(container);
        const { outcome } = await send(server.url, { method: plain.method, path: `${path}?${plain.query}`, headers });
        assert.ok(['200', '201', '400 ConditionHeadersNotSupported'].includes(outcome), outcome);
      });
    } else {
      test(`C7 ${operation} takes conditions`, async () => {
        const container = await freshContainer(service);
        const modified = (await container.getProperties()).lastModified as Date;
        const earlier = new Date(modified.getTime() - 60_000);
        const refused = conditional(container, { ifModifiedSince: modified });
        assert.equal(await outcome(refused), '412 ConditionNotMet');
        if (operation !== 'Set Container Metadata') {
          const alsoRefused = conditional(container, { ifUnmodifiedSince: earlier });
          assert.equal(await outcome(alsoRefused), '412 ConditionNotMet');
        }
        assert.equal(await outcome(conditional(container, { ifModifiedSince: earlier })), 'ok');
      });
    }
  }
});

interface BlobRow {
  readonly operation: string;
  readonly returnsEtag: boolean;
  /** Decides whether a condition that does not hold is 304 or 412. */
  readonly kind: 'read' | 'write';
  /** Whether the operation needs the lease id while the blob is leased, or only checks one that is sent. */
  readonly lease: 'needed' | 'checked';
  readonly run: (blob: BlockBlobClient, conditions: RowConditions) => Promise<{ etag?: string | undefined }>;
  /** As a plain request, where the operation takes no conditions. */
  readonly unconditional?: { method: string; query: string; body: string };
  /** What the operation is for, where that is no block blob. */
  readonly fresh?: () => Promise<BlockBlobClient>;
}

interface RowConditions {
  readonly leaseId?: string;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
  readonly ifModifiedSince?: Date;
  readonly ifUnmodifiedSince?: Date;
}

/** Conditions of the client as headers. */
const conditionHeaders = (conditions: RowConditions): Record<string, string> => {
  const headers = {
    'x-ms-lease-id': conditions.leaseId,
    'if-match': conditions.ifMatch,
    'if-none-match': conditions.ifNoneMatch,
    'if-modified-since': conditions.ifModifiedSince?.toUTCString(),
    'if-unmodified-since': conditions.ifUnmodifiedSince?.toUTCString(),
  };
  return Object.fromEntries(Object.entries(headers).filter((one): one is [string, string] => one[1] !== undefined));
};

/** Get Blob Metadata has no call in the official client: its answer in the client's terms. */
async function getBlobMetadata(
  blob: BlockBlobClient,
  conditions: RowConditions,
): Promise<{ etag?: string | undefined }> {
  const path = `${pathOf(blob)}?comp=metadata`;
  const response = await send(server.url, { method: 'GET', path, headers: conditionHeaders(conditions) });
  if (response.status >= 300) throw new PlainRefusal(response.outcome);
  return { etag: response.headers.etag };
}

class PlainRefusal extends Error {}

async function rowOutcome(request: Promise<unknown>): Promise<string> {
  try {
    return await outcome(request);
  } catch (error) {
    if (error instanceof PlainRefusal) return error.message;
    throw error;
  }
}

const BLOB_ROWS: BlobRow[] = [
  {
    operation: 'Put Blob',
    returnsEtag: true,
    kind: 'write',
    lease: 'needed',
    run: (blob, conditions) => put(blob, 'changed', conditions),
  },
  {
    operation: 'Get Blob',
    returnsEtag: true,
    kind: 'read',
    lease: 'checked',
    run: (blob, conditions) => blob.download(0, undefined, { conditions }),
  },
  {
    operation: 'Get Blob Properties',
    returnsEtag: true,
    kind: 'read',
    lease: 'checked',
    run: (blob, conditions) => blob.getProperties({ conditions }),
  },
  {
    operation: 'Set Blob Properties',
    returnsEtag: true,
    kind: 'write',
    lease: 'needed',
    run: (blob, conditions) => blob.setHTTPHeaders({ blobContentType: 'text/plain' }, { conditions }),
  },
  {
    operation: 'Get Blob Metadata',
    returnsEtag: true,
    kind: 'read',
    lease: 'checked',
    run: getBlobMetadata,
  },
  {
    operation: 'Set Blob Metadata',
    returnsEtag: true,
    kind: 'write',
    lease: 'needed',
    run: (blob, conditions) => blob.setMetadata({ a: 'b' }, { conditions }),
  },
  {
    operation: 'Snapshot Blob',
    returnsEtag: true,
    kind: 'write',
    lease: 'checked',
    run: (blob, conditions) => blob.createSnapshot({ conditions }),
  },
  {
    operation: 'Delete Blob',
    returnsEtag: false,
    kind: 'write',
    lease: 'needed',
    run: (blob, conditions) => blob.delete({ conditions }) as Promise<{ etag?: string }>,
  },
  {
    operation: 'Put Block',
    returnsEtag: false,
    kind: 'write',
    lease: 'needed',
    run: (blob, conditions) => blob.stageBlock(blockId('a'), 'a', 1, { conditions }) as Promise<{ etag?: string }>,
    unconditional: { method: 'PUT', query: `comp=block&blockid=${encodeURIComponent(blockId('a'))}`, body: 'a' },
  },
  {
    operation: 'Put Block List',
    returnsEtag: true,
    kind: 'write',
    lease: 'needed',
    run: (blob, conditions) => blob.commitBlockList([], { conditions }),
  },
  {
    operation: 'Get Block List',
    returnsEtag: true,
    kind: 'read',
    lease: 'checked',
    run: (blob, conditions) => blob.getBlockList('all', { conditions }),
    unconditional: { method: 'GET', query: 'comp=blocklist', body: '' },
  },
  {
    operation: 'Copy Blob',
    returnsEtag: true,
    kind: 'write',
    lease: 'needed',
    run: async (blob, conditions) => copyInto(blob, { source: (await freshBlob(undefined, 'copied')).url, conditions }),
  },
  {
    operation: 'Put Page',
    returnsEtag: true,
    kind: 'write',
    lease: 'needed',
    run: (blob, conditions) => blob.getPageBlobClient().uploadPages('q'.repeat(512), 0, 512, { conditions }),
    fresh: freshPageBlob,
  },
  {
    operation: 'Get Page Ranges',
    returnsEtag: true,
    kind: 'read',
    lease: 'checked',
    run: (blob, conditions) => blob.getPageBlobClient().getPageRanges(0, 512, { conditions }),
    fresh: freshPageBlob,
  },
];

interface CopyRequest {
  readonly source: string;
  readonly conditions?: RowConditions;
  readonly sourceConditions?: RowConditions;
}

/** Starts a copy, and tells what the start was answered with. */
async function copyInto(
  blob: BlockBlobClient,
  { source, ...conditions }: CopyRequest,
): Promise<{ etag?: string | undefined; copyId?: string | undefined }> {
  const poller = await blob.beginCopyFromURL(source, conditions);
  const state: { result?: { etag?: string }; copyId?: string } = poller.getOperationState();
  return { etag: state.result?.etag, copyId: state.copyId };
}

/** A source that announces itself and then sends nothing, so that a copy of it stays under way. */
async function startStuckSource(t: TestContext): Promise<string> {
  const source = createServer((_, response) => {
    response.writeHead(200, { 'content-length': '1000', 'content-type': 'text/plain', etag: '"stuck"' });
    response.flushHeaders();
  });
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    source.closeAllConnections();
    source.close();
  });
  return `http://127.0.0.1:${(source.address() as AddressInfo).port}/stuck`;
}

describe('the blob table', () => {
  for (const { operation, returnsEtag, kind, lease, run, unconditional, fresh = freshBlob } of BLOB_ROWS) {
    test(`C7 ${operation} ${returnsEtag ? 'returns the ETag' : 'returns no ETag'}`, async () => {
      const blob = await fresh();
      const { etag } = await run(blob, {});
      if (returnsEtag) assert.equal(etag, await etagOf(blob));
      else assert.equal(etag, undefined);
    });

    if (unconditional === undefined) {
      test(`C7 ${operation} takes conditions`, async () => {
        const blob = await fresh();
        const { etag = '', lastModified = new Date(0) } = await blob.getProperties();
        const earlier = new Date(lastModified.getTime() - 60_000);
        const unchanged = kind === 'read' ? '304 ConditionNotMet' : '412 ConditionNotMet';
        const refused: [RowConditions, string][] = [
          [{ ifMatch: STALE_ETAG }, '412 ConditionNotMet'],
          [{ ifUnmodifiedSince: earlier }, '412 ConditionNotMet'],
          [{ ifNoneMatch: etag }, unchanged],
          [{ ifModifiedSince: lastModified }, unchanged],
        ];
        for (const [conditions, want] of refused) {
          assert.equal(await rowOutcome(run(blob, conditions)), want, JSON.stringify(conditions));
        }
        assert.equal(await etagOf(blob), etag, 'nothing has changed');
        const accepted: RowConditions[] = [
          { ifMatch: etag },
          { ifNoneMatch: STALE_ETAG },
          { ifUnmodifiedSince: lastModified },
          { ifModifiedSince: earlier },
        ];
        for (const conditions of accepted) {
          const blob = await fresh();
          const ifMatch = conditions.ifMatch === undefined ? {} : { ifMatch: await etagOf(blob) };
          assert.equal(await rowOutcome(run(blob, { ...conditions, ...ifMatch })), 'ok', JSON.stringify(conditions));
        }
      });
    } else {
      test(`C7 ${operation} judges no condition`, async () => {
        const blob = await fresh();
        const { method, query, body } = unconditional;
        const { outcome } = await send(server.url, {
          method,
          path: `${pathOf(blob)}?${query}`,
          headers: { 'if-match': STALE_ETAG },
          ...(body === '' ? {} : { body }),
        });
        assert.ok(['200', '201', '400 ConditionHeadersNotSupported'].includes(outcome), outcome);
      });
    }

    test(`C7 ${operation} is usable with the lease id, and refused with a wrong one`, async () => {
      const blob = await fresh();
      // Without end: a copy that takes its time wants no lease that may be over before it is.
      const leaseId = await acquire(blob, -1);
      const wrong = run(blob, { leaseId: OTHER_LEASE });
      assert.equal(await rowOutcome(wrong), '412 LeaseIdMismatchWithBlobOperation');
      if (lease === 'needed') assert.equal(await rowOutcome(run(blob, {})), '412 LeaseIdMissing');
      else assert.equal(await rowOutcome(run(blob, {})), 'ok');
      assert.equal(await rowOutcome(run(blob, { leaseId })), 'ok');
    });
  }

  test('C7 Copy Blob takes conditions for its source as well', async () => {
    const from = await freshBlob(undefined, 'copied');
    const { etag = '', lastModified = new Date(0) } = await from.getProperties();
    const earlier = new Date(lastModified.getTime() - 60_000);
    const rows: [RowConditions, string][] = [
      [{ ifMatch: STALE_ETAG }, '412 SourceConditionNotMet'],
      [{ ifNoneMatch: etag }, '412 SourceConditionNotMet'],
      [{ ifModifiedSince: lastModified }, '412 SourceConditionNotMet'],
      [{ ifUnmodifiedSince: earlier }, '412 SourceConditionNotMet'],
      [{ ifMatch: etag }, 'ok'],
      [{ ifNoneMatch: STALE_ETAG }, 'ok'],
      [{ ifModifiedSince: earlier }, 'ok'],
      [{ ifUnmodifiedSince: lastModified }, 'ok'],
    ];
    for (const [sourceConditions, want] of rows) {
      const blob = await freshBlob();
      const copy = copyInto(blob, { source: from.url, sourceConditions });
      assert.equal(await outcome(copy), want, JSON.stringify(sourceConditions));
      assert.equal(await textOf(blob), want === 'ok' ? 'copied' : 'first');
    }
  });

  test('C7 Abort Copy Blob returns no ETag and judges no condition', async (t) => {
    const source = await startStuckSource(t);
    const blob = await freshBlob();
    const { copyId } = await copyInto(blob, { source });
    const aborted = await send(server.url, {
      method: 'PUT',
      path: `${pathOf(blob)}?comp=copy&copyid=${copyId}`,
      headers: { 'x-ms-copy-action': 'abort', 'if-match': STALE_ETAG },
    });
    assert.equal(aborted.outcome, '204');
    assert.equal(aborted.headers.etag, undefined);
    assert.equal((await blob.getProperties()).copyStatus, 'aborted');
  });

  test('C7 Abort Copy Blob needs the lease id if the destination has an infinite lease', async (t) => {
    const source = await startStuckSource(t);
    const blob = await freshBlob();
    const leaseId = await acquire(blob, -1);
    const { copyId = '' } = await copyInto(blob, { source, conditions: { leaseId } });
    assert.equal(await refusal(blob.abortCopyFromURL(copyId)), '412 LeaseIdMissing');
    const wrong = blob.abortCopyFromURL(copyId, { conditions: { leaseId: OTHER_LEASE } });
    assert.equal(await refusal(wrong), '412 LeaseIdMismatchWithBlobOperation');
    assert.equal((await blob.getProperties()).copyStatus, 'pending');
    await blob.abortCopyFromURL(copyId, { conditions: { leaseId } });
    assert.equal((await blob.getProperties()).copyStatus, 'aborted');
  });

  test('C7 Lease Blob returns the ETag, leaves it unchanged and takes conditions', async () => {
    const blob = await freshBlob();
    const etag = await etagOf(blob);
    const lease = blob.getBlobLeaseClient();
    const stale = { conditions: { ifMatch: STALE_ETAG } };
    assert.equal(await refusal(lease.acquireLease(15, stale)), '412 ConditionNotMet');
    const current = { conditions: { ifMatch: etag } };
    assert.equal((await lease.acquireLease(15, current)).etag, etag);
    assert.equal(await refusal(lease.renewLease(stale)), '412 ConditionNotMet');
    assert.equal((await lease.renewLease(current)).etag, etag);
    assert.equal(await refusal(lease.changeLease(OTHER_LEASE, stale)), '412 ConditionNotMet');
    assert.equal((await lease.changeLease(OTHER_LEASE, current)).etag, etag);
    assert.equal(await refusal(lease.breakLease(0, stale)), '412 ConditionNotMet');
    assert.equal((await lease.breakLease(10, current)).etag, etag);
    assert.equal(await refusal(lease.releaseLease(stale)), '412 ConditionNotMet');
    assert.equal((await lease.releaseLease(current)).etag, etag);
    assert.equal(await etagOf(blob), etag);
  });
});

const policy = (permissions: string): Parameters<ContainerClient['setAccessPolicy']>[1] => [
  { id: 'p', accessPolicy: { permissions, startsOn: new Date(0), expiresOn: new Date(Date.now() + 3_600_000) } },
];

describe('permissions', () => {
  test('C8 public access opens and closes a container at once', async () => {
    const blob = await freshBlob();
    const container = service.getContainerClient(blob.containerName);
    const anonymous = new ContainerClient(container.url, undefined, NO_RETRIES);
    const read = (): Promise<unknown> => anonymous.getBlockBlobClient(blob.name).download();
    assert.equal(await outcome(read()), '401 NoAuthenticationInformation');
    await container.setAccessPolicy('blob');
    assert.equal(await outcome(read()), 'ok');
    assert.equal(await outcome(anonymous.getProperties()), '401 NoAuthenticationInformation');
    await container.setAccessPolicy('container');
    assert.equal(await outcome(anonymous.getProperties()), 'ok');
    await container.setAccessPolicy();
    assert.equal(await outcome(read()), '401 NoAuthenticationInformation');
  });

  test('C8 a stored policy grants and revokes at once', async () => {
    const blob = await freshBlob();
    const container = service.getContainerClient(blob.containerName);
    await container.setAccessPolicy(undefined, policy(ContainerSASPermissions.parse('r').toString()));
    const guest = new ContainerClient(await container.generateSasUrl({ identifier: 'p' }), undefined, NO_RETRIES);
    const guestBlob = guest.getBlockBlobClient(blob.name);
    assert.equal(await outcome(guestBlob.download()), 'ok');
    assert.equal(await outcome(put(guestBlob, 'x')), '403 AuthorizationPermissionMismatch');
    await container.setAccessPolicy(undefined, policy(BlobSASPermissions.parse('w').toString()));
    assert.equal(await outcome(guestBlob.download()), '403 AuthorizationPermissionMismatch');
    assert.equal(await outcome(put(guestBlob, 'x')), 'ok');
    await container.setAccessPolicy();
    assert.equal(await outcome(put(guestBlob, 'x')), '403 AuthenticationFailed');
  });
});

const LEASABLE: [string, () => Promise<BlockBlobClient | ContainerClient>][] = [
  ['blob', () => freshBlob()],
  ['container', () => freshContainer(service)],
];

/** The official client has no Get Container Metadata, and its Get Container Properties drops the lease id. */
const getContainer =
  (query: string) =>
  async (container: ContainerClient, conditions: RowConditions): Promise<void> => {
    const path = `${pathOf(container)}?restype=container${query}`;
    const response = await send(server.url, { method: 'GET', path, headers: conditionHeaders(conditions) });
    if (response.status >= 300) throw new PlainRefusal(response.outcome);
  };

describe('pessimistic concurrency', () => {
  for (const [kind, make] of LEASABLE) {
    test(`C9 a ${kind}'s lease lasts 15 to 60 seconds or for ever`, async () => {
      for (const seconds of [15, 37, 60, -1]) {
        assert.equal(await outcome((await make()).getBlobLeaseClient().acquireLease(seconds)), 'ok', `${seconds} s`);
      }
      for (const seconds of [14, 61, 0, 1, -2, 3600]) {
        const refused = (await make()).getBlobLeaseClient().acquireLease(seconds);
        assert.equal(await outcome(refused), '400 InvalidHeaderValue', `${seconds} s`);
      }
    });

    test(`C9 a ${kind}'s finite lease ends by itself, to the second`, async () => {
      const resource = await make();
      await acquire(resource, 15);
      server.clock.advance({ seconds: 14.999 });
      assert.equal((await resource.getProperties()).leaseState, 'leased');
      server.clock.advance({ seconds: 0.001 });
      const { leaseState, leaseStatus, leaseDuration } = await resource.getProperties();
      assert.deepEqual([leaseState, leaseStatus, leaseDuration], ['expired', 'unlocked', undefined]);
      await acquire(resource, 15);
    });

    test(`C9 a ${kind}'s finite lease is renewed for its whole duration`, async () => {
      const resource = await make();
      const lease = resource.getBlobLeaseClient();
      await lease.acquireLease(20);
      server.clock.advance({ seconds: 15 });
      await lease.renewLease();
      server.clock.advance({ seconds: 19 });
      assert.equal((await resource.getProperties()).leaseState, 'leased');
      server.clock.advance({ seconds: 1 });
      assert.equal((await resource.getProperties()).leaseState, 'expired');
    });

    test(`C9 any lease of a ${kind} can be released, and is then free at once`, async () => {
      for (const seconds of [15, -1]) {
        const resource = await make();
        const lease = resource.getBlobLeaseClient();
        await lease.acquireLease(seconds);
        await lease.releaseLease();
        assert.equal((await resource.getProperties()).leaseState, 'available');
        await acquire(resource);
      }
    });

    test(`C9 an infinite lease of a ${kind} does not end`, async () => {
      const resource = await make();
      await acquire(resource, -1);
      server.clock.advance({ seconds: 61 });
      const { leaseState, leaseDuration } = await resource.getProperties();
      assert.deepEqual([leaseState, leaseDuration], ['leased', 'infinite']);
    });

    test(`C10 while a ${kind} is leased, a second acquire gets 409`, async () => {
      const resource = await make();
      await acquire(resource);
      assert.equal(await refusal(acquire(resource)), '409 LeaseAlreadyPresent');
    });
  }

  const WRITES = BLOB_ROWS.filter((row) => row.lease === 'needed');
  for (const { operation, run, fresh = freshBlob } of WRITES) {
    test(`C11 ${operation} on a leased blob gets 412 without the lease id and succeeds with it`, async () => {
      const blob = await fresh();
      const leaseId = await acquire(blob, -1);
      const [etag, text] = [await etagOf(blob), await textOf(blob)];
      assert.equal(await refusal(run(blob, {})), '412 LeaseIdMissing');
      assert.deepEqual([await etagOf(blob), await textOf(blob)], [etag, text]);
      await run(blob, { leaseId });
    });

    test(`C12 ${operation} with the id of a lease that has expired gets 412`, async () => {
      const blob = await fresh();
      const leaseId = await acquire(blob, 15);
      server.clock.advance({ seconds: 15 });
      const [etag, text] = [await etagOf(blob), await textOf(blob)];
      assert.equal(await refusal(run(blob, { leaseId })), '412 LeaseLost');
      assert.deepEqual([await etagOf(blob), await textOf(blob)], [etag, text]);
      assert.equal(await outcome(run(blob, {})), 'ok', 'without an id it is free');
    });
  }

  test('C12 an expired lease can be renewed, unless the blob was written meanwhile', async () => {
    const untouched = await freshBlob();
    const first = untouched.getBlobLeaseClient();
    await first.acquireLease(15);
    server.clock.advance({ seconds: 16 });
    assert.equal(await outcome(first.renewLease()), 'ok');
    assert.equal(await refusal(put(untouched, 'x')), '412 LeaseIdMissing');

    const written = await freshBlob();
    const second = written.getBlobLeaseClient();
    await second.acquireLease(15);
    server.clock.advance({ seconds: 16 });
    await put(written, 'x');
    assert.equal(await refusal(second.renewLease()), '409 LeaseIdMismatchWithLeaseOperation');
  });

  const READS = BLOB_ROWS.filter((row) => row.lease === 'checked');
  for (const { operation, run, fresh = freshBlob } of READS) {
    test(`C13 ${operation} without a lease id is shared, and refused with a wrong one`, async () => {
      const blob = await fresh();
      assert.equal(await rowOutcome(run(blob, { leaseId: OTHER_LEASE })), '412 LeaseNotPresentWithBlobOperation');
      const leaseId = await acquire(blob);
      assert.equal(await rowOutcome(run(blob, {})), 'ok');
      assert.equal(await rowOutcome(run(blob, { leaseId })), 'ok');
      assert.equal(await rowOutcome(run(blob, { leaseId: OTHER_LEASE })), '412 LeaseIdMismatchWithBlobOperation');
    });
  }

  test('C14 exclusive write, shared read: the holder writes, everybody reads', async () => {
    const blob = await freshBlob();
    const leaseId = await acquire(blob);
    await put(blob, 'by the holder', { leaseId });
    assert.equal(await refusal(put(blob, 'by another')), '412 LeaseIdMissing');
    assert.equal(await textOf(blob), 'by the holder');
  });

  test('C14 exclusive write, exclusive read: whoever presents an id reads only while it holds the lease', async () => {
    const blob = await freshBlob();
    const holder = await acquire(blob, 15);
    const read = (leaseId: string): Promise<string> =>
      outcome(blob.download(0, undefined, { conditions: { leaseId } }));
    assert.equal(await read(holder), 'ok');
    assert.equal(await read(OTHER_LEASE), '412 LeaseIdMismatchWithBlobOperation');
    server.clock.advance({ seconds: 15 });
    const next = await acquire(blob, 15);
    assert.equal(await read(holder), '412 LeaseIdMismatchWithBlobOperation');
    assert.equal(await read(next), 'ok');
  });

  test('C14 shared write, exclusive read: writers pass by ETag while the reader holds a lease that they share', async () => {
    const blob = await freshBlob();
    const shared = await acquire(blob, -1);
    const etag = await etagOf(blob);
    await put(blob, 'one of the writers', { leaseId: shared, ifMatch: etag });
    assert.equal(await refusal(put(blob, 'late', { leaseId: shared, ifMatch: etag })), '412 ConditionNotMet');
    const stranger = blob.download(0, undefined, { conditions: { leaseId: OTHER_LEASE } });
    assert.equal(await refusal(stranger), '412 LeaseIdMismatchWithBlobOperation');
    const reader = await blob.download(0, undefined, { conditions: { leaseId: shared } });
    assert.equal(reader.contentLength, 'one of the writers'.length);
  });

  test('C15 a leased container is deleted only with its lease id', async () => {
    const container = await freshContainer(service);
    const wrong = { conditions: { leaseId: OTHER_LEASE } };
    assert.equal(await refusal(container.delete(wrong)), '412 LeaseNotPresentWithContainerOperation');
    const leaseId = await acquire(container);
    assert.equal(await refusal(container.delete()), '412 LeaseIdMissing');
    assert.equal(await refusal(container.delete(wrong)), '412 LeaseIdMismatchWithContainerOperation');
    assert.equal(await container.exists(), true);
    await container.delete({ conditions: { leaseId } });
    assert.equal(await container.exists(), false);
  });

  test('C15 an expired lease no longer hinders, and its id no longer helps', async () => {
    const container = await freshContainer(service);
    const leaseId = await acquire(container, 15);
    server.clock.advance({ seconds: 15 });
    assert.match(await refusal(container.delete({ conditions: { leaseId } })), /^412 /);
    assert.equal(await outcome(container.delete()), 'ok');
  });

  const CONTAINER_USES: [string, (container: ContainerClient, conditions: RowConditions) => Promise<unknown>][] = [
    ['Get Container Properties', getContainer('')],
    ['Get Container Metadata', getContainer('&comp=metadata')],
    ['Set Container Metadata', (container, conditions) => container.setMetadata({ a: 'b' }, { conditions })],
    ['Get Container ACL', (container, conditions) => container.getAccessPolicy({ conditions })],
    ['Set Container ACL', (container, conditions) => container.setAccessPolicy(undefined, [], { conditions })],
  ];
  for (const [operation, use] of CONTAINER_USES) {
    test(`C16 ${operation} of a leased container needs no lease id, and a wrong one is refused`, async () => {
      const container = await freshContainer(service);
      const wrong = { leaseId: OTHER_LEASE };
      assert.equal(await rowOutcome(use(container, wrong)), '412 LeaseNotPresentWithContainerOperation');
      const leaseId = await acquire(container);
      assert.equal(await rowOutcome(use(container, {})), 'ok');
      assert.equal(await rowOutcome(use(container, { leaseId })), 'ok');
      assert.equal(await rowOutcome(use(container, wrong)), '412 LeaseIdMismatchWithContainerOperation');
    });
  }

  test('C16 Lease Container refuses a wrong id', async () => {
    const container = await freshContainer(service);
    await acquire(container);
    const stranger = container.getBlobLeaseClient(OTHER_LEASE);
    assert.equal(await refusal(stranger.renewLease()), '409 LeaseIdMismatchWithLeaseOperation');
    assert.equal(await refusal(stranger.releaseLease()), '409 LeaseIdMismatchWithLeaseOperation');
    const change = stranger.changeLease(randomUUID());
    assert.equal(await refusal(change), '409 LeaseIdMismatchWithLeaseOperation');
  });

  test('C16 blobs of a leased container are listed, written, read and deleted without an id', async () => {
    const container = await freshContainer(service);
    await acquire(container, -1);
    const blob = await freshBlob(container);
    await put(blob, 'second');
    assert.equal(await textOf(blob), 'second');
    const names = [];
    for await (const item of container.listBlobsFlat()) names.push(item.name);
    assert.deepEqual(names, [blob.name]);
    await blob.delete();
  });
});
