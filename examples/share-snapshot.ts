/**
 * A snapshot of a share shows the whole tree at one moment. A clerk moves amounts between two files while a backup is
 * taken. The snapshot never shows the two files at different moments, and it never changes afterwards.
 */
import assert from 'node:assert/strict';
import type { ShareClient } from '@azure/storage-file-share';
import { succeeds } from './answers.ts';
import { connect } from './server.ts';

const BOOKINGS = 40;

const { createShare, letTimePass, end } = await connect('share-snapshot');
const share = await createShare();
await share.createDirectory('books');

/** Each file contains an amount. Together they are 1000, except during a booking. */
const give = (of: ShareClient) => of.getDirectoryClient('books').getFileClient('give.txt');
const take = (of: ShareClient) => of.getDirectoryClient('books').getFileClient('take.txt');
const amount = async (file: ReturnType<typeof give>): Promise<number> => Number(await file.downloadToBuffer());
const write = (file: ReturnType<typeof give>, value: number): Promise<unknown> =>
  file.uploadRange(String(value).padStart(4, '0'), 0, 4);

await give(share).create(4);
await take(share).create(4);
await write(give(share), 1000);
await write(take(share), 0);

/** Each booking takes 1 from one file, and then adds 1 to the other. */
async function book(): Promise<void> {
  for (let booking = 1; booking <= BOOKINGS; booking++) {
    await write(give(share), 1000 - booking);
    await write(take(share), booking);
  }
}

console.log(
  `\n1. A backup is taken during ${BOOKINGS} bookings, each of which writes to one file and then to the other`,
);

const booking = book();
const { snapshot } = await share.createSnapshot();
await booking;
console.log(`   Afterwards, the files contain ${await amount(give(share))} and ${await amount(take(share))}.`);

console.log('\n2. What the backup shows');

const backup = share.withSnapshot(snapshot as string);
const [given, taken] = [await amount(give(backup)), await amount(take(backup))];
console.log(`   In the snapshot of ${snapshot}, they contain ${given} and ${taken}.`);
assert.ok(given + taken === 1000 || given + taken === 999);
console.log('   Both files are from the same moment: at most the booking in progress is missing from the second file.');

console.log('\n3. The folder is renamed and a file is deleted, but the backup stays the same');

await succeeds('The folder "books" is renamed to "archive"', share.getDirectoryClient('books').rename('archive'));
await succeeds('A file in it is deleted', share.getDirectoryClient('archive').getFileClient('give.txt').delete());
assert.equal(await amount(give(backup)), given);
console.log(`   The snapshot still contains books/give.txt, with ${await amount(give(backup))} in it.`);
const restored = share.rootDirectoryClient.getFileClient('restored.txt');
await succeeds('The file is copied from the snapshot back into the share', restored.startCopyFromURL(give(backup).url));
assert.equal(await amount(restored), given);

console.log('\n4. A second backup is taken a moment later');

await letTimePass({ seconds: 2 });
const later = share.withSnapshot((await share.createSnapshot()).snapshot as string);
const names: string[] = [];
for await (const { name } of later.rootDirectoryClient.listFilesAndDirectories()) names.push(name);
assert.deepEqual(names.sort(), ['archive', 'restored.txt']);
console.log(
  `   It contains ${names.join(' and ')}; the first one contains books. What has not changed is stored only once.`,
);
await end();
