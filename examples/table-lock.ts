/**
 * A lock for a whole table: the lease on a blob that all have agreed upon. Crates move from one warehouse to another, and
 * each has a partition of its own, so that no entity group transaction could cover both. Whoever holds the lock notes in
 * the blob how the table shall look, and then makes it so: if it dies halfway, the next to come finishes.
 */
import assert from 'node:assert/strict';
import type { BlobLeaseClient } from '@azure/storage-blob';
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';
import { LEASE_SECONDS, whileLocked } from './while-locked.ts';

const { container, createTable, letTimePass, end } = await connect('table-lock');
const table = await createTable();
const lock = container.getBlockBlobClient('lock-of-the-table');
await lock.upload('', 0);

const PLACES = ['north', 'south'] as const;
type Place = (typeof PLACES)[number];
type Crates = Readonly<Record<Place, number>>;

const load = (place: Place): Promise<{ crates: number; etag: string }> => table.getEntity(place, 'stock');
const store = (place: Place, crates: number, etag = '*'): Promise<unknown> =>
  table.updateEntity({ partitionKey: place, rowKey: 'stock', crates }, 'Replace', { etag });

async function count(): Promise<Crates> {
  const [north, south] = await Promise.all(PLACES.map(load));
  return { north: north?.crates ?? 0, south: south?.crates ?? 0 };
}
const sumOf = ({ north, south }: Crates): number => north + south;
const told = (crates: Crates): string => `${crates.north} + ${crates.south} = ${sumOf(crates)}`;

/** Accepted only from whoever holds the lock. An empty note: nothing is under way. */
const note = (text: string, { leaseId }: BlobLeaseClient): Promise<unknown> =>
  lock.upload(text, text.length, { conditions: { leaseId } });

/** To be done first by whoever gets the lock. It may be done twice: the note says how it shall be, not what to add. */
async function finishWhatIsUnderWay(lease: BlobLeaseClient): Promise<void> {
  const text = (await lock.downloadToBuffer()).toString();
  if (text === '') return;
  const wanted = JSON.parse(text) as Crates;
  for (const place of PLACES) await store(place, wanted[place]);
  await note('', lease);
}

async function move(lease: BlobLeaseClient, crates: number): Promise<void> {
  await finishWhatIsUnderWay(lease);
  const { north, south } = await count();
  await note(JSON.stringify({ north: north - crates, south: south + crates }), lease);
  await finishWhatIsUnderWay(lease);
}

console.log('\n1. Without a lock, others see half of a move');

for (const [place, crates] of [['north', 60] as const, ['south', 40] as const]) {
  await table.createEntity({ partitionKey: place, rowKey: 'stock', crates });
}
console.log(`   North and south have ${told(await count())} crates.`);
await succeeds('Ada takes 10 crates from north', store('north', 50));
console.log(`   Ben counts: ${told(await count())}. Ten crates are nowhere.`);
await succeeds('Ada adds them in south', store('south', 50));
console.log('   Two partitions, two requests: no entity group transaction makes them one.');

console.log('\n2. With the lock, the second waits');

const ada = lock.getBlobLeaseClient();
const ben = lock.getBlobLeaseClient();
await succeeds(`Ada acquires the lock for ${LEASE_SECONDS} seconds`, ada.acquireLease(LEASE_SECONDS));
await succeeds('Ada takes 10 crates from north', store('north', 40));
await loses('Ben acquires the lock', ben.acquireLease(LEASE_SECONDS), "Ben waits: the lock is Ada's.");
await letTimePass({ seconds: 10 });
await succeeds('Ada, who needs longer, renews', ada.renewLease());
await letTimePass({ seconds: 10 });
await loses('Ben acquires the lock', ben.acquireLease(LEASE_SECONDS), 'Ben waits: Ada renewed in time.');
await succeeds('Ada adds 10 crates in south', store('south', 60));
await succeeds('Ada releases the lock', ada.releaseLease());
await succeeds('Ben acquires the lock', ben.acquireLease(LEASE_SECONDS));
console.log(`   Ben counts: ${told(await count())}.`);
await succeeds('Ben releases the lock', ben.releaseLease());

console.log('\n3. A holder falls silent between its two writes');

const cho = lock.getBlobLeaseClient();
await succeeds('Cho acquires the lock', cho.acquireLease(LEASE_SECONDS));
const south = await load('south');
const wanted = { north: 30, south: 70 };
await succeeds(`Cho notes that it shall be ${told(wanted)}`, note(JSON.stringify(wanted), cho));
await succeeds('Cho takes 10 crates from north', store('north', wanted.north));
console.log('   Cho is not heard of any more. She may be dead.');
await loses('Ada acquires the lock', ada.acquireLease(LEASE_SECONDS), 'Ada waits: a lock outlives its holder.');
await letTimePass({ seconds: LEASE_SECONDS + 1 });
await succeeds('Ada acquires the lock', ada.acquireLease(LEASE_SECONDS));
await succeeds('Ada finds the note and finishes what Cho began', finishWhatIsUnderWay(ada));
const finished = await count();
console.log(`   Ada counts: ${told(finished)}.`);
assert.deepEqual(finished, wanted);
await succeeds('Ada releases the lock', ada.releaseLease());

console.log('\n4. She was not dead');

await loses(
  'Cho adds 10 crates in south, with the ETag that she read',
  store('south', wanted.south, south.etag),
  'Cho lost. The table knows nothing of the lock: it was the ETag that stopped who came too late.',
);
await loses('Cho clears her note', note('', cho), 'Cho lost: the blob does know whose the lock is.');
await loses('Cho renews', cho.renewLease(), 'Cho knows now that the lock is gone.');

console.log('\n5. Six workers move a crate each, three times, and one counts all the while');

let attemptCount = 0;
const counted: number[] = [];
const WORKERS = 6;
const MOVES = 3;

async function work(): Promise<void> {
  for (let done = 0; done < MOVES; done++)
    attemptCount += (await whileLocked(lock, (lease) => move(lease, 1))).attempts;
}
async function audit(): Promise<void> {
  for (let done = 0; done < MOVES; done++) {
    const { result } = await whileLocked(lock, async (lease) => {
      await finishWhatIsUnderWay(lease);
      return count();
    });
    counted.push(sumOf(result));
  }
}
await Promise.all([audit(), ...Array.from({ length: WORKERS }, work)]);
const last = await count();
assert.deepEqual(last, { north: 30 - WORKERS * MOVES, south: 70 + WORKERS * MOVES });
assert.deepEqual(new Set(counted), new Set([100]));
console.log(`   Every count under the lock gave 100. In the end there are ${told(last)}.`);
console.log(
  `   ${WORKERS * MOVES} moves took ${attemptCount} attempts to get the lock: one at a time, and none was lost.`,
);

await end();
