/**
 * Poison messages: a worker that fails does not delete its message, so the message reappears and is tried again. A
 * message that nobody can handle would reappear for ever. So the worker checks how often a message has been delivered.
 * After three deliveries, it moves the message to another queue, where it is out of the way and somebody can look at it.
 */
import assert from 'node:assert/strict';
import type { ReceivedMessageItem } from '@azure/storage-queue';
import { succeeds } from './answers.ts';
import { connect } from './server.ts';

const DELIVERIES_MAX = 3;
const HOLD_SECONDS = 5;

const { createQueue, letTimePass, end } = await connect('poison-messages');
const jobs = await createQueue();
const poison = await createQueue('-poison');
const sums: number[] = [];

const remove = ({ messageId, popReceipt }: ReceivedMessageItem): Promise<unknown> =>
  jobs.deleteMessage(messageId, popReceipt);

/** Adds it to one queue, then removes it from the other: after a crash in between, it is in both, but never lost. */
async function moveToPoison(message: ReceivedMessageItem): Promise<void> {
  await poison.sendMessage(message.messageText);
  await remove(message);
}

async function handle(message: ReceivedMessageItem): Promise<void> {
  const { messageText, dequeueCount } = message;
  const told = `   Delivery ${dequeueCount} of '${messageText}'`;
  // Check before the work, not after it: a message may crash the worker, which then checks nothing.
  if (dequeueCount > DELIVERIES_MAX) {
    await moveToPoison(message);
    console.log(`${told}: not tried again, but moved to the poison queue.`);
    return;
  }
  try {
    const { add } = JSON.parse(messageText) as { add: [number, number] };
    sums.push(add[0] + add[1]);
  } catch {
    console.log(`${told}: this is not JSON. The message stays in the queue, hidden for ${HOLD_SECONDS} seconds.`);
    return;
  }
  await remove(message);
  console.log(`${told}: the sum is ${sums.at(-1)}. The message is deleted.`);
}

async function handleAll(): Promise<void> {
  const request = { numberOfMessages: 32, visibilityTimeout: HOLD_SECONDS };
  const { receivedMessageItems } = await jobs.receiveMessages(request);
  for (const message of receivedMessageItems) await handle(message);
}

console.log('\n1. Four jobs come in, and one of them cannot be done');

for (const job of ['{"add":[1,2]}', '{"add":[3,4]}', 'add 5 and 6', '{"add":[7,8]}']) await jobs.sendMessage(job);
await handleAll();

console.log(`\n2. It reappears until it has been delivered ${DELIVERIES_MAX} times`);

for (let delivery = 2; delivery <= DELIVERIES_MAX + 1; delivery++) {
  await letTimePass({ seconds: HOLD_SECONDS + 1 });
  await handleAll();
}

console.log('\n3. Somebody looks into the poison queue');

const countOf = async (queue: typeof jobs): Promise<number | undefined> =>
  (await queue.getProperties()).approximateMessagesCount;
const { receivedMessageItems } = await poison.receiveMessages();
const [found] = receivedMessageItems as [ReceivedMessageItem];
assert.deepEqual([await countOf(jobs), await countOf(poison), found.messageText], [0, 1, 'add 5 and 6']);
console.log(`   It contains one message: '${found.messageText}'. The job queue contains ${await countOf(jobs)}.`);
await succeeds('The job is sent again, corrected', jobs.sendMessage('{"add":[5,6]}'));
await succeeds('The poison message is deleted', poison.deleteMessage(found.messageId, found.popReceipt));
await handleAll();

assert.deepEqual([await countOf(jobs), await countOf(poison)], [0, 0]);
assert.deepEqual(sums, [3, 7, 15, 11]);
console.log(`   All four jobs are done: the sums are ${sums.join(', ')}. Both queues are empty.`);

await end();
