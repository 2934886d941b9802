/**
 * A snapshot of a share: the whole tree at one moment. Two clerks keep two files in step while backups are taken. A
 * snapshot never shows one file from before a change and the other from after the next, and it stays what it was.
 */
import assert from 'node:assert/strict';
import type { ShareClient } from '@azure/storage-file-share';
import { succeeds } from './answers.ts';
import { connect } from './server.ts';

const BOOKINGS = 40;

const { createShare, letTimePass, end } = await connect('share-snapshot');
const share = await createShare();
await share.createDirectory('books');

/** Both files hold how much there is; together it is always 1000. */
const give = (of: ShareClient) => of.getDirectoryClient('books').getFileClient('give.txt');
const take = (of: ShareClient) => of.getDirectoryClient('books').getFileClient('take.txt');
const amount = async (file: ReturnType<typeof give>): Promise<number> => Number(await file.downloadToBuffer());
const write = (file: ReturnType<typeof give>, value: number): Promise<unknown> =>
  file.uploadRange(String(value).padStart(4, '0'), 0, 4);

await give(share).create(4);
await take(share).create(4);
await write(give(share), 1000);
await write(take(share), 0);

/** First it is taken from the one, then put to the other. */
async function book(): Promise<void> {
  for (let booking = 1; booking <= BOOKINGS; booking++) {
    await write(give(share), 1000 - booking);
    await write(take(share), booking);
  }
}

console.log(`\n1. ${BOOKINGS} bookings, each a write to one file and then to the other, while a backup is taken`);

const booking = book();
const { snapshot } = await share.createSnapshot();
await booking;
console.log(`   Now: ${await amount(give(share))} and ${await amount(take(share))}.`);

console.log('\n2. What the backup shows');

const backup = share.withSnapshot(snapshot as string);
const [given, taken] = [await amount(give(backup)), await amount(take(backup))];
console.log(`   In the snapshot of ${snapshot}: ${given} and ${taken}.`);
assert.ok(given + taken === 1000 || given + taken === 999);
console.log(
  '   Both are of one moment: at most the booking under way is between the two files, and none is half lost.',
);

console.log('\n3. The books are renamed and then deleted, and the backup stays');

await succeeds('books becomes archive, with all that is in it', share.getDirectoryClient('books').rename('archive'));
await succeeds('a file in it is deleted', share.getDirectoryClient('archive').getFileClient('give.txt').delete());
assert.equal(await amount(give(backup)), given);
console.log(`   The snapshot still has books/give.txt, and it says ${await amount(give(backup))}.`);
const restored = share.rootDirectoryClient.getFileClient('restored.txt');
await succeeds('It is copied back into the share', restored.startCopyFromURL(give(backup).url));
assert.equal(await amount(restored), given);

console.log('\n4. A second backup, a moment later');

await letTimePass({ seconds: 2 });
const later = share.withSnapshot((await share.createSnapshot()).snapshot as string);
const names: string[] = [];
for await (const { name } of later.rootDirectoryClient.listFilesAndDirectories()) names.push(name);
assert.deepEqual(names.sort(), ['archive', 'restored.txt']);
console.log(`   It has ${names.join(' and ')}; the first one has books. Neither took up room for what did not change.`);
await end();
