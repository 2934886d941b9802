import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { makeCertificate } from '../../test/harness/certificate.ts';
import { NO_CONDITIONS } from '../rules/conditions.ts';
import {
  type OutsideRequest,
  SourceRefused,
  SourceUnreachable,
  type UnreachableReason,
} from '../service/copy/outside.ts';
import type { Resolve } from './addresses.ts';
import { type HttpOutsideOptions, openHttpOutside } from './http-outside.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
type Tls = { readonly cert: Buffer; readonly key: Buffer };

/** A source on a free port of this machine; its URL without a path. */
async function serve(t: TestContext, handler: Handler, tls?: Tls): Promise<string> {
  const server = tls === undefined ? createServer(handler) : createTlsServer(tls, handler);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const asking = (url: string, more: Partial<OutsideRequest> = {}): OutsideRequest => ({
  url,
  authorization: null,
  range: null,
  ifMatch: null,
  conditions: NO_CONDITIONS,
  ifTags: null,
  signal: new AbortController().signal,
  ...more,
});

const openAt = (url: string, more: Partial<OutsideRequest> = {}, options: HttpOutsideOptions = {}) =>
  openHttpOutside(options).open(asking(url, more));

/** Something that a test waits for. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: (() => void) | null = null;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open?.() };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function rejectsFor(reason: UnreachableReason, acted: Promise<unknown>): Promise<SourceUnreachable> {
  const error = await acted.then(
    () => assert.fail('it was reached'),
    (rejection: unknown) => rejection,
  );
  assert.ok(error instanceof SourceUnreachable, String(error));
  assert.equal(error.reason, reason, error.message);
  return error;
}

async function refusalOf(acted: Promise<unknown>): Promise<Pick<SourceRefused, 'status' | 'code' | 'sentence'>> {
  const error = await acted.then(
    () => assert.fail('it was not refused'),
    (rejection: unknown) => rejection,
  );
  assert.ok(error instanceof SourceRefused, String(error));
  const { status, code, sentence } = error;
  return { status, code, sentence };
}

const always =
  (status: number, headers: Record<string, string>, body = ''): Handler =>
  (_request, response) => {
    response.writeHead(status, headers).end(body);
  };

// ---- what a reply says

test('a blob of another store comes with its properties, metadata and bytes', async (t) => {
  const origin = await serve(
    t,
    always(
      200,
      {
        'Content-Length': '5',
        'Content-Type': 'text/plain',
        'Content-Encoding': 'gzip',
        'Content-Language': 'en',
        'Content-MD5': 'XUFAKrxLKna5cZ2REBfFkg==',
        'Cache-Control': 'no-store',
        'Content-Disposition': 'attachment',
        ETag: '"0x8DC"',
        'Last-Modified': 'Thu, 01 Feb 2024 10:00:00 GMT',
        'x-ms-blob-type': 'PageBlob',
        'x-ms-blob-sequence-number': '7',
        'x-ms-meta-Color': ' blue ',
      },
      'hello',
    ),
  );
  const { body, ...head } = await openAt(`${origin}/c/b?sig=x`);
  assert.equal(await textOf(body), 'hello');
  assert.deepEqual(head, {
    status: 200,
    etag: '"0x8DC"',
    lastModifiedMs: Date.parse('2024-02-01T10:00:00Z'),
    lengthBytes: 5,
    totalBytes: 5,
    headers: {
      contentType: 'text/plain',
      contentEncoding: 'gzip',
      contentLanguage: 'en',
      contentMd5: 'XUFAKrxLKna5cZ2REBfFkg==',
      cacheControl: 'no-store',
      contentDisposition: 'attachment',
    },
    metadata: [['Color', 'blue']],
    blobType: 'PageBlob',
    sequenceNumber: '7',
  });
});

test('a file of a plain web server has no more than its bytes', async (t) => {
  const origin = await serve(t, always(200, { 'Content-Length': '5', 'Content-MD5': 'no hash' }, 'hello'));
  const { body, ...head } = await openAt(`${origin}/file`);
  assert.equal(await textOf(body), 'hello');
  assert.deepEqual(head, {
    status: 200,
    etag: null,
    lastModifiedMs: null,
    lengthBytes: 5,
    totalBytes: 5,
    headers: {},
    metadata: [],
    blobType: null,
    sequenceNumber: null,
  });
});

test('an empty source has a body that ends at once', async (t) => {
  const origin = await serve(t, always(200, { 'Content-Length': '0' }));
  const { lengthBytes, body } = await openAt(origin);
  assert.equal(lengthBytes, 0);
  assert.equal(await textOf(body), '');
});

test('bytes are taken as they are stored: nothing asks for compression, nothing undoes it', async (t) => {
  const asked: (string | undefined)[] = [];
  const origin = await serve(t, (request, response) => {
    asked.push(request.headers['accept-encoding']);
    response.writeHead(200, { 'Content-Length': '5', 'Content-Encoding': 'gzip' }).end('plain');
  });
  assert.equal(await textOf((await openAt(origin)).body), 'plain');
  assert.deepEqual(asked, ['identity']);
});

test('metadata that no blob can have makes an answer useless', async (t) => {
  const origin = await serve(t, always(200, { 'Content-Length': '0', 'x-ms-meta-a-b': '1' }));
  await rejectsFor('answer', openAt(origin));
});

test('head says what open would, asks by GET as well, and ends the connection', async (t) => {
  const methods: (string | undefined)[] = [];
  const closed: Promise<unknown>[] = [];
  const origin = await serve(t, (request, response) => {
    methods.push(request.method);
    closed.push(once(request.socket, 'close'));
    response.writeHead(200, { 'Content-Length': '1000000000', ETag: '"1"' }).write('some');
  });
  const head = await openHttpOutside().head(asking(origin));
  assert.deepEqual([head.lengthBytes, head.etag, 'body' in head], [1_000_000_000, '"1"', false]);
  assert.deepEqual(methods, ['GET']);
  await Promise.all(closed);
});

// ---- lengths that are not announced

test('a short answer without a length is counted, a long one is refused', async (t) => {
  const origin = await serve(t, (_request, response) => {
    response.write('abc');
    response.end('def');
  });
  const { lengthBytes, totalBytes, body } = await openAt(origin, {}, { unannouncedBytesMax: 6 });
  assert.deepEqual([lengthBytes, totalBytes, await textOf(body)], [6, 6, 'abcdef']);
  await rejectsFor('answer', openAt(origin, {}, { unannouncedBytesMax: 5 }));
});

test('an answer that ends with its connection is refused: nobody knows whether it is complete', async (t) => {
  const origin = await serve(t, (_request, response) => {
    response.socket?.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello');
  });
  await rejectsFor('answer', openAt(origin));
});

// ---- ranges

const LETTERS = 'abcdefghij';

const inRanges: Handler = (request, response) => {
  const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  if (match === null) return response.writeHead(200, { 'Content-Length': LETTERS.length }).end(LETTERS);
  const first = Number(match[1]);
  if (first >= LETTERS.length) return response.writeHead(416, { 'x-ms-error-code': 'InvalidRange' }).end();
  const part = LETTERS.slice(first, match[2] === '' ? undefined : Number(match[2]) + 1);
  const range = `bytes ${first}-${first + part.length - 1}/${LETTERS.length}`;
  return response
    .writeHead(206, { 'Content-Length': part.length, 'Content-Range': range, 'Content-MD5': 'x' })
    .end(part);
};

const ignoringRanges = always(200, { 'Content-Length': '10' }, LETTERS);
const ignoringRangesAndLength: Handler = (_request, response) => {
  response.write(LETTERS.slice(0, 3));
  response.end(LETTERS.slice(3));
};

for (const [kind, handler] of [
  ['a source that knows ranges', inRanges],
  ['a source that gives everything', ignoringRanges],
  ['a source that gives everything and no length', ignoringRangesAndLength],
] as const) {
  for (const [firstOffsetBytes, lastOffsetBytes, want] of [
    [0, 3, 'abcd'],
    [2, null, 'cdefghij'],
    [9, 9, 'j'],
    [8, 100, 'ij'],
  ] as const) {
    test(`${kind} is read from ${firstOffsetBytes} to ${lastOffsetBytes ?? 'its end'}`, async (t) => {
      const origin = await serve(t, handler);
      const range = { firstOffsetBytes, lastOffsetBytes };
      const { status, lengthBytes, totalBytes, headers, body } = await openAt(origin, { range });
      assert.equal(await textOf(body), want);
      assert.deepEqual([status, lengthBytes, totalBytes, headers.contentMd5], [206, want.length, 10, undefined]);
    });
  }

  test(`${kind} has no range behind its end`, async (t) => {
    const range = { firstOffsetBytes: 10, lastOffsetBytes: null };
    const { status, code } = await refusalOf(openAt(await serve(t, handler), { range }));
    assert.deepEqual([status, code], [416, 'InvalidRange']);
  });
}

for (const contentRange of [
  'bytes 3-5/10',
  'bytes 2-3/10',
  'bytes 2-6/10',
  'bytes 2-5/4',
  'bytes 5-2/10',
  'lines 2-5/10',
]) {
  test(`a source that is asked for bytes 2 to 5 and gives ${contentRange} is not used`, async (t) => {
    const origin = await serve(t, always(206, { 'Content-Range': contentRange, 'Content-Length': '4' }, 'cdef'));
    await rejectsFor('answer', openAt(origin, { range: { firstOffsetBytes: 2, lastOffsetBytes: 5 } }));
  });
}

test('a range of a source that does not tell its length is taken', async (t) => {
  const origin = await serve(t, always(206, { 'Content-Range': 'bytes 2-5/*', 'Content-Length': '4' }, 'cdef'));
  const { totalBytes, body } = await openAt(origin, { range: { firstOffsetBytes: 2, lastOffsetBytes: 5 } });
  assert.deepEqual([totalBytes, await textOf(body)], [null, 'cdef']);
});

test('a range that was not asked for is not used', async (t) => {
  const origin = await serve(t, always(206, { 'Content-Range': 'bytes 0-3/10', 'Content-Length': '4' }, 'abcd'));
  await rejectsFor('answer', openAt(origin));
});

// ---- refusals of the source

const azureError = (code: string, message: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}\nRequestId:1\nTime:2</Message></Error>`;

for (const [status, headers, body, want] of [
  [
    404,
    {},
    azureError('BlobNotFound', 'No such &quot;blob&quot;.'),
    { code: 'BlobNotFound', sentence: 'No such "blob".' },
  ],
  [403, { 'x-ms-error-code': 'AuthenticationFailed' }, '', { code: 'AuthenticationFailed', sentence: null }],
  [403, {}, '<Error><Code>AccessDenied</Code><Message>No</Message></Error>', { code: 'AccessDenied', sentence: 'No' }],
  [412, { 'x-ms-error-code': 'ConditionNotMet' }, '', { code: 'ConditionNotMet', sentence: null }],
  [304, { 'x-ms-error-code': 'ConditionNotMet' }, '', { code: 'ConditionNotMet', sentence: null }],
  [500, {}, 'Something broke', { code: null, sentence: null }],
  [404, { 'x-ms-error-code': 'not a code\tat all' }, '', { code: null, sentence: null }],
  [400, {}, 'x'.repeat(100_000), { code: null, sentence: null }],
] as const) {
  test(`${status} with ${want.code ?? 'no code'} is the source's own refusal (${body.length} bytes)`, async (t) => {
    const origin = await serve(t, always(status, headers, body));
    assert.deepEqual(await refusalOf(openAt(origin)), { status, ...want });
  });
}

test('a refusal that breaks off is still a refusal', async (t) => {
  const origin = await serve(t, (_request, response) => {
    response.writeHead(404, { 'Content-Length': '100' });
    response.write('<Error>', () => response.socket?.destroy());
  });
  assert.deepEqual(await refusalOf(openAt(origin)), { status: 404, code: null, sentence: null });
});

for (const status of [201, 204, 300]) {
  test(`${status} is no answer to a read`, async (t) => {
    await rejectsFor('answer', openAt(await serve(t, always(status, {}))));
  });
}

// ---- conditions

test('conditions, the range and the bearer token are sent as headers', async (t) => {
  const seen: IncomingMessage['headers'][] = [];
  const origin = await serve(t, (request, response) => {
    seen.push(request.headers);
    response.writeHead(412).end();
  });
  const conditions = {
    ifMatch: ['0x1', 'W/"0x2"'],
    ifNoneMatch: '*',
    ifModifiedSinceMs: Date.parse('2024-02-01T10:00:00Z'),
    ifUnmodifiedSinceMs: Date.parse('2024-02-02T10:00:00Z'),
  } as const;
  const more = { conditions, authorization: 'Bearer token', ifTags: "a = 'b'" };
  await refusalOf(openAt(origin, { ...more, range: { firstOffsetBytes: 5, lastOffsetBytes: null } }));
  const [headers = {}] = seen;
  const names = [
    'authorization',
    'range',
    'if-match',
    'if-none-match',
    'if-modified-since',
    'if-unmodified-since',
    'x-ms-if-tags',
  ];
  assert.deepEqual(
    names.map((name) => headers[name]),
    [
      'Bearer token',
      'bytes=5-',
      '"0x1", W/"0x2"',
      '*',
      'Thu, 01 Feb 2024 10:00:00 GMT',
      'Fri, 02 Feb 2024 10:00:00 GMT',
      "a = 'b'",
    ],
  );
});

const CHANGED = 'Thu, 01 Feb 2024 10:00:00 GMT';
const changedMs = Date.parse(CHANGED);

for (const [what, demands, want] of [
  ['If-Match', { conditions: { ...NO_CONDITIONS, ifMatch: ['2'] } }, 412],
  ['If-None-Match', { conditions: { ...NO_CONDITIONS, ifNoneMatch: ['1'] } }, 304],
  ['If-Modified-Since', { conditions: { ...NO_CONDITIONS, ifModifiedSinceMs: changedMs } }, 304],
  ['If-Unmodified-Since', { conditions: { ...NO_CONDITIONS, ifUnmodifiedSinceMs: changedMs - 1000 } }, 412],
  ['If-None-Match: *', { conditions: { ...NO_CONDITIONS, ifNoneMatch: '*' } }, 400],
  ['a pinned ETag', { ifMatch: '"2"' }, 412],
  ['a condition on tags', { ifTags: "a = 'b'" }, 412],
] as const) {
  test(`a plain web server that ignores ${what} is judged by what it answered`, async (t) => {
    const origin = await serve(t, always(200, { 'Content-Length': '2', ETag: '"1"', 'Last-Modified': CHANGED }, 'ok'));
    assert.equal((await refusalOf(openAt(origin, demands))).status, want);
  });
}

test('conditions that hold let the source be read', async (t) => {
  const origin = await serve(t, always(200, { 'Content-Length': '2', ETag: '"1"', 'Last-Modified': CHANGED }, 'ok'));
  const conditions = { ...NO_CONDITIONS, ifMatch: ['1'], ifUnmodifiedSinceMs: changedMs };
  assert.equal(await textOf((await openAt(origin, { conditions, ifMatch: '"1"' })).body), 'ok');
});

test('a source that does not say when it changed may have changed just now', async (t) => {
  const origin = await serve(t, always(200, { 'Content-Length': '2' }, 'ok'));
  const since = { ...NO_CONDITIONS, ifModifiedSinceMs: changedMs };
  assert.equal(await textOf((await openAt(origin, { conditions: since })).body), 'ok');
  const until = { ...NO_CONDITIONS, ifUnmodifiedSinceMs: changedMs };
  assert.equal((await refusalOf(openAt(origin, { conditions: until }))).status, 412);
});

test('a weak ETag is compared here, since sent as a condition it never matches', async (t) => {
  const sent: (string | undefined)[] = [];
  const origin = await serve(t, (request, response) => {
    sent.push(request.headers['if-match']);
    response.writeHead(200, { 'Content-Length': '2', ETag: 'W/"1"' }).end('ok');
  });
  assert.equal(await textOf((await openAt(origin, { ifMatch: 'W/"1"' })).body), 'ok');
  assert.equal((await refusalOf(openAt(origin, { ifMatch: 'W/"2"' }))).status, 412);
  assert.deepEqual(sent, [undefined, undefined]);
});

// ---- redirects

/** `/3` redirects to `/2`, and so on to `/0`, which is the source. */
const countingDown: Handler = (request, response) => {
  const left = Number((request.url as string).slice(1));
  if (left === 0) response.writeHead(200, { 'Content-Length': '2' }).end('ok');
  else response.writeHead([302, 307, 308, 301][left % 4] as number, { Location: String(left - 1) }).end('elsewhere');
};

test('three redirects are followed, a fourth is not', async (t) => {
  const origin = await serve(t, countingDown);
  assert.equal(await textOf((await openAt(`${origin}/3`)).body), 'ok');
  await rejectsFor('redirects', openAt(`${origin}/4`));
});

test('a bearer token goes to the origin it was given for and to no other', async (t) => {
  const seen: string[] = [];
  const note = (who: string, request: IncomingMessage) => seen.push(`${who} ${request.headers.authorization ?? '-'}`);
  const other = await serve(t, (request, response) => {
    note('other', request);
    response.writeHead(200, { 'Content-Length': '2' }).end('ok');
  });
  const origin = await serve(t, (request, response) => {
    note('first', request);
    response.writeHead(302, { Location: request.url === '/a' ? '/b' : `${other}/c` }).end();
  });
  assert.equal(await textOf((await openAt(`${origin}/a`, { authorization: 'Bearer x' })).body), 'ok');
  assert.deepEqual(seen, ['first Bearer x', 'first Bearer x', 'other -']);
});

for (const [location, reason] of [
  ['http://169.254.169.254/latest/meta-data/', 'forbidden'],
  ['http://[::ffff:169.254.169.254]/', 'forbidden'],
  ['http://[fe80::1]/', 'forbidden'],
  ['http://0xA9FEA9FE/', 'forbidden'],
  ['http://metadata.example/', 'forbidden'],
  ['file:///etc/passwd', 'malformed'],
  ['http://user:word@127.0.0.1/', 'malformed'],
] as const) {
  test(`a redirect to ${location} is not followed`, async (t) => {
    const origin = await serve(t, always(302, { Location: location }));
    await rejectsFor(reason, openAt(origin, {}, { resolve: toMetadata }));
  });
}

test('a redirect that names no place is no answer', async (t) => {
  await rejectsFor('answer', openAt(await serve(t, always(302, {}))));
});

// ---- addresses

const toMetadata: Resolve = (_hostname, _options, done) =>
  done(null, [
    { address: '127.0.0.1', family: 4 },
    { address: '169.254.169.254', family: 4 },
  ]);

const toNothing: Resolve = (_hostname, _options, done) =>
  done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);

const toLoopback: Resolve = (_hostname, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);

test('a name that resolves to a metadata address is not connected to', async () => {
  await rejectsFor('forbidden', openAt('http://innocent.example/', {}, { resolve: toMetadata }));
});

test('a name is resolved by the system, or as it is told to', async (t) => {
  const origin = await serve(t, always(200, { 'Content-Length': '2' }, 'ok'));
  const { port } = new URL(origin);
  const { body } = await openAt(`http://name.example:${port}/`, {}, { resolve: toLoopback });
  assert.equal(await textOf(body), 'ok');
});

test('this server is not asked under another name, by which a stranger would pass for a caller on its machine', async (t) => {
  let askedCount = 0;
  const origin = await serve(t, (_request, response) => {
    askedCount += 1;
    response.end();
  });
  const ownPort = Number(new URL(origin).port);
  const options: HttpOutsideOptions = { isOwnPort: (port) => port === ownPort, resolve: toLoopback };
  for (const host of ['name.example', '127.0.0.1', '0.0.0.0', '[::1]', '[::ffff:127.0.0.1]']) {
    await rejectsFor('forbidden', openAt(`http://${host}:${ownPort}/devstoreaccount1/c/b`, {}, options));
  }
  assert.equal(askedCount, 0);
});

test('a server that copies from its own blobs only asks nobody', async (t) => {
  let askedCount = 0;
  const origin = await serve(t, () => {
    askedCount += 1;
  });
  await rejectsFor('forbidden', openAt(origin, {}, { allow: 'none' }));
  await rejectsFor('forbidden', openHttpOutside({ allow: 'none' }).head(asking(origin)));
  assert.equal(askedCount, 0);
});

// ---- sources that fail

for (const url of [
  '',
  'not a url',
  'ftp://127.0.0.1/',
  'file:///etc/passwd',
  'http://u:p@127.0.0.1/',
  'http://u@127.0.0.1/',
]) {
  test(`'${url}' is not asked`, async () => {
    await rejectsFor('malformed', openAt(url));
  });
}

test('a port that nobody listens on, and a name that nobody has, cannot be reached', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  assert.match((await rejectsFor('connection', openAt(`http://127.0.0.1:${port}/`))).message, /ECONNREFUSED/);
  assert.match(
    (await rejectsFor('connection', openAt('http://no.example/', {}, { resolve: toNothing }))).message,
    /ENOTFOUND/,
  );
  const origin = await serve(t, (_request, response) => response.socket?.destroy());
  await rejectsFor('connection', openAt(origin));
  await rejectsFor('connection', openAt(await serve(t, (_request, response) => response.socket?.end('What?\r\n\r\n'))));
});

test('a source that ends early fails, however it ends', async (t) => {
  const origin = await serve(t, (request, response) => {
    response.writeHead(200, request.url === '/long' ? { 'Content-Length': '1000' } : {});
    response.write('0123456789', () => {
      if (request.url === '/long') response.socket?.end();
      else response.socket?.destroy();
    });
  });
  const { lengthBytes, body } = await openAt(`${origin}/long`);
  assert.equal(lengthBytes, 1000);
  await rejectsFor('brokeOff', textOf(body));
  await rejectsFor('brokeOff', openAt(`${origin}/chunked`));
});

test('a range that is shorter than it says fails', async (t) => {
  const origin = await serve(t, always(206, { 'Content-Range': 'bytes 0-9/10', 'Content-Length': '4' }, 'abcd'));
  const { body } = await openAt(origin, { range: { firstOffsetBytes: 0, lastOffsetBytes: 9 } });
  await rejectsFor('brokeOff', textOf(body));
});

test('a source that does not answer is given up after its time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked = gate();
  const origin = await serve(t, () => asked.open());
  const opened = rejectsFor('timeout', openAt(origin, {}, { headTimeoutMs: 1000 }));
  await asked.opened;
  t.mock.timers.tick(1000);
  await opened;
});

test('a source that stalls is given up after its time; a reader that takes its time is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const more = gate();
  const origin = await serve(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': '30' }).write('0123456789');
    void more.opened.then(() => response.write('0123456789'));
  });
  const { body } = await openAt(origin, {}, { idleTimeoutMs: 1000 });
  assert.equal((await body.next()).value.length, 10);
  t.mock.timers.tick(3_600_000);
  const second = body.next();
  t.mock.timers.tick(999);
  more.open();
  assert.equal((await second).value.length, 10);
  const third = rejectsFor('timeout', body.next());
  t.mock.timers.tick(1000);
  await third;
});

// ---- readers that are slow, or go

const PIECE = Buffer.alloc(1024 * 1024, 'x');
const PIECE_COUNT = 96;

test('a slow reader holds the source back, and yet gets everything', async (t) => {
  let sentBytes = 0;
  const origin = await serve(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': PIECE.length * PIECE_COUNT });
    const send = (): void => {
      let hasRoom = true;
      while (hasRoom && sentBytes < PIECE.length * PIECE_COUNT) {
        sentBytes += PIECE.length;
        hasRoom = response.write(PIECE);
      }
      if (hasRoom) response.end();
      else response.once('drain', send);
    };
    send();
  });
  let receivedBytes = 0;
  let aheadBytesMax = 0;
  for await (const piece of (await openAt(origin)).body) {
    receivedBytes += piece.length;
    // The source has many turns for each piece that is taken.
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    aheadBytesMax = Math.max(aheadBytesMax, sentBytes - receivedBytes);
  }
  assert.equal(receivedBytes, PIECE.length * PIECE_COUNT);
  assert.ok(
    aheadBytesMax < receivedBytes / 3,
    `${aheadBytesMax} of ${receivedBytes} bytes were sent and not yet taken`,
  );
});

/** A source of which the first piece comes and then no more; and the end of its connection. */
async function serveForever(t: TestContext): Promise<{ origin: string; closed: Promise<unknown> }> {
  const closed = gate();
  const origin = await serve(t, (request, response) => {
    request.socket.once('close', () => closed.open());
    response.writeHead(200, { 'Content-Length': '1000000' }).write('some');
  });
  return { origin, closed: closed.opened };
}

test('a body given up before its first piece, or after it, ends the connection', async (t) => {
  const untouched = await serveForever(t);
  const opened = await openAt(untouched.origin);
  assert.deepEqual(await opened.body.return(), { done: true, value: undefined });
  await untouched.closed;
  const begun = await serveForever(t);
  for await (const piece of (await openAt(begun.origin)).body) {
    assert.equal(piece.length, 4);
    break;
  }
  await begun.closed;
});

test('a signal ends a request at any time, with its own reason', async (t) => {
  const reason = new Error('the client left');
  await assert.rejects(openAt('http://127.0.0.1/', { signal: AbortSignal.abort(reason) }), reason);

  const waiting = new AbortController();
  const asked = gate();
  const gone = gate();
  const silent = await serve(t, (request) => {
    request.socket.once('close', () => gone.open());
    asked.open();
  });
  const opened = assert.rejects(openAt(silent, { signal: waiting.signal }), reason);
  await asked.opened;
  waiting.abort(reason);
  await Promise.all([opened, gone.opened]);

  const reading = new AbortController();
  const { origin, closed } = await serveForever(t);
  const { body } = await openAt(origin, { signal: reading.signal });
  await body.next();
  const next = assert.rejects(body.next(), reason);
  reading.abort(reason);
  await Promise.all([next, closed]);
  await assert.rejects(body.next(), reason);
});

// ---- secrets

test('no message of a failure shows what follows the path of a URL', async (t) => {
  const early = await serve(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': '1000' });
    response.write('x', () => response.socket?.destroy());
  });
  const elsewhere = await serve(t, always(302, { Location: 'ftp://127.0.0.1/x?sig=SECRET' }));
  const loop = await serve(t, always(302, { Location: '/?sig=SECRET' }));
  const refusing = await serve(t, always(403, {}, 'no'));
  const readEarly = async (): Promise<string> => textOf((await openAt(`${early}/c/b?sig=SECRET`)).body);
  for (const act of [
    () => openAt('http://u:SECRET@127.0.0.1/c/b?sig=SECRET'),
    () => openAt('nonsense?sig=SECRET'),
    () => openAt('http://169.254.169.254/c/b?sig=SECRET'),
    () => openAt('http://127.0.0.1:1/c/b?sig=SECRET'),
    () => openAt(`${elsewhere}/c/b?sig=SECRET`),
    () => openAt(`${loop}/c/b?sig=SECRET`),
    () => openAt(`${refusing}/c/b?sig=SECRET`, { authorization: 'Bearer SECRET' }),
    readEarly,
  ]) {
    await assert.rejects(act(), (error: Error) => !/SECRET/.test(`${error.message} ${String(error.cause)}`));
  }
});

// ---- TLS

const tls = makeCertificate('source.example', '127.0.0.1');

test('over TLS the source must prove its name, and may not redirect to plain HTTP', async (t) => {
  const plain = await serve(t, always(200, { 'Content-Length': '2' }, 'no'));
  const handler: Handler = (request, response) => {
    if (request.url === '/down') response.writeHead(302, { Location: plain }).end();
    else response.writeHead(200, { 'Content-Length': '2' }).end('ok');
  };
  const { cert, key } = tls;
  const { port } = new URL(await serve(t, handler, { cert, key }));
  const options: HttpOutsideOptions = { ca: cert, resolve: toLoopback };
  const at = `https://source.example:${port}`;
  assert.equal(await textOf((await openAt(`${at}/`, {}, options)).body), 'ok');
  await rejectsFor('redirects', openAt(`${at}/down`, {}, options));
  await rejectsFor('connection', openAt(`https://other.example:${port}/`, {}, options));
  await rejectsFor('connection', openAt(`${at}/`, {}, { resolve: toLoopback }));
});
