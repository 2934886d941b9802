/** Several nodes over one store: one of them sweeps, and it respects what the others read. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { type ClusterNode, MemoryCluster, settle } from '../../../test/harness/memory-cluster.ts';
import { blockIdOf, Gate, gather, keepAwake, TestStore } from '../../../test/harness/store.ts';
import { until } from '../../../test/harness/until.ts';
import { EngineUnavailable, type Entry, isVolatile } from '../../engine/engine.ts';
import { STAGING_LIFE_MS } from '../blob/staging.ts';
import { checkStore } from '../check.ts';
import { openStorage } from '../open-storage.ts';
import { encodeJson } from '../records/codec.ts';
import { idOf, nodeKey } from '../records/keys.ts';
import { GARBAGE_TOPIC } from './duties.ts';

const KIB = 1024;
const MINUTE = 60;
const large = (fill: string): Buffer => Buffer.alloc(20 * KIB, fill);

let cluster: MemoryCluster;
beforeEach(() => {
  cluster = new MemoryCluster();
});

/** So many nodes, of which the first leads and has done so for long enough to sweep. */
async function joinAll(count: number): Promise<ClusterNode[]> {
  const nodes: ClusterNode[] = [];
  while (nodes.length < count) nodes.push(await cluster.join());
  await settle(nodes);
  await (nodes[0] as ClusterNode).store.createContainer('box');
  return nodes;
}

async function closeAll(nodes: readonly ClusterNode[]): Promise<void> {
  for (const { store } of nodes) {
    await store.close();
    assert.deepEqual(store.errors, []);
  }
}

const idOfNode = ({ store }: ClusterNode): string => store.nodes.id;

async function openStream({ store }: ClusterNode, blob: string): Promise<AsyncIterableIterator<Uint8Array>> {
  const { bytes } = await store.open('box', blob);
  assert.ok(!(bytes instanceof Uint8Array));
  return bytes[Symbol.asyncIterator]() as AsyncIterableIterator<Uint8Array>;
}

async function assertNothingLeft(): Promise<void> {
  const report = await checkStore({ engine: cluster.engine, content: cluster.content, afterCrash: false });
  assert.deepEqual(report.findings, []);
  assert.equal(report.awaitingSweep, 0);
  assert.equal(report.extents, 0);
}

async function garbageCount(): Promise<number> {
  return (await checkStore({ engine: cluster.engine, content: cluster.content, afterCrash: true })).awaitingSweep;
}

describe('the leader', () => {
  test('is one node, the first to come, and stays it', async () => {
    const nodes = await joinAll(3);
    await settle(nodes);
    assert.equal(await cluster.leader(), idOfNode(nodes[0] as ClusterNode));
    await closeAll(nodes);
    assert.equal(await cluster.leader(), null);
  });

  test('alone sweeps', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await b.store.put('box', 'blob', large('1'));
    await b.store.delete('box', 'blob');
    await b.store.sweeper.sweep();
    assert.equal(await garbageCount(), 1);
    await a.store.sweep();
    await assertNothingLeft();
    await closeAll([a, b]);
  });

  test('is followed by another at once when it leaves', async () => {
    const [a, b, c] = (await joinAll(3)) as [ClusterNode, ClusterNode, ClusterNode];
    const isHeard = new Gate();
    await cluster.signals.listen('nodes', (word) => {
      if (word === 'left') isHeard.open();
    });
    await a.store.close();
    await isHeard.passed;
    const leaders = await Promise.all([b, c].map(({ store }) => store.nodes.lead('sweep')));
    assert.equal(leaders.filter(Boolean).length, 1);
    await closeAll([b, c]);
  });

  test('is followed by another when it dies, with the next beat', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await b.store.put('box', 'blob', large('1'));
    await b.store.delete('box', 'blob');
    await cluster.kill(a);
    await settle([b]);
    assert.equal(await cluster.leader(), idOfNode(b));
    await b.store.beat();
    await b.store.sweep();
    await assertNothingLeft();
    await closeAll([b]);
  });

  test('that the engine gave up, though it lives, finds that another leads', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await cluster.forget(a);
    await b.store.beat();
    await a.store.beat();
    assert.equal(await cluster.leader(), idOfNode(b));
    assert.ok(!a.store.nodes.seemsToLead('sweep'));
    assert.equal((await b.store.nodes.others()).length, 1, 'it is back among the nodes');
    await closeAll([a, b]);
  });

  test('hears of garbage made elsewhere, once for many changes', async (t) => {
    keepAwake(t);
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    let heardCount = 0;
    const isHeard = new Gate();
    await cluster.signals.listen(GARBAGE_TOPIC, () => {
      heardCount++;
      isHeard.open();
    });
    for (let count = 0; count < 20; count++) {
      await b.store.put('box', 'blob', large('1'));
      await b.store.delete('box', 'blob');
    }
    const isSwept = swept(a);
    await isHeard.passed;
    assert.ok(heardCount <= 2, `${heardCount} signals for 20 changes`);
    await isSwept;
    await a.store.sweep();
    await assertNothingLeft();
    await closeAll([a, b]);
  });

  test('finds garbage of which it did not hear', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    b.line.isCut = true;
    // It has looked when it began to lead, and found nothing.
    let lookCount = 0;
    a.hooks.before = (call) => {
      if (call.what === 'ranged' && call.from[0] === 'G'.charCodeAt(0)) lookCount++;
    };
    await until({ what: 'the leader has looked', limitSeconds: 20 }, () => lookCount > 0);
    await b.store.put('box', 'blob', large('1'));
    await b.store.delete('box', 'blob');
    // Neither is the ask heard, nor the answer: each is seen with the next beat.
    await until({ what: 'the garbage is swept', limitSeconds: 20 }, async () => {
      for (const { store } of [a, b]) await store.beat();
      return (await garbageCount()) === 0;
    });
    await assertNothingLeft();
    await closeAll([a, b]);
  });
});

/** Resolves when the node has freed something. */
function swept({ hooks }: ClusterNode): Promise<void> {
  const isFreed = new Gate();
  hooks.before = (call) => {
    if (call.what === 'freed') isFreed.open();
  };
  return isFreed.passed;
}

describe('a reader on another node', () => {
  test('keeps what the leader would give back, until it has finished', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await a.store.put('box', 'blob', large('1'));
    const stream = await openStream(b, 'blob');
    await a.store.put('box', 'blob', large('2'));
    await a.store.sweep();
    assert.equal(await garbageCount(), 1);
    assert.deepEqual(await gather(stream), large('1'));
    await a.store.sweep();
    assert.equal(await garbageCount(), 0);
    await a.store.delete('box', 'blob');
    await a.store.sweep();
    await assertNothingLeft();
    await closeAll([a, b]);
  });

  test('keeps the blocks of its version over several others', async () => {
    const [a, b, c] = (await joinAll(3)) as [ClusterNode, ClusterNode, ClusterNode];
    const commit = async (store: TestStore, committed: number[], added: number[]): Promise<void> => {
      for (const number of added) await store.putBlock('box', 'blob', blockIdOf(number), large(String(number)));
      await store.putBlockList('box', 'blob', [
        ...committed.map((number) => ({ kind: 'committed' as const, id: blockIdOf(number) })),
        ...added.map((number) => ({ kind: 'uncommitted' as const, id: blockIdOf(number) })),
      ]);
    };
    await commit(a.store, [], [1, 2, 3]);
    const first = await openStream(b, 'blob');
    await commit(b.store, [1, 3], [4]);
    const second = await openStream(c, 'blob');
    await commit(c.store, [3], [5]);
    await a.store.sweep();
    await c.store.delete('box', 'blob');
    await a.store.sweep();
    assert.deepEqual(await gather(first), Buffer.concat([large('1'), large('2'), large('3')]));
    await a.store.sweep();
    assert.deepEqual(await gather(second), Buffer.concat([large('1'), large('3'), large('4')]));
    await a.store.sweep();
    await assertNothingLeft();
    await closeAll([a, b, c]);
  });

  test('keeps it also if it was looking it up when the garbage was gathered', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await a.store.put('box', 'blob', large('1'));
    const [extent] = await inTable(a, 'X');
    const snapshotTaken = new Gate();
    const mayPin = new Gate();
    const reading = b.store.storage.readers.inSnapshot(async (snapshot) => {
      snapshotTaken.open();
      await mayPin.passed;
      const range = { offsetBytes: 0, lengthBytes: 20 * KIB };
      return b.store.storage.readers.open(snapshot, { kind: 'extent', id: idOf((extent as Entry).key) }, range);
    });
    await snapshotTaken.passed;
    await a.store.delete('box', 'blob');

    // The leader has gathered and asks; only now does the reader pin what it found.
    const isAsked = new Gate();
    await cluster.signals.listen('nodes', (word) => {
      if (word === 'ask') isAsked.open();
    });
    const sweeping = a.store.sweeper.sweep();
    await isAsked.passed;
    mayPin.open();
    await sweeping;
    assert.deepEqual(await gather((await reading) as AsyncIterable<Uint8Array>), large('1'));
    await a.store.sweep();
    await assertNothingLeft();
    await closeAll([a, b]);
  });

  test('that died keeps nothing', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await a.store.put('box', 'blob', large('1'));
    await openStream(b, 'blob');
    await a.store.delete('box', 'blob');
    await a.store.sweep();
    assert.equal(await garbageCount(), 1);
    await cluster.kill(b);
    await a.store.sweep();
    await assertNothingLeft();
    await closeAll([a]);
  });

  test('that is given up, though it lives, fails and gets no wrong bytes', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await a.store.put('box', 'blob', large('1'));
    const stream = await openStream(b, 'blob');
    await a.store.delete('box', 'blob');
    await cluster.forget(b);
    await a.store.sweep();
    await a.store.put('box', 'blob', large('2'));
    await assert.rejects(gather(stream));
    await closeAll([a, b]);
  });
});

async function inTable({ store }: ClusterNode, letter: string): Promise<Entry[]> {
  return (await store.entries()).filter(({ key }) => key[0] === letter.charCodeAt(0));
}

describe('a node that does not answer', () => {
  test('holds up a pass until it dies', async () => {
    const [a] = (await joinAll(1)) as [ClusterNode];
    const silent = 'f'.repeat(24);
    await cluster.engine.commit({
      checks: [],
      puts: [{ key: nodeKey(silent), value: encodeJson({ answer: null }) }],
      deletes: [],
    });
    await a.store.put('box', 'blob', large('1'));
    await a.store.delete('box', 'blob');
    const isAsked = new Gate();
    await cluster.signals.listen('nodes', (word) => {
      if (word === 'ask') isAsked.open();
    });
    const sweeping = a.store.sweeper.sweep();
    await isAsked.passed;
    await a.store.beat();
    assert.equal(await garbageCount(), 1);
    await cluster.engine.commit({ checks: [], puts: [], deletes: [nodeKey(silent)] });
    await a.store.beat();
    await sweeping;
    await assertNothingLeft();
    await closeAll([a]);
  });

  test('does not hold up the closing of the leader', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    b.line.isCut = true;
    await a.store.put('box', 'blob', large('1'));
    await a.store.delete('box', 'blob');
    const isAsked = new Gate();
    await cluster.signals.listen('nodes', (word) => {
      if (word === 'ask') isAsked.open();
    });
    const sweeping = a.store.sweeper.sweep();
    await isAsked.passed;
    await a.store.close();
    await sweeping;
    assert.equal(await garbageCount(), 1);
    await closeAll([b]);
  });
});

test('a leader that was paused in the middle of a pass, while another swept, does no harm and meets no error', async () => {
  const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
  // Extents, stagings, and a chain of block lists that need each other.
  await a.store.put('box', 'whole', large('0'));
  await a.store.put('box', 'whole', large('1'));
  for (const numbers of [[1, 2], [3, 4], [5]]) {
    for (const number of numbers) await a.store.putBlock('box', 'list', blockIdOf(number), large(String(number)));
    const ids = numbers.map((number) => ({ kind: 'uncommitted' as const, id: blockIdOf(number) }));
    const kept = numbers[0] === 1 ? [] : [{ kind: 'committed' as const, id: blockIdOf((numbers[0] as number) - 2) }];
    await a.store.putBlockList('box', 'list', [...kept, ...ids]);
  }
  const isPaused = new Gate();
  const mayGoOn = new Gate();
  a.hooks.before = async (call) => {
    if (call.what !== 'free') return;
    a.hooks.clear();
    isPaused.open();
    await mayGoOn.passed;
  };
  const paused = a.store.sweeper.sweep();
  await isPaused.passed;
  a.line.isCut = true;
  await cluster.forget(a);
  await settle([b]);
  await b.store.beat();
  await b.store.sweep();
  assert.equal(await garbageCount(), 0);

  mayGoOn.open();
  await paused;
  assert.deepEqual(await b.store.read('box', 'whole'), large('1'));
  assert.deepEqual(await b.store.read('box', 'list'), Buffer.concat([large('3'), large('5')]));
  a.line.isCut = false;
  await closeAll([a, b]);
  assert.deepEqual(
    (await checkStore({ engine: cluster.engine, content: cluster.content, afterCrash: false })).findings,
    [],
  );
});

describe('what is done now and then', () => {
  const DAY_MINUTES = 24 * 60;

  test('is done by the leader: staged blocks expire', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    await b.store.putBlock('box', 'blob', blockIdOf(1), large('1'));
    cluster.clock.advance({ seconds: STAGING_LIFE_MS / 1000 });
    await b.store.beat();
    assert.equal((await inTable(b, 'E')).length, 1);
    await a.store.beat();
    await closeAll([a, b]);
    assert.equal((await inTable(a, 'E')).length, 0);
  });

  test('is done by the leader: what crashes left in the content store is given back, a while after and daily', async () => {
    const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
    const recoveries: (number | undefined)[] = [];
    a.hooks.before = (call) => {
      if (call.what === 'recover') recoveries.push(call.options?.spareYoungerThanMs);
    };
    b.hooks.before = (call) => assert.notEqual(call.what, 'recover');
    for (const [minutes, count] of [
      [0, 0],
      [9, 0],
      [1, 1],
      [DAY_MINUTES - 1, 1],
      [1, 2],
    ] as const) {
      cluster.clock.advance({ seconds: minutes * MINUTE });
      await a.store.beat();
      await b.store.beat();
      await new Promise(setImmediate);
      assert.deepEqual(
        recoveries,
        Array.from({ length: count }, () => DAY_MINUTES * MINUTE * 1000),
      );
    }
    await closeAll([a, b]);
  });

  test('does not include the recovery of a store of its own, which is recovered when it is opened', async () => {
    const { engine, content } = cluster;
    await content.write('f'.repeat(24), pieces(), 20 * KIB);
    const store = await TestStore.open({ engine, content });
    await assertNothingLeft();
    await content.write('f'.repeat(24), pieces(), 20 * KIB);
    store.clock.advance({ seconds: 2 * DAY_MINUTES * MINUTE });
    await store.beat();
    await store.close();
    assert.equal((await checkStore({ engine, content, afterCrash: true })).leftByCrash, 1);
  });
});

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(20 * KIB);
}

test('two nodes never give one name the same ETag, though both deleted and created it in the same millisecond', async () => {
  const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
  const etags = new Set<string>();
  for (let count = 0; count < 50; count++) {
    for (const { store } of [a, b]) {
      await store.put('box', 'blob', Buffer.from('x'));
      etags.add((await store.open('box', 'blob')).blob.etag);
      await store.delete('box', 'blob');
    }
  }
  assert.equal(etags.size, 100);
  await closeAll([a, b]);
});

test('an engine that is away is reported once, however often the node looks, and again when it was back between', async (t) => {
  keepAwake(t);
  let isAway = false;
  let beats = 0;
  let hasBeaten = new Gate();
  const errors: unknown[] = [];
  const { engine, content, signals, clock } = cluster;
  const commit = engine.commit.bind(engine);
  engine.commit = async (batch) => {
    const isBeat = batch.puts.some(({ key }) => isVolatile(key) && key[1] === 'N'.charCodeAt(0));
    if (isBeat && ++beats >= 3) hasBeaten.open();
    if (isAway) throw new EngineUnavailable('away');
    return commit(batch);
  };
  const onError = (error: unknown): void => void errors.push(error);
  const opened = await openStorage({
    engine,
    content,
    signals,
    clock,
    onError,
    slot: () => null,
    isShared: true,
    beatMs: 1,
  });
  for (const [away, reported] of [
    [true, 1],
    [false, 1],
    [true, 2],
    [false, 2],
  ] as const) {
    isAway = away;
    beats = 0;
    hasBeaten = new Gate();
    await hasBeaten.passed;
    await new Promise(setImmediate);
    assert.equal(errors.length, reported);
  }
  await opened.close();
});

test('an extent that stands in the engine itself is read to its end though it is deleted elsewhere', async () => {
  const [a, b] = (await joinAll(2)) as [ClusterNode, ClusterNode];
  await a.store.put('box', 'blob', Buffer.from('small'));
  const { bytes } = await b.store.open('box', 'blob');
  await a.store.delete('box', 'blob');
  await a.store.sweep();
  assert.deepEqual(Buffer.from(bytes as Uint8Array), Buffer.from('small'));
  assert.equal((await inTable(a, 'I')).length, 0);
  await closeAll([a, b]);
});
