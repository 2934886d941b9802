/**
 * Messages: put, got, peeked at, changed, deleted; when they are seen and when no longer, to the millisecond; whose receipt
 * is good; what their texts may be; and that a restart changes nothing of it.
 */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { DequeuedMessageItem, PeekedMessageItem, QueueClient } from '@azure/storage-queue';
import { ManualClock } from '../../src/base/clock.ts';
import { startServer } from '../../src/main.ts';
import { outcomes, refusal } from '../harness/clients.ts';
import { freshPlace } from '../harness/engines.ts';
import type { RawRequest } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { tally, together } from '../harness/parallel.ts';
import { freshQueue, queueClient } from '../harness/queue-clients.ts';
import { assertRefused, messageOf, messagesPath, type QueueResponse, sendQueue } from '../harness/queue-http.ts';

const server = await startInProcess();
const { clock } = server;

const DAY_SECONDS = 24 * 3600;
const WEEK_SECONDS = 7 * DAY_SECONDS;
const NEVER = 'Fri, 31 Dec 9999 23:59:59 GMT';
const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

const raw = (request: RawRequest): Promise<QueueResponse> => sendQueue(server.queueUrl, request);
const put = (queue: QueueClient, body: string, query: Record<string, number> = {}): Promise<QueueResponse> =>
  raw({ method: 'POST', path: messagesPath(queue.name, query), body });
const get = (queue: QueueClient, query: Record<string, number> = {}): Promise<QueueResponse> =>
  raw({ method: 'GET', path: messagesPath(queue.name, query) });

const received = async (queue: QueueClient, numberOfMessages = 32): Promise<DequeuedMessageItem[]> =>
  (await queue.receiveMessages({ numberOfMessages })).receivedMessageItems;
const peeked = async (queue: QueueClient): Promise<PeekedMessageItem[]> =>
  (await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems;
const textsOf = (items: readonly { readonly messageText: string }[]): string[] =>
  items.map(({ messageText }) => messageText);

/** The one message that a Get must give. */
async function receivedOne(queue: QueueClient, visibilityTimeout = 30): Promise<DequeuedMessageItem> {
  const { receivedMessageItems } = await queue.receiveMessages({ visibilityTimeout });
  assert.equal(receivedMessageItems.length, 1);
  return receivedMessageItems[0] as DequeuedMessageItem;
}

/** A message, and the receipt that its Put gave. */
async function messageIn(queue: QueueClient, text = 'text', options: object = {}): Promise<Held> {
  const { messageId, popReceipt } = await queue.sendMessage(text, options);
  return { messageId, popReceipt };
}

interface Held {
  readonly messageId: string;
  readonly popReceipt: string;
}

/** Such as a body says it: in whole seconds. */
const inSeconds = (seconds: number): Date => new Date(Math.floor((clock.nowMs() + seconds * 1000) / 1000) * 1000);
const httpDateIn = (seconds: number): string => inSeconds(seconds).toUTCString();

/** To the last millisecond before so many seconds have passed. */
function advanceToBefore(seconds: number): void {
  clock.advance({ seconds: seconds - 1 });
  clock.advance({ seconds: 0.999 });
}
const advanceMillisecond = (): void => clock.advance({ seconds: 0.001 });

describe('a message', () => {
  test('is put, got, changed and deleted by the official client', async () => {
    const queue = await freshQueue(server);
    const sent = await queue.sendMessage('first text');
    assert.match(sent.messageId, GUID);
    const got = await receivedOne(queue);
    assert.deepEqual([got.messageId, got.messageText, got.dequeueCount], [sent.messageId, 'first text', 1]);
    const updated = await queue.updateMessage(got.messageId, got.popReceipt, 'second text', 0);
    const again = await receivedOne(queue);
    assert.deepEqual([again.messageId, again.messageText, again.dequeueCount], [sent.messageId, 'second text', 2]);
    const receipts = [sent.popReceipt, got.popReceipt, updated.popReceipt, again.popReceipt];
    assert.equal(new Set(receipts).size, 4);
    await queue.deleteMessage(again.messageId, again.popReceipt);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  });

  test('tells when it came, when it ends and when it is seen next', async () => {
    const queue = await freshQueue(server);
    clock.advance({ seconds: 0.4 });
    const insertedOn = inSeconds(0);
    const expiresOn = inSeconds(WEEK_SECONDS);
    const sent = await queue.sendMessage('x');
    assert.deepEqual([sent.insertedOn, sent.expiresOn, sent.nextVisibleOn], [insertedOn, expiresOn, inSeconds(0)]);
    clock.advance({ seconds: 100 });
    const got = await receivedOne(queue, 20);
    assert.deepEqual([got.insertedOn, got.expiresOn, got.nextVisibleOn], [insertedOn, expiresOn, inSeconds(20)]);
    const { nextVisibleOn } = await queue.updateMessage(got.messageId, got.popReceipt, undefined, 7);
    assert.deepEqual(nextVisibleOn, inSeconds(7));
    clock.advance({ seconds: 7 });
    const [seen] = await peeked(queue);
    assert.deepEqual([seen?.insertedOn, seen?.expiresOn], [insertedOn, expiresOn]);
  });

  test('is one of its queue alone', async () => {
    const queue = await freshQueue(server);
    const other = await freshQueue(server);
    const { messageId, popReceipt } = await messageIn(queue);
    assert.deepEqual(await peeked(other), []);
    assert.equal(await refusal(other.deleteMessage(messageId, popReceipt)), '404 MessageNotFound');
    assert.equal((await peeked(queue)).length, 1);
  });
});

describe('Put Message', () => {
  test('answers 201 with what the sender needs, and not with the text', async () => {
    const queue = await freshQueue(server);
    const { status, messages } = await put(queue, messageOf('x'), { visibilitytimeout: 10, messagettl: 60 });
    assert.equal(status, 201);
    const [message] = messages;
    assert.deepEqual(Object.keys(message ?? {}), [
      'MessageId',
      'InsertionTime',
      'ExpirationTime',
      'PopReceipt',
      'TimeNextVisible',
    ]);
    assert.equal(message?.['InsertionTime'], httpDateIn(0));
    assert.equal(message['ExpirationTime'], httpDateIn(60));
    assert.equal(message['TimeNextVisible'], httpDateIn(10));
  });

  for (const [version, hasBody] of [
    ['2011-08-18', false],
    ['2015-04-05', false],
    ['2015-12-11', false],
    ['2016-05-31', true],
    ['2026-06-06', true],
  ] as const) {
    test(`of ${version} answers ${hasBody ? 'with' : 'without'} a body`, async () => {
      const queue = await freshQueue(server);
      const headers = { 'x-ms-version': version };
      const answer = await raw({ method: 'POST', path: messagesPath(queue.name), headers, body: messageOf('x') });
      assert.deepEqual([answer.status, answer.messages.length], [201, hasBody ? 1 : 0]);
      assert.equal(answer.body.length > 0, hasBody);
      assert.deepEqual(textsOf(await peeked(queue)), ['x']);
    });
  }

  test('hides a message for as long as it says, to the millisecond', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('later', { visibilityTimeout: 10 });
    advanceToBefore(10);
    assert.deepEqual([await peeked(queue), await received(queue)], [[], []]);
    advanceMillisecond();
    assert.deepEqual(textsOf(await peeked(queue)), ['later']);
    assert.equal((await receivedOne(queue)).dequeueCount, 1);
  });

  for (const [what, options, lifeSeconds] of [
    ['a second', { messageTimeToLive: 1 }, 1],
    ['a week, where nothing is said,', {}, WEEK_SECONDS],
    ['eight days', { messageTimeToLive: 8 * DAY_SECONDS }, 8 * DAY_SECONDS],
    ['as long as a number can say', { messageTimeToLive: 2 ** 31 - 1 }, 2 ** 31 - 1],
  ] as const) {
    test(`lets a message live for ${what} to the millisecond`, async () => {
      const queue = await freshQueue(server);
      const sent = await queue.sendMessage('mortal', options);
      assert.deepEqual(sent.expiresOn, inSeconds(lifeSeconds));
      advanceToBefore(lifeSeconds);
      const { messageId, popReceipt } = await receivedOne(queue, 1);
      advanceMillisecond();
      clock.advance({ seconds: 1 });
      assert.deepEqual([await peeked(queue), await received(queue)], [[], []]);
      assert.equal(await refusal(queue.updateMessage(messageId, popReceipt, 'x', 0)), '404 MessageNotFound');
      assert.equal(await refusal(queue.deleteMessage(messageId, popReceipt)), '404 MessageNotFound');
    });
  }

  test('lets a message be seen in the last millisecond of its life, and not in the next', async () => {
    const queue = await freshQueue(server);
    const { messageId, popReceipt } = await messageIn(queue, 'x', { messageTimeToLive: 1 });
    advanceToBefore(1);
    assert.deepEqual(textsOf(await peeked(queue)), ['x']);
    advanceMillisecond();
    assert.deepEqual([await peeked(queue), await received(queue)], [[], []]);
    assert.equal(await refusal(queue.deleteMessage(messageId, popReceipt)), '404 MessageNotFound');
  });

  test('with a life of -1 keeps a message for ever', async () => {
    const queue = await freshQueue(server);
    const { messages } = await put(queue, messageOf('immortal'), { messagettl: -1, visibilitytimeout: WEEK_SECONDS });
    assert.equal(messages[0]?.['ExpirationTime'], NEVER);
    clock.advance({ seconds: 100 * 365 * DAY_SECONDS });
    const [message] = (await get(queue)).messages;
    assert.deepEqual([message?.['MessageText'], message?.['ExpirationTime']], ['immortal', NEVER]);
    const update = { popreceipt: message?.['PopReceipt'] ?? '', visibilitytimeout: WEEK_SECONDS };
    const answer = await raw({ method: 'PUT', path: messagesPath(queue.name, update, message?.['MessageId']) });
    assert.equal(answer.status, 204);
  });

  for (const [what, query] of [
    ['as long as it lives', { messagettl: 5, visibilitytimeout: 5 }],
    ['longer than it lives', { messagettl: 5, visibilitytimeout: 6 }],
    ['as long as it lives where nothing is said of that', { visibilitytimeout: WEEK_SECONDS }],
  ] as const) {
    test(`does not hide a message ${what}`, async () => {
      const queue = await freshQueue(server);
      const answer = await put(queue, messageOf('x'), query);
      assertRefused(answer, '400 InvalidQueryParameterValue');
      assert.match(answer.body.toString(), /<Reason>[^<]+<\/Reason>/);
      assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
    });
  }

  test('hides a message for all but the last second of its life', async () => {
    const queue = await freshQueue(server);
    assert.equal((await put(queue, messageOf('x'), { messagettl: 5, visibilitytimeout: 4 })).status, 201);
    clock.advance({ seconds: 4 });
    assert.deepEqual(textsOf(await received(queue)), ['x']);
  });
});

describe('the order', () => {
  test('is that in which messages were put', async () => {
    const queue = await freshQueue(server);
    const texts = Array.from({ length: 100 }, (_, index) => `${index}`);
    for (const text of texts) await queue.sendMessage(text);
    assert.deepEqual(textsOf(await peeked(queue)), texts.slice(0, 32));
    const got: string[] = [];
    for (const count of [1, 9, 32, 32, 32]) got.push(...textsOf(await received(queue, count)));
    assert.deepEqual(got, texts);
    assert.deepEqual(await received(queue), []);
  });

  test('is that in which messages come to be seen, where they were hidden', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('in ten', { visibilityTimeout: 10 });
    await queue.sendMessage('in five', { visibilityTimeout: 5 });
    await queue.sendMessage('now');
    assert.deepEqual(textsOf(await peeked(queue)), ['now']);
    clock.advance({ seconds: 5 });
    await queue.sendMessage('after five');
    assert.deepEqual(textsOf(await peeked(queue)), ['now', 'in five', 'after five']);
    clock.advance({ seconds: 5 });
    assert.deepEqual(textsOf(await received(queue)), ['now', 'in five', 'after five', 'in ten']);
  });

  test('keeps those that come back behind those that were there all the time', async () => {
    const queue = await freshQueue(server);
    for (const text of ['a', 'b', 'c']) await queue.sendMessage(text);
    await receivedOne(queue, 10);
    clock.advance({ seconds: 10 });
    assert.deepEqual(textsOf(await peeked(queue)), ['b', 'c', 'a']);
  });
});

describe('Get Messages', () => {
  test('says everything of a message, and gives each a receipt of its own', async () => {
    const queue = await freshQueue(server);
    for (let index = 0; index < 32; index++) await queue.sendMessage(`${index}`);
    const { status, headers, messages } = await get(queue, { numofmessages: 32, visibilitytimeout: 45 });
    assert.equal(status, 200);
    assert.match(headers['content-type'] ?? '', /^application\/xml/);
    assert.equal(messages.length, 32);
    for (const [index, message] of messages.entries()) {
      assert.deepEqual(Object.keys(message), [
        'MessageId',
        'InsertionTime',
        'ExpirationTime',
        'PopReceipt',
        'TimeNextVisible',
        'DequeueCount',
        'MessageText',
      ]);
      assert.deepEqual([message['MessageText'], message['DequeueCount']], [`${index}`, '1']);
      assert.equal(message['TimeNextVisible'], httpDateIn(45));
    }
    assert.equal(new Set(messages.map(({ PopReceipt }) => PopReceipt)).size, 32);
    assert.equal(new Set(messages.map(({ MessageId }) => MessageId)).size, 32);
  });

  test('gives one where nothing is said, and as many as there are', async () => {
    const queue = await freshQueue(server);
    for (let index = 0; index < 5; index++) await queue.sendMessage(`${index}`);
    assert.equal((await get(queue)).messages.length, 1);
    assert.equal((await get(queue, { numofmessages: 3 })).messages.length, 3);
    assert.equal((await get(queue, { numofmessages: 32 })).messages.length, 1);
    const empty = await get(queue);
    assert.equal(empty.status, 200);
    assert.match(empty.body.toString(), /<QueueMessagesList ?\/>$/);
  });

  for (const [what, query, hiddenSeconds] of [
    ['half a minute, where nothing is said,', {}, 30],
    ['a second', { visibilitytimeout: 1 }, 1],
    ['a week', { visibilitytimeout: WEEK_SECONDS }, WEEK_SECONDS],
  ] as const) {
    test(`hides messages for ${what} to the millisecond`, async () => {
      const queue = await freshQueue(server);
      await queue.sendMessage('x', { messageTimeToLive: -1 });
      const [first] = (await get(queue, query)).messages;
      assert.equal(first?.['TimeNextVisible'], httpDateIn(hiddenSeconds));
      advanceToBefore(hiddenSeconds);
      assert.deepEqual([await peeked(queue), await received(queue)], [[], []]);
      advanceMillisecond();
      const again = await receivedOne(queue);
      assert.deepEqual([again.messageId, again.dequeueCount], [first['MessageId'], 2]);
      assert.notEqual(again.popReceipt, first['PopReceipt']);
    });
  }

  test('counts how often a message was got, and nothing else', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('x');
    for (let count = 1; count <= 5; count++) {
      const got = await receivedOne(queue, 1);
      assert.equal(got.dequeueCount, count);
      await queue.updateMessage(got.messageId, got.popReceipt, `${count}`, 0);
      assert.equal((await peeked(queue))[0]?.dequeueCount, count);
    }
  });

  test('may hide a message beyond its end, and it is never seen again', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('x', { messageTimeToLive: 5 });
    const { messageId, popReceipt, nextVisibleOn } = await receivedOne(queue, 10);
    assert.deepEqual(nextVisibleOn, inSeconds(10));
    clock.advance({ seconds: 5 });
    assert.equal(await refusal(queue.deleteMessage(messageId, popReceipt)), '404 MessageNotFound');
    clock.advance({ seconds: 5 });
    assert.deepEqual([await peeked(queue), await received(queue)], [[], []]);
  });

  test('gives no message to two of many that ask at once', async () => {
    const queue = await freshQueue(server);
    const texts = Array.from({ length: 100 }, (_, index) => `${index}`);
    await together(texts.length, (index) => queue.sendMessage(texts[index] as string));
    const results = await together(20, () => received(queue, 8));
    const got = results.flatMap((result) => (result.status === 'fulfilled' ? textsOf(result.value) : []));
    assert.deepEqual(
      got.map(Number).sort((a, b) => a - b),
      texts.map(Number),
    );
  });
});

describe('Peek Messages', () => {
  test('shows what a Get would give, without receipt and next time', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('seen', { messageTimeToLive: 60 });
    const { status, messages } = await raw({ method: 'GET', path: messagesPath(queue.name, { peekonly: 'true' }) });
    assert.equal(status, 200);
    const [message] = messages;
    assert.deepEqual(Object.keys(message ?? {}), [
      'MessageId',
      'InsertionTime',
      'ExpirationTime',
      'DequeueCount',
      'MessageText',
    ]);
    assert.deepEqual([message?.['DequeueCount'], message?.['MessageText']], ['0', 'seen']);
    assert.deepEqual([message?.['InsertionTime'], message?.['ExpirationTime']], [httpDateIn(0), httpDateIn(60)]);
  });

  test('changes nothing, however often', async () => {
    const queue = await freshQueue(server);
    const { messageId, popReceipt } = await messageIn(queue, 'x');
    for (let time = 0; time < 5; time++) assert.equal((await peeked(queue))[0]?.dequeueCount, 0);
    await queue.updateMessage(messageId, popReceipt, 'y', 0);
    assert.equal((await receivedOne(queue, 1)).dequeueCount, 1);
    clock.advance({ seconds: 1 });
    assert.equal((await peeked(queue))[0]?.dequeueCount, 1);
  });

  test('sees neither hidden messages nor expired ones', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('hidden', { visibilityTimeout: 20 });
    await queue.sendMessage('short', { messageTimeToLive: 10 });
    await queue.sendMessage('got');
    for (let index = 0; index < 40; index++) await queue.sendMessage(`short ${index}`, { messageTimeToLive: 10 });
    await queue.sendMessage('last');
    assert.deepEqual(textsOf(await received(queue, 2)), ['short', 'got']);
    clock.advance({ seconds: 10 });
    assert.deepEqual(textsOf(await peeked(queue)), ['last']);
  });

  test('shows one where nothing is said', async () => {
    const queue = await freshQueue(server);
    for (const text of ['a', 'b']) await queue.sendMessage(text);
    assert.deepEqual(textsOf((await queue.peekMessages()).peekedMessageItems), ['a']);
  });
});

const update = (queue: QueueClient, held: Held, hiddenSeconds: number, body?: string): Promise<QueueResponse> => {
  const query = { popreceipt: held.popReceipt, visibilitytimeout: hiddenSeconds };
  return raw({
    method: 'PUT',
    path: messagesPath(queue.name, query, held.messageId),
    ...(body === undefined ? {} : { body }),
  });
};

describe('Update Message', () => {
  test('answers 204 with the new receipt and the next time in headers', async () => {
    const queue = await freshQueue(server);
    const held = await messageIn(queue);
    const { status, headers, body } = await update(queue, held, 25);
    assert.deepEqual([status, body.length], [204, 0]);
    assert.equal(headers['x-ms-time-next-visible'], httpDateIn(25));
    const popReceipt = headers['x-ms-popreceipt'] as string;
    assert.notEqual(popReceipt, held.popReceipt);
    assert.equal((await update(queue, { ...held, popReceipt }, 0)).status, 204);
  });

  test('hides a message for longer, from now on, to the millisecond', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('x');
    const { messageId, popReceipt } = await receivedOne(queue, 30);
    clock.advance({ seconds: 20 });
    await queue.updateMessage(messageId, popReceipt, undefined, 60);
    advanceToBefore(60);
    assert.deepEqual(await received(queue), []);
    advanceMillisecond();
    assert.equal((await receivedOne(queue)).dequeueCount, 2);
  });

  test('gives a message back at once with 0, and the receipt stays good until somebody gets it', async () => {
    const queue = await freshQueue(server);
    await queue.sendMessage('x');
    const got = await receivedOne(queue, 600);
    const { popReceipt = '' } = await queue.updateMessage(got.messageId, got.popReceipt, undefined, 0);
    assert.equal((await peeked(queue)).length, 1);
    const again = await queue.updateMessage(got.messageId, popReceipt, undefined, 0);
    assert.equal((await receivedOne(queue)).dequeueCount, 2);
    assert.equal(await refusal(queue.deleteMessage(got.messageId, again.popReceipt as string)), '404 MessageNotFound');
  });

  test('hides a message that was only put', async () => {
    const queue = await freshQueue(server);
    const { messageId, popReceipt } = await messageIn(queue);
    await queue.updateMessage(messageId, popReceipt, undefined, 10);
    assert.deepEqual(await received(queue), []);
    clock.advance({ seconds: 10 });
    assert.equal((await receivedOne(queue)).dequeueCount, 1);
  });

  test('shows a message earlier that was put for later', async () => {
    const queue = await freshQueue(server);
    const { messageId, popReceipt } = await messageIn(queue, 'x', { visibilityTimeout: 600 });
    await queue.updateMessage(messageId, popReceipt, undefined, 0);
    assert.deepEqual(textsOf(await received(queue)), ['x']);
  });

  test('replaces the text where there is a body, by an empty one too, and else leaves it', async () => {
    const queue = await freshQueue(server);
    const { messageId } = await messageIn(queue, 'first');
    const step = async (body: string | undefined): Promise<string | undefined> => {
      const { popReceipt } = await receivedOne(queue, 1);
      const { status } = await update(queue, { messageId, popReceipt }, 0, body);
      assert.equal(status, 204);
      return (await peeked(queue))[0]?.messageText;
    };
    assert.equal(await step(undefined), 'first');
    assert.equal(await step(messageOf('second')), 'second');
    assert.equal(await step(undefined), 'second');
    assert.equal(await step('<QueueMessage><MessageText/></QueueMessage>'), '');
    assert.equal(await step(undefined), '');
  });

  test('leaves id, insertion, end and count as they were', async () => {
    const queue = await freshQueue(server);
    const sent = await queue.sendMessage('x', { messageTimeToLive: 500 });
    clock.advance({ seconds: 50 });
    await queue.updateMessage(sent.messageId, sent.popReceipt, 'y', 10);
    clock.advance({ seconds: 10 });
    const [message] = await peeked(queue);
    assert.deepEqual(
      [message?.messageId, message?.insertedOn, message?.expiresOn, message?.dequeueCount],
      [sent.messageId, sent.insertedOn, sent.expiresOn, 0],
    );
  });

  test('does not hide a message beyond its end, but up to it', async () => {
    const queue = await freshQueue(server);
    const held = await messageIn(queue, 'x', { messageTimeToLive: 15 });
    clock.advance({ seconds: 10 });
    assertRefused(await update(queue, held, 6, messageOf('never')), '400 InvalidQueryParameterValue');
    assert.deepEqual(textsOf(await peeked(queue)), ['x']);
    const { status, headers } = await update(queue, held, 5);
    assert.equal(status, 204);
    advanceToBefore(5);
    const popReceipt = headers['x-ms-popreceipt'] as string;
    assert.equal((await update(queue, { ...held, popReceipt }, 0)).status, 204);
  });

  test('by two at once with one receipt is done by one', async () => {
    const queue = await freshQueue(server);
    for (let round = 0; round < 10; round++) {
      const { messageId, popReceipt } = await messageIn(queue);
      const results = await together(4, (index) => queue.updateMessage(messageId, popReceipt, `${round} ${index}`, 0));
      const all = outcomes(results);
      assert.deepEqual(tally(all), { ok: 1, '404 MessageNotFound': 3 });
      const shown = textsOf(await received(queue));
      assert.ok(shown.includes(`${round} ${all.indexOf('ok')}`), shown.join());
    }
  });

  test('or a Delete with the same receipt is done, and not both', async () => {
    const queue = await freshQueue(server);
    for (let round = 0; round < 10; round++) {
      const { messageId, popReceipt } = await messageIn(queue);
      const results = await together<unknown>(2, (index) =>
        index === round % 2
          ? queue.updateMessage(messageId, popReceipt, 'changed', 0)
          : queue.deleteMessage(messageId, popReceipt),
      );
      assert.deepEqual(tally(outcomes(results)), { ok: 1, '404 MessageNotFound': 1 });
      await queue.clearMessages();
    }
  });
});

describe('Delete Message', () => {
  test('answers 204, once', async () => {
    const queue = await freshQueue(server);
    const { messageId, popReceipt } = await messageIn(queue);
    const path = messagesPath(queue.name, { popreceipt: popReceipt }, messageId);
    const { status, body } = await raw({ method: 'DELETE', path });
    assert.deepEqual([status, body.length], [204, 0]);
    assertRefused(await raw({ method: 'DELETE', path }), '404 MessageNotFound');
    assert.deepEqual(await peeked(queue), []);
  });

  test('takes away that message and no other', async () => {
    const queue = await freshQueue(server);
    for (const text of ['a', 'b', 'c']) await queue.sendMessage(text);
    const [a, b, c] = await received(queue);
    await queue.deleteMessage(b?.messageId ?? '', b?.popReceipt ?? '');
    clock.advance({ seconds: 30 });
    assert.deepEqual(textsOf(await peeked(queue)).sort(), ['a', 'c']);
    assert.equal(await refusal(queue.deleteMessage(a?.messageId ?? '', c?.popReceipt ?? '')), '404 MessageNotFound');
    assert.equal((await peeked(queue)).length, 2);
  });

  test('finds a message under its id in capitals', async () => {
    const queue = await freshQueue(server);
    const { messageId, popReceipt } = await messageIn(queue);
    await queue.deleteMessage(messageId.toUpperCase(), popReceipt);
  });
});

describe('of the receipts of a message, only the last is good', () => {
  /** Each does to the message what its name says, and gives the receipt that is good from now on; null: none is. */
  type Event = (queue: QueueClient, held: Held) => Promise<string | null>;
  const EVENTS: Readonly<Record<string, Event>> = {
    'a Get': async (queue) => (await receivedOne(queue, 5)).popReceipt,
    'the end of the timeout': async (_queue, { popReceipt }) => {
      clock.advance({ seconds: 5 });
      return popReceipt;
    },
    'another Get': async (queue) => (await receivedOne(queue, 5)).popReceipt,
    'an Update': async (queue, { messageId, popReceipt }) =>
      (await queue.updateMessage(messageId, popReceipt, 'updated', 3)).popReceipt as string,
    'the end of its timeout': async (_queue, { popReceipt }) => {
      clock.advance({ seconds: 3 });
      return popReceipt;
    },
    'a Peek': async (queue, { popReceipt }) => {
      assert.equal((await peeked(queue)).length, 1);
      return popReceipt;
    },
  };
  const ENDS: Readonly<Record<string, Event>> = {
    'its Delete': async (queue, { messageId, popReceipt }) => {
      await queue.deleteMessage(messageId, popReceipt);
      return null;
    },
    'its expiry': async () => {
      clock.advance({ seconds: 1_000 });
      return null;
    },
    'a clear': async (queue) => {
      await queue.clearMessages();
      return null;
    },
    'its queue’s Delete': async (queue) => {
      await queue.delete();
      await queue.create();
      return null;
    },
  };

  const ATTEMPTS = {
    'an Update': (queue: QueueClient, { messageId, popReceipt }: Held) =>
      queue.updateMessage(messageId, popReceipt, 'not this', 1),
    'a Delete': (queue: QueueClient, { messageId, popReceipt }: Held) => queue.deleteMessage(messageId, popReceipt),
  } as const;

  const lives = Object.keys(EVENTS).map((_, index, names) => names.slice(0, index));
  const histories = [...lives, Object.keys(EVENTS)].flatMap((events) => [
    events,
    ...(events.length % 3 === 0 ? Object.keys(ENDS).map((end) => [...events, end]) : []),
  ]);

  for (const history of histories) {
    for (const [attempt, tried] of Object.entries(ATTEMPTS)) {
      test(`to ${attempt} after ${['Put', ...history].join(', ')}`, async () => {
        const queue = await freshQueue(server);
        let held = await messageIn(queue, 'text', { messageTimeToLive: 500 });
        let good: string | null = held.popReceipt;
        const receipts = new Set([held.popReceipt]);
        for (const event of history) {
          good = await ((EVENTS[event] ?? ENDS[event]) as Event)(queue, held);
          if (good === null) break;
          receipts.add(good);
          held = { ...held, popReceipt: good };
        }
        for (const popReceipt of receipts) {
          if (popReceipt === good) continue;
          assert.equal(await refusal(tried(queue, { ...held, popReceipt })), '404 MessageNotFound');
        }
        if (good !== null) await tried(queue, held);
      });
    }
  }
});

describe('Clear Messages', () => {
  test('takes all away, visible, hidden or held, and the queue goes on', async () => {
    const queue = await freshQueue(server);
    await queue.setMetadata({ kept: 'yes' });
    for (let index = 0; index < 50; index++)
      await queue.sendMessage('x', { visibilityTimeout: index % 2 === 0 ? 0 : 60 });
    const held = await received(queue, 10);
    const { status, body } = await raw({ method: 'DELETE', path: messagesPath(queue.name) });
    assert.deepEqual([status, body.length], [204, 0]);
    for (const { messageId, popReceipt } of held) {
      assert.equal(await refusal(queue.deleteMessage(messageId, popReceipt)), '404 MessageNotFound');
    }
    clock.advance({ seconds: 60 });
    assert.deepEqual([await peeked(queue), await received(queue)], [[], []]);
    await queue.sendMessage('new');
    assert.deepEqual(textsOf(await received(queue)), ['new']);
    assert.deepEqual((await queue.getProperties()).metadata, { kept: 'yes' });
    await queue.clearMessages();
    await queue.clearMessages();
  });
});

describe('a text', () => {
  const KIB = 1024;
  for (const [what, text] of [
    ['plain letters', 'hello'],
    ['nothing', ''],
    ['one blank', ' '],
    ['blanks around', '  a  b  '],
    ['tabs', '\ta\tb\t'],
    ['line feeds', '\na\n\nb\n'],
    ['carriage returns', '\ra\r\nb\r'],
    ['what XML escapes', `<a b="c">&amp;</a> ]]> 'd' & "e"`],
    ['what looks like a reference', '&#65;&lt;&unknown;'],
    ['many scripts', 'ä ß 漢字 עברית हिन्दी'],
    ['signs beyond the basic plane', '\u{1faa8}\u{1f600}\u{10fffd}'],
    ['the edges of what XML can carry', '\u0085\u2028\ud7ff\ue000\ufffd'],
    ['Base64', Buffer.from([...Array(256).keys()].map((byte) => byte)).toString('base64')],
    ['JSON', JSON.stringify({ a: [1, 'x\\"', null], b: '<>' })],
  ] as const) {
    test(`of ${what} comes back as it was put, from Get and Peek, and as it was updated`, async () => {
      const queue = await freshQueue(server);
      assert.equal((await put(queue, messageOf(text))).status, 201);
      const seen = await raw({ method: 'GET', path: messagesPath(queue.name, { peekonly: 'true' }) });
      assert.equal(seen.messages[0]?.['MessageText'], text);
      const [got] = (await get(queue)).messages;
      assert.equal(got?.['MessageText'], text);
      const { messageId, popReceipt } = await messageIn(queue, 'another');
      const path = messagesPath(queue.name, { popreceipt: popReceipt, visibilitytimeout: 0 }, messageId);
      assert.equal((await raw({ method: 'PUT', path, body: messageOf(text) })).status, 204);
      assert.equal((await get(queue)).messages[0]?.['MessageText'], text);
    });
  }

  for (const [what, text] of [
    ['what XML escapes', `<a b="c">&amp;</a> ]]> 'd' & "e"`],
    ['blanks around', '  a  b  '],
    ['many scripts', 'ä 漢字 \u{1faa8}'],
    ['nothing', ''],
  ] as const) {
    test(`of ${what} goes through the official client`, async () => {
      const queue = await freshQueue(server);
      await queue.sendMessage(text);
      assert.equal((await peeked(queue))[0]?.messageText ?? '', text);
      const { messageId, popReceipt, messageText } = await receivedOne(queue);
      assert.equal(messageText ?? '', text);
      await queue.updateMessage(messageId, popReceipt, `${text}!`, 0);
      assert.equal((await receivedOne(queue)).messageText, `${text}!`);
    });
  }

  for (const [what, inside, want] of [
    ['line ends as XML reads them', 'a\r\nb\rc', 'a\nb\nc'],
    ['a section of its own', '<![CDATA[<b>&amp;]]>', '<b>&amp;'],
    ['references', '&#65;&#x42;&quot;&apos;', `AB"'`],
    ['a comment, which is none of it', 'a<!-- b -->c', 'ac'],
    ['mark-up, which is dropped', 'a<b>c</b>d', 'ad'],
  ] as const) {
    test(`is read from ${what}, however the document is laid out`, async () => {
      const queue = await freshQueue(server);
      for (const [head, between] of [
        ['', ''],
        ['<?xml version="1.0" encoding="utf-8"?>', ''],
        ['<?xml version="1.0" encoding="utf-8"?>\n', '\n '],
      ] as const) {
        const text = `<MessageText>${inside}</MessageText>`;
        const body = `${head}<QueueMessage>${between}${text}${between}</QueueMessage>`;
        assert.equal((await put(queue, body)).status, 201);
        assert.equal((await get(queue)).messages[0]?.['MessageText'], want, body);
      }
    });
  }

  for (const [what, unit, unitBytes] of [
    ['ASCII', 'x', 1],
    ['two bytes each', 'ü', 2],
    ['four bytes each', '\u{1faa8}', 4],
    ['characters that are escaped', '&', 1],
  ] as const) {
    test(`may have 65,536 bytes of ${what}, as stored, and no more`, async () => {
      const queue = await freshQueue(server);
      const longest = unit.repeat((64 * KIB) / unitBytes);
      const sent = await queue.sendMessage(longest);
      await queue.updateMessage(sent.messageId, sent.popReceipt, longest, 0);
      const { messageId, popReceipt, messageText } = await receivedOne(queue, 1);
      assert.ok(messageText === longest);
      const tooLong = messageOf(`${longest}x`);
      assertRefused(await put(queue, tooLong), '413 RequestBodyTooLarge', { MaxLimit: '65536' });
      const path = messagesPath(queue.name, { popreceipt: popReceipt, visibilitytimeout: 0 }, messageId);
      assertRefused(await raw({ method: 'PUT', path, body: tooLong }), '413 RequestBodyTooLarge', {
        MaxLimit: '65536',
      });
      clock.advance({ seconds: 1 });
      assert.ok((await receivedOne(queue)).messageText === longest, 'the refused one changed nothing');
      assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
    });
  }

  test('may have 8,192 bytes, and no more, before 2011-08-18', async () => {
    const queue = await freshQueue(server);
    const putOld = (text: string): Promise<QueueResponse> =>
      raw({
        method: 'POST',
        path: messagesPath(queue.name),
        headers: { 'x-ms-version': '2009-09-19' },
        body: messageOf(text),
      });
    assert.equal((await putOld('x'.repeat(8 * KIB))).status, 201);
    assertRefused(await putOld('x'.repeat(8 * KIB + 1)), '413 RequestBodyTooLarge', { MaxLimit: '8192' });
  });
});

describe('after a restart', () => {
  const endings: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0).toReversed()) await end();
  });

  test('messages are as they were, and their times go on', async () => {
    const place = await freshPlace({ onDisk: true });
    endings.push(() => place.remove());
    const manual = new ManualClock();
    const start = async (): Promise<{ queue: QueueClient; stop: () => Promise<void> }> => {
      const running = await startServer({ ...place.store, clock: manual });
      endings.push(() => running.close());
      const queue = queueClient({ connectionString: () => running.connectionString }, 'durable');
      return { queue, stop: () => running.close() };
    };

    const before = await start();
    await before.queue.create({ metadata: { kept: 'yes' } });
    await before.queue.sendMessage('got');
    const got = await receivedOne(before.queue, 60);
    await before.queue.sendMessage('visible');
    await before.queue.sendMessage('hidden', { visibilityTimeout: 120 });
    await before.queue.sendMessage('mortal', { messageTimeToLive: 30 });
    const sent = await before.queue.sendMessage('updated');
    const updated = await before.queue.updateMessage(sent.messageId, sent.popReceipt, 'changed', 90);
    await before.stop();
    manual.advance({ seconds: 30 });

    const { queue } = await start();
    const { metadata, approximateMessagesCount = 0 } = await queue.getProperties();
    assert.deepEqual(metadata, { kept: 'yes' });
    assert.ok(approximateMessagesCount >= 4, String(approximateMessagesCount));
    assert.deepEqual(textsOf(await peeked(queue)), ['visible']);
    manual.advance({ seconds: 29 });
    manual.advance({ seconds: 0.999 });
    assert.deepEqual(textsOf(await peeked(queue)), ['visible']);
    manual.advance({ seconds: 0.001 });
    assert.deepEqual(textsOf(await peeked(queue)), ['visible', 'got']);
    await queue.deleteMessage(got.messageId, got.popReceipt);
    assert.equal(await refusal(queue.deleteMessage(sent.messageId, sent.popReceipt)), '404 MessageNotFound');
    manual.advance({ seconds: 30 });
    assert.deepEqual(textsOf(await peeked(queue)), ['visible', 'changed']);
    await queue.deleteMessage(sent.messageId, updated.popReceipt as string);
    manual.advance({ seconds: 30 });
    const items = await received(queue);
    assert.deepEqual(
      items.map(({ messageText, dequeueCount }) => [messageText, dequeueCount]),
      [
        ['visible', 1],
        ['hidden', 1],
      ],
    );
    assert.equal((await queue.getProperties()).approximateMessagesCount, 2);
  });
});
