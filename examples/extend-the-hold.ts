/**
 * Extending the hold: what to do when the work takes longer than the message stays hidden. The worker hides the message
 * for a short time only, and extends that time while it works (Update Message). Each time, it saves its progress in the
 * text of the message. If the worker dies, the message soon reappears, and the next worker continues from there.
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

/** A message that a worker holds. Each update gives it a new receipt, and the old one is no longer valid. */
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
    console.log(`   ${name} asks for work, but there is none.`);
    return null;
  }
  const hold = holdOf(message);
  console.log(`   ${name} gets the book (delivery ${message.dequeueCount}). Chapters printed so far: ${hold.printed}.`);
  return hold;
}

/** Hides the message for another `seconds` from now, and saves the progress in it. */
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
  await succeeds(`${name} has printed chapter ${hold.printed}, saves the progress and extends the hold`, save(hold));
}

console.log('\n1. A hold that is too short');

await books.sendMessage(textOf(0));
const late = (await ask('Ada')) as Hold;
await letTimePass({ seconds: HOLD_SECONDS + 1 });
const second = (await ask('Ben')) as Hold;
await loses(
  'Ada finishes and tries to delete the message',
  finish(late),
  'Ada lost: by now the message belongs to Ben, who would print the same chapters again.',
);
await succeeds('Ben puts it back for the next worker', save(second, 0));

console.log('\n2. Ada extends her hold after every chapter');

const ada = (await ask('Ada')) as Hold;
for (let chapter = 1; chapter <= 3; chapter++) {
  await printNext('Ada', ada);
  assert.equal(await ask('Ben'), null);
}
console.log(`   Ada kept the book for ${3 * CHAPTER_SECONDS} seconds with a hold of only ${HOLD_SECONDS} seconds.`);

console.log('\n3. Ada falls silent');

await letTimePass({ seconds: HOLD_SECONDS + 1 });
const ben = (await ask('Ben')) as Hold;
assert.equal(ben.printed, 3);
await printNext('Ben', ben);

console.log('\n4. Ada was not dead, only slow');

await loses(
  'Ada tries to extend her hold',
  save(ada),
  'Ada lost, and now knows that she must stop: somebody else has the book.',
);
while (ben.printed < CHAPTERS) await printNext('Ben', ben);
await succeeds('Ben deletes the message', finish(ben));

assert.deepEqual(printed, ['1 Ada', '2 Ada', '3 Ada', '4 Ben', '5 Ben']);
assert.equal((await books.getProperties()).approximateMessagesCount, 0);
console.log(`   Every chapter was printed exactly once: ${printed.join(', ')}.`);

await end();
