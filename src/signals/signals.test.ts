/** The signals' contract over every adapter, and what is particular to a database: it is lost, or cannot listen. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { freshDatabase, type TestDatabase } from '../../test/harness/postgres.ts';
import { until } from '../../test/harness/until.ts';
import { missingTool } from '../../test/packages.ts';
import { Database } from '../postgres/database.ts';
import { Ear, signalsContract } from './contract.ts';
import { openLocalSignals } from './local/local-signals.ts';
import { openPostgresSignals } from './postgres/postgres-signals.ts';

const LIMIT_SECONDS = 20;

signalsContract('local', async () => ({ open: async () => openLocalSignals(), dispose: async () => {} }), {
  nodeCount: 1,
});

describe('signals through a database', { skip: missingTool('postgres') }, () => {
  let fresh: TestDatabase;
  let url: string;
  let database: Database;

  before(async () => {
    fresh = await freshDatabase();
    url = fresh.url;
    database = new Database({ url });
  });

  after(async () => {
    await database.close();
    await fresh.drop();
  });

  signalsContract(
    'postgres',
    async () => ({ open: (storeId) => openPostgresSignals({ url, storeId }), dispose: async () => {} }),
    { nodeCount: 3 },
  );

  /** Ends the backends that listen to the store; resolves with their number. */
  async function endListeners(storeId: string): Promise<number> {
    const rows = await database.query({
      text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = $1`,
      values: [`LISTEN "larimar_${storeId.replaceAll('-', '_')}"`],
    });
    return rows.length;
  }

  test('a lost listening connection is opened again, and its listeners are told that they missed something', async () => {
    const storeId = randomUUID();
    const [one, other] = [await openPostgresSignals({ url, storeId }), await openPostgresSignals({ url, storeId })];
    try {
      const ears = [await Ear.of(one, 'news'), await Ear.of(one, 'news'), await Ear.of(one, 'weather')];
      assert.equal(await endListeners(storeId), 2);
      await Promise.all(ears.map((ear) => ear.hears('')));
      await other.send('news', 'after');
      await other.send('weather', 'after');
      await Promise.all(ears.map((ear) => ear.hears('after')));
      for (const ear of ears) assert.deepEqual(ear.heard, ['', 'after']);
    } finally {
      await one.close();
      await other.close();
    }
  });

  test('a lost sending connection is opened again', async () => {
    const storeId = randomUUID();
    const [one, other] = [await openPostgresSignals({ url, storeId }), await openPostgresSignals({ url, storeId })];
    try {
      const ear = await Ear.of(one, 'news');
      await other.send('news', 'before');
      await database.query({
        text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND query LIKE 'SELECT pg_notify%'`,
      });
      await until({ what: 'a signal comes again', limitSeconds: LIMIT_SECONDS }, async () => {
        await other.send('news', 'after');
        return ear.heard.includes('after');
      });
    } finally {
      await one.close();
      await other.close();
    }
  });

  test('a closed node does not listen again', async () => {
    const storeId = randomUUID();
    const signals = await openPostgresSignals({ url, storeId });
    const ear = await Ear.of(signals, 'news');
    const ending = endListeners(storeId);
    await signals.close();
    await ending;
    await until(
      { what: 'nobody listens', limitSeconds: LIMIT_SECONDS },
      async () => (await endListeners(storeId)) === 0,
    );
    assert.deepEqual(ear.heard, []);
  });

  test('a connection that falls silent is given up, and another listens', async () => {
    const proxy = await openProxy(url);
    const storeId = randomUUID();
    const far = await openPostgresSignals({ url: proxy.url, storeId, heartbeatMs: 1_000 });
    const near = await openPostgresSignals({ url, storeId });
    try {
      const ear = await Ear.of(far, 'news');
      await near.send('news', 'before');
      await ear.hears('before');
      proxy.silence();
      await ear.hears('');
      await near.send('news', 'after');
      await ear.hears('after');
    } finally {
      await near.close();
      await far.close();
      await proxy.close();
    }
  });

  test('a database that knows no LISTEN leaves a node its own signals', async () => {
    const proxy = await openProxy(url, (bytes) =>
      Buffer.from(bytes.toString('latin1').replace('LISTEN', 'LISTEM'), 'latin1'),
    );
    const storeId = randomUUID();
    const [one, other] = [
      await openPostgresSignals({ url: proxy.url, storeId }),
      await openPostgresSignals({ url, storeId }),
    ];
    try {
      const [own, elsewhere] = [await Ear.of(one, 'news'), await Ear.of(other, 'news')];
      await one.send('news', 'mine');
      await own.hears('mine');
      await other.send('news', 'theirs');
      await elsewhere.hears('theirs');
      assert.deepEqual(own.heard, ['mine']);
      assert.deepEqual(elsewhere.heard, ['theirs']);
    } finally {
      await one.close();
      await other.close();
      await proxy.close();
    }
  });

  test('a database that cannot be used is an error at once', async () => {
    const nowhere = new URL(url);
    nowhere.pathname = '/no_such_database';
    await assert.rejects(openPostgresSignals({ url: nowhere.href, storeId: randomUUID() }), /does not exist/);
    await assert.rejects(openPostgresSignals({ url, storeId: 'x"; DROP' }), /not a store's id/);
  });
});

interface Proxy {
  readonly url: string;
  /** The connections there are carry nothing any more, and stay open; new ones do. */
  silence(): void;
  close(): Promise<void>;
}

/** Between a client and its database; `change` sees what the client says. */
async function openProxy(url: string, change: (bytes: Buffer) => Buffer = (bytes) => bytes): Promise<Proxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    return socket;
  };
  const server = createServer((client) => {
    const upstream = track(connect(Number(target.port), target.hostname));
    track(client).on('data', (bytes) => upstream.write(change(bytes)));
    upstream.on('data', (bytes) => client.write(bytes));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: through.href,
    silence() {
      for (const socket of sockets) socket.removeAllListeners('data').resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
