// engines: postgres
// tier: system
/**
 * Queues on three nodes over one database, consumers spread over them: what the contract promises of one server holds of all
 * of them together, also when one of them dies with messages in its hands.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { QueueClient } from '@azure/storage-queue';
import { outcome, outcomes, refusal } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { meanwhile, successes, tally, together, winnerOf } from '../harness/parallel.ts';
import { freshQueue, queueClient } from '../harness/queue-clients.ts';
import { Random } from '../harness/random.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import { Ledger } from '../queue/ledger.ts';
import {
  CLIENTS,
  consume,
  countOf,
  drain,
  GONE,
  type Got,
  get,
  getOne,
  HOLD_SECONDS,
  Journal,
  numbered,
  putAll,
  remove,
  textsOf,
} from '../queue/racing.ts';

const NODE_COUNT = 3;
const CONSUMERS = 32;
const MESSAGES = 3_000;

const peek = async (queue: QueueClient): Promise<string[]> =>
  textsOf((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems);

/** Null: no answer came. */
const answered = async <T>(request: Promise<T>): Promise<T | null> => {
  try {
    return await request;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== undefined) throw error;
    return null;
  }
};

describe('queues on three nodes', { skip: missingTool('postgres') }, () => {
  const random = new Random();
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ nodeCount: NODE_COUNT });
  });
  after(() => cluster?.stop());

  interface SpreadQueue {
    /** By way of each node. */
    readonly queues: readonly QueueClient[];
    readonly via: (index: number) => QueueClient;
    /** Clients of their own, each of one of the nodes. */
    readonly clients: (count: number) => QueueClient[];
  }

  async function spreadQueue(): Promise<SpreadQueue> {
    const { name } = await freshQueue(cluster.node(0));
    const clients = (count: number): QueueClient[] =>
      Array.from({ length: count }, (_, index) => queueClient(cluster.node(index), name));
    const queues = clients(NODE_COUNT);
    return { queues, via: (index) => queues[index % NODE_COUNT] as QueueClient, clients };
  }

  test(`${CONSUMERS} consumers drain a queue of ${MESSAGES} messages: each is got once, and every delete succeeds`, async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const { via, clients } = await spreadQueue();
    const consumers = clients(CONSUMERS);
    const ids = await putAll(consumers, numbered(MESSAGES));
    for (let node = 0; node < NODE_COUNT; node++) assert.equal(await countOf(via(node)), MESSAGES);
    const journal = new Journal();
    const draining = together(CONSUMERS, (index) =>
      consume(consumers[index] as QueueClient, journal, () => 1 + random.below(32)),
    );
    const peeking = meanwhile(draining, () => journal.peek(via(journal.peekCount)));
    assert.deepEqual(tally(successes(await draining).flat()), { ok: MESSAGES });
    await peeking;
    journal.assertGotAll(ids);
    for (let node = 0; node < NODE_COUNT; node++) assert.deepEqual(await drain(via(node)), []);
  });

  test('what was put through one node is got at once through each other, and hidden on all', async () => {
    const { queues, via } = await spreadQueue();
    for (let round = 0; round < 100; round++) {
      const { messageId } = await via(round).sendMessage(`round-${round}`);
      const getter = via(round + 1 + (round % 2));
      const got = await getOne(getter);
      assert.deepEqual([got.messageId, got.messageText, got.dequeueCount], [messageId, `round-${round}`, 1]);
      const seen = await Promise.all(queues.map(async (queue) => [await get(queue), await peek(queue)]));
      assert.deepEqual(seen.flat(2), []);
      await remove(via(round + 2), got);
    }
    assert.deepEqual(await Promise.all(queues.map(countOf)), [0, 0, 0]);
  });

  test('what is given back through one node is got at once through each other', async () => {
    const { via } = await spreadQueue();
    const { messageId, popReceipt } = await via(0).sendMessage('first');
    let receipt = popReceipt;
    for (let round = 1; round <= 30; round++) {
      const hidden = await via(round).updateMessage(messageId, receipt, `round-${round}`, HOLD_SECONDS);
      assert.deepEqual(await get(via(round + 1)), []);
      await via(round + 2).updateMessage(messageId, hidden.popReceipt as string, undefined, 0);
      const got = await getOne(via(round + 1));
      assert.deepEqual([got.messageText, got.dequeueCount], [`round-${round}`, round]);
      receipt = got.popReceipt;
    }
  });

  test('of 24 that want the only message exactly one has it, whichever node it asked', async () => {
    const { via, clients } = await spreadQueue();
    const getters = clients(CLIENTS);
    for (let round = 0; round < 15; round++) {
      const { messageId } = await via(round).sendMessage('one');
      const results = await together(CLIENTS, (index) =>
        get(getters[index] as QueueClient, { count: 1 + (index % 4) }),
      );
      const got = successes(results).flat();
      assert.deepEqual(
        got.map((message) => [message.messageId, message.dequeueCount]),
        [[messageId, 1]],
      );
      await remove(via(round + 1), got[0] as Got);
    }
    assert.equal(await countOf(via(0)), 0);
  });

  test('of updates and deletes with one receipt through different nodes exactly one succeeds', async () => {
    const { via, clients } = await spreadQueue();
    const holders = clients(CLIENTS);
    for (let round = 0; round < 15; round++) {
      await via(round).sendMessage('as put');
      const held = await getOne(via(round + 1));
      const isDelete = (index: number): boolean => Math.floor(index / NODE_COUNT + round) % 2 === 0;
      const results = await together<unknown>(CLIENTS, (index) => {
        const holder = holders[index] as QueueClient;
        if (isDelete(index)) return remove(holder, held);
        return holder.updateMessage(held.messageId, held.popReceipt, `by ${index}`, 0);
      });
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [GONE]: CLIENTS - 1 });
      const winner = winnerOf(results);
      assert.deepEqual(textsOf(await drain(via(round + 2))), isDelete(winner) ? [] : [`by ${winner}`]);
    }
  });

  test('what is cleared through one node is gone on all, held or not, and what is put afterwards is there', async () => {
    const { queues, via } = await spreadQueue();
    for (let round = 0; round < 15; round++) {
      await putAll(queues, numbered(9, 'old'));
      const held = await Promise.all(queues.map((queue) => getOne(queue)));
      await via(round).clearMessages();
      for (const [node, queue] of queues.entries()) {
        assert.deepEqual(await get(queue, { count: 32 }), []);
        assert.deepEqual(await peek(queue), []);
        assert.equal(await countOf(queue), 0);
        assert.equal(await refusal(remove(via(node + 1), held[node] as Got)), GONE);
      }
      await via(round + 1).sendMessage('new');
      assert.deepEqual(textsOf(await drain(via(round + 2))), ['new']);
    }
  });

  test('a queue that is deleted and created again through other nodes is empty through all of them', async () => {
    const { queues, via } = await spreadQueue();
    for (let life = 0; life < 8; life++) {
      await putAll(queues, numbered(6, 'old'));
      await via(life).delete();
      for (const queue of queues) {
        assert.equal(await refusal(get(queue)), '404 QueueNotFound');
        assert.equal(await refusal(queue.sendMessage('late')), '404 QueueNotFound');
      }
      await via(life + 1).create();
      for (const queue of queues) {
        assert.deepEqual(await get(queue, { count: 32 }), []);
        assert.equal(await countOf(queue), 0);
      }
    }
  });

  test('no message is lost when a node is killed while consumers drain the queue through it', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const { via, clients } = await spreadQueue();
    const texts = numbered(600);
    await putAll(clients(12), texts);
    const victim = random.below(NODE_COUNT);
    const living = via(victim + 1);
    const ledger = new Ledger();
    const work = { isOver: false };
    const batch = 4;
    const shortHoldSeconds = 4;

    const consuming = together(CLIENTS, async (index) => {
      let node = index;
      while (!work.isOver) {
        const messages = await until({ what: 'there is work, or none is left', limitSeconds: 120 }, async () => {
          const got = await answered(get(via(node), { count: batch, seconds: shortHoldSeconds }));
          // Who hears nothing of one node goes on through the next.
          if (got === null) node++;
          return (got !== null && got.length > 0) || work.isOver ? (got ?? []) : null;
        });
        const handle = async (message: Got): Promise<void> => {
          const delivery = ledger.note(message);
          const answer = await answered(outcome(remove(via(node), message)));
          if (answer === null) return;
          assert.ok(['ok', GONE].includes(answer), answer);
          delivery.fate = answer === 'ok' ? 'deleted' : 'taken';
        };
        await Promise.all(messages.map(handle));
      }
    });

    const killAt = 50 + random.below(200);
    await until({ what: `${killAt} messages are deleted`, limitSeconds: 60 }, () => ledger.deletedCount() >= killAt);
    const leftCount = texts.length - ledger.deletedCount();
    await cluster.node(victim).kill9();
    await until({ what: 'no message is left', limitSeconds: 120 }, async () => (await countOf(living)) === 0);
    work.isOver = true;
    successes(await consuming);
    const { repeatedCount, unheardCount } = ledger.settle(texts);
    t.diagnostic(
      `killed with ${leftCount} left; ${repeatedCount} came again, ${unheardCount} deliveries were not heard of`,
    );
    assert.ok(unheardCount <= (CLIENTS / NODE_COUNT) * batch, 'only what was on its way from the dead node');
    assert.deepEqual(await drain(living), []);
    await cluster.node(victim).start();
    assert.deepEqual(await drain(via(victim)), []);
  });
});
