import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { makeCertificate } from '../../test/harness/certificate.ts';
import type { Account, Need, ResourceAcl } from '../auth/identity.ts';
import { ManualClock } from '../base/clock.ts';
import { EngineUnavailable } from '../engine/engine.ts';
import type { CorsRule } from '../rules/cors.ts';
import { NEWEST_VERSION } from '../rules/versions.ts';
import { StorageError } from '../service/storage-error.ts';
import { bodyStream, ClientGone, readWhole, requireContentLength } from './body.ts';
import type { Door, Route } from './door.ts';
import type { AuthorizedExchange, Exchange, Reply } from './exchange.ts';
import { renderFault } from './faults.ts';
import type { AccessEntry, Log } from './log.ts';
import { decodePercent } from './request-target.ts';
import { type HttpServer, type HttpServerOptions, openHttpServer } from './server.ts';

// ---- a service of a few operations, each named by the last segment of the path

const MIB = 1024 * 1024;

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

function makeGate(): Gate {
  let resolver: (() => void) | null = null;
  const opened = new Promise<void>((resolve) => {
    resolver = resolve;
  });
  return { opened, open: () => resolver?.() };
}

class TestDoor implements Door {
  readonly service = 'b';
  corsRules: readonly CorsRule[] = [];
  defaultVersion: string | null = null;
  /** What an operation saw, for the tests that ask. */
  seen: Exchange | null = null;
  readonly entered = makeGate();
  readonly release = makeGate();
  readonly streamClosed = makeGate();
  streamError: unknown = null;
  pieceCount = 0;
  bodyError: unknown = null;

  route(exchange: Exchange): Route {
    const resource = exchange.target.resourcePath.split('/').map(decodePercent);
    const operation = this.#operations[resource.at(-1) ?? ''];
    if (operation === undefined) throw new StorageError('InvalidUri');
    const need: Need = { resourceType: 'o', anyOf: 'r', serviceSas: true, anonymous: 'container' };
    return { operation: resource.at(-1) ?? '', need, resource, handle: (authorized) => operation(authorized) };
  }

  async loadAcl(_account: string, [container]: readonly string[]): Promise<ResourceAcl | null> {
    return container === 'private' ? null : { publicAccess: 'container', policies: [] };
  }

  loadCorsRules = async (): Promise<readonly CorsRule[]> => this.corsRules;
  loadDefaultVersion = async (): Promise<string | null> => this.defaultVersion;

  readonly #operations: Record<string, (exchange: AuthorizedExchange) => Promise<Reply>> = {
    hello: async (exchange) => {
      this.seen = exchange;
      const text = 'hello';
      if (exchange.method === 'HEAD') return { status: 200, headers: ['Content-Length', String(text.length)] };
      return { status: 200, headers: ['Content-Type', 'text/plain'], body: text };
    },
    careless: async () => ({ status: 200, headers: ['Content-Length', '5'], body: Buffer.from('hello') }),
    empty: async () => ({ status: 201, headers: ['ETag', '"1"'] }),
    upload: async (exchange) => {
      this.seen = exchange;
      requireContentLength(exchange);
      return { status: 201, headers: [], body: `${(await readWhole(exchange, { maxBytes: 64 * MIB })).length}` };
    },
    anylength: async (exchange) => {
      this.seen = exchange;
      return { status: 201, headers: [], body: (await readWhole(exchange, { maxBytes: 64 * MIB })).toString('utf8') };
    },
    tiny: async (exchange) => {
      await readWhole(exchange, { maxBytes: 100 });
      return { status: 201, headers: [] };
    },
    refuse: async () => {
      throw new StorageError('LeaseIdMissing');
    },
    firstpiece: async (exchange) => {
      for await (const piece of bodyStream(exchange)) {
        if (piece.length > 0) throw new StorageError('Md5Mismatch');
      }
      return { status: 201, headers: [] };
    },
    watched: async (exchange) => {
      this.entered.open();
      try {
        await readWhole(exchange, { maxBytes: 64 * MIB });
      } catch (error) {
        this.bodyError = error;
        throw error;
      }
      return { status: 201, headers: [] };
    },
    latebody: async (exchange) => {
      const body = exchange.body();
      this.entered.open();
      await this.release.opened;
      for await (const _ of body);
      return { status: 201, headers: [] };
    },
    slow: async () => {
      this.entered.open();
      await this.release.opened;
      return { status: 200, headers: [], body: 'at last' };
    },
    download: async () => ({
      status: 200,
      headers: ['Content-Length', String(64 * MIB)],
      body: this.#pieces({ count: 64, failAfter: null }),
    }),
    bulk: async () => ({ status: 200, headers: [], body: Buffer.alloc(32 * MIB, 'x') }),
    breaking: async () => ({
      status: 200,
      headers: ['Content-Length', String(64 * MIB)],
      body: this.#pieces({ count: 64, failAfter: 3 }),
    }),
    short: async () => ({
      status: 200,
      headers: ['Content-Length', String(4 * MIB)],
      body: this.#pieces({ count: 3, failAfter: null }),
    }),
    long: async () => ({
      status: 200,
      headers: ['Content-Length', '5'],
      body: this.#pieces({ count: 1, failAfter: null }),
    }),
    disposition: async () => ({ status: 200, headers: ['Content-Disposition', 'attachment; filename="€\r\nX: y"'] }),
    boom: async () => {
      throw new TypeError('a bug of ours');
    },
    nostore: async () => {
      throw new EngineUnavailable('disk full');
    },
    unmodified: async () => {
      throw new StorageError('ConditionNotMet', { notModified: true });
    },
  };

  async *#pieces({ count, failAfter }: { count: number; failAfter: number | null }): AsyncGenerator<Uint8Array> {
    this.entered.open();
    try {
      for (let index = 0; index < count; index++) {
        if (index === failAfter) throw new Error('the disk cannot be read');
        this.pieceCount++;
        yield Buffer.alloc(MIB, index);
      }
    } catch (error) {
      this.streamError = error;
      throw error;
    } finally {
      this.streamClosed.open();
    }
  }

  readonly renderFault = renderFault;
}

class RecordingLog implements Log {
  readonly entries: AccessEntry[] = [];
  readonly errors: string[] = [];
  #waiting: (() => void)[] = [];

  access(entry: AccessEntry): void {
    this.entries.push(entry);
    for (const wake of this.#waiting.splice(0)) wake();
  }
  info(): void {}
  error(message: string, error?: unknown): void {
    this.errors.push(`${message}: ${error instanceof Error ? error.stack : ''}`);
  }
  flush(): void {}

  async lines(count: number): Promise<AccessEntry[]> {
    while (this.entries.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.entries;
  }
}

const account = (name: string): Account => ({ name, keys: [Buffer.from('key')], loopbackOnly: false });
const accounts = new Map(['acme', 'other'].map((name) => [name, account(name)]));

interface Started {
  readonly server: HttpServer;
  readonly door: TestDoor;
  readonly log: RecordingLog;
  readonly clock: ManualClock;
}

async function start(t: TestContext, options: Partial<HttpServerOptions> = {}): Promise<Started> {
  const door = new TestDoor();
  const log = new RecordingLog();
  const clock = new ManualClock(Date.UTC(2024, 0, 1));
  const server = await openHttpServer({ door, accounts, clock, log, host: '127.0.0.1', port: 0, ...options });
  t.after(() => {
    door.release.open();
    for (const client of rawClients.splice(0)) client.socket.destroy();
    return server.close();
  });
  return { server, door, log, clock };
}

// ---- two clients: Node's, and one that sends whatever it is told

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly text: string;
}

async function ask(
  server: HttpServer,
  path: string,
  options: RequestOptions & { body?: string } = {},
): Promise<Answer> {
  const { body, ...rest } = options;
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port: server.port, path, agent: false, ...rest }, resolve)
      .on('error', reject)
      .end(body);
  });
  return readMessage(message);
}

async function readMessage(message: IncomingMessage): Promise<Answer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return {
    status: message.statusCode as number,
    headers: message.headers as Record<string, string>,
    text: Buffer.concat(pieces).toString('utf8'),
  };
}

class RawClient {
  readonly socket: Socket;
  #pieces: Buffer[] = [];
  #receivedBytes = 0;
  #ended = false;
  error: NodeJS.ErrnoException | null = null;
  #wake = (): void => {};
  readonly closed: Promise<void>;

  constructor({ port }: HttpServer) {
    this.socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.#ended = true;
        this.#wake();
        resolve();
      });
    });
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.socket.on('end', () => {
      this.#ended = true;
      this.#wake();
    });
    this.socket.on('data', (piece) => {
      this.#pieces.push(piece);
      this.#receivedBytes += piece.length;
      this.#wake();
    });
  }

  send(text: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => resolve()));
  }

  /** The next answer; null once the server has closed its side. */
  async read({ isHead = false }: { isHead?: boolean } = {}): Promise<Answer | null> {
    const end = await this.#find('\r\n\r\n');
    if (end === null) return null;
    const lines = this.#take(end + 4)
      .trim()
      .split('\r\n');
    const headers = Object.fromEntries(
      lines
        .slice(1)
        .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const status = Number(lines[0]?.split(' ')[1]);
    const length = isHead ? 0 : Number(headers['content-length'] ?? 0);
    while (this.#receivedBytes < length && !this.#ended) await this.#more();
    return { status, headers, text: this.#take(length) };
  }

  /** Until the server closes its side. */
  async readToEnd(): Promise<string> {
    while (!this.#ended) await this.#more();
    return this.#take(this.#receivedBytes);
  }

  async #find(text: string): Promise<number | null> {
    while (!this.#joined().includes(text)) {
      if (this.#ended) return null;
      await this.#more();
    }
    return this.#joined().indexOf(text);
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #take(length: number): string {
    const received = this.#joined();
    this.#pieces = [received.subarray(length)];
    this.#receivedBytes = received.length - Math.min(length, received.length);
    return received.subarray(0, length).toString('latin1');
  }

  #joined(): Buffer {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0] as Buffer;
  }
}

/** Those of the test that is running; it hangs up before its server closes. */
const rawClients: RawClient[] = [];

function rawClient(server: HttpServer): RawClient {
  const client = new RawClient(server);
  rawClients.push(client);
  return client;
}

const get = (operation: string, headers = ''): string =>
  `GET /acme/c/${operation} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const put = (operation: string, headers: string, body = ''): string =>
  `PUT /acme/c/${operation} HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`;

// ---- answers

test('every answer carries request id, version, date, server and the echoed client request id', async (t) => {
  const { server } = await start(t);
  for (const path of ['/acme/c/hello', '/acme/c/boom', '/acme/c/nothing', '/']) {
    const { headers } = await ask(server, path, {
      headers: { 'x-ms-client-request-id': 'mine', 'x-ms-version': '2021-12-02' },
    });
    assert.match(headers['x-ms-request-id'] ?? '', /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/);
    assert.equal(headers['x-ms-version'], path === '/' ? NEWEST_VERSION : '2021-12-02');
    assert.equal(headers['date'], 'Mon, 01 Jan 2024 00:00:00 GMT');
    assert.equal(headers['server'], 'Larimar');
    assert.equal(headers['x-ms-client-request-id'], 'mine');
  }
});

test('a client request id that is too long or not printable is refused and not echoed', async (t) => {
  const { server } = await start(t);
  for (const id of ['x'.repeat(1025), 'caf\u00e9', 'a\tb']) {
    const { status, headers, text } = await ask(server, '/acme/c/hello', { headers: { 'x-ms-client-request-id': id } });
    assert.equal(status, 400);
    assert.equal(headers['x-ms-error-code'], 'InvalidHeaderValue');
    assert.equal(headers['x-ms-client-request-id'], undefined);
    assert.match(text, /<HeaderName>x-ms-client-request-id<\/HeaderName>/);
  }
  const { status } = await ask(server, '/acme/c/hello', { headers: { 'x-ms-client-request-id': 'x'.repeat(1024) } });
  assert.equal(status, 200);
});

test('a connection serves on after every kind of refusal', async (t) => {
  const { server, log } = await start(t);
  const client = rawClient(server);
  for (const [operation, status] of [
    ['nothing', 400],
    ['boom', 500],
    ['refuse', 412],
    ['unmodified', 304],
    ['hello', 200],
  ] as const) {
    await client.send(get(operation));
    const reply = await client.read();
    assert.equal(reply?.status, status);
    assert.equal(reply?.headers['connection'], 'keep-alive');
  }
  assert.deepEqual(
    log.entries.map(({ status, errorCode }) => [status, errorCode]),
    [
      [400, 'InvalidUri'],
      [500, 'InternalError'],
      [412, 'LeaseIdMissing'],
      [304, 'ConditionNotMet'],
      [200, null],
    ],
  );
});

test('requests that come in one packet are answered in their order', async (t) => {
  const { server, door } = await start(t);
  const client = rawClient(server);
  await client.send(get('slow') + get('hello') + get('refuse'));
  await door.entered.opened;
  door.release.open();
  assert.equal((await client.read())?.text, 'at last');
  assert.equal((await client.read())?.text, 'hello');
  assert.equal((await client.read())?.status, 412);
});

test('HEAD never has a body, whatever the operation gives', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  for (const [operation, status] of [
    ['hello', 200],
    ['careless', 200],
    ['refuse', 412],
    ['boom', 500],
    ['download', 200],
  ] as const) {
    await client.send(get(operation).replace('GET', 'HEAD'));
    assert.equal((await client.read({ isHead: true }))?.status, status);
  }
  await client.send(get('hello'));
  assert.equal((await client.read())?.text, 'hello');
});

test('an answer without a body says that its length is zero', async (t) => {
  const { server } = await start(t);
  const { status, headers } = await ask(server, '/acme/c/empty', { method: 'PUT' });
  assert.equal(status, 201);
  assert.equal(headers['content-length'], '0');
});

test('an unexpected exception is 500 to the client and has its stack in the log only', async (t) => {
  const { server, log } = await start(t);
  const { status, text } = await ask(server, '/acme/c/boom');
  assert.equal(status, 500);
  assert.match(text, /<Code>InternalError<\/Code>/);
  assert.doesNotMatch(text, /a bug of ours/);
  assert.match(log.errors[0] ?? '', /a bug of ours\n +at /);
});

test('a store that cannot be reached is 503 with a time to retry', async (t) => {
  const { server } = await start(t);
  const { status, headers } = await ask(server, '/acme/c/nostore');
  assert.equal(status, 503);
  assert.equal(headers['x-ms-error-code'], 'ServerBusy');
  assert.equal(headers['retry-after'], '1');
});

test('a header value that HTTP cannot carry goes out as UTF-8 on one line', async (t) => {
  const { server } = await start(t);
  const { headers } = await ask(server, '/acme/c/disposition');
  assert.equal(
    Buffer.from(headers['content-disposition'] ?? '', 'latin1').toString('utf8'),
    'attachment; filename="€  X: y"',
  );
  assert.equal(headers['x'], undefined);
});

// ---- accounts, versions, callers

test('an account in the host name leaves the whole path to the resource', async (t) => {
  const { server, door } = await start(t);
  const { status } = await ask(server, '/c/hello', { headers: { host: `acme.blob.localhost:${server.port}` } });
  assert.equal(status, 200);
  assert.equal(door.seen?.target.account, 'acme');
  assert.equal(door.seen?.origin, `http://acme.blob.localhost:${server.port}`);
});

test('a request is served as the version it names, a newer one as the newest, none as the default', async (t) => {
  const { server, door } = await start(t);
  const versionOf = async (path: string, headers: Record<string, string>): Promise<string> => {
    await ask(server, path, { headers });
    return door.seen?.version ?? '';
  };
  assert.equal(await versionOf('/acme/c/hello', { 'x-ms-version': '2019-12-12' }), '2019-12-12');
  assert.equal(await versionOf('/acme/c/hello', { 'x-ms-version': '2099-01-01' }), NEWEST_VERSION);
  assert.equal(await versionOf('/acme/c/hello', {}), '2009-09-19');
  door.defaultVersion = '2020-10-02';
  assert.equal(await versionOf('/acme/c/hello', {}), '2020-10-02');
  assert.equal(await versionOf('/acme/c/hello?sv=2018-11-09', {}), '2018-11-09');
  assert.equal(await versionOf('/acme/c/hello?sv=2018-11-09', { 'x-ms-version': '2019-12-12' }), '2019-12-12');
  assert.equal(
    await versionOf('/acme/c/hello?sv=2018-11-09&api-version=2019-02-02', { 'x-ms-version': '2019-12-12' }),
    '2019-02-02',
  );
});

test('a version that is none is refused', async (t) => {
  const { server } = await start(t);
  const { status, text } = await ask(server, '/acme/c/hello', { headers: { 'x-ms-version': 'latest' } });
  assert.equal(status, 400);
  assert.match(text, /<HeaderName>x-ms-version<\/HeaderName><HeaderValue>latest<\/HeaderValue>/);
});

test('a stranger is challenged, and a wrong signature refused, before the operation begins', async (t) => {
  const { server, door } = await start(t);
  const anonymous = await ask(server, '/acme/private/hello', { headers: { 'x-ms-version': '2021-12-02' } });
  assert.equal(anonymous.status, 401);
  assert.match(anonymous.headers['www-authenticate'] ?? '', /^Bearer /);
  const date = new Date(Date.UTC(2024, 0, 1)).toUTCString();
  const headers = { 'x-ms-version': '2021-12-02', 'x-ms-date': date, authorization: 'SharedKey acme:AAAA' };
  assert.equal((await ask(server, '/acme/c/hello', { headers })).status, 403);
  assert.equal(door.seen, null);
});

test('the secondary location is read, not written', async (t) => {
  const { server } = await start(t);
  assert.equal((await ask(server, '/acme-secondary/c/hello')).status, 200);
  const { status, headers } = await ask(server, '/acme-secondary/c/empty', { method: 'PUT' });
  assert.equal(status, 403);
  assert.equal(headers['x-ms-error-code'], 'InsufficientAccountPermissions');
});

// ---- CORS

const rule: CorsRule = {
  allowedOrigins: ['http://app.example'],
  allowedMethods: ['GET', 'PUT'],
  allowedHeaders: ['x-ms-*'],
  exposedHeaders: ['x-ms-request-id'],
  maxAgeSeconds: 60,
};

test('a preflight is answered by the rules, without a caller or a resource', async (t) => {
  const { server, door } = await start(t);
  const headers = {
    origin: 'http://app.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'x-ms-blob-type, x-ms-date',
  };
  const preflight = (): Promise<Answer> => ask(server, '/acme/private/anything', { method: 'OPTIONS', headers });
  const refused = await preflight();
  assert.deepEqual([refused.status, refused.headers['x-ms-error-code']], [403, 'CorsPreflightFailure']);
  door.corsRules = [rule];
  const allowed = await preflight();
  assert.equal(allowed.status, 200);
  assert.equal(allowed.headers['access-control-allow-origin'], 'http://app.example');
  assert.equal(allowed.headers['access-control-allow-methods'], 'PUT');
  assert.equal(allowed.headers['access-control-max-age'], '60');
  const incomplete = await ask(server, '/acme/c/hello', { method: 'OPTIONS' });
  assert.equal(incomplete.status, 400);
  assert.match(incomplete.text, /<HeaderName>Origin<\/HeaderName>/);
});

test('an answer to a browser says what the rules allow, a refusal too', async (t) => {
  const { server, door } = await start(t);
  door.corsRules = [rule];
  for (const operation of ['hello', 'refuse']) {
    const { headers } = await ask(server, `/acme/c/${operation}`, { headers: { origin: 'http://app.example' } });
    assert.equal(headers['access-control-allow-origin'], 'http://app.example');
    assert.equal(headers['access-control-expose-headers'], 'x-ms-request-id');
    assert.equal(headers['vary'], 'Origin');
  }
  assert.equal((await ask(server, '/acme/c/hello')).headers['vary'], 'Origin');
});

// ---- request bodies

test('a client that waits for it is told to go on once the operation reads', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  await client.send(put('upload', 'Content-Length: 5\r\nExpect: 100-continue\r\n'));
  assert.equal((await client.read())?.status, 100);
  await client.send('12345');
  const reply = await client.read();
  assert.deepEqual([reply?.status, reply?.text], [201, '5']);
  await client.send(get('hello'));
  assert.equal((await client.read())?.text, 'hello');
});

test('a refused upload is never asked for, and its connection ends', async (t) => {
  const { server } = await start(t);
  for (const [operation, status] of [
    ['refuse', 412],
    ['tiny', 413],
  ] as const) {
    const client = rawClient(server);
    await client.send(put(operation, 'Content-Length: 1000000\r\nExpect: 100-continue\r\n'));
    const reply = await client.read();
    assert.equal(reply?.status, status);
    assert.equal(reply?.headers['connection'], 'close');
    assert.equal(await client.readToEnd(), '');
    assert.equal(client.error, null);
  }
});

test('an expectation other than 100-continue is served as if it were not there', async (t) => {
  const { server } = await start(t);
  assert.equal((await ask(server, '/acme/c/hello', { headers: { expect: 'miracles' } })).status, 200);
});

test('a small body that nobody read is let pass, and the connection serves on', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  await client.send(put('refuse', 'Content-Length: 60000\r\n'));
  assert.equal((await client.read())?.status, 412);
  await client.send('x'.repeat(60_000) + get('hello'));
  assert.equal((await client.read())?.text, 'hello');
});

for (const operation of ['refuse', 'firstpiece', 'tiny', 'nothing']) {
  test(`a client that sends 16 MiB before it listens still reads the refusal of ${operation}`, async (t) => {
    const { server, log } = await start(t);
    const client = rawClient(server);
    client.socket.pause();
    await client.send(put(operation, `Content-Length: ${16 * MIB}\r\n`));
    for (let sent = 0; sent < 16; sent++) await client.send(Buffer.alloc(MIB));
    client.socket.resume();
    const reply = await client.read();
    assert.ok(reply !== null && reply.status >= 400);
    assert.equal(reply.headers['connection'], 'close');
    assert.equal(await client.readToEnd(), '');
    assert.equal(client.error, null);
    assert.equal((await log.lines(1)).length, 1);
    assert.equal((await ask(server, '/acme/c/hello')).status, 200);
  });
}

test('a client that never stops sending is cut off', async (t) => {
  const { server } = await start(t, { limits: { lingerBytesMax: MIB } });
  const client = rawClient(server);
  await client.send(put('refuse', 'Content-Length: 100000000000\r\n'));
  const piece = Buffer.alloc(MIB);
  const pump = (): void => {
    client.socket.write(piece, (error) => {
      if (error === undefined || error === null) pump();
    });
  };
  pump();
  assert.equal((await client.read())?.status, 412);
  await client.closed;
});

test('what a connection sends after it was told to close is not served', async (t) => {
  const { server, door, log } = await start(t);
  const client = rawClient(server);
  await client.send(put('refuse', 'Content-Length: 100000\r\n'));
  assert.equal((await client.read())?.headers['connection'], 'close');
  await client.send('x'.repeat(100_000) + get('hello'));
  client.socket.end();
  await client.closed;
  assert.equal(door.seen, null);
  assert.equal(log.entries.length, 1);
});

test('a chunked body has no length and arrives whole', async (t) => {
  const { server, door } = await start(t);
  const client = rawClient(server);
  await client.send(put('anylength', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n'));
  assert.equal((await client.read())?.text, 'abcdefg');
  assert.equal(door.seen?.contentLengthBytes, null);
});

test('an operation that needs the length refuses a body without', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  await client.send(put('upload', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'));
  const reply = await client.read();
  assert.deepEqual([reply?.status, reply?.headers['x-ms-error-code']], [411, 'MissingContentLengthHeader']);
});

test('a chunked body longer than allowed is refused on the way', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  await client.send(put('tiny', 'Transfer-Encoding: chunked\r\n', `200\r\n${'x'.repeat(0x200)}\r\n`));
  const reply = await client.read();
  assert.equal(reply?.status, 413);
  assert.match(reply?.text ?? '', /<MaxLimit>100<\/MaxLimit>/);
});

test('broken chunking is refused while the operation reads', async (t) => {
  const { server, log, door } = await start(t);
  const client = rawClient(server);
  await client.send(put('watched', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n'));
  await door.entered.opened;
  await client.send('zz\r\nabc\r\n');
  const reply = await client.read();
  assert.deepEqual([reply?.status, reply?.headers['x-ms-error-code']], [400, 'InvalidInput']);
  assert.equal(reply?.headers['connection'], 'close');
  assert.equal(await client.readToEnd(), '');
  assert.equal((await log.lines(1)).length, 1);
});

test('broken chunking in the same packet as the head is refused too', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  await client.send(put('anylength', 'Transfer-Encoding: chunked\r\n', 'zz\r\n'));
  assert.equal((await client.read())?.status, 400);
  assert.equal(await client.readToEnd(), '');
});

test('broken chunking is refused also when the operation takes the body and reads it later', async (t) => {
  const { server, door } = await start(t);
  const client = rawClient(server);
  await client.send(put('latebody', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n'));
  await door.entered.opened;
  await client.send('zz\r\n');
  // Answered on another connection, and sent later: so the first one's bytes have been parsed by then.
  await ask(server, '/acme/c/hello');
  door.release.open();
  assert.equal((await client.read())?.status, 400);
});

test('a body longer than it said ends the connection after its answer', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  await client.send(put('anylength', 'Content-Length: 3\r\n', 'abcdef\u0001\r\n\r\n'));
  assert.equal((await client.read())?.text, 'abc');
  assert.doesNotMatch(await client.readToEnd(), /HTTP\/1\.1 2/);
});

for (const leave of ['end', 'destroy'] as const) {
  test(`a client that leaves (${leave}) before its body is complete fails the operation and is one line of log`, async (t) => {
    const { server, door, log } = await start(t);
    const client = rawClient(server);
    await client.send(put('watched', 'Content-Length: 1000\r\n', 'abc'));
    await door.entered.opened;
    client.socket[leave]();
    const [line] = await log.lines(1);
    assert.equal(line?.status, 499);
    assert.ok(door.bodyError instanceof ClientGone);
    await client.closed;
    assert.equal(log.entries.length, 1);
    assert.deepEqual(log.errors, []);
  });
}

test('a client that stands still in the middle of its body is cut off', async (t) => {
  const { server, log } = await start(t, { limits: { idleTimeoutMs: 50 } });
  const client = rawClient(server);
  await client.send(put('watched', 'Content-Length: 1000\r\n', 'abc'));
  assert.equal(await client.readToEnd(), '');
  assert.equal((await log.lines(1))[0]?.status, 499);
});

test('an operation that takes longer than a client may is waited for', async (t) => {
  const { server, door } = await start(t, { limits: { idleTimeoutMs: 50 } });
  const patient = rawClient(server);
  await patient.send(get('slow'));
  await door.entered.opened;
  // This one comes later and is cut: so the time of the first was up before.
  const idle = rawClient(server);
  await idle.send(put('watched', 'Content-Length: 1000\r\n', 'abc'));
  assert.equal(await idle.readToEnd(), '');
  door.release.open();
  assert.equal((await patient.read())?.text, 'at last');
});

// ---- malformed requests

for (const [name, text, status, code] of [
  ['a line that is no request', 'hello there\r\n\r\n', 400, 'InvalidHttpVerb'],
  ['an unknown verb', 'FETCH /acme/c/hello HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'InvalidHttpVerb'],
  ['a version that is none', 'GET /acme/c/hello HTTP/x\r\nHost: x\r\n\r\n', 400, 'InvalidInput'],
  ['a header without a name', 'GET /acme/c/hello HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400, 'InvalidInput'],
  ['a control character in the URL', 'GET /acme/\u0001 HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'InvalidInput'],
  [
    'a length that is no number',
    'PUT /acme/c/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n',
    400,
    'InvalidInput',
  ],
  [
    'two lengths',
    'PUT /acme/c/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    400,
    'InvalidInput',
  ],
  [
    'a length beside chunking',
    'PUT /acme/c/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
    'InvalidInput',
  ],
  [
    'headers of 100 KB',
    `GET /acme/c/hello HTTP/1.1\r\nHost: x\r\nx-a: ${'y'.repeat(100_000)}\r\n\r\n`,
    431,
    'InvalidInput',
  ],
  ['TLS to a plain port', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', 400, 'InvalidHttpVerb'],
] as const) {
  test(`${name} is refused with a body, and the connection closed without a reset`, async (t) => {
    const { server, log } = await start(t);
    const client = rawClient(server);
    await client.send(Buffer.from(text, 'latin1'));
    const reply = await client.read();
    assert.equal(reply?.status, status);
    assert.equal(reply?.headers['x-ms-error-code'], code);
    assert.ok(reply?.headers['x-ms-request-id']);
    assert.match(reply?.text ?? '', new RegExp(`^<\\?xml .*<Code>${code}</Code>.*RequestId:`, 's'));
    assert.equal(await client.readToEnd(), '');
    assert.equal(client.error, null);
    assert.equal(log.entries.length, 1);
  });
}

test('a client that does not finish its headers is told so and closed', async (t) => {
  const { server } = await start(t, { limits: { headersTimeoutMs: 20 } });
  const client = rawClient(server);
  await client.send('GET /acme/c/hello HTTP/1.1\r\nHost:');
  const reply = await client.read();
  assert.deepEqual([reply?.status, reply?.headers['x-ms-error-code']], [408, 'OperationTimedOut']);
  assert.equal(await client.readToEnd(), '');
});

for (const [name, text, code] of [
  ['no host', 'GET /acme/c/hello HTTP/1.1\r\n\r\n', 'MissingRequiredHeader'],
  ['a URL of 40 KB', get('x'.repeat(40_000)), 'InvalidUri'],
  ['two hosts', get('hello', 'Host: y\r\n'), 'InvalidHeaderValue'],
  ['two values of Authorization', get('hello', 'Authorization: a\r\nAuthorization: b\r\n'), 'InvalidHeaderValue'],
  ['two values of If-Match', get('hello', 'If-Match: "a"\r\nif-match: "b"\r\n'), 'InvalidHeaderValue'],
  ['two values of an x-ms header', get('hello', 'x-ms-lease-id: a\r\nX-MS-Lease-Id: b\r\n'), 'InvalidHeaderValue'],
] as const) {
  test(`a request with ${name} is refused, and the connection serves on`, async (t) => {
    const { server, door } = await start(t);
    const client = rawClient(server);
    await client.send(text);
    const reply = await client.read();
    assert.deepEqual([reply?.status, reply?.headers['x-ms-error-code']], [400, code]);
    assert.equal(door.seen, null);
    await client.send(get('hello'));
    assert.equal((await client.read())?.status, 200);
  });
}

test('headers that may come twice are all seen, with their names as written', async (t) => {
  const { server, door } = await start(t);
  const client = rawClient(server);
  await client.send(get('hello', 'x-ms-meta-Key: 1\r\nX-Ms-Meta-key: 2\r\nAccept: a\r\nAccept: b\r\n'));
  assert.equal((await client.read())?.status, 200);
  assert.deepEqual(door.seen?.headersWithPrefix('x-ms-meta-'), [
    ['x-ms-meta-Key', '1'],
    ['X-Ms-Meta-key', '2'],
  ]);
  assert.equal(door.seen?.header('x-ms-meta-key'), '1, 2');
  assert.equal(door.seen?.rawHeaders.length, 5);
});

test('a client of HTTP/1.0 without a host is served and its connection closed', async (t) => {
  const { server } = await start(t);
  const client = rawClient(server);
  await client.send('GET /acme/c/hello HTTP/1.0\r\n\r\n');
  assert.equal((await client.read())?.text, 'hello');
  assert.equal(await client.readToEnd(), '');
});

// ---- downloads

test('a stream arrives whole, and is not read faster than its client reads', async (t) => {
  const { server, door } = await start(t);
  const client = rawClient(server);
  client.socket.pause();
  await client.send(get('download') + get('hello'));
  await door.entered.opened;
  // The stream never waits by itself: unless the connection holds it back, it is at its end before this is served.
  await ask(server, '/acme/c/hello');
  assert.ok(door.pieceCount < 64, `all ${door.pieceCount} pieces were read`);
  client.socket.resume();
  const reply = await client.read();
  assert.equal(reply?.text.length, 64 * MIB);
  assert.equal(reply?.text.charCodeAt(64 * MIB - 1), 63);
  assert.equal((await client.read())?.text, 'hello');
});

for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
  test(`a client that leaves (${leave}) in the middle of a download lets the stream go and is one line of log`, async (t) => {
    const { server, door, log } = await start(t, { limits: { idleTimeoutMs: 50 } });
    const client = rawClient(server);
    client.socket.pause();
    await client.send(get('download'));
    await door.entered.opened;
    client.socket[leave]();
    await door.streamClosed.opened;
    const [line] = await log.lines(1);
    assert.equal(line?.status, 499);
    assert.deepEqual(log.errors, []);
    assert.equal(door.streamError, null);
  });
}

test('a client that leaves while its request is worked on is one line of log', async (t) => {
  const { server, door, log } = await start(t);
  const client = rawClient(server);
  await client.send(get('slow'));
  await door.entered.opened;
  client.socket.resetAndDestroy();
  await client.closed;
  await ask(server, '/acme/c/hello');
  door.release.open();
  const lines = await log.lines(2);
  assert.deepEqual([lines[0]?.status, lines[1]?.status], [200, 499]);
  assert.deepEqual(log.errors, []);
});

for (const [operation, complaint] of [
  ['breaking', /the disk cannot be read/],
  ['short', /4194304 bytes was announced, but 3145728 were sent/],
  ['long', /5 bytes was announced, but 1048576 were sent/],
] as const) {
  test(`a stream that is ${operation} cuts the connection, so that the client notices`, async (t) => {
    const { server, log } = await start(t);
    await assert.rejects(ask(server, `/acme/c/${operation}`), /aborted|socket hang up|ECONNRESET/);
    const [line] = await log.lines(1);
    assert.deepEqual([line?.status, line?.errorCode], [200, 'InternalError']);
    assert.match(log.errors[0] ?? '', complaint);
    assert.equal(log.entries.length, 1);
  });
}

// ---- closing

test('closing lets the request under way finish and closes idle connections at once', async (t) => {
  const { server, door } = await start(t);
  const idle = rawClient(server);
  await idle.send(get('hello'));
  await idle.read();
  const silent = rawClient(server);
  await new Promise((resolve) => silent.socket.once('connect', resolve));
  const busy = rawClient(server);
  await busy.send(get('slow'));
  await door.entered.opened;

  const closed = server.close();
  assert.equal(await idle.readToEnd(), '');
  assert.equal(await silent.readToEnd(), '');
  await assert.rejects(ask(server, '/acme/c/hello'), /ECONNREFUSED/);
  door.release.open();
  const reply = await busy.read();
  assert.equal(reply?.text, 'at last');
  assert.equal(reply?.headers['connection'], 'close');
  assert.equal(await busy.readToEnd(), '');
  busy.socket.end();
  await closed;
});

test('closing does not cut an answer that a slow client is still reading', async (t) => {
  const { server, log } = await start(t);
  const slow = rawClient(server);
  slow.socket.pause();
  await slow.send(get('bulk'));
  await log.lines(1);
  const closed = server.close();
  slow.socket.resume();
  assert.equal((await slow.read())?.text.length, 32 * MIB);
  slow.socket.end();
  await closed;
});

test('closing cuts what does not finish in time', async (t) => {
  const { server, door, log } = await start(t, { limits: { closeTimeoutMs: 20 } });
  const busy = rawClient(server);
  await busy.send(put('watched', 'Content-Length: 1000\r\n', 'abc'));
  await door.entered.opened;
  await server.close();
  assert.equal(await busy.readToEnd(), '');
  assert.equal((await log.lines(1))[0]?.status, 499);
});

test('a port in use is an error and not a crash', async (t) => {
  const { server } = await start(t);
  await assert.rejects(start(t, { port: server.port }), /EADDRINUSE/);
});

// ---- TLS

const tls = makeCertificate('localhost');

test('over TLS a request is answered, known to be secure, and closing is graceful', async (t) => {
  const { server, door } = await start(t, { tls });
  assert.match(server.origin, /^https:\/\/127\.0\.0\.1:\d+$/);
  const options = { host: '127.0.0.1', port: server.port, agent: false, ca: tls.cert, servername: 'localhost' };
  const over = (path: string): Promise<Answer> =>
    new Promise<IncomingMessage>((resolve, reject) => {
      httpsRequest({ ...options, path }, resolve)
        .on('error', reject)
        .end();
    }).then(readMessage);
  assert.equal((await over('/acme/c/hello')).text, 'hello');
  assert.equal(door.seen?.secure, true);
  assert.match(door.seen?.origin ?? '', /^https:/);
  const slow = over('/acme/c/slow');
  await door.entered.opened;
  const closed = server.close();
  door.release.open();
  assert.equal((await slow).text, 'at last');
  await closed;
});
