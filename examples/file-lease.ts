/**
 * A lease on a file. The File service asks for no ETag: whoever writes last wins, and nobody is told that something was
 * overwritten. Who must not be overwritten takes a lease, which has no end of its own; then others can read and not write.
 */
import assert from 'node:assert/strict';
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const { createShare, end } = await connect('file-lease');
const share = await createShare();
const file = share.rootDirectoryClient.getFileClient('price-list.txt');
const read = async (): Promise<string> => (await file.downloadToBuffer()).toString();

console.log('\n1. Without a lease the last writer wins');

await file.uploadData(Buffer.from('bread 3, milk 1'));
const { etag } = await file.getProperties();
console.log(`   Ada and Ben both read "${await read()}", ETag ${etag}.`);
await succeeds('Ada raises the price of bread, and writes "bread 4"', file.uploadRange('bread 4', 0, 7));
await succeeds('Ben writes "bread 2" to the same place, without having read again', file.uploadRange('bread 2', 0, 7));
assert.equal(await read(), 'bread 2, milk 1');
console.log(`   The file holds "${await read()}". Ada's price is lost, and nobody was told.`);

console.log('\n2. Ada takes a lease');

const lease = file.getShareLeaseClient();
const { leaseId } = await lease.acquireLease();
const withLease = { leaseAccessConditions: { leaseId: leaseId as string } };
console.log('   Ada acquires a lease: accepted. It has no end.');
await loses(
  'Ben acquires one as well',
  file.getShareLeaseClient().acquireLease(),
  'Ben lost: a file has one lease at a time.',
);
await loses(
  'Ben writes "bread 1"',
  file.uploadRange('bread 1', 0, 7),
  'Ben lost: a leased file is written with the id of its lease, which he does not have.',
);
await loses('Ben deletes the file', file.delete(), 'Ben lost again: deleting is writing.');
await loses('Ben renames it out of the way', file.rename('old-prices.txt'), 'And again: so is renaming.');
await succeeds('Ben reads it', file.downloadToBuffer());
await succeeds('Ada writes "bread 4" with the id of her lease', file.uploadRange('bread 4', 0, 7, withLease));
console.log(`   The file holds "${await read()}".`);

console.log('\n3. Ada falls ill, and her lease stays');

await succeeds('Cho, who may do so, breaks the lease', file.getShareLeaseClient().breakLease());
await loses(
  'Ada comes back and writes with the id of her lease',
  file.uploadRange('bread 5', 0, 7, withLease),
  'Ada lost: her lease was broken, and she is told before she overwrites what came meanwhile.',
);
await succeeds('Ben writes "bread 2"', file.uploadRange('bread 2', 0, 7));
await end();
