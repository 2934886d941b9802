import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { until } from '../../../test/harness/until.ts';
import { type Engine, EngineUnavailable } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { openLog } from '../log.ts';
import { type AdminServer, openAdminServer } from './admin-server.ts';
import { Readiness, readOnce } from './readiness.ts';

/** An engine whose reads are counted, and wait until they are let go, or fail. */
class HeldEngine {
  readonly #hooks = new Hooks();
  readonly engine: Engine = hookEngine(openMemoryEngine(), this.#hooks);
  readCount = 0;
  #letGo: () => void = () => {};

  constructor() {
    this.letGo();
  }

  hold(): void {
    const gate = new Promise<void>((resolve) => {
      this.#letGo = resolve;
    });
    this.#beforeReads(() => gate);
  }

  fail(error: Error): void {
    this.#beforeReads(async () => {
      throw error;
    });
  }

  letGo(): void {
    this.#letGo();
    this.#beforeReads(async () => {});
  }

  #beforeReads(act: () => Promise<void>): void {
    this.#hooks.before = () => {
      this.readCount++;
      return act();
    };
  }
}

class Lines {
  readonly texts: string[] = [];

  write(text: string): void {
    this.texts.push(text);
  }
}

interface Scene {
  readonly held: HeldEngine;
  readonly readiness: Readiness;
  readonly admin: AdminServer;
  readonly log: () => string;
  ask(path: string, method?: string): Promise<{ status: number; body: unknown; headers: Headers }>;
}

async function openScene(t: TestContext, limitMs = 60_000): Promise<Scene> {
  const lines = new Lines();
  const log = openLog({ mode: 'text', sink: lines });
  const readiness = new Readiness({ log, limitMs });
  const admin = await openAdminServer({ host: '127.0.0.1', port: 0, readiness });
  t.after(() => admin.close());
  return {
    held: new HeldEngine(),
    readiness,
    admin,
    log: () => {
      log.flush();
      return lines.texts.join('');
    },
    async ask(path, method = 'GET') {
      const response = await fetch(admin.origin + path, { method });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text), headers: response.headers };
    },
  };
}

const begin = ({ readiness, held }: Scene): void => readiness.begin(() => readOnce(held.engine));
const notReady = (reason: string): object => ({ status: 'not ready', reason });

describe('readiness', () => {
  test('is asked of the store, and not there before the server is up', async (t) => {
    const scene = await openScene(t);
    assert.deepEqual((await scene.ask('/ready')).body, notReady('starting'));
    assert.equal((await scene.ask('/health')).status, 200);
    begin(scene);
    const { status, body } = await scene.ask('/ready');
    assert.deepEqual([status, body, scene.held.readCount], [200, { status: 'ready' }, 1]);
    assert.equal(scene.log(), '');
  });

  test('is gone while reads fail, says no more than that, and comes back', async (t) => {
    const scene = await openScene(t);
    begin(scene);
    scene.held.fail(new EngineUnavailable('connection to 10.0.0.1 as larimar lost'));
    for (let asked = 0; asked < 3; asked++) {
      const { status, body, headers } = await scene.ask('/ready');
      assert.deepEqual([status, body], [503, notReady('the store fails')]);
      assert.ok(Number(headers.get('retry-after')) >= 1);
    }
    assert.equal((await scene.ask('/health')).status, 200);
    scene.held.letGo();
    assert.equal((await scene.ask('/ready')).status, 200);
    const told = scene.log();
    assert.equal(told.match(/not ready: the store fails/g)?.length, 1, 'told once, not for every asker');
    assert.match(told, /connection to 10\.0\.0\.1.*\n[\s\S]*ready again/);
  });

  test('is gone when a read is not answered in time; there is no second read before the first is over', async (t) => {
    const scene = await openScene(t, 20);
    begin(scene);
    scene.held.hold();
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.ask('/ready')));
    for (const { status, body } of [...answers, await scene.ask('/ready'), await scene.ask('/readyz')]) {
      assert.deepEqual([status, body], [503, notReady('the store does not answer')]);
    }
    assert.equal(scene.held.readCount, 1);
    scene.held.letGo();
    await until({ what: 'it is ready', limitSeconds: 10 }, async () => (await scene.ask('/ready')).status === 200);
    assert.equal(scene.held.readCount, 2);
  });

  test('is found out by one read for all who ask meanwhile', async (t) => {
    const scene = await openScene(t);
    begin(scene);
    scene.held.hold();
    const asked = Array.from({ length: 20 }, () => scene.readiness.reasonAgainst());
    scene.held.letGo();
    assert.deepEqual(new Set(await Promise.all(asked)), new Set([null]));
    assert.equal(scene.held.readCount, 1);
  });

  test('ends when the server is told to stop, also for those who are waiting, and without another read', async (t) => {
    const scene = await openScene(t);
    begin(scene);
    scene.held.hold();
    const waiting = scene.readiness.reasonAgainst();
    scene.readiness.end();
    assert.equal(await waiting, 'stopping');
    scene.held.letGo();
    const { status, body } = await scene.ask('/ready');
    assert.deepEqual([status, body], [503, notReady('stopping')]);
    assert.equal((await scene.ask('/health')).status, 200);
    assert.equal(scene.held.readCount, 1);
  });

  test('of a closed engine fails, and does not throw', async (t) => {
    const scene = await openScene(t);
    const engine = openMemoryEngine();
    scene.readiness.begin(() => readOnce(engine));
    assert.equal((await scene.ask('/ready')).status, 200);
    await engine.close();
    assert.deepEqual((await scene.ask('/ready')).body, notReady('the store fails'));
  });
});

describe('the admin door', () => {
  test('goes on when an asker leaves before the answer', async (t) => {
    const scene = await openScene(t);
    begin(scene);
    scene.held.hold();
    const socket = connect(Number(new URL(scene.admin.origin).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /ready HTTP/1.1\r\n\r\n');
    while (scene.held.readCount === 0) await new Promise(setImmediate);
    socket.destroy();
    await once(socket, 'close');
    scene.held.letGo();
    assert.equal((await scene.ask('/ready')).status, 200);
  });

  test('closes though a connection that asks nothing is open', async (t) => {
    const scene = await openScene(t);
    const socket = connect(Number(new URL(scene.admin.origin).port), '127.0.0.1');
    await once(socket, 'connect');
    const cut = once(socket, 'close');
    socket.resume().on('error', () => {});
    await scene.admin.close();
    await cut;
    await assert.rejects(fetch(`${scene.admin.origin}/health`));
  });
});
