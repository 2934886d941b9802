/**
 * Optimistic concurrency on an entity of a table. Whoever changes it sends the ETag that came with it, in If-Match, and a
 * change that rests on an older version gets 412. Whoever sends none is asked nothing, and takes away what others added.
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

/** One request: the entity, and the ETag that names this version of it. */
async function read(): Promise<{ apples: number; etag: string }> {
  const { apples, etag } = await table.getEntity<Stock>(SHELF.partitionKey, SHELF.rowKey);
  return { apples, etag };
}

/** Accepted only while the entity's ETag is still the one that was read. */
const write = (apples: number, etag: string): Promise<unknown> =>
  table.updateEntity({ ...SHELF, apples }, 'Replace', { etag });

console.log('\n1. Two people change one entity');

await table.createEntity({ ...SHELF, apples: 10 });
const ada = await read();
const ben = await read();
console.log(`   Ada and Ben both read ${ada.apples} apples, ETag ${ada.etag}.`);
await succeeds(`Ada sells three and writes ${ada.apples - 3} with If-Match`, write(ada.apples - 3, ada.etag));
await loses(
  `Ben sells one and writes ${ben.apples - 1} with If-Match`,
  write(ben.apples - 1, ben.etag),
  'Ben lost: the entity has changed since he read it, and his write would have brought three apples back.',
);
const fresh = await read();
console.log(`   Ben reads again: ${fresh.apples} apples, ETag ${fresh.etag}.`);
await succeeds(`Ben writes ${fresh.apples - 1} with If-Match`, write(fresh.apples - 1, fresh.etag));
console.log(`   The shelf has ${(await read()).apples} apples.`);

const WORKERS = 8;
const ROUNDS = 5;

console.log(`\n2. ${WORKERS} workers put one apple each on the shelf, ${ROUNDS} times, and send no ETag`);

// If-Match: * is what the client sends unless it is told an ETag, and it holds for every version there is.
await write(0, '*');
for (let round = 0; round < ROUNDS; round++) {
  const readers = await Promise.all(Array.from({ length: WORKERS }, read));
  await Promise.all(readers.map(({ apples }) => write(apples + 1, '*')));
}
const kept = (await read()).apples;
assert.equal(kept, ROUNDS);
console.log(`   All ${WORKERS * ROUNDS} writes are accepted, and the shelf has ${kept} apples.`);
console.log(
  `   ${WORKERS * ROUNDS - kept} apples are lost: all had read the same number, and the last writer's counts.`,
);

console.log('\n3. The same with the ETag that was read, and again from the start after a 412');

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
console.log(`   The shelf has ${total} apples: every one counts.`);
console.log(`   On the way ${refusedCount} writes lost to a faster worker; each was made again from a fresh read.`);

await end();
