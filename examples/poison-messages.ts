/**
 * Poison messages: a worker that fails does not delete its message, which therefore comes back and is tried again. One that
 * nobody can handle would come back for ever. So whoever gets a message looks at how often it was delivered, and after
 * three deliveries moves it to another queue, out of everybody's way, for somebody to look at.
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

/** First into the one queue, then out of the other: a crash between the two leaves it in both, and never in none. */
async function moveToPoison(message: ReceivedMessageItem): Promise<void> {
  await poison.sendMessage(message.messageText);
  await remove(message);
}

async function handle(message: ReceivedMessageItem): Promise<void> {
  const { messageText, dequeueCount } = message;
  const told = `   Delivery ${dequeueCount} of ${messageText}`;
  // Before the work and not behind it: a message may kill whoever tries, who then counts nothing.
  if (dequeueCount > DELIVERIES_MAX) {
    await moveToPoison(message);
    console.log(`${told}: not tried any more, moved to the poison queue.`);
    return;
  }
  try {
    const { add } = JSON.parse(messageText) as { add: [number, number] };
    sums.push(add[0] + add[1]);
  } catch {
    console.log(`${told}: it is no JSON. It is left where it is, hidden for ${HOLD_SECONDS} seconds.`);
    return;
  }
  await remove(message);
  console.log(`${told}: the sum is ${sums.at(-1)}. It is deleted.`);
}

async function handleAll(): Promise<void> {
  const request = { numberOfMessages: 32, visibilityTimeout: HOLD_SECONDS };
  const { receivedMessageItems } = await jobs.receiveMessages(request);
  for (const message of receivedMessageItems) await handle(message);
}

console.log('\n1. Four jobs, one of which nobody can do');

for (const job of ['{"add":[1,2]}', '{"add":[3,4]}', 'add 5 and 6', '{"add":[7,8]}']) await jobs.sendMessage(job);
await handleAll();

console.log(`\n2. It comes back, until it was delivered ${DELIVERIES_MAX} times`);

for (let delivery = 2; delivery <= DELIVERIES_MAX + 1; delivery++) {
  await letTimePass({ seconds: HOLD_SECONDS + 1 });
  await handleAll();
}

console.log('\n3. Somebody looks at what is in the poison queue');

const countOf = async (queue: typeof jobs): Promise<number | undefined> =>
  (await queue.getProperties()).approximateMessagesCount;
const { receivedMessageItems } = await poison.receiveMessages();
const [found] = receivedMessageItems as [ReceivedMessageItem];
assert.deepEqual([await countOf(jobs), await countOf(poison), found.messageText], [0, 1, 'add 5 and 6']);
console.log(`   There is one message: ${found.messageText}. The queue of jobs counts ${await countOf(jobs)}.`);
await succeeds('The job is put again, as it was meant', jobs.sendMessage('{"add":[5,6]}'));
await succeeds('The poison message is deleted', poison.deleteMessage(found.messageId, found.popReceipt));
await handleAll();

assert.deepEqual([await countOf(jobs), await countOf(poison)], [0, 0]);
assert.deepEqual(sums, [3, 7, 15, 11]);
console.log(`   All four jobs are done: ${sums.join(', ')}. Both queues are empty.`);

await end();
