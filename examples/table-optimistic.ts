/**
 * Optimistic concurrency on an entity in a table. A writer sends the ETag that it has read in If-Match, and a change that
 * is based on an older version gets 412. A writer that does not send the ETag overwrites what others have added.
 */
import assert from 'node:assert/strict';
import { answerTo, isAccepted, loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const { createTable, end } = await connect('table-optimistic');
const table = await createTable();

interface Stock {
  readonly apples: number;
}
const SHELF = { partitionKey: 'shop', rowKey: 'shelf' };

/** Reads, in one request, the entity and the ETag that identifies this version of it. */
async function read(): Promise<{ apples: number; etag: string }> {
  const { apples, etag } = await table.getEntity<Stock>(SHELF.partitionKey, SHELF.rowKey);
  return { apples, etag };
}

/** The write is accepted only if the entity still has the ETag that was read. */
const write = (apples: number, etag: string): Promise<unknown> =>
  table.updateEntity({ ...SHELF, apples }, 'Replace', { etag });

console.log('\n1. Two people change one entity');

await table.createEntity({ ...SHELF, apples: 10 });
const ada = await read();
const ben = await read();
console.log(`   Ada and Ben both read ${ada.apples} apples, ETag ${ada.etag}.`);
await succeeds(`Ada sells three apples and writes ${ada.apples - 3} with If-Match`, write(ada.apples - 3, ada.etag));
await loses(
  `Ben sells one apple and tries to write ${ben.apples - 1} with If-Match`,
  write(ben.apples - 1, ben.etag),
  'Ben lost: the entity has changed since he read it, and his write would have brought three apples back.',
);
const fresh = await read();
console.log(`   Ben reads again: ${fresh.apples} apples, ETag ${fresh.etag}.`);
await succeeds(`Ben writes ${fresh.apples - 1} with If-Match`, write(fresh.apples - 1, fresh.etag));
console.log(`   The shelf has ${(await read()).apples} apples.`);

const WORKERS = 8;
const ROUNDS = 5;

console.log(`\n2. ${WORKERS} workers each put one apple on the shelf, ${ROUNDS} times, without sending the ETag`);

// If-Match: * is what the client sends unless it is given an ETag. It matches every version.
await write(0, '*');
for (let round = 0; round < ROUNDS; round++) {
  const readers = await Promise.all(Array.from({ length: WORKERS }, read));
  await Promise.all(readers.map(({ apples }) => write(apples + 1, '*')));
}
const kept = (await read()).apples;
assert.equal(kept, ROUNDS);
console.log(`   All ${WORKERS * ROUNDS} writes are accepted, but the shelf has only ${kept} apples.`);
console.log(
  `   ${WORKERS * ROUNDS - kept} apples are lost: in each round, all workers had read the same number, and the last write won.`,
);

console.log('\n3. They do the same with the ETag, and start again after a 412');

await write(0, '*');
let refusedCount = 0;

async function addOne(): Promise<void> {
  const { apples, etag } = await read();
  const answer = await answerTo(write(apples + 1, etag));
  if (isAccepted(answer)) return;
  assert.equal(answer, '412 UpdateConditionNotSatisfied');
  refusedCount++;
  await addOne();
}

const addSeveral = async (): Promise<void> => {
  for (let round = 0; round < ROUNDS; round++) await addOne();
};
await Promise.all(Array.from({ length: WORKERS }, addSeveral));
const total = (await read()).apples;
assert.equal(total, WORKERS * ROUNDS);
console.log(`   The shelf has ${total} apples: every one was counted.`);
console.log(`   Along the way, ${refusedCount} writes lost to a faster worker. Each was repeated after reading again.`);

await end();
