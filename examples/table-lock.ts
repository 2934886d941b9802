/**
 * A lock for a whole table: the lease on a blob that all workers have agreed on. Crates are moved between two warehouses.
 * Each warehouse has a partition of its own, so that no entity group transaction can cover both. The holder of the lock
 * writes into the blob what the table should look like, and then changes the table. If it dies halfway, the next holder
 * finishes the change.
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

/** Writes the note; only the holder of the lock can. An empty note means that no move is in progress. */
const note = (text: string, { leaseId }: BlobLeaseClient): Promise<unknown> =>
  lock.upload(text, text.length, { conditions: { leaseId } });

/** Every new holder of the lock does this first. Doing it twice is harmless: the note says what to store, not what to add. */
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

console.log('\n1. Without a lock, others can see half of a move');

for (const [place, crates] of [['north', 60] as const, ['south', 40] as const]) {
  await table.createEntity({ partitionKey: place, rowKey: 'stock', crates });
}
console.log(`   The warehouses in the north and in the south have ${told(await count())} crates.`);
await succeeds('Ada takes 10 crates from the north', store('north', 50));
console.log(`   Ben counts ${told(await count())}. Ten crates are missing.`);
await succeeds('Ada adds them in the south', store('south', 50));
console.log('   There are two partitions, so it takes two requests: an entity group transaction cannot cover both.');

console.log('\n2. With the lock, the second worker waits');

const ada = lock.getBlobLeaseClient();
const ben = lock.getBlobLeaseClient();
await succeeds(`Ada acquires the lock for ${LEASE_SECONDS} seconds`, ada.acquireLease(LEASE_SECONDS));
await succeeds('Ada takes 10 crates from the north', store('north', 40));
await loses('Ben tries to acquire the lock', ben.acquireLease(LEASE_SECONDS), 'Ben has to wait: Ada holds the lock.');
await letTimePass({ seconds: 10 });
await succeeds('Ada needs more time, and renews the lock', ada.renewLease());
await letTimePass({ seconds: 10 });
await loses(
  'Ben tries to acquire the lock',
  ben.acquireLease(LEASE_SECONDS),
  'Ben has to wait: Ada renewed the lock in time.',
);
await succeeds('Ada adds 10 crates in the south', store('south', 60));
await succeeds('Ada releases the lock', ada.releaseLease());
await succeeds('Ben acquires the lock', ben.acquireLease(LEASE_SECONDS));
console.log(`   Ben counts ${told(await count())}.`);
await succeeds('Ben releases the lock', ben.releaseLease());

console.log('\n3. The holder falls silent between its two writes');

const cho = lock.getBlobLeaseClient();
await succeeds('Cho acquires the lock', cho.acquireLease(LEASE_SECONDS));
const south = await load('south');
const wanted = { north: 30, south: 70 };
await succeeds(`Cho writes a note that there should be ${told(wanted)}`, note(JSON.stringify(wanted), cho));
await succeeds('Cho takes 10 crates from the north', store('north', wanted.north));
console.log('   Then Cho falls silent. She may be dead.');
await loses(
  'Ada tries to acquire the lock',
  ada.acquireLease(LEASE_SECONDS),
  'Ada has to wait: the lock outlives its holder.',
);
await letTimePass({ seconds: LEASE_SECONDS + 1 });
await succeeds('Ada acquires the lock', ada.acquireLease(LEASE_SECONDS));
await succeeds('Ada finds the note and finishes what Cho began', finishWhatIsUnderWay(ada));
const finished = await count();
console.log(`   Ada counts ${told(finished)}.`);
assert.deepEqual(finished, wanted);
await succeeds('Ada releases the lock', ada.releaseLease());

console.log('\n4. Cho was not dead');

await loses(
  'Cho tries to add 10 crates in the south, with the ETag that she read',
  store('south', wanted.south, south.etag),
  'Cho lost. The table knows nothing about the lock: it was the ETag that stopped her late write.',
);
await loses(
  'Cho tries to clear her note',
  note('', cho),
  'Cho lost: the blob does know that her lease is no longer valid.',
);
await loses('Cho tries to renew the lock', cho.renewLease(), 'Cho now knows that she has lost the lock.');

console.log('\n5. Six workers each move one crate, three times, while another worker keeps counting');

let attemptCount = 0;
const counted: number[] = [];
const WORKERS = 6;
const MOVES = 3;

async function work(): Promise<void> {
  for (let done = 0; done < MOVES; done++) {
    // Not `attemptCount += (await …).attempts`, which would read the count before waiting, and lose updates.
    const { attempts } = await whileLocked(lock, (lease) => move(lease, 1));
    attemptCount += attempts;
  }
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
console.log(`   Every count under the lock came to 100. In the end, there are ${told(last)} crates.`);
console.log(
  `   It took ${attemptCount} attempts to get the lock for ${WORKERS * MOVES} moves. They were made one at a time, and none was lost.`,
);

await end();
