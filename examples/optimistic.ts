/**
 * Optimistic concurrency: nobody locks anything. A writer says which version of the blob the change is based on, and the
 * server accepts the write only if that is still the current version.
 */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import type { BlockBlobClient } from '@azure/storage-blob';
import { answerTo, isAccepted, loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const { container, end } = await connect('optimistic');

/** Reads, in one request, the content and the ETag that identifies this version of it. */
async function read(blob: BlockBlobClient): Promise<{ content: string; etag: string }> {
  const { readableStreamBody, etag } = await blob.download();
  return { content: await text(readableStreamBody as NodeJS.ReadableStream), etag: etag as string };
}

/** The write is accepted only if the blob still has the ETag that was read. */
const write = (blob: BlockBlobClient, content: string, ifMatch: string): Promise<unknown> =>
  blob.upload(content, content.length, { conditions: { ifMatch } });

console.log('\n1. Two people change one blob');

const list = container.getBlockBlobClient('shopping-list');
await list.upload('bread', 5);

const ada = await read(list);
const ben = await read(list);
console.log(`   Ada and Ben both read "${ada.content}", ETag ${ada.etag}.`);

const withMilk = `${ada.content}, milk`;
await succeeds(`Ada writes "${withMilk}" with If-Match ${ada.etag}`, write(list, withMilk, ada.etag));

const withEggs = `${ben.content}, eggs`;
await loses(
  `Ben tries to write "${withEggs}" with If-Match ${ben.etag}`,
  write(list, withEggs, ben.etag),
  'Ben lost: the blob has changed since he read it, and his write would have erased the milk.',
);

const fresh = await read(list);
console.log(`   Ben reads again: "${fresh.content}", ETag ${fresh.etag}.`);
const withBoth = `${fresh.content}, eggs`;
await succeeds(`Ben writes "${withBoth}" with If-Match ${fresh.etag}`, write(list, withBoth, fresh.etag));
console.log(`   The blob contains "${(await read(list)).content}".`);

console.log('\n2. Three workers try to create the same blob at the same time');

const job = container.getBlockBlobClient('job-17');
const workers = ['Ada', 'Ben', 'Cho'];
// If-None-Match: * is met only if the blob does not exist.
const create = (name: string): Promise<unknown> => job.upload(name, name.length, { conditions: { ifNoneMatch: '*' } });
const answers = await Promise.all(workers.map((name) => answerTo(create(name))));
for (const [index, name] of workers.entries()) {
  console.log(`   ${name} tries to create it with If-None-Match *: ${answers[index]}.`);
}
const owner = (await read(job)).content;
assert.deepEqual(
  answers.map(isAccepted),
  workers.map((name) => name === owner),
);
console.log(
  `   The job is ${owner}'s. The others lost: when the server got to their requests, the blob already existed.`,
);

console.log('\n3. Eight workers add one to a counter, five times each');

const counter = container.getBlockBlobClient('counter');
await counter.upload('0', 1);
let refusedCount = 0;

async function addOne(): Promise<void> {
  const { content, etag } = await read(counter);
  const answer = await answerTo(write(counter, String(Number(content) + 1), etag));
  if (isAccepted(answer)) return;
  refusedCount++;
  await addOne();
}

const addFive = async (): Promise<void> => {
  for (let done = 0; done < 5; done++) await addOne();
};
await Promise.all(Array.from({ length: 8 }, addFive));
const total = (await read(counter)).content;
assert.equal(total, '40');
console.log(`   The counter is at ${total}: every addition was counted once.`);
console.log(`   Along the way, ${refusedCount} writes lost to a faster worker. Each was repeated after reading again.`);

await end();
