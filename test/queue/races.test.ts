/**
 * Races for messages: real parallel requests of the official client, each on a connection of its own. Consumers that share
 * a queue, and holders that use one receipt, work against a server process with its data on disk; those for whom a hold
 * has to run out, against one whose clock is moved. Orders are drawn from a seed (LARIMAR_SEED replays it).
 */
// tier: both
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { QueueClient, QueueUpdateMessageResponse as Updated } from '@azure/storage-queue';
import { outcome, outcomes, refusal } from '../harness/clients.ts';
import { givenEngine } from '../harness/engines.ts';
import { startInProcess } from '../harness/in-process.ts';
import { meanwhile, successes, tally, together, turns, winnerOf } from '../harness/parallel.ts';
import { freshQueue, queueClient } from '../harness/queue-clients.ts';
import { Random } from '../harness/random.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { byTier } from '../harness/tier.ts';
import {
  CLIENTS,
  clientsOf,
  consume,
  countOf,
  drain,
  GONE,
  type Got,
  get,
  getOne,
  type Held,
  HOLD_SECONDS,
  Journal,
  numbered,
  putAll,
  raceOn,
  remove,
} from './racing.ts';

const server = await startServerProcess();
after(() => server.stop());
const race = raceOn(server);
const moved = await startInProcess();
const random = new Random();
const anyBatch = (): number => 1 + random.below(32);

describe('consumers of one queue', () => {
  const CONSUMERS = 32;
  // A commit to a database takes several times as long.
  const MESSAGES = byTier({ quick: 1_000, system: givenEngine() === 'postgres' ? 3_000 : 10_000 });

  test(`${CONSUMERS} drain it of ${MESSAGES} messages: each is got once, and every delete succeeds`, async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const queue = await freshQueue(server);
    const clients = clientsOf(server, queue, CONSUMERS);
    const ids = await putAll(clients, numbered(MESSAGES));
    assert.equal(await countOf(queue), MESSAGES);
    const journal = new Journal();
    const draining = together(CONSUMERS, (index) => consume(clients[index] as QueueClient, journal, anyBatch));
    const peeking = meanwhile(draining, () => journal.peek(queue));
    assert.deepEqual(tally(successes(await draining).flat()), { ok: MESSAGES });
    await peeking;
    journal.assertGotAll(ids);
    assert.deepEqual(await drain(queue), []);
    t.diagnostic(`${journal.peekCount} peeks`);
  });

  test('get each message once while others put more', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const queue = await freshQueue(server);
    const journal = new Journal();
    const ids = new Map<string, string>();
    const putting = race(
      queue,
      async (client, index) => {
        for (const text of numbered(80, `producer-${index}`)) ids.set(text, (await client.sendMessage(text)).messageId);
      },
      12,
    );
    const consuming = race(queue, async (client) => {
      const answers: string[] = [];
      await meanwhile(putting, async () => {
        const messages = await journal.get(client, { count: anyBatch() });
        answers.push(...(await Promise.all(messages.map((message) => outcome(remove(client, message))))));
      });
      // What was put before the last producer ended is there to be got.
      return [...answers, ...(await consume(client, journal, anyBatch))];
    });
    const peeking = meanwhile(consuming, () => journal.peek(queue));
    successes(await putting);
    assert.deepEqual(tally(successes(await consuming).flat()), { ok: ids.size });
    await peeking;
    journal.assertGotAll(ids);
    assert.deepEqual(await drain(queue), []);
  });

  test('of 32 that want the only message exactly one has it', async () => {
    const queue = await freshQueue(server);
    for (let round = 0; round < 20; round++) {
      const { messageId } = await queue.sendMessage(`round-${round}`);
      const results = await race(queue, (client, index) => get(client, { count: index + 1 }), CONSUMERS);
      const got = successes(results).flat();
      assert.deepEqual(looks(got), [[messageId, `round-${round}`, 1]]);
      await remove(queue, got[0] as Got);
    }
    assert.equal(await countOf(queue), 0);
  });

  test('that are more than the messages share them, and none of them comes away empty that need not', async () => {
    const queue = await freshQueue(server);
    const clients = clientsOf(server, queue, CLIENTS);
    for (let round = 0; round < 10; round++) {
      const messageCount = CLIENTS / 2 + round;
      const ids = await putAll(clients, numbered(messageCount, `round-${round}`));
      const journal = new Journal();
      const results = await together(CLIENTS, (index) => journal.get(clients[index] as QueueClient));
      const shares = successes(results).map(({ length }) => String(length));
      assert.deepEqual(tally(shares), { '0': CLIENTS - messageCount, '1': messageCount });
      journal.assertGotAll(ids);
      await Promise.all(journal.got.map((message) => remove(queue, message)));
    }
    assert.equal(await countOf(queue), 0);
  });

  test('get what stands behind, when the messages before it are deleted under their hands', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const queue = await freshQueue(server);
    const clients = clientsOf(server, queue);
    const getterCount = 4;
    for (let round = 0; round < 30; round++) {
      const before: Held[] = [];
      for (const text of numbered(CLIENTS - getterCount, 'before')) before.push(await queue.sendMessage(text));
      await putAll([queue], numbered(getterCount, 'behind'));
      const waits = clients.map(() => random.below(30));
      const journal = new Journal();
      const removed: string[] = [];
      const results = await together(CLIENTS, async (index): Promise<Got[]> => {
        await turns(waits[index] as number);
        const client = clients[index] as QueueClient;
        const held = before[index];
        if (held === undefined) return journal.get(client);
        removed.push(await outcome(remove(client, held)));
        return [];
      });
      const got = successes(results).flat();
      assert.equal(got.length, getterCount, 'there is a message for each of them');
      const gotBefore = got.filter(({ messageText }) => messageText.startsWith('before'));
      const { ok = 0, [GONE]: gone = 0, ...others } = tally(removed);
      assert.deepEqual(
        { ok, gone, others },
        { ok: before.length - gotBefore.length, gone: gotBefore.length, others: {} },
      );
      await Promise.all(got.map((message) => remove(queue, message)));
      assert.equal((await drain(queue)).length, gotBefore.length);
    }
  });
});

async function freshHold(queue: QueueClient, seconds = HOLD_SECONDS): Promise<Got> {
  await queue.sendMessage('as put');
  return getOne(queue, { seconds });
}

const update = (client: QueueClient, held: Held, text?: string, seconds = HOLD_SECONDS): Promise<Updated> =>
  client.updateMessage(held.messageId, held.popReceipt, text, seconds);

/** The message as the next consumer gets it, once its holder has given it back. */
async function givenBack(queue: QueueClient, held: Held): Promise<Got> {
  await update(queue, held, undefined, 0);
  return getOne(queue);
}

/** As a test looks at it. */
const looks = (messages: readonly Got[]): [string, string, number][] =>
  messages.map(({ messageId, messageText, dequeueCount }) => [messageId, messageText, dequeueCount]);

describe('one receipt', () => {
  test('is good for one of 24 updates, and the message has the text and the new receipt of that one', async () => {
    const queue = await freshQueue(server);
    for (let round = 0; round < 10; round++) {
      const held = await freshHold(queue);
      const results = await race(queue, (client, index) => update(client, held, `by ${index}`));
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [GONE]: CLIENTS - 1 });
      const winner = winnerOf(results);
      const { popReceipt } = successes(results.slice(winner, winner + 1))[0] as { popReceipt: string };
      assert.equal(await refusal(remove(queue, held)), GONE);
      const again = await givenBack(queue, { ...held, popReceipt });
      assert.deepEqual([again.messageText, again.dequeueCount], [`by ${winner}`, 2]);
      await remove(queue, again);
      assert.equal(await countOf(queue), 0);
    }
  });

  test('is good for one of 24 deletes', async () => {
    const queue = await freshQueue(server);
    for (let round = 0; round < 10; round++) {
      const held = await freshHold(queue);
      const results = await race(queue, (client) => remove(client, held));
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [GONE]: CLIENTS - 1 });
      assert.equal(await countOf(queue), 0, 'and it is counted once');
    }
  });

  test('of a delete and an update is good for one of the two', async (t) => {
    const queue = await freshQueue(server);
    let deletedCount = 0;
    for (let round = 0; round < 20; round++) {
      const held = await freshHold(queue);
      const results = await race<unknown>(queue, (client, index) =>
        (index + round) % 2 === 0 ? remove(client, held) : update(client, held, `by ${index}`),
      );
      assert.deepEqual(tally(outcomes(results)), { ok: 1, [GONE]: CLIENTS - 1 });
      const winner = winnerOf(results);
      const isDeleted = (winner + round) % 2 === 0;
      assert.equal(await countOf(queue), isDeleted ? 0 : 1);
      if (isDeleted) {
        deletedCount++;
        continue;
      }
      const { popReceipt } = successes(results.slice(winner, winner + 1))[0] as { popReceipt: string };
      const again = await givenBack(queue, { ...held, popReceipt });
      assert.equal(again.messageText, `by ${winner}`);
      await remove(queue, again);
    }
    assert.deepEqual(await drain(queue), []);
    t.diagnostic(`the delete won ${deletedCount} times of 20`);
  });

  test('gives a message back to one of those who ask, and never more', async (t) => {
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const queue = await freshQueue(server);
    let gotAtOnceCount = 0;
    for (let round = 0; round < 20; round++) {
      const held = await freshHold(queue);
      const waits = Array.from({ length: CLIENTS }, () => random.below(20));
      const results = await race(queue, async (client, index): Promise<Got[]> => {
        await turns(waits[index] as number);
        if (index > 0) return get(client);
        await update(client, held, 'given back', 0);
        return [];
      });
      const got = successes(results).flat();
      gotAtOnceCount += got.length;
      // Where all had asked before it came back, it is there for the next.
      if (got.length === 0) got.push(await getOne(queue));
      assert.deepEqual(looks(got), [[held.messageId, 'given back', 2]]);
      assert.equal(await refusal(remove(queue, held)), GONE);
      await remove(queue, got[0] as Got);
      assert.equal(await countOf(queue), 0);
    }
    t.diagnostic(`it was got at once ${gotAtOnceCount} times of 20`);
  });
});

describe('when time passes', () => {
  const GETTERS = 16;
  const SHORT_SECONDS = 10;
  const ROUNDS = 25;

  interface Contest {
    /** What those who wanted it got. */
    readonly got: readonly Got[];
    readonly answer: string;
  }

  /** One who had the message against many who want it, all at the same time. */
  async function contest(queue: QueueClient, deed: (client: QueueClient) => Promise<unknown>): Promise<Contest> {
    const clients = clientsOf(moved, queue, 1 + GETTERS);
    // A get waits for others to share its round with, so the one sets off a little later than most of them.
    const waits = clients.map((_, index) => random.below(index === 0 ? 8 : 4));
    const results = await together<Got[] | string>(clients.length, async (index) => {
      await turns(waits[index] as number);
      const client = clients[index] as QueueClient;
      return index === 0 ? outcome(deed(client)) : get(client);
    });
    const [answer, ...got] = successes(results) as [string, ...Got[][]];
    return { answer, got: got.flat() };
  }

  async function holdThatRanOut(queue: QueueClient): Promise<Held> {
    const held = await freshHold(queue, SHORT_SECONDS);
    moved.clock.advance({ seconds: SHORT_SECONDS });
    return held;
  }

  const HOLDS: readonly [string, (queue: QueueClient) => Promise<Held>, number][] = [
    ['a hold that ran out', holdThatRanOut, 2],
    ['the put', (queue) => queue.sendMessage('as put'), 1],
  ];
  const DEEDS: readonly [string, (client: QueueClient, held: Held) => Promise<unknown>, number][] = [
    ['Delete Message', remove, 0],
    ['Update Message', (client, held) => update(client, held, 'kept'), 1],
  ];
  for (const [deedName, deed, countAfter] of DEEDS) {
    for (const [holdName, freshHeld, dequeueCountAfter] of HOLDS) {
      test(`${deedName} with the receipt of ${holdName} wins, or exactly one of ${GETTERS} who get does`, async (t) => {
        t.diagnostic(`LARIMAR_SEED=${random.seed}`);
        let wonCount = 0;
        for (let round = 0; round < ROUNDS; round++) {
          const queue = await freshQueue(moved);
          const held = await freshHeld(queue);
          const { answer, got } = await contest(queue, (client) => deed(client, held));
          if (answer === 'ok') {
            wonCount++;
            assert.deepEqual(got, []);
            assert.equal(await countOf(queue), countAfter);
            assert.deepEqual(await get(queue), [], 'nor does anybody get it afterwards');
          } else {
            assert.equal(answer, GONE);
            assert.deepEqual(looks(got), [[held.messageId, 'as put', dequeueCountAfter]]);
            await remove(queue, got[0] as Got);
            assert.equal(await countOf(queue), 0);
          }
        }
        t.diagnostic(`the receipt won ${wonCount} times of ${ROUNDS}`);
      });
    }
  }

  test('a holder that updates in time keeps its message from all others, for ever so long', async () => {
    const queue = await freshQueue(moved);
    let held: Held = await freshHold(queue, SHORT_SECONDS);
    for (let renewal = 0; renewal < ROUNDS; renewal++) {
      moved.clock.advance({ seconds: SHORT_SECONDS - 0.001 });
      const { answer, got } = await contest(queue, async (client) => {
        const { popReceipt } = await update(client, held, undefined, SHORT_SECONDS);
        held = { messageId: held.messageId, popReceipt: popReceipt as string };
      });
      assert.deepEqual({ answer, got }, { answer: 'ok', got: [] });
      assert.deepEqual((await queue.peekMessages()).peekedMessageItems, []);
    }
    await remove(queue, held);
    assert.equal(await countOf(queue), 0);
  });

  test('a message that comes back again and again goes to one of 24 each time, and only its last receipt is good', async () => {
    const queue = await freshQueue(moved);
    const { messageId, popReceipt } = await queue.sendMessage('again');
    const receipts = [popReceipt];
    for (let round = 1; round <= ROUNDS; round++) {
      const results = await together(CLIENTS, () =>
        get(queueClient(moved, queue.name), { count: 32, seconds: SHORT_SECONDS }),
      );
      const got = successes(results).flat();
      assert.deepEqual(
        got.map((message) => [message.messageId, message.dequeueCount]),
        [[messageId, round]],
      );
      receipts.push((got[0] as Got).popReceipt);
      moved.clock.advance({ seconds: SHORT_SECONDS });
    }
    assert.equal(new Set(receipts).size, receipts.length, 'none is given twice');
    const last = receipts.pop() as string;
    const stale = await together(receipts.length, (index) =>
      remove(queueClient(moved, queue.name), { messageId, popReceipt: receipts[index] as string }),
    );
    assert.deepEqual(tally(outcomes(stale)), { [GONE]: ROUNDS });
    assert.equal(await countOf(queue), 1);
    await remove(queue, { messageId, popReceipt: last });
    assert.equal(await countOf(queue), 0);
  });

  test('expired messages are got by none of 24, however they stand among others, and are taken off the count once', async () => {
    const queue = await freshQueue(moved);
    const clients = clientsOf(moved, queue);
    const living = new Map<string, string>();
    const expiring: Held[] = [];
    const putting = await together(CLIENTS, async (index) => {
      const client = clients[index] as QueueClient;
      for (const text of numbered(10, `client-${index}`)) {
        const messageTimeToLive = random.chance(0.7) ? SHORT_SECONDS : 100 * SHORT_SECONDS;
        const put = await client.sendMessage(text, { messageTimeToLive });
        if (messageTimeToLive === SHORT_SECONDS) expiring.push(put);
        else living.set(text, put.messageId);
      }
    });
    successes(putting);
    moved.clock.advance({ seconds: SHORT_SECONDS });
    const late = Promise.all(expiring.map((put) => outcome(remove(queue, put))));
    const journal = new Journal();
    const getting = await together(CLIENTS, (index) =>
      meanwhile(late, async () => void (await journal.get(clients[index] as QueueClient, { count: anyBatch() }))),
    );
    successes(getting);
    assert.deepEqual(tally(await late), { [GONE]: expiring.length });
    for (const client of clients) await journal.get(client, { count: 32 });
    journal.assertGotAll(living);
    assert.equal(await countOf(queue), living.size, 'what is held is counted, and what expired is not');
  });
});
