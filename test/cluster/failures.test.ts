// engines: postgres
// tier: system
/**
 * What each failure does to a cluster under load: a node is killed, its database is restarted or crashes. Nothing that
 * was acknowledged is lost, nothing takes effect twice, and service comes back by itself.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { Database } from '../../src/postgres/database.ts';
import { blobService, freshContainer } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startPostgresServer } from '../harness/postgres.ts';
import { Random } from '../harness/random.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';

const skip = missingTool('postgres');
const CLIENT_COUNT = 12;

/**
 * A client that alone writes its blob, over and over through the nodes in turn, and knows what must be there: the last
 * write that was acknowledged, or one behind it whose answer never came.
 */
class Writer {
  readonly #path: string;
  readonly #urls: () => string[];
  readonly #random: Random;
  #serial = 0;
  #acknowledged = 0;
  /** Sent since, and not answered with success. */
  #uncertain: number[] = [];
  acknowledgedCount = 0;
  busyCount = 0;
  brokenCount = 0;

  constructor(options: { path: string; urls: () => string[]; random: Random }) {
    this.#path = options.path;
    this.#urls = options.urls;
    this.#random = options.random;
  }

  async write(): Promise<void> {
    const serial = ++this.#serial;
    this.#uncertain.push(serial);
    const isLong = this.#random.chance(0.2);
    const response = await this.#send({
      method: 'PUT',
      path: this.#path,
      headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-serial': String(serial) },
      body: isLong ? randomBytes(40_000) : `${serial}`,
    });
    if (response === null) return;
    assert.equal(response.outcome, '201');
    this.#acknowledged = serial;
    this.#uncertain = [];
    this.acknowledgedCount++;
  }

  async verify(url: string): Promise<void> {
    const { headers, outcome } = await send(url, { method: 'HEAD', path: this.#path });
    const found = outcome === '404 BlobNotFound' ? 0 : Number(headers['x-ms-meta-serial']);
    const allowed = [this.#acknowledged, ...this.#uncertain];
    assert.ok(allowed.includes(found), `${this.#path}: ${found} (${outcome}), expected one of ${allowed.join()}`);
  }

  /** Null: no answer, or that the server is busy. */
  async #send(request: Parameters<typeof send>[1]): Promise<RawResponse | null> {
    let response: RawResponse;
    try {
      response = await send(this.#random.pick(this.#urls()), request);
    } catch {
      this.brokenCount++;
      return null;
    }
    if (response.status !== 503) return response;
    assert.equal(response.outcome, '503 ServerBusy');
    assert.ok(Number(response.headers['retry-after']) > 0, 'Retry-After is missing');
    this.busyCount++;
    return null;
  }
}

interface Load {
  readonly writers: readonly Writer[];
  acknowledgedCount(): number;
  /** Ends the load and looks at every blob through every node. */
  finish(urls: readonly string[]): Promise<void>;
}

async function startLoad(cluster: Cluster, random: Random): Promise<Load> {
  const { containerName } = await freshContainer(blobService(cluster.node(0)));
  const urls = (): string[] =>
    cluster.nodes.filter((node) => node.pid !== 0 && !killed.has(node.pid)).map((n) => n.url);
  const writers = Array.from(
    { length: CLIENT_COUNT },
    (_, index) =>
      new Writer({ path: `/${containerName}/blob-${index}`, urls, random: new Random(random.below(2 ** 31)) }),
  );
  const end = new AbortController();
  const runs = writers.map(async (writer) => {
    while (!end.signal.aborted) await writer.write();
  });
  return {
    writers,
    acknowledgedCount: () => writers.reduce((sum, writer) => sum + writer.acknowledgedCount, 0),
    async finish(lastUrls) {
      end.abort();
      await Promise.all(runs);
      for (const url of lastUrls) for (const writer of writers) await writer.verify(url);
    },
  };
}

const killed = new Set<number>();

const grows = (load: Load, by: number): Promise<boolean> => {
  const before = load.acknowledgedCount();
  return until({ what: `${by} more writes are acknowledged`, limitSeconds: 60 }, () =>
    load.acknowledgedCount() >= before + by ? true : null,
  );
};

describe('a cluster under load', { skip }, () => {
  test('loses nothing when a node is killed, and serves on through the others', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const cluster = await startCluster();
    try {
      const load = await startLoad(cluster, random);
      await grows(load, 100);
      const victim = cluster.node(random.below(3));
      killed.add(victim.pid);
      await victim.kill9();
      await grows(load, 200);
      const survivors = cluster.nodes.filter((node) => node !== victim);
      await load.finish(survivors.map((node) => node.url));
      await victim.start();
      for (const writer of load.writers) await writer.verify(victim.url);
      t.diagnostic(`${load.acknowledgedCount()} acknowledged`);
    } finally {
      await cluster.stop();
    }
  });

  for (const how of ['fast', 'immediate'] as const) {
    test(`loses nothing when its database is stopped (${how}) and started again, and comes back by itself`, async (t) => {
      const random = new Random();
      t.diagnostic(`LARIMAR_SEED=${random.seed}`);
      const server = await startPostgresServer();
      const cluster = await startCluster({ databaseServer: server.url });
      try {
        const load = await startLoad(cluster, random);
        await grows(load, 100);
        for (let round = 0; round < 2; round++) {
          await server.stop(how);
          await server.start();
          await grows(load, 100);
        }
        await load.finish(cluster.nodes.map((node) => node.url));
        for (const node of cluster.nodes) {
          assert.equal((await fetch(`${node.adminUrl}/ready`)).status, 200);
        }
        const busy = load.writers.reduce((sum, writer) => sum + writer.busyCount, 0);
        assert.equal(
          load.writers.reduce((sum, writer) => sum + writer.brokenCount, 0),
          0,
          'no connection was dropped',
        );
        t.diagnostic(`${load.acknowledgedCount()} acknowledged, ${busy} times busy`);
      } finally {
        await cluster.stop();
        await server.remove();
      }
    });
  }

  test('loses nothing to a node that was paused, given up for dead, and goes on', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const cluster = await startCluster();
    const database = new Database({ url: cluster.databaseUrl });
    const sessions = async (which: string): Promise<number> =>
      Number((await database.query({ text: `SELECT count(*) FROM larimar_sessions WHERE ${which}` }))[0]?.[0]);
    try {
      const load = await startLoad(cluster, random);
      await grows(load, 100);
      const { pid } = cluster.node(random.below(3));
      process.kill(pid, 'SIGSTOP');
      try {
        await until({ what: 'the paused node is given up for dead', limitSeconds: 60 }, async () =>
          (await sessions('slot IS NULL')) === 1 ? true : null,
        );
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await grows(load, 200);
      await until({ what: 'the node has a session again', limitSeconds: 30 }, async () =>
        (await sessions('slot IS NOT NULL')) === 3 ? true : null,
      );
      await load.finish(cluster.nodes.map((node) => node.url));
    } finally {
      await database.close();
      await cluster.stop();
    }
  });

  test('that cannot reach its database says that it is busy and not ready, and is ready again afterwards', async () => {
    const server = await startPostgresServer();
    const cluster = await startCluster({ databaseServer: server.url, nodeCount: 1 });
    try {
      const node = cluster.node(0);
      const container = `/c-${randomUUID()}`;
      const create = () => send(node.url, { method: 'PUT', path: `${container}?restype=container` });
      assert.equal((await create()).outcome, '201');
      await server.stop('immediate');
      assert.equal((await create()).outcome, '503 ServerBusy');
      const get = await send(node.url, { method: 'GET', path: `${container}?restype=container` });
      assert.equal(get.outcome, '503 ServerBusy');
      assert.equal((await fetch(`${node.adminUrl}/ready`)).status, 503);
      assert.equal((await fetch(`${node.adminUrl}/health`)).status, 200);
      await server.start();
      await until({ what: 'the node is ready', limitSeconds: 30 }, async () =>
        (await fetch(`${node.adminUrl}/ready`)).status === 200 ? true : null,
      );
      await until({ what: 'the node answers', limitSeconds: 30 }, async () =>
        (await create()).outcome === '409 ContainerAlreadyExists' ? true : null,
      );
    } finally {
      await cluster.stop();
      await server.remove();
    }
  });

  test('sweeps on after the node that swept was killed', async () => {
    const cluster = await startCluster({ nodeCount: 2 });
    const database = new Database({ url: cluster.databaseUrl });
    const extentCount = async (): Promise<number> =>
      Number((await database.query({ text: 'SELECT count(*) FROM larimar_extents' }))[0]?.[0]);
    const swept = () =>
      until({ what: 'nothing is left in the content store', limitSeconds: 60 }, async () =>
        (await extentCount()) === 0 ? true : null,
      );
    try {
      // Whichever of the two sweeps, it is killed once.
      for (const victim of cluster.nodes) {
        const other = cluster.nodes.find((node) => node !== victim) as (typeof cluster.nodes)[0];
        const container = await freshContainer(blobService(other));
        const blobs = Array.from({ length: 5 }, (_, index) => container.getBlockBlobClient(`${index}`));
        for (const blob of blobs) await blob.uploadData(randomBytes(100_000));
        assert.equal(await extentCount(), 5);
        await victim.kill9();
        for (const blob of blobs) await blob.delete();
        await swept();
        await victim.start();
      }
    } finally {
      await database.close();
      await cluster.stop();
    }
  });
});
