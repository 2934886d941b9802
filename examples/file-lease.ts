/**
 * A lease on a file. The File service has no conditional writes: the last writer wins, and nobody learns that something
 * was overwritten. To prevent that, take a lease. It never expires; while it lasts, others can read but not write.
 */
import assert from 'node:assert/strict';
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const { createShare, end } = await connect('file-lease');
const share = await createShare();
const file = share.rootDirectoryClient.getFileClient('price-list.txt');
const read = async (): Promise<string> => (await file.downloadToBuffer()).toString();

console.log('\n1. Without a lease, the last writer wins');

await file.uploadData(Buffer.from('bread 3, milk 1'));
const { etag } = await file.getProperties();
console.log(`   Ada and Ben both read "${await read()}", ETag ${etag}.`);
await succeeds('Ada raises the price of bread and writes "bread 4"', file.uploadRange('bread 4', 0, 7));
await succeeds('Ben writes "bread 2" to the same place, without reading again', file.uploadRange('bread 2', 0, 7));
assert.equal(await read(), 'bread 2, milk 1');
console.log(`   The file contains "${await read()}". Ada's price is lost, and nobody was told.`);

console.log('\n2. Ada takes a lease');

const lease = file.getShareLeaseClient();
const { leaseId } = await lease.acquireLease();
const withLease = { leaseAccessConditions: { leaseId: leaseId as string } };
console.log('   Ada acquires a lease: accepted. It never expires.');
await loses(
  'Ben tries to acquire one too',
  file.getShareLeaseClient().acquireLease(),
  'Ben lost: a file can have only one lease at a time.',
);
await loses(
  'Ben tries to write "bread 1"',
  file.uploadRange('bread 1', 0, 7),
  'Ben lost: writing to a leased file requires the lease id, which he does not have.',
);
await loses('Ben tries to delete the file', file.delete(), 'Ben lost: deleting requires the lease id, too.');
await loses(
  'Ben tries to rename the file',
  file.rename('old-prices.txt'),
  'Ben lost: renaming requires the lease id, too.',
);
await succeeds('Ben reads the file', file.downloadToBuffer());
await succeeds('Ada writes "bread 4" with her lease id', file.uploadRange('bread 4', 0, 7, withLease));
console.log(`   The file contains "${await read()}".`);

console.log('\n3. Ada falls ill, and her lease remains');

await succeeds('Cho, an administrator, breaks the lease', file.getShareLeaseClient().breakLease());
await loses(
  'Ada comes back and tries to write with her lease id',
  file.uploadRange('bread 5', 0, 7, withLease),
  'Ada lost: her lease was broken. She learns this before she overwrites what others have written since.',
);
await succeeds('Ben writes "bread 2"', file.uploadRange('bread 2', 0, 7));
await end();
