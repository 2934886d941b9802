import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { Gate } from '../../../test/harness/store.ts';
import { IdSource } from '../../base/ids.ts';
import { type Engine, type Key, VOLATILE_PREFIX } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { transact } from '../../engine/transact.ts';
import { openLocalSignals } from '../../signals/local/local-signals.ts';
import { claimKey, nodeKey } from '../records/keys.ts';
import { NODES_TOPIC, Nodes } from './nodes.ts';

let engine: Engine;
const signals = openLocalSignals();
beforeEach(() => {
  engine = openMemoryEngine();
});

const newNode = (on: Engine = engine): Nodes => new Nodes({ engine: on, signals, ids: new IdSource() });

async function joined(): Promise<Nodes> {
  const node = newNode();
  await node.beat();
  return node;
}

const remove = (...keys: Key[]) => engine.commit({ checks: [], puts: [], deletes: keys });

async function volatileCount(): Promise<number> {
  const snapshot = engine.snapshot();
  const range = { from: Uint8Array.of(VOLATILE_PREFIX), to: Uint8Array.of(VOLATILE_PREFIX + 1) };
  return (await snapshot.range(range, { limit: 100 }).finally(() => snapshot.close())).length;
}

const idsOf = (nodes: readonly { id: string }[]): string[] => nodes.map(({ id }) => id).toSorted();

describe('membership', () => {
  test('a node sees all others that are alive, and not itself', async () => {
    const [a, b, c] = [await joined(), await joined(), await joined()];
    assert.deepEqual(idsOf(await a.others()), idsOf([b, c]));
    assert.deepEqual(idsOf(await b.others()), idsOf([a, c]));
    await c.leave();
    assert.deepEqual(idsOf(await a.others()), [b.id]);
  });

  test('a node whose record has vanished is back with its next beat, and so is its last answer', async () => {
    const [a, b] = [await joined(), await joined()];
    const answer = { ask: '1', pinned: ['2'] };
    await b.answer(answer);
    await remove(nodeKey(b.id));
    assert.deepEqual(await a.others(), []);
    await b.beat();
    assert.deepEqual(await a.others(), [{ id: b.id, answer }]);
  });

  test('a node that leaves gives up all it held, and nothing that comes later brings it back', async () => {
    const node = await joined();
    await node.lead('one');
    await node.lead('two');
    await node.leave();
    await node.beat();
    await node.answer({ ask: '1', pinned: [] });
    assert.equal(await node.lead('one'), false);
    assert.equal(await node.lead('three'), false);
    assert.equal(await volatileCount(), 0);
  });

  test('a write that is under way when a node leaves does not outlive it', async () => {
    const hooks = new Hooks();
    const node = newNode(hookEngine(engine, hooks));
    await node.beat();
    const mayCommit = new Gate();
    hooks.before = (call) => (call.what === 'commit' ? mayCommit.passed : undefined);
    const ending = [node.beat(), node.lead('task'), node.leave(), node.beat()];
    mayCommit.open();
    await Promise.all(ending);
    assert.equal(await volatileCount(), 0);
  });

  test('a node that leaves says so', async () => {
    const node = await joined();
    const words: string[] = [];
    const heard = new Gate();
    const unlisten = await signals.listen(NODES_TOPIC, (word) => {
      words.push(word);
      heard.open();
    });
    await node.leave();
    await heard.passed;
    unlisten();
    assert.deepEqual(words, ['left']);
  });
});

describe('a claim', () => {
  test('is got by one of all who want it at the same time', async () => {
    const nodes = await Promise.all(Array.from({ length: 20 }, joined));
    for (const task of ['one', 'two']) {
      const got = await Promise.all(nodes.map((node) => node.lead(task)));
      assert.equal(got.filter(Boolean).length, 1);
      assert.deepEqual(
        nodes.map((node) => node.seemsToLead(task)),
        got,
      );
      assert.deepEqual(await Promise.all(nodes.map((node) => node.lead(task))), got, 'and is kept');
    }
  });

  test('is free when its holder leaves', async () => {
    const [a, b] = [await joined(), await joined()];
    assert.ok(await a.lead('task'));
    assert.ok(!(await b.lead('task')));
    await a.leave();
    assert.ok(await b.lead('task'));
  });

  test('is free when its holder dies, and the holder learns of it when it was not dead', async () => {
    const [a, b] = [await joined(), await joined()];
    await a.lead('task');
    await remove(nodeKey(a.id), claimKey('task'));
    assert.ok(await b.lead('task'));
    assert.ok(a.seemsToLead('task'));
    assert.ok(!(await a.lead('task')));
    assert.ok(!a.seemsToLead('task'));
  });

  test('of a node that leaves after it lost it stays with whoever has it now', async () => {
    const [a, b] = [await joined(), await joined()];
    await a.lead('task');
    await remove(claimKey('task'));
    await b.lead('task');
    await a.leave();
    assert.ok(await b.lead('task'));
    assert.ok(!(await (await joined()).lead('task')));
  });

  test('is held for as many beats as its holder did since it got it', async () => {
    const node = await joined();
    await node.lead('task');
    assert.ok(node.hasLedFor('task', 0));
    assert.ok(!node.hasLedFor('task', 1));
    await node.beat();
    await node.lead('task');
    assert.ok(node.hasLedFor('task', 1));
    await remove(claimKey('task'));
    await node.lead('task');
    assert.ok(!node.hasLedFor('task', 1), 'it was lost in between');
    assert.ok(!(await joined()).hasLedFor('task', 0));
  });
});

describe('in a transaction', () => {
  const result = Buffer.from('Result');

  /** What work that rests on a claim looks like. */
  const work = (node: Nodes, meanwhile: () => Promise<unknown> = async () => {}): Promise<boolean> =>
    transact(engine, async (tx) => {
      if (!(await node.stillLeads(tx, 'task'))) return false;
      await meanwhile();
      tx.put(result, result);
      return true;
    });

  test('the holder of a claim does its work', async () => {
    const node = await joined();
    await node.lead('task');
    assert.ok(await work(node));
  });

  test('a node that never had the claim does nothing', async () => {
    const [a, b] = [await joined(), await joined()];
    await a.lead('task');
    assert.ok(!(await work(b)));
  });

  test('a node that loses its claim before its commit does nothing, whoever has the claim then', async () => {
    for (const takeOver of [async () => {}, async () => (await joined()).lead('task')]) {
      const node = await joined();
      await remove(claimKey('task'));
      await node.lead('task');
      const done = await work(node, async () => {
        await remove(claimKey('task'));
        await takeOver();
      });
      assert.equal(done, false);
    }
  });

  test('a node that has had its claim with a break does nothing until it knows', async () => {
    const node = await joined();
    await node.lead('task');
    await remove(claimKey('task'));
    const other = await joined();
    await other.lead('task');
    await other.leave();
    assert.ok(!(await work(node)));
    assert.equal(await node.othersOfLeader('task'), null);
    await node.lead('task');
    assert.ok(await work(node));
    assert.deepEqual(await node.othersOfLeader('task'), []);
  });

  test('an ask is put by the leader alone, and seen by all others', async () => {
    const [a, b] = [await joined(), await joined()];
    await a.lead('task');
    assert.equal(await b.askedBy('task'), null);
    assert.ok(await a.ask('task', '1'));
    assert.ok(!(await b.ask('task', '2')));
    assert.equal(await b.askedBy('task'), '1');
    assert.equal(await a.askedBy('task'), null);
    assert.ok(await a.lead('task'), 'asking does not cost the claim');
  });
});
