/** Blob Batch: with the official client, and with bodies that it would not write. */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AnonymousCredential,
  BlobBatch,
  type BlobBatchSubmitBatchResponse,
  type BlobClient,
  BlobServiceClient,
  ContainerClient,
  ContainerSASPermissions,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { blobService, freshContainer, NO_RETRIES, outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send, sendBytes, sharedKey } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = blobService(server);

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

async function makeBlobs(container: ContainerClient, ...names: string[]): Promise<BlobClient[]> {
  await Promise.all(names.map((name) => container.getBlockBlobClient(name).upload('x', 1)));
  return names.map((name) => container.getBlobClient(name));
}

async function namesIn(container: ContainerClient): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of container.listBlobsFlat()) names.push(name);
  return names;
}

const outcomes = ({ subResponses }: BlobBatchSubmitBatchResponse): string[] =>
  subResponses.map(({ status, errorCode }) => (errorCode === undefined ? `${status}` : `${status} ${errorCode}`));

const tierOf = async (blob: BlobClient): Promise<string | undefined> => (await blob.getProperties()).accessTier;

describe('the official client', () => {
  test('deletes blobs of several containers', async () => {
    const [first, second] = [await freshContainer(service), await freshContainer(service)];
    const blobs = [...(await makeBlobs(first, 'a', 'b c/ü?&', 'left')), ...(await makeBlobs(second, 'a'))];
    const some = blobs.filter(({ name }) => name !== 'left');
    const answer = await service.getBlobBatchClient().deleteBlobs(some);
    assert.deepEqual(outcomes(answer), ['202', '202', '202']);
    assert.deepEqual([await namesIn(first), await namesIn(second)], [['left'], []]);
  });

  test('deletes blobs of one container', async () => {
    const container = await freshContainer(service);
    const blobs = await makeBlobs(container, 'a', 'b');
    const batch = container.getBlobBatchClient();
    const { url, credential } = container;
    assert.deepEqual(outcomes(await batch.deleteBlobs([`${url}/a`], credential as StorageSharedKeyCredential)), [
      '202',
    ]);
    assert.deepEqual(outcomes(await batch.deleteBlobs(blobs)), ['404 BlobNotFound', '202']);
  });

  test('hears of each blob by itself, in the order of its request', async () => {
    const container = await freshContainer(service);
    const [plain, leased, opened, stale] = await makeBlobs(container, 'plain', 'leased', 'opened', 'stale');
    assert.ok(plain !== undefined && leased !== undefined && opened !== undefined && stale !== undefined);
    await leased.getBlobLeaseClient().acquireLease(-1);
    const { leaseId } = await opened.getBlobLeaseClient().acquireLease(-1);
    const missing = container.getBlobClient('missing');
    const batch = new BlobBatch();
    await batch.deleteBlob(missing);
    await batch.deleteBlob(leased);
    await batch.deleteBlob(plain, { conditions: { ifModifiedSince: new Date(0) } });
    await batch.deleteBlob(opened, { conditions: { leaseId: leaseId as string } });
    await batch.deleteBlob(stale, { conditions: { ifMatch: '"0x1"' } });
    const answer = await container.getBlobBatchClient().submitBatch(batch);
    assert.deepEqual(outcomes(answer), ['404 BlobNotFound', '412 LeaseIdMissing', '202', '202', '412 ConditionNotMet']);
    assert.deepEqual([answer.subResponsesSucceededCount, answer.subResponsesFailedCount], [2, 3]);
    assert.deepEqual(await namesIn(container), ['leased', 'stale']);
  });

  test('deletes 256 blobs at once', async () => {
    const container = await freshContainer(service);
    const blobs = await makeBlobs(container, ...Array.from({ length: 256 }, (_, index) => `blob ${index}`));
    const answer = await service.getBlobBatchClient().deleteBlobs(blobs);
    assert.deepEqual(tally(outcomes(answer)), { '202': 256 });
    assert.deepEqual(await namesIn(container), []);
  });

  test('deletes each blob once, when two batches race for them', async () => {
    const container = await freshContainer(service);
    const blobs = await makeBlobs(container, ...Array.from({ length: 64 }, (_, index) => `blob ${index}`));
    const answers = await together(2, () => service.getBlobBatchClient().deleteBlobs(blobs));
    const all = answers.flatMap((answer) => {
      assert.ok(answer.status === 'fulfilled');
      return outcomes(answer.value);
    });
    assert.deepEqual(tally(all), { '202': 64, '404 BlobNotFound': 64 });
  });

  test('changes the tier of blobs, each under its own conditions', async () => {
    const container = await freshContainer(service);
    const [plain, leased, opened] = await makeBlobs(container, 'plain', 'leased', 'opened');
    assert.ok(plain !== undefined && leased !== undefined && opened !== undefined);
    await leased.getBlobLeaseClient().acquireLease(-1);
    const { leaseId } = await opened.getBlobLeaseClient().acquireLease(-1);
    const missing = container.getBlobClient('missing');
    const batch = new BlobBatch();
    for (const blob of [plain, missing]) await batch.setBlobAccessTier(blob, 'Cool');
    await batch.setBlobAccessTier(leased, 'Cool', { conditions: { leaseId: randomUUID() } });
    await batch.setBlobAccessTier(opened, 'Cold', { conditions: { leaseId: leaseId as string } });
    const answer = await container.getBlobBatchClient().submitBatch(batch);
    assert.deepEqual(outcomes(answer), ['200', '404 BlobNotFound', '412 LeaseIdMismatchWithBlobOperation', '200']);
    assert.deepEqual(await Promise.all([plain, leased, opened].map(tierOf)), ['Cool', 'Hot', 'Cold']);
    const again = await service.getBlobBatchClient().setBlobsAccessTier([plain, missing], 'Hot');
    assert.deepEqual(outcomes(again), ['200', '404 BlobNotFound']);
    assert.equal(await tierOf(plain), 'Hot');
  });

  test('works as an account that is not the development account', async () => {
    const container = await freshContainer(blobService(server, SECOND_ACCOUNT));
    const blobs = await makeBlobs(container, 'a');
    const batch = blobService(server, SECOND_ACCOUNT).getBlobBatchClient();
    assert.deepEqual(outcomes(await batch.deleteBlobs(blobs)), ['202']);
  });
});

const accountSas = (permissions: string, resourceTypes: string): string =>
  service.generateAccountSasUrl(
    inSeconds(60),
    AccountSASPermissions.parse(permissions),
    AccountSASResourceTypes.parse(resourceTypes).toString(),
  );

describe('a shared access signature', () => {
  test('of the account opens a batch and each of its parts', async () => {
    const container = await freshContainer(service);
    await makeBlobs(container, 'a', 'b');
    const guest = new BlobServiceClient(accountSas('d', 'so'), undefined, NO_RETRIES);
    const guests = ['a', 'b'].map((name) => guest.getContainerClient(container.containerName).getBlobClient(name));
    assert.deepEqual(outcomes(await guest.getBlobBatchClient().deleteBlobs(guests)), ['202', '202']);
  });

  test('of the account that does not open the service opens no batch', async () => {
    const container = await freshContainer(service);
    const blobs = await makeBlobs(container, 'a');
    const guest = new BlobServiceClient(accountSas('d', 'o'), undefined, NO_RETRIES).getBlobBatchClient();
    assert.equal(await refusal(guest.deleteBlobs(blobs)), '403 AuthorizationResourceTypeMismatch');
  });

  test('of a container opens a batch of the container, and its letters count for each part', async () => {
    const container = await freshContainer(service);
    await makeBlobs(container, 'a', 'b');
    const sign = (permissions: string): Promise<string> =>
      container.generateSasUrl({ permissions: ContainerSASPermissions.parse(permissions), expiresOn: inSeconds(60) });
    const [reader, deleter] = [await sign('r'), await sign('d')].map(
      (url) => new ContainerClient(url, undefined, NO_RETRIES),
    );
    assert.ok(reader !== undefined && deleter !== undefined);
    const mixed = [reader.getBlobClient('a'), deleter.getBlobClient('b')];
    assert.deepEqual(outcomes(await reader.getBlobBatchClient().deleteBlobs(mixed)), [
      '403 AuthorizationPermissionMismatch',
      '202',
    ]);
    assert.equal(
      await refusal(deleter.getBlobBatchClient().deleteBlobs([`${server.endpoint()}/c/b`], new AnonymousCredential())),
      '400 InvalidInput',
    );
    assert.deepEqual(await namesIn(container), ['a']);
  });

  test('on the batch alone opens none of its parts', async () => {
    const container = await freshContainer(service);
    await makeBlobs(container, 'a');
    const guest = new BlobServiceClient(accountSas('rwd', 'sco'), undefined, NO_RETRIES).getBlobBatchClient();
    const answer = await guest.deleteBlobs([container.getBlobClient('a').url], new AnonymousCredential());
    assert.deepEqual(outcomes(answer), ['401 NoAuthenticationInformation']);
    assert.deepEqual(await namesIn(container), ['a']);
  });
});

// ---- bodies by hand

interface Piece {
  readonly method?: string;
  readonly path: string;
  readonly id?: string;
  readonly headers?: readonly [name: string, value: string][];
  /** Null: nobody signs. */
  readonly account?: TestAccount | null;
}

function renderPiece({ method = 'DELETE', path, id, headers = [], account = DEVELOPMENT_ACCOUNT }: Piece): string {
  const own: [string, string][] = [['x-ms-date', new Date().toUTCString()], ['Content-Length', '0'], ...headers];
  if (account !== null) own.push(['Authorization', sharedKey(account, { method, target: path, headers: own })]);
  return [
    'Content-Type: application/http',
    'Content-Transfer-Encoding: binary',
    ...(id === undefined ? [] : [`Content-ID: ${id}`]),
    '',
    `${method} ${path} HTTP/1.1`,
    ...own.map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n');
}

const BOUNDARY = 'batch_of_tests';

const renderBody = (pieces: readonly string[]): string =>
  `${pieces.map((piece) => `--${BOUNDARY}\r\n${piece}`).join('')}--${BOUNDARY}--\r\n`;

const CONTENT_TYPE = `multipart/mixed; boundary=${BOUNDARY}`;

const submit = (
  pieces: readonly Piece[],
  { path = '/?comp=batch', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<RawResponse> => {
  const body = renderBody(pieces.map(renderPiece));
  return send(server.url, { method: 'POST', path, headers: { 'content-type': CONTENT_TYPE, ...headers }, body });
};

interface PartAnswer {
  readonly outcome: string;
  readonly id: string | null;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

function partAnswers({ status, headers, body }: RawResponse): PartAnswer[] {
  assert.equal(status, 202, body.toString());
  const [, boundary] =
    /^multipart\/mixed; boundary=(batchresponse_[0-9a-f-]{36})$/.exec(headers['content-type'] ?? '') ?? [];
  assert.ok(boundary !== undefined);
  const pieces = body.toString().split(`--${boundary}`);
  assert.equal(pieces.shift(), '');
  assert.equal(pieces.pop(), '--\r\n');
  return pieces.map((piece) => {
    const [, id, code, head = '', text = ''] =
      /^\r\nContent-Type: application\/http\r\n(?:Content-ID: (.*)\r\n)?\r\nHTTP\/1\.1 (\d+) .*\r\n([^]*?)\r\n\r\n(?:([^]*)\r\n)?$/.exec(
        piece,
      ) ?? [];
    const fields = new Map(head.split('\r\n').map((line) => line.split(': ') as [string, string]));
    const error = fields.get('x-ms-error-code');
    return {
      outcome: error === undefined ? `${code}` : `${code} ${error}`,
      id: id ?? null,
      headers: fields,
      body: text,
    };
  });
}

const outcomesOf = (answer: RawResponse): string[] => partAnswers(answer).map((part) => part.outcome);

async function freshBlobs(...names: string[]): Promise<{ container: ContainerClient; path: (name: string) => string }> {
  const container = await freshContainer(service);
  await makeBlobs(container, ...names);
  return { container, path: (name) => `/${DEVELOPMENT_ACCOUNT.name}/${container.containerName}/${name}` };
}

test('every part is answered with its id, a request id of its own, the version, and where refused the usual body', async () => {
  const { path } = await freshBlobs('a');
  const answer = await submit([
    { path: path('a'), id: 'any text' },
    { path: path('missing'), headers: [['x-ms-client-request-id', 'mine']] },
  ]);
  const [done, missing] = partAnswers(answer);
  assert.deepEqual([done?.outcome, done?.id, done?.body], ['202', 'any text', '']);
  assert.deepEqual([missing?.outcome, missing?.id], ['404 BlobNotFound', null]);
  for (const part of [done, missing]) assert.equal(part?.headers.get('x-ms-version'), '2024-11-04');
  const [doneId, missingId] = [done, missing].map((part) => part?.headers.get('x-ms-request-id') ?? '');
  assert.equal(new Set([answer.headers['x-ms-request-id'], doneId, missingId]).size, 3);
  assert.equal(missing?.headers.get('x-ms-client-request-id'), 'mine');
  assert.equal(missing?.headers.get('Content-Type'), 'application/xml');
  assert.equal(missing?.headers.get('Content-Length'), String(missing?.body.length));
  assert.match(
    missing?.body ?? '',
    new RegExp(
      `^<\\?xml version="1.0" encoding="utf-8"\\?><Error><Code>BlobNotFound</Code>.*\nRequestId:${missingId}\n`,
    ),
  );
});

test('a part may leave the account out of its path, as the Java and Python clients do', async () => {
  const { container } = await freshBlobs('a', 'b');
  const pieces = ['a', 'b'].map((name) => ({ path: `/${container.containerName}/${name}` }));
  assert.deepEqual(outcomesOf(await submit(pieces)), ['202', '202']);
});

test('an account in the host name is not in the paths of the parts', async () => {
  const { container } = await freshBlobs('a', 'b');
  const [inAccount, inContainer] = ['a', 'b'].map((name) =>
    renderBody([renderPiece({ path: `/${container.containerName}/${name}` })]),
  );
  for (const [target, body] of [
    ['/?comp=batch', inAccount],
    [`/${container.containerName}?restype=container&comp=batch`, inContainer],
  ] as const) {
    assert.ok(body !== undefined);
    const headers: [string, string][] = [
      ['Host', `${DEVELOPMENT_ACCOUNT.name}.blob.localhost`],
      ['x-ms-date', new Date().toUTCString()],
      ['x-ms-version', '2024-11-04'],
      ['Content-Type', CONTENT_TYPE],
      ['Content-Length', String(body.length)],
      ['Connection', 'close'],
    ];
    headers.push(['Authorization', sharedKey(DEVELOPMENT_ACCOUNT, { method: 'POST', target, headers })]);
    const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const received = await sendBytes(server.url, `POST ${target} HTTP/1.1\r\n${head}\r\n${body}`);
    assert.match(received, /^HTTP\/1\.1 202 [^]*\r\nHTTP\/1\.1 202 Accepted\r\n/);
  }
  assert.deepEqual(await namesIn(container), []);
});

test('a part that is refused does not keep the others from being done', async () => {
  const { container, path } = await freshBlobs('a', 'b', 'c', 'd', 'e');
  const answer = await submit([
    { path: path('a'), account: { ...DEVELOPMENT_ACCOUNT, key: SECOND_ACCOUNT.key } },
    { path: path('b'), account: null },
    { path: path('c'), account: SECOND_ACCOUNT },
    { path: path('d'), headers: [['x-ms-lease-id', 'no lease']] },
    { path: `/${DEVELOPMENT_ACCOUNT.name}/NO-CONTAINER/a` },
    { path: `${path('e')}?timeout=x` },
    { path: path('e') },
  ]);
  assert.deepEqual(outcomesOf(answer), [
    '403 AuthenticationFailed',
    '401 NoAuthenticationInformation',
    '403 AuthenticationFailed',
    '400 InvalidHeaderValue',
    '400 InvalidResourceName',
    '400 InvalidQueryParameterValue',
    '202',
  ]);
  assert.deepEqual(await namesIn(container), ['a', 'b', 'c', 'd']);
});

test('an account is reached only through its own batch', async () => {
  const other = await freshContainer(blobService(server, SECOND_ACCOUNT));
  await makeBlobs(other, 'a');
  const path = `/${SECOND_ACCOUNT.name}/${other.containerName}/a`;
  assert.deepEqual(outcomesOf(await submit([{ path, account: SECOND_ACCOUNT }])), ['403 AuthenticationFailed']);
  assert.deepEqual(await namesIn(other), ['a']);
});

const { container, path } = await freshBlobs('a');

describe('the whole batch is refused, and nothing done,', () => {
  const inContainer = `/${container.containerName}?restype=container&comp=batch`;
  const good: Piece = { path: path('a') };

  for (const [what, pieces, options] of [
    ['with no part', [], {}],
    ['with 257 parts', Array.from({ length: 257 }, () => good), {}],
    ['with a part that reads', [good, { ...good, method: 'GET' }], {}],
    ['with a part that writes', [good, { ...good, method: 'PUT' }], {}],
    ['with a part that deletes a container', [good, { path: `${path('')}?restype=container` }], {}],
    ['with a batch inside', [good, { method: 'POST', path: `/${DEVELOPMENT_ACCOUNT.name}?comp=batch` }], {}],
    ['with deletes and changes of tier', [good, { method: 'PUT', path: `${path('a')}?comp=tier` }], {}],
    ['with a version in a part', [good, { ...good, headers: [['x-ms-version', '2024-11-04']] }], {}],
    [
      'with a blob of another container',
      [good, { path: `/${DEVELOPMENT_ACCOUNT.name}/other/a` }],
      { path: inContainer },
    ],
    ['with a blob of the root container', [good, { path: `/${DEVELOPMENT_ACCOUNT.name}/a` }], { path: inContainer }],
    ['with the boundary of another body', [good], { headers: { 'content-type': 'multipart/mixed; boundary=x' } }],
  ] as readonly [string, readonly Piece[], Parameters<typeof submit>[1]][]) {
    test(what, async () => {
      const answer = await submit(pieces, options);
      assert.equal(answer.outcome, '400 InvalidInput');
      assert.match(answer.body.toString(), /<Reason>[^<]+<\/Reason>/);
      assert.deepEqual(await namesIn(container), ['a']);
    });
  }

  for (const contentType of ['application/json', 'multipart/mixed', `multipart/mixed; boundary=${'x'.repeat(71)}`]) {
    test(`as ${contentType.slice(0, 40)}`, async () => {
      const answer = await submit([good], { headers: { 'content-type': contentType } });
      assert.equal(answer.outcome, '400 InvalidHeaderValue');
    });
  }

  test('without a Content-Type', async () => {
    const { outcome } = await send(server.url, {
      method: 'POST',
      path: '/?comp=batch',
      body: renderBody([renderPiece(good)]),
    });
    assert.equal(outcome, '400 MissingRequiredHeader');
  });

  test('without a Content-Length', async () => {
    const answer = await submit([good], { headers: { 'transfer-encoding': 'chunked' } });
    assert.equal(answer.outcome, '411 MissingContentLengthHeader');
  });

  test('with more than 4 MiB', async () => {
    const filler: Piece = { ...good, headers: [['x-filler', 'x'.repeat(60 * 1024)]] };
    const answer = await submit(Array.from({ length: 70 }, () => filler));
    assert.equal(answer.outcome, '413 RequestBodyTooLarge');
    assert.deepEqual(await namesIn(container), ['a']);
  });

  test('by a caller without credentials', async () => {
    const body = renderBody([renderPiece(good)]);
    const headers = { 'content-type': CONTENT_TYPE };
    const answer = await send(server.url, { method: 'POST', path: '/?comp=batch', headers, body, account: null });
    assert.equal(answer.outcome, '401 NoAuthenticationInformation');
  });

  test('of a container whose name is none', async () => {
    const answer = await submit([good], { path: '/UPPER?restype=container&comp=batch' });
    assert.equal(answer.outcome, '400 InvalidResourceName');
  });

  test('unless it is the same with one good part', async () => {
    assert.deepEqual(outcomesOf(await submit([good], { path: inContainer })), ['202']);
    assert.equal(await outcome(container.getBlobClient('a').getProperties()), '404 BlobNotFound');
  });
});

test('parts of a container that is not there are told so', async () => {
  const path = `/${DEVELOPMENT_ACCOUNT.name}/${randomUUID()}/a`;
  assert.deepEqual(outcomesOf(await submit([{ path }, { path }])), ['404 ContainerNotFound', '404 ContainerNotFound']);
});
