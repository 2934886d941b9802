import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { BlobServiceClient, RestError } from '@azure/storage-blob';
import { ConfigError } from './config/config-error.ts';
import { ManualClock, openStore, type RunningServer, type ServerOptions, startServer } from './main.ts';

const KEY = Buffer.alloc(64, 'a key of the tests').toString('base64');

const endings = new WeakMap<TestContext, (() => Promise<void>)[]>();

/** The last begun is ended first: a server before its folder. */
function atEnd(t: TestContext, end: () => Promise<void>): void {
  const known = endings.get(t);
  if (known !== undefined) {
    known.unshift(end);
    return;
  }
  const own = [end];
  endings.set(t, own);
  t.after(async () => {
    for (const end of own) await end();
  });
}

async function start(t: TestContext, options: ServerOptions): Promise<RunningServer> {
  const server = await startServer(options);
  atEnd(t, () => server.close());
  return server;
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-main-'));
  atEnd(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

const clientOf = ({ connectionString }: RunningServer): BlobServiceClient =>
  BlobServiceClient.fromConnectionString(connectionString, { retryOptions: { maxTries: 1 } });

async function upload(server: RunningServer, text: string): Promise<void> {
  const container = clientOf(server).getContainerClient('box');
  await container.createIfNotExists();
  await container.getBlockBlobClient('blob').upload(text, text.length);
}

const download = async (server: RunningServer): Promise<string> =>
  (await clientOf(server).getContainerClient('box').getBlobClient('blob').downloadToBuffer()).toString();

describe('a server in memory', () => {
  test('listens on a free port of this machine and says where', async (t) => {
    const { origins, endpoints, connectionString } = await start(t, { memory: true });
    assert.match(origins.blob, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    assert.equal(endpoints.blob, `${origins.blob}/devstoreaccount1`);
    assert.match(connectionString, /^DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=[^;]+;/);
    assert.ok(connectionString.includes(`BlobEndpoint=${endpoints.blob};`));
  });

  test('serves the official client by its connection string', async (t) => {
    const server = await start(t, { memory: true });
    await upload(server, 'hello');
    assert.equal(await download(server), 'hello');
  });

  test('serves the first account given, and names it in endpoint and connection string', async (t) => {
    const accounts = [
      { name: 'team', keys: [KEY] },
      { name: 'other', keys: [KEY] },
    ];
    const server = await start(t, { memory: true, accounts });
    assert.ok(server.endpoints.blob.endsWith('/team'));
    assert.deepEqual(server.accounts, ['devstoreaccount1', 'team', 'other']);
    assert.equal(server.connectionStringFor('team', KEY), server.connectionString);
    assert.match(server.connectionStringFor('other', KEY), /AccountName=other;.*\/other;$/);
    await upload(server, 'ours');
    assert.equal(await download(server), 'ours');
  });

  test('forgets everything when it ends', async (t) => {
    const first = await start(t, { memory: true });
    await upload(first, 'gone');
    await first.close();
    const second = await start(t, { memory: true });
    await assert.rejects(download(second), (error) => error instanceof RestError && error.statusCode === 404);
  });
});

describe('a server on a folder', () => {
  test('serves after a restart what it was given before', async (t) => {
    const data = join(await makeFolder(t), 'data');
    const first = await start(t, { data });
    await upload(first, 'kept '.repeat(10_000));
    await first.close();
    const second = await start(t, { data });
    assert.equal(await download(second), 'kept '.repeat(10_000));
  });

  test('leaves no lock behind when it ends', async (t) => {
    const data = await makeFolder(t);
    const server = await start(t, { data });
    assert.ok((await readdir(data)).includes('larimar.lock'));
    await server.close();
    assert.ok(!(await readdir(data)).includes('larimar.lock'));
  });

  test('refuses a second one on the same folder, and goes on', async (t) => {
    const data = await makeFolder(t);
    const server = await start(t, { data });
    await assert.rejects(
      startServer({ data }),
      (error) => error instanceof ConfigError && /in use/.test(error.message),
    );
    await upload(server, 'still here');
    assert.equal(await download(server), 'still here');
  });

  test('lets go of the folder when something in it cannot be opened', async (t) => {
    const data = await makeFolder(t);
    await writeFile(join(data, 'content'), 'a file where a folder should be');
    await assert.rejects(startServer({ data }));
    await rm(join(data, 'content'));
    const server = await start(t, { data });
    await upload(server, 'now it works');
  });
});

describe('ending', () => {
  test('twice is ending once', async () => {
    const server = await startServer({ memory: true });
    await Promise.all([server.close(), server.close()]);
    await server.close();
    await assert.rejects(fetch(server.origins.blob));
  });
});

describe('a port that is in use', () => {
  test('is refused with the system’s own code, and the folder is free again', async (t) => {
    const first = await start(t, { memory: true });
    const blobPort = Number(new URL(first.origins.blob).port);
    const data = await makeFolder(t);
    await assert.rejects(startServer({ data, blobPort }), { code: 'EADDRINUSE' });
    assert.ok(!(await readdir(data)).includes('larimar.lock'));
    const second = await start(t, { data });
    await upload(second, 'elsewhere');
    await upload(first, 'undisturbed');
  });
});

test('two servers in one process do not see each other’s blobs', async (t) => {
  const [first, second] = [await start(t, { memory: true }), await start(t, { data: await makeFolder(t) })];
  assert.notEqual(first.origins.blob, second.origins.blob);
  await upload(first, 'first');
  await upload(second, 'second');
  assert.equal(await download(first), 'first');
  assert.equal(await download(second), 'second');
});

test('a lease ends when the clock that was handed in says so', async (t) => {
  const clock = new ManualClock();
  const server = await start(t, { memory: true, clock });
  await upload(server, 'leased');
  const blob = clientOf(server).getContainerClient('box').getBlobClient('blob');
  await blob.getBlobLeaseClient().acquireLease(15);
  await assert.rejects(upload(server, 'refused'), (error) => error instanceof RestError && error.statusCode === 412);
  clock.advance({ seconds: 16 });
  await upload(server, 'taken');
  assert.equal(await download(server), 'taken');
});

describe('what cannot be started', () => {
  test('is a server with neither a folder nor memory', async () => {
    await assert.rejects(startServer({}), TypeError);
  });

  test('is a server with both a folder and memory', async (t) => {
    await assert.rejects(startServer({ data: await makeFolder(t), memory: true }).then((server) => server.close()));
  });

  test('is a server with a wrong key, which touches no folder and does not show the key', async (t) => {
    const data = join(await makeFolder(t), 'data');
    await assert.rejects(startServer({ data, accounts: [{ name: 'team', keys: ['secret!'] }] }), (error) => {
      assert.ok(error instanceof ConfigError && !error.message.includes('secret!'));
      return true;
    });
    await assert.rejects(readdir(data), { code: 'ENOENT' });
  });
});

/** As a killed process leaves it: the lock names one that is gone. */
async function crash(data: string): Promise<void> {
  await mkdir(data, { recursive: true });
  const store = await openStore({ data });
  const lock = JSON.parse(await readFile(join(data, 'larimar.lock'), 'utf8')) as object;
  await store.close();
  await writeFile(join(data, 'larimar.lock'), JSON.stringify({ ...lock, pid: 2 ** 22 + 1 }));
}

async function isAfterCrash(data: string): Promise<boolean> {
  const store = await openStore({ data, looksOnly: true });
  await store.close();
  return store.afterCrash;
}

test('after a crash, a store is known to be in that state however often it is opened, until a server has cleared up', async (t) => {
  const data = await makeFolder(t);
  await crash(data);
  assert.equal(await isAfterCrash(data), true);
  assert.equal(await isAfterCrash(data), true, 'looking at it clears nothing up');
  await (await startServer({ data })).close();
  assert.equal(await isAfterCrash(data), false);
});
