/**
 * Bot Framework's storage: the state of conversations, kept by turns that read, change and write with the eTag that they
 * read, and transcripts, a blob for each activity.
 */
// tier: system
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { BlobsStorage, BlobsTranscriptStore } from 'botbuilder-azure-blobs';
import type { Activity } from 'botbuilder-core';
import { blobService, NO_RETRIES } from '../harness/clients.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';

const server = await startInProcess();

interface Counted {
  readonly count: number;
  readonly eTag?: string;
}

const KEY = 'channel/conversation?/state #1';
const CONFLICT = `Storage: error writing "${KEY}" due to eTag conflict.`;

/** Several bots, each with a client of its own, over one container that the first of them creates. */
function startBots(count: number): [BlobsStorage, ...BlobsStorage[]] {
  const containerName = `bots-${randomUUID()}`;
  const make = (): BlobsStorage =>
    new BlobsStorage(server.connectionString(), containerName, { storagePipelineOptions: NO_RETRIES });
  return [make(), ...Array.from({ length: count - 1 }, make)];
}

async function readCount(bot: BlobsStorage): Promise<Counted> {
  const { [KEY]: item } = (await bot.read([KEY])) as Record<string, Counted>;
  assert.ok(item !== undefined, 'the item is there');
  return item;
}

const messageOf = (result: PromiseSettledResult<unknown>): string =>
  result.status === 'fulfilled' ? 'ok' : (result.reason as Error).message;

describe("a bot's state", () => {
  test('an item is written without an eTag, read with one, and deleted', async () => {
    const [bot] = startBots(1);
    assert.deepEqual(await bot.read([KEY, 'another']), {});
    await bot.write({ [KEY]: { count: 1 } });
    const item = await readCount(bot);
    assert.equal(item.count, 1);
    assert.match(item.eTag ?? '', /^"0x[0-9A-F]+"$/);
    await bot.write({ [KEY]: { count: 2 }, another: { count: 3 } });
    assert.deepEqual(Object.keys(await bot.read([KEY, 'another', 'absent'])).sort(), ['another', KEY].sort());
    await bot.delete([KEY, 'absent']);
    assert.deepEqual(Object.keys(await bot.read([KEY, 'another'])), ['another']);
  });

  test('a stale eTag fails and changes nothing; the current one and * succeed', async () => {
    const [bot, other] = startBots(2) as [BlobsStorage, BlobsStorage];
    await bot.write({ [KEY]: { count: 1 } });
    const stale = await readCount(bot);
    await other.write({ [KEY]: { ...(await readCount(other)), count: 2 } });
    await assert.rejects(bot.write({ [KEY]: { ...stale, count: 99 } }), { message: CONFLICT });
    assert.equal((await readCount(bot)).count, 2);
    await bot.write({ [KEY]: { ...(await readCount(bot)), count: 3 } });
    await bot.write({ [KEY]: { ...stale, count: 4, eTag: '*' } });
    assert.equal((await readCount(other)).count, 4);
  });

  test('of ten turns that read the same eTag exactly one is kept, round after round', async () => {
    const bots = startBots(10);
    await bots[0].write({ [KEY]: { count: 0 } });
    for (let round = 1; round <= 20; round++) {
      const read = await Promise.all(bots.map(readCount));
      const results = await together(bots.length, async (index) => {
        const bot = bots[index] as BlobsStorage;
        await bot.write({ [KEY]: { count: round, by: index, eTag: read[index]?.eTag } });
      });
      assert.deepEqual(tally(results.map(messageOf)), { ok: 1, [CONFLICT]: 9 });
      const winner = results.findIndex(({ status }) => status === 'fulfilled');
      const kept = await readCount(bots[0]);
      assert.deepEqual(kept, { count: round, by: winner, eTag: kept.eTag });
    }
  });

  test('eight bots that add one and try again on a conflict lose no addition', async () => {
    const bots = startBots(8);
    const additions = 10;
    await bots[0].write({ [KEY]: { count: 0 } });
    let conflicts = 0;
    const addOne = async (bot: BlobsStorage): Promise<void> => {
      for (;;) {
        const { count, eTag } = await readCount(bot);
        const [result] = await Promise.allSettled([bot.write({ [KEY]: { count: count + 1, eTag } })]);
        if (result.status === 'fulfilled') return;
        assert.equal(messageOf(result), CONFLICT);
        conflicts++;
      }
    };
    await Promise.all(
      bots.map(async (bot) => {
        for (let done = 0; done < additions; done++) await addOne(bot);
      }),
    );
    assert.equal((await readCount(bots[0])).count, bots.length * additions);
    assert.ok(conflicts > 0, 'they were in the way of each other');
  });
});

describe('transcripts', () => {
  const CHANNEL = 'test channel';
  const activity = (conversation: string, index: number): Activity =>
    ({
      type: 'message',
      id: `activity-${index}`,
      timestamp: new Date(Date.UTC(2026, 0, 1, 12, 0, index)),
      channelId: CHANNEL,
      serviceUrl: 'https://example.test/',
      from: { id: 'user', name: 'User' },
      recipient: { id: 'bot', name: 'Bot' },
      conversation: { id: conversation, name: conversation, isGroup: false, conversationType: 'personal' },
      text: `message ${index}`,
    }) as Activity;

  const textsOf = async (store: BlobsTranscriptStore, conversation: string): Promise<string[]> =>
    (await store.getTranscriptActivities(CHANNEL, conversation)).items.map(({ text }) => text);

  test('activities logged in parallel come back in order, page after page, until they are deleted', async () => {
    const containerName = `transcripts-${randomUUID()}`;
    const store = new BlobsTranscriptStore(server.connectionString(), containerName);
    // More than the 20 that the store asks for at a time.
    const indexes = Array.from({ length: 45 }, (_, index) => index);
    await Promise.all(indexes.map((index) => store.logActivity(activity('first', index))));
    await store.logActivity(activity('second', 0));
    const [logged] = (await store.getTranscriptActivities(CHANNEL, 'first')).items;
    assert.deepEqual(logged, activity('first', 0));
    assert.deepEqual(
      await textsOf(store, 'first'),
      indexes.map((index) => `message ${index}`),
    );
    assert.deepEqual(await textsOf(store, 'second'), ['message 0']);
    assert.equal((await store.listTranscripts(CHANNEL)).items.length, 46);

    await store.deleteTranscript(CHANNEL, 'first');
    assert.deepEqual(await textsOf(store, 'first'), []);
    assert.deepEqual(await textsOf(store, 'second'), ['message 0']);
    const names: string[] = [];
    const container = blobService(server).getContainerClient(containerName);
    for await (const { name } of container.listBlobsFlat()) names.push(name);
    assert.equal(names.length, 1);
    assert.match(names[0] ?? '', /^test%20channel%2Fsecond%2F/, 'the store encodes its keys before it names blobs');
  });

  test('whoever asks from a date on gets what was logged since', async () => {
    const store = new BlobsTranscriptStore(server.connectionString(), `transcripts-${randomUUID()}`);
    await store.logActivity(activity('dated', 0));
    server.clock.advance({ seconds: 3600 });
    await store.logActivity(activity('dated', 1));
    // To the second, as creation times are told.
    const since = new Date(Math.floor(server.clock.nowMs() / 1000) * 1000);
    const { items } = await store.getTranscriptActivities(CHANNEL, 'dated', undefined, since);
    assert.deepEqual(
      items.map(({ text }) => text),
      ['message 1'],
    );
  });
});
