/**
 * The S3 store before a server that misbehaves: a small one of the test's own, which keeps objects in memory and does
 * what it is told to some requests. What a real server does is tested in s3-content.test.ts.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../test/harness/until.ts';
import { IdSource } from '../../base/ids.ts';
import { type ContentStore, ContentUnavailable, ExtentMissing, type PlacedExtent } from '../content.ts';
import { cut, each, get, put, whole } from '../contract.ts';
import { openS3Content, type S3ContentOptions } from './s3-content.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Collected and sent from memory; streamed. */
const SMALL_BYTES = 10 * KIB;
const LARGE_BYTES = 4 * MIB;
/** How long silence is borne where a test is about it: long enough for every answer that does come. */
const SHORT_MS = 300;
const ids = new IdSource();

/** True when the request is taken care of, or is to be left without an answer. */
type Mischief = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

interface StoredObject {
  readonly bytes: Buffer;
  readonly lastModifiedMs: number;
}

const decoded = (token: string): string => Buffer.from(token, 'base64').toString('utf8');
const xml = (inner: string): string => `<?xml version="1.0" encoding="UTF-8"?>${inner}`;

class SmallS3 {
  readonly objects = new Map<string, StoredObject>();
  /** `METHOD key range`, of every request. */
  readonly asked: string[] = [];
  hasBucket = true;
  pageLength = 1000;
  nowMs = Date.now();
  mischief: Mischief = () => false;
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => {});
    const { pathname, searchParams } = new URL(request.url as string, this.endpoint);
    const key = decodeURIComponent(pathname).replace(/^\/bucket\/?/, '');
    this.asked.push([request.method, key, request.headers.range].filter(Boolean).join(' '));
    response.setHeader('date', new Date(this.nowMs).toUTCString());
    if (await this.mischief(request, response)) return;
    if (key === '') this.#serveBucket(request, response, searchParams);
    else await this.#serveObject(request, response, key);
  }

  #serveBucket(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
    if (request.method === 'PUT') this.hasBucket = true;
    if (!this.hasBucket) response.writeHead(404).end(xml('<Error><Code>NoSuchBucket</Code></Error>'));
    else if (request.method === 'PUT') response.end();
    else response.end(this.#listing(query.get('prefix') ?? '', decoded(query.get('continuation-token') ?? '')));
  }

  #listing(prefix: string, after: string): string {
    const keys = [...this.objects.keys()].sort().filter((key) => key.startsWith(prefix) && key > after);
    const page = keys.slice(0, this.pageLength);
    const entries = page.map((key) => {
      const { bytes, lastModifiedMs } = this.objects.get(key) as StoredObject;
      const time = new Date(lastModifiedMs).toISOString();
      const name = encodeURIComponent(key);
      return `<Contents><Key>${name}</Key><LastModified>${time}</LastModified><Size>${bytes.length}</Size></Contents>`;
    });
    const isTruncated = page.length < keys.length;
    const token = isTruncated
      ? `<NextContinuationToken>${Buffer.from(page.at(-1) ?? '').toString('base64')}</NextContinuationToken>`
      : '';
    const head = `<EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${token}`;
    return xml(`<ListBucketResult>${head}${entries.join('')}</ListBucketResult>`);
  }

  async #serveObject(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    if (request.method === 'PUT') {
      const bytes = await bodyOf(request);
      if (bytes === null) return;
      this.objects.set(key, { bytes, lastModifiedMs: this.nowMs });
      response.end();
      return;
    }
    if (request.method === 'DELETE') {
      this.objects.delete(key);
      response.writeHead(204).end();
      return;
    }
    const bytes = this.objects.get(key)?.bytes;
    if (bytes === undefined) response.writeHead(404).end(xml('<Error><Code>NoSuchKey</Code></Error>'));
    else if (request.method === 'HEAD') response.writeHead(200, { 'content-length': bytes.length }).end();
    else response.writeHead(206, rangeHeaders(request, bytes)).end(rangeOf(request, bytes));
  }
}

/** Null when the connection was cut before the end. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of request) pieces.push(piece as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(pieces);
}

function boundsOf(request: IncomingMessage): { from: number; to: number } {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  return { from: Number(from), to: Number(to) };
}

function rangeOf(request: IncomingMessage, bytes: Buffer): Buffer {
  const { from, to } = boundsOf(request);
  return bytes.subarray(from, to + 1);
}

function rangeHeaders(request: IncomingMessage, bytes: Buffer): Record<string, string | number> {
  const { from, to } = boundsOf(request);
  const length = rangeOf(request, bytes).length;
  return {
    'content-length': length,
    'content-range': `bytes ${from}-${Math.min(to, bytes.length - 1)}/${bytes.length}`,
  };
}

let server: SmallS3;
let stores: ContentStore[];

beforeEach(async () => {
  server = new SmallS3();
  stores = [];
  await server.listen();
});

afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await server.close();
});

async function openStore(patience: S3ContentOptions['patience'] = {}): Promise<ContentStore> {
  const url = `s3://KEY:hush@bucket?endpoint=${server.endpoint}`;
  const store = await openS3Content({ url, storeId: 'store', patience: { repeatDelayMs: 1, ...patience } });
  stores.push(store);
  server.asked.length = 0;
  return store;
}

/** Does it to the first `count` requests of a method, and leaves the others alone. */
function toFirst(count: number, method: string, mischief: Mischief): Mischief {
  let left = count;
  return (request, response) => (request.method === method && left-- > 0 ? mischief(request, response) : false);
}

const busy: Mischief = (request, response) => {
  request.resume();
  response.writeHead(503).end(xml('<Error><Code>SlowDown</Code></Error>'));
  return true;
};

const silent: Mischief = () => true;

/** Sends the head and half of the range, and then does the rest of the mischief. */
const halfWay =
  (then: (socket: Socket) => void): Mischief =>
  async (request, response) => {
    const key = decodeURIComponent(request.url as string).replace('/bucket/', '');
    const { bytes } = server.objects.get(key) as StoredObject;
    response.writeHead(206, rangeHeaders(request, bytes));
    const range = rangeOf(request, bytes);
    await new Promise((resolve) => response.write(range.subarray(0, Math.ceil(range.length / 2)), resolve));
    then(request.socket);
    return true;
  };

const cutOff = (socket: Socket): void => {
  socket.destroy();
};

const OPERATIONS: readonly (readonly [name: string, method: string, act: (at: Scene) => Promise<void>])[] = [
  ['read', 'GET', async ({ store, extent, bytes }) => assert.ok((await get(store, extent)).equals(bytes))],
  ['verify', 'HEAD', async ({ store, extent }) => assert.equal(await store.verify(extent), 'ok')],
  ['free', 'DELETE', ({ store, extent }) => store.free(extent.placement, extent.lengthBytes)],
  ['strays', 'GET', async ({ store }) => assert.equal((await store.strays(each([]))).extentCount, 1)],
  ['a small write', 'PUT', async ({ store, bytes }) => void (await put(store, bytes))],
];

interface Scene {
  readonly store: ContentStore;
  readonly extent: PlacedExtent;
  readonly bytes: Buffer;
}

async function scene(lengthBytes: number, patience: S3ContentOptions['patience'] = {}): Promise<Scene> {
  const store = await openStore(patience);
  const bytes = randomBytes(lengthBytes);
  const extent = await put(store, bytes);
  server.asked.length = 0;
  return { store, extent, bytes };
}

for (const [name, method, act] of OPERATIONS) {
  test(`${name} goes through although the server is busy three times`, async () => {
    const at = await scene(SMALL_BYTES);
    server.mischief = toFirst(3, method, busy);
    await act(at);
    assert.equal(server.asked.length, 4);
  });

  test(`${name} goes through although the connection breaks twice`, async () => {
    const at = await scene(SMALL_BYTES);
    server.mischief = toFirst(2, method, ({ socket }) => socket.destroy().destroyed);
    await act(at);
    assert.equal(server.asked.length, 3);
  });

  test(`${name} fails when the server stays busy`, async () => {
    const at = await scene(SMALL_BYTES);
    server.mischief = busy;
    await assert.rejects(act(at), (error) => error instanceof ContentUnavailable && /503/.test(error.message));
    assert.equal(server.asked.length, 4);
  });

  test(`${name} is not tried again when the server refuses it`, async () => {
    const at = await scene(SMALL_BYTES);
    server.mischief = (request, response) => {
      request.resume();
      response.writeHead(403).end(xml('<Error><Code>AccessDenied</Code></Error>'));
      return true;
    };
    await assert.rejects(act(at), (error) => error instanceof ContentUnavailable && /403/.test(error.message));
    assert.equal(server.asked.length, 1);
  });

  test(`${name} ends when the server is silent, and is not tried again`, async () => {
    const at = await scene(SMALL_BYTES, { stallLimitMs: SHORT_MS });
    server.mischief = silent;
    await assert.rejects(act(at), (error) => error instanceof ContentUnavailable && /silent/.test(error.message));
    assert.equal(server.asked.length, 1);
  });
}

test('a read that breaks half-way is taken up again from where it was', async () => {
  const { store, extent, bytes } = await scene(LARGE_BYTES);
  server.mischief = toFirst(3, 'GET', halfWay(cutOff));
  const range = { offsetBytes: 1000, lengthBytes: LARGE_BYTES - 3000 };
  assert.ok((await get(store, extent, range)).equals(bytes.subarray(1000, LARGE_BYTES - 2000)));
  assert.equal(server.asked.length, 4);
  const starts = server.asked.map((asked) => Number(/bytes=(\d+)-/.exec(asked)?.[1]));
  assert.equal(starts[0], 1000);
  for (const [index, start] of starts.entries()) assert.ok(index === 0 || start >= (starts[index - 1] as number));
  assert.ok(server.asked.every((asked) => asked.endsWith(`-${LARGE_BYTES - 2001}`)));
});

test('a read that breaks again and again fails, after what could be had', async () => {
  const { store, extent } = await scene(LARGE_BYTES);
  server.mischief = halfWay(cutOff);
  await assert.rejects(get(store, extent), ContentUnavailable);
  assert.equal(server.asked.length, 4);
});

test('a read that goes silent half-way fails', async () => {
  const { store, extent } = await scene(LARGE_BYTES, { stallLimitMs: SHORT_MS });
  server.mischief = halfWay(() => {});
  await assert.rejects(
    get(store, extent),
    (error) => error instanceof ContentUnavailable && /silent/.test(error.message),
  );
  assert.equal(server.asked.length, 1);
});

test('a reader that takes longer than the server may is not mistaken for a silent server', async () => {
  const stallLimitMs = 500;
  const { store, extent, bytes } = await scene(LARGE_BYTES, { stallLimitMs });
  const pieces: Uint8Array[] = [];
  for await (const piece of store.read(extent.placement, whole(extent))) {
    if (pieces.length === 0) await delay(3 * stallLimitMs);
    pieces.push(piece);
  }
  assert.ok(Buffer.concat(pieces).equals(bytes));
  assert.equal(server.asked.length, 1);
});

test('a server that goes silent after its reader took long is still found out', async () => {
  const stallLimitMs = SHORT_MS;
  const { store, extent } = await scene(SMALL_BYTES, { stallLimitMs });
  server.mischief = halfWay(() => {});
  const reader = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
  await reader.next();
  await delay(3 * stallLimitMs);
  await assert.rejects(async () => {
    while ((await reader.next()).done !== true);
  }, ContentUnavailable);
});

test('a reader that gives up closes its connection', async () => {
  const { store, extent } = await scene(LARGE_BYTES);
  const closed = new Promise<boolean>((resolve) => {
    server.mischief = (_, response) => {
      response.once('close', () => resolve(response.writableFinished));
      return halfWay(() => {})(_, response);
    };
  });
  for await (const piece of store.read(extent.placement, whole(extent))) {
    assert.ok(piece.length > 0);
    break;
  }
  assert.equal(await closed, false);
});

test('an object that was cut short or grown behind our back is not passed off as the extent', async () => {
  const { store, extent, bytes } = await scene(SMALL_BYTES);
  const key = `store/${extent.placement}`;
  server.objects.set(key, { bytes: bytes.subarray(0, 100), lastModifiedMs: 0 });
  assert.equal(await store.verify(extent), 'damaged');
  await assert.rejects(get(store, extent), /no longer has the length that was written/);
});

test('a bucket that is gone is not taken for a missing extent', async () => {
  const { store, extent } = await scene(SMALL_BYTES);
  server.mischief = (_, response) => {
    response.writeHead(404).end(xml('<Error><Code>NoSuchBucket</Code></Error>'));
    return true;
  };
  await assert.rejects(get(store, extent), ContentUnavailable);
});

/** A source that says whether it was let go, and how much of it was taken. */
function watchedSource(bytes: Buffer, pieceBytes = 64 * KIB) {
  const state = { takenBytes: 0, isLetGo: false };
  const source = async function* () {
    try {
      for (const piece of cut(bytes, pieceBytes)) {
        state.takenBytes += piece.length;
        yield piece;
      }
    } finally {
      state.isLetGo = true;
    }
  };
  return { source: source(), state };
}

test('a large write is sent once, and fails when the server breaks down over it', async () => {
  const store = await openStore();
  server.mischief = async (request, response) => {
    assert.equal((await bodyOf(request))?.length, LARGE_BYTES);
    response.writeHead(500).end(xml('<Error><Code>InternalError</Code></Error>'));
    return true;
  };
  const { source, state } = watchedSource(randomBytes(LARGE_BYTES));
  await assert.rejects(store.write(ids.next(), source, LARGE_BYTES), /500 InternalError/);
  assert.ok(state.isLetGo);
  assert.equal(server.asked.length, 1);
});

test('a server that refuses a large write at once is not sent the rest of it', async () => {
  const store = await openStore();
  server.mischief = (_, response) => {
    response.writeHead(503).end(xml('<Error><Code>SlowDown</Code></Error>'));
    return true;
  };
  const { source, state } = watchedSource(randomBytes(64 * MIB));
  await assert.rejects(
    store.write(ids.next(), source, 64 * MIB),
    (error) => error instanceof ContentUnavailable && /503 SlowDown/.test(error.message),
  );
  assert.ok(state.isLetGo);
  assert.ok(state.takenBytes < 64 * MIB, `${state.takenBytes} bytes were taken`);
});

test('a server that takes nothing is sent no more than the connection holds, and given up', async () => {
  const store = await openStore({ stallLimitMs: SHORT_MS });
  server.mischief = silent;
  const { source, state } = watchedSource(randomBytes(64 * MIB));
  await assert.rejects(
    store.write(ids.next(), source, 64 * MIB),
    (error) => error instanceof ContentUnavailable && /silent/.test(error.message),
  );
  assert.ok(state.isLetGo);
  assert.ok(state.takenBytes < 32 * MIB, `${state.takenBytes} bytes were taken`);
});

test('a source that takes longer than the server may is not mistaken for a silent server', async () => {
  const stallLimitMs = 500;
  const store = await openStore({ stallLimitMs });
  const bytes = randomBytes(LARGE_BYTES);
  const source = async function* () {
    yield bytes.subarray(0, 100_000);
    await delay(3 * stallLimitMs);
    yield bytes.subarray(100_000);
  };
  const extent = await put(store, bytes, source());
  assert.ok((await get(store, extent)).equals(bytes));
});

test('a connection that breaks under a large write ends it', async () => {
  const store = await openStore();
  server.mischief = async (request) => {
    await once(request, 'data');
    request.socket.destroy();
    return true;
  };
  const { source, state } = watchedSource(randomBytes(LARGE_BYTES));
  await assert.rejects(store.write(ids.next(), source, LARGE_BYTES), ContentUnavailable);
  assert.ok(state.isLetGo);
  assert.equal(server.asked.length, 1);
});

test('a server that says yes before it has everything is not believed', async () => {
  const store = await openStore();
  server.mischief = (_, response) => {
    response.writeHead(200).end();
    return true;
  };
  const { source } = watchedSource(randomBytes(64 * MIB));
  await assert.rejects(store.write(ids.next(), source, 64 * MIB), ContentUnavailable);
});

const BROKEN = new Error('the client went away');

for (const [what, tail, refusal] of [
  ['throws after its last byte', [BROKEN], BROKEN],
  ['goes on after its last byte', [Buffer.alloc(1)], /SourceLengthMismatch/],
] as const) {
  test(`the last byte of a large source that ${what} is never sent`, async () => {
    const store = await openStore();
    const received = new Promise<number>((resolve) => {
      server.mischief = async (request) => {
        let bytes = 0;
        request.on('data', (piece: Buffer) => {
          bytes += piece.length;
        });
        request.once('close', () => resolve(bytes));
        return true;
      };
    });
    const source = async function* () {
      yield* cut(randomBytes(LARGE_BYTES), 64 * KIB);
      for (const next of tail) {
        if (next instanceof Error) throw next;
        yield next;
      }
    };
    await assert.rejects(store.write(ids.next(), source(), LARGE_BYTES), refusal);
    assert.ok((await received) < LARGE_BYTES);
    assert.equal(server.objects.size, 0);
  });

  test(`a small source that ${what} does not reach the server`, async () => {
    const store = await openStore();
    const source = async function* () {
      yield randomBytes(SMALL_BYTES);
      for (const next of tail) {
        if (next instanceof Error) throw next;
        yield next;
      }
    };
    await assert.rejects(store.write(ids.next(), source(), SMALL_BYTES), refusal);
    assert.deepEqual(server.asked, []);
  });
}

test('what is freed while it is read is removed after its last reader, and gone for others at once', async () => {
  const { store, extent, bytes } = await scene(LARGE_BYTES);
  const readers = [0, 1].map(() => store.read(extent.placement, whole(extent))[Symbol.asyncIterator]());
  const firsts = await Promise.all(readers.map((reader) => reader.next()));
  server.asked.length = 0;
  await store.free(extent.placement, extent.lengthBytes);
  await store.free(extent.placement, extent.lengthBytes);
  assert.equal(await store.verify(extent), 'missing');
  await assert.rejects(get(store, extent), ExtentMissing);
  assert.deepEqual(server.asked, []);

  await readers[0]?.return?.();
  const pieces = [firsts[1]?.value as Uint8Array];
  for (let next = await readers[1]?.next(); next?.done === false; next = await readers[1]?.next()) {
    assert.deepEqual(server.asked, []);
    pieces.push(next.value);
  }
  assert.ok(Buffer.concat(pieces).equals(bytes));
  await until({ what: 'the object is gone', limitSeconds: 10 }, () => server.objects.size === 0);
  assert.deepEqual(server.asked, [`DELETE store/${extent.placement}`]);
});

test('a read that breaks after its extent was freed can be taken up again', async () => {
  const { store, extent, bytes } = await scene(LARGE_BYTES);
  server.mischief = toFirst(1, 'GET', halfWay(cutOff));
  const reader = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
  const pieces = [(await reader.next()).value as Uint8Array];
  await store.free(extent.placement, extent.lengthBytes);
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) pieces.push(next.value);
  assert.ok(Buffer.concat(pieces).equals(bytes));
});

test('a reader may finish after the store was closed, and nothing new begins', async () => {
  const { store, extent, bytes } = await scene(LARGE_BYTES);
  const reader = store.read(extent.placement, whole(extent))[Symbol.asyncIterator]();
  const pieces = [(await reader.next()).value as Uint8Array];
  await store.close();
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) pieces.push(next.value);
  assert.ok(Buffer.concat(pieces).equals(bytes));
  await assert.rejects(get(store, extent), /closed/);
  await assert.rejects(put(store, bytes), /closed/);
});

const HOUR_MS = 60 * 60 * 1000;

test("recovery goes by pages, spares what is young by the server's clock, and leaves what is not its own", async () => {
  const store = await openStore();
  server.pageLength = 3;
  // Nobody else's clock: the server lives in another year.
  server.nowMs = Date.UTC(2001, 0, 1);
  const extents: PlacedExtent[] = [];
  for (let made = 0; made < 20; made++) {
    extents.push(await put(store, randomBytes(100 + made)));
    server.nowMs += HOUR_MS;
  }
  const foreign = ['store/readme', 'store/a b+c%2F&', 'store/sub/x', 'stores/x', 'other'];
  for (const key of foreign) server.objects.set(key, { bytes: Buffer.alloc(1), lastModifiedMs: 0 });
  server.asked.length = 0;

  // The last was written an hour ago, the one before two, and so on.
  const live = extents.filter((_, index) => index % 3 === 0);
  const young = extents.slice(-5);
  const doomed = extents.filter((extent) => !live.includes(extent) && !young.includes(extent));
  let isListed = false;
  const records = async function* () {
    isListed = server.asked.length > 0;
    yield* live;
  };
  const report = await store.recover(records(), { spareYoungerThanMs: 5.5 * HOUR_MS });
  assert.ok(isListed);
  const bytes = doomed.reduce((sum, { lengthBytes }) => sum + lengthBytes, 0);
  assert.deepEqual(report, { extentCount: doomed.length, bytes });
  const left = extents.filter((extent) => !doomed.includes(extent)).map(({ placement }) => `store/${placement}`);
  assert.deepEqual([...server.objects.keys()].sort(), [...left, ...foreign].sort());
  assert.ok(server.asked.filter((asked) => asked.startsWith('GET')).length > 6);
});

test('an extent that is named while the recovery goes on is not given up, though its page comes later', async () => {
  const store = await openStore();
  server.pageLength = 1;
  const first = await put(store, randomBytes(100));
  const late = await put(store, randomBytes(100));
  server.objects.delete(`store/${late.placement}`);
  server.nowMs += 2 * HOUR_MS;
  // Written when the walk has begun, and old when its page comes: the records were read beyond it before that.
  const records = async function* () {
    server.objects.set(`store/${late.placement}`, { bytes: randomBytes(100), lastModifiedMs: server.nowMs });
    server.nowMs += 10 * HOUR_MS;
    yield first;
  };
  const before = await put(store, randomBytes(100));
  assert.deepEqual(await store.recover(records(), { spareYoungerThanMs: HOUR_MS }), { extentCount: 0, bytes: 0 });
  assert.ok(server.objects.has(`store/${late.placement}`));
  assert.ok(server.objects.has(`store/${before.placement}`));
});

test('a recovery that must spare the young removes nothing when the server does not tell its time', async () => {
  const { store } = await scene(SMALL_BYTES);
  server.mischief = (_, response) => {
    response.sendDate = false;
    response.removeHeader('date');
    return false;
  };
  await assert.rejects(store.recover(each([]), { spareYoungerThanMs: 1 }), /does not send a Date header/);
  assert.equal(server.objects.size, 1);
});

test('records of another store stop the recovery', async () => {
  const { store } = await scene(SMALL_BYTES);
  const foreign = { id: '0'.repeat(24), placement: 'f00.1', lengthBytes: 1 };
  await assert.rejects(store.recover(each([foreign])), /never wrote/);
  assert.equal(server.objects.size, 1);
});

for (const [what, body] of [
  ['not XML', 'hello'],
  ['another document', '<Error/>'],
  [
    'a page that says no more than that there are others',
    '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
  ],
  ['an object without its time', '<ListBucketResult><Contents><Key>store/x</Key></Contents></ListBucketResult>'],
] as const) {
  test(`a listing that is ${what} is refused`, async () => {
    const { store } = await scene(SMALL_BYTES);
    server.mischief = (_, response) => {
      response.end(body);
      return true;
    };
    await assert.rejects(store.recover(each([])), ContentUnavailable);
    assert.equal(server.objects.size, 1);
  });
}

test('a listing that breaks half-way is asked for again', async () => {
  const { store } = await scene(SMALL_BYTES);
  server.mischief = toFirst(1, 'GET', async (request, response) => {
    await new Promise((resolve) => response.write('<ListBucketResult>', resolve));
    request.socket.destroy();
    return true;
  });
  assert.deepEqual(await store.recover(each([])), { extentCount: 1, bytes: SMALL_BYTES });
});

test('a recovery ends with the first removal that fails, and leaves the rest to the next', async () => {
  const store = await openStore();
  for (let made = 0; made < 40; made++) await put(store, randomBytes(100));
  server.mischief = (request, response) => request.method === 'DELETE' && busy(request, response);
  await assert.rejects(store.recover(each([])), /503 SlowDown/);
  server.mischief = () => false;
  assert.deepEqual(await store.recover(each([])), { extentCount: 40, bytes: 4000 });
  assert.equal(server.objects.size, 0);
});

test('records that cannot be read to their end stop the recovery', async () => {
  const { store, extent } = await scene(SMALL_BYTES);
  const records = async function* () {
    yield { ...extent, id: '0'.repeat(24) };
    throw BROKEN;
  };
  await assert.rejects(store.recover(records()), BROKEN);
  assert.equal(server.objects.size, 1);
});

test('requests one after another share a connection', async () => {
  const { store, extent } = await scene(SMALL_BYTES);
  const ports = new Set<number | undefined>();
  server.mischief = ({ socket }) => {
    ports.add(socket.remotePort);
    return false;
  };
  for (let time = 0; time < 10; time++) {
    await get(store, extent);
    await store.verify(extent);
    await store.strays(each([]));
    await store.free((await put(store, randomBytes(10))).placement, 10);
    await assert.rejects(get(store, { ...extent, placement: extent.placement.replace(/^./, 'f') }), ExtentMissing);
  }
  assert.equal(ports.size, 1);
});

test('more readers and writers at once than there are idle connections kept all come through', async () => {
  const store = await openStore();
  const bytes = Array.from({ length: 100 }, () => randomBytes(300 * KIB));
  const extents = await Promise.all(bytes.map((body) => put(store, body, each(cut(body, 64 * KIB)))));
  const copies = await Promise.all(
    extents.map(async (extent) => ({
      ...extent,
      placement: await store.write(extent.id, store.read(extent.placement, whole(extent)), extent.lengthBytes),
    })),
  );
  const read = await Promise.all(copies.map((copy) => get(store, copy)));
  for (const [index, body] of bytes.entries()) assert.ok(read[index]?.equals(body));
});

test('a bucket that is missing is made, once', async () => {
  server.hasBucket = false;
  await openStore();
  assert.ok(server.hasBucket);
});

test('a bucket that another node makes at the same time is taken', async () => {
  server.hasBucket = false;
  server.mischief = (request, response) => {
    if (request.method !== 'PUT') return false;
    server.hasBucket = true;
    response.writeHead(409).end(xml('<Error><Code>OperationAborted</Code></Error>'));
    return true;
  };
  await openStore();
});

test('a bucket that is missing and cannot be made is told', async () => {
  server.hasBucket = false;
  server.mischief = (request, response) => {
    if (request.method !== 'PUT') return false;
    response.writeHead(403).end(xml('<Error><Code>AccessDenied</Code></Error>'));
    return true;
  };
  await assert.rejects(openStore(), /has no bucket bucket and does not create it.*403 AccessDenied/);
});

test('refused access is told with what the server said, and without the secret', async () => {
  server.mischief = (_, response) => {
    response.writeHead(403).end(xml('<Error><Code>SignatureDoesNotMatch</Code></Error>'));
    return true;
  };
  await assert.rejects(openStore(), (error: Error) => {
    assert.ok(error instanceof ContentUnavailable);
    assert.match(error.message, /refuses access to the bucket bucket: check .*403 SignatureDoesNotMatch/);
    assert.doesNotMatch(`${error.stack}${JSON.stringify(error)}`, /hush/);
    return true;
  });
});

test('a bucket in another region is told with the region to write', async () => {
  server.mischief = (_, response) => {
    response.writeHead(301, { 'x-amz-bucket-region': 'eu-north-1' }).end();
    return true;
  };
  await assert.rejects(openStore(), /write region=eu-north-1/);
});

test('a server that cannot be reached is told with its address', async () => {
  const gone = new SmallS3();
  await gone.listen();
  const { endpoint } = gone;
  await gone.close();
  const opening = openS3Content({
    url: `s3://KEY:hush@bucket?endpoint=${endpoint}`,
    storeId: 'store',
    patience: { repeatDelayMs: 1 },
  });
  await assert.rejects(opening, (error: Error) => {
    assert.ok(error instanceof ContentUnavailable);
    assert.ok(error.message.includes(endpoint) && error.message.includes('ECONNREFUSED'), error.message);
    return true;
  });
});

test('a store whose id is no name is refused', async () => {
  await assert.rejects(openS3Content({ url: 's3://KEY:hush@bucket', storeId: '../x' }), /not a store's id/);
});
