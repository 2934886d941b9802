/**
 * Extending the hold: work that takes longer than its message is hidden. The worker hides it for a short time only, and
 * again and again while it works (Update Message), each time with a text that says how far the work is. If the worker
 * dies, the message comes back soon, and whoever gets it goes on from there.
 */
import assert from 'node:assert/strict';
import type { ReceivedMessageItem } from '@azure/storage-queue';
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const HOLD_SECONDS = 15;
const CHAPTER_SECONDS = 10;
const CHAPTERS = 5;

const { createQueue, letTimePass, end } = await connect('extend-the-hold');
const books = await createQueue();

/** What a worker has in hand. The receipt is a new one after each update; the old one is good for nothing. */
interface Hold {
  readonly messageId: string;
  receipt: string;
  printed: number;
}

const textOf = (printed: number): string => JSON.stringify({ book: 'Don Quixote', printed });

function holdOf({ messageId, popReceipt, messageText }: ReceivedMessageItem): Hold {
  const { printed } = JSON.parse(messageText) as { printed: number };
  return { messageId, receipt: popReceipt, printed };
}

async function ask(name: string): Promise<Hold | null> {
  const { receivedMessageItems } = await books.receiveMessages({ visibilityTimeout: HOLD_SECONDS });
  const [message] = receivedMessageItems;
  if (message === undefined) {
    console.log(`   ${name} asks for work: there is none.`);
    return null;
  }
  const hold = holdOf(message);
  console.log(`   ${name} gets the book, delivery ${message.dequeueCount}. Chapters printed: ${hold.printed}.`);
  return hold;
}

/** Hides the message anew, from now on, and saves in it how far the work is. */
async function save(hold: Hold, seconds = HOLD_SECONDS): Promise<void> {
  const { popReceipt } = await books.updateMessage(hold.messageId, hold.receipt, textOf(hold.printed), seconds);
  hold.receipt = popReceipt as string;
}

const finish = ({ messageId, receipt }: Hold): Promise<unknown> => books.deleteMessage(messageId, receipt);

const printed: string[] = [];

async function printNext(name: string, hold: Hold): Promise<void> {
  await letTimePass({ seconds: CHAPTER_SECONDS });
  hold.printed++;
  printed.push(`${hold.printed} ${name}`);
  await succeeds(`${name} has printed chapter ${hold.printed}, saves that, and extends the hold`, save(hold));
}

console.log('\n1. A hold that is too short');

await books.sendMessage(textOf(0));
const late = (await ask('Ada')) as Hold;
await letTimePass({ seconds: HOLD_SECONDS + 1 });
const second = (await ask('Ben')) as Hold;
await loses(
  'Ada is done and deletes the message',
  finish(late),
  'Ada lost: Ben has the book by now, and would print the same chapters again.',
);
await succeeds('Ben gives it back, for the next who asks', save(second, 0));

console.log('\n2. Ada extends her hold after every chapter');

const ada = (await ask('Ada')) as Hold;
for (let chapter = 1; chapter <= 3; chapter++) {
  await printNext('Ada', ada);
  assert.equal(await ask('Ben'), null);
}
console.log(`   That was ${3 * CHAPTER_SECONDS} seconds, with a hold of ${HOLD_SECONDS}.`);

console.log('\n3. Ada is not heard of any more');

await letTimePass({ seconds: HOLD_SECONDS + 1 });
const ben = (await ask('Ben')) as Hold;
assert.equal(ben.printed, 3);
await printNext('Ben', ben);

console.log('\n4. She was not dead, only slow');

await loses('Ada extends her hold', save(ada), 'Ada lost, and knows that she must stop: the book is with another.');
while (ben.printed < CHAPTERS) await printNext('Ben', ben);
await succeeds('Ben deletes the message', finish(ben));

assert.deepEqual(printed, ['1 Ada', '2 Ada', '3 Ada', '4 Ben', '5 Ben']);
assert.equal((await books.getProperties()).approximateMessagesCount, 0);
console.log(`   Every chapter was printed once: ${printed.join(', ')}.`);

await end();
