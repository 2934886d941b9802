/**
 * Competing consumers: three workers take their orders from one queue. A message that one of them gets is hidden from the
 * others, and stays in the queue until it is deleted with the receipt that came with it. So nobody packs an order that
 * another has in hand, and a slow worker holds nobody up.
 */
import assert from 'node:assert/strict';
import type { ReceivedMessageItem } from '@azure/storage-queue';
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const ORDERS = 12;
const HOLD_SECONDS = 60;

const { createQueue, end } = await connect('competing-consumers');
const orders = await createQueue();

/** An order that nobody else gets for a minute; undefined where there is none. */
async function getOrder(): Promise<ReceivedMessageItem | undefined> {
  const { receivedMessageItems } = await orders.receiveMessages({ visibilityTimeout: HOLD_SECONDS });
  return receivedMessageItems[0];
}

/** Only whoever got it last can do this: every get gives a new receipt. */
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

console.log(`\n1. ${ORDERS} orders come in, and Cho takes one`);

for (let number = 1; number <= ORDERS; number++) await orders.sendMessage(`order ${number}`);
const slow = (await getOrder()) as ReceivedMessageItem;
console.log(`   Cho gets ${slow.messageText}, a large one. It will take her a while.`);

console.log('\n2. Ada and Ben take one after the other, both at the same time');

await Promise.all([work('Ada'), work('Ben')]);
console.log(
  `   Ada packed ${packedBy('Ada')} and Ben ${packedBy('Ben')}: ${packed.length} orders, and there is no other to get.`,
);

console.log(`\n3. What Ada and Ben see of ${slow.messageText}`);

const { peekedMessageItems } = await orders.peekMessages();
assert.equal(peekedMessageItems.length, 0);
assert.equal(await getOrder(), undefined);
const { approximateMessagesCount } = await orders.getProperties();
console.log('   They cannot get it, and a peek does not show it.');
console.log(
  `   Yet the queue counts ${approximateMessagesCount}: it is hidden, and not gone. Should Cho fall ill, it comes back.`,
);
const { popReceipt } = (packed[0] as (typeof packed)[0]).order;
await loses(
  `Somebody deletes ${slow.messageText} with the receipt of another order`,
  orders.deleteMessage(slow.messageId, popReceipt),
  'Lost: a receipt is good for one message, and for one get of it.',
);

console.log('\n4. Cho is done');

await succeeds(`Cho deletes ${slow.messageText} with her receipt`, finish(slow));
packed.push({ worker: 'Cho', order: slow });
await loses('She does it again', finish(slow), 'Lost: it is gone, and will not come back.');

const different = new Set(packed.map(({ order }) => order.messageText)).size;
assert.deepEqual([packed.length, different, packedBy('Cho')], [ORDERS, ORDERS, 1]);
assert.equal((await orders.getProperties()).approximateMessagesCount, 0);
console.log(
  `   ${packed.length} orders are packed, ${different} different ones: nobody got what another had. None is left.`,
);

await end();
