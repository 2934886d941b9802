/**
 * Competing consumers: three workers take their orders from one queue. A message that one of them gets is hidden from the
 * others, and stays in the queue until it is deleted with the receipt that came with it. So no two workers pack the same
 * order, and a slow worker does not hold up the others.
 */
import assert from 'node:assert/strict';
import type { ReceivedMessageItem } from '@azure/storage-queue';
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const ORDERS = 12;
const HOLD_SECONDS = 60;

const { createQueue, end } = await connect('competing-consumers');
const orders = await createQueue();

/** Gets an order that nobody else can get for a minute, or undefined if there is none. */
async function getOrder(): Promise<ReceivedMessageItem | undefined> {
  const { receivedMessageItems } = await orders.receiveMessages({ visibilityTimeout: HOLD_SECONDS });
  return receivedMessageItems[0];
}

/** Only the worker who got the message last can delete it: each time it is received, it has a new receipt. */
const finish = ({ messageId, popReceipt }: ReceivedMessageItem): Promise<unknown> =>
  orders.deleteMessage(messageId, popReceipt);

const packed: { worker: string; order: ReceivedMessageItem }[] = [];
const packedBy = (name: string): number => packed.filter(({ worker }) => worker === name).length;

async function work(worker: string): Promise<void> {
  for (let order = await getOrder(); order !== undefined; order = await getOrder()) {
    await finish(order);
    packed.push({ worker, order });
    console.log(`   ${worker} packs ${order.messageText}.`);
  }
}

console.log(`\n1. ${ORDERS} orders come in, and Cho takes the first one`);

for (let number = 1; number <= ORDERS; number++) await orders.sendMessage(`order ${number}`);
const slow = (await getOrder()) as ReceivedMessageItem;
console.log(`   Cho gets ${slow.messageText}, which is large and will take her a while.`);

console.log('\n2. Meanwhile, Ada and Ben work through the other orders');

await Promise.all([work('Ada'), work('Ben')]);
console.log(
  `   Ada packed ${packedBy('Ada')} orders and Ben ${packedBy('Ben')}. That makes ${packed.length}, and they find no more.`,
);

console.log(`\n3. What Ada and Ben can see of ${slow.messageText}`);

const { peekedMessageItems } = await orders.peekMessages();
assert.equal(peekedMessageItems.length, 0);
assert.equal(await getOrder(), undefined);
const { approximateMessagesCount } = await orders.getProperties();
console.log('   They cannot get it, and peeking does not show it either.');
console.log(
  `   Yet the queue counts ${approximateMessagesCount} message: it is hidden, not gone. If Cho falls ill, it reappears.`,
);
const { popReceipt } = (packed[0] as (typeof packed)[0]).order;
await loses(
  `Somebody tries to delete ${slow.messageText} with the receipt of another order`,
  orders.deleteMessage(slow.messageId, popReceipt),
  'Refused: a receipt is valid for one message, and only for the last time it was received.',
);

console.log('\n4. Cho finishes');

await succeeds(`Cho deletes ${slow.messageText} with her receipt`, finish(slow));
packed.push({ worker: 'Cho', order: slow });
await loses('Cho tries to delete it again', finish(slow), 'Refused: the message is gone, and will not come back.');

const different = new Set(packed.map(({ order }) => order.messageText)).size;
assert.deepEqual([packed.length, different, packedBy('Cho')], [ORDERS, ORDERS, 1]);
assert.equal((await orders.getProperties()).approximateMessagesCount, 0);
console.log(
  `   ${packed.length} orders are packed, all of them different: no order was packed twice, and none is left.`,
);

await end();
