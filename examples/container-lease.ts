/**
 * A lease on a container keeps it from being deleted, and from nothing else: what is in it is read and written as ever.
 * Here a backup holds it for as long as it copies.
 */
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const { container, letTimePass, end } = await connect('container-lease');
const photo = container.getBlockBlobClient('photo');
await photo.upload('first', 5);

console.log('\n1. A backup leases the container');

const backup = container.getBlobLeaseClient();
const other = container.getBlobLeaseClient();
await succeeds('The backup acquires a lease for 60 seconds', backup.acquireLease(60));
await loses(
  'Another backup acquires a lease',
  other.acquireLease(60),
  'The other backup lost: a container has one lease at a time.',
);

console.log('\n2. Nobody deletes the container meanwhile');

await loses(
  'A clean-up job deletes the container',
  container.delete(),
  'The clean-up job lost: to delete a leased container, show the id of its lease.',
);
await loses(
  'It tries again with an id of its own',
  container.delete({ conditions: { leaseId: other.leaseId } }),
  'The clean-up job lost: that is not the id of the lease.',
);

console.log('\n3. Everything else goes on, without any id');

await succeeds('A user overwrites a blob', photo.upload('second', 6));
await succeeds('A user adds a blob', container.uploadBlockBlob('letter', 'text', 4));
const names: string[] = [];
for await (const { name } of container.listBlobsFlat()) names.push(name);
console.log(`   A user lists the blobs: ${names.join(', ')}.`);
await succeeds('A user deletes a blob', container.deleteBlob('letter'));
await succeeds("An administrator sets the container's metadata", container.setMetadata({ owner: 'ada' }));
await succeeds("An administrator sets the container's access policies", container.setAccessPolicy());

console.log('\n4. But whoever shows an id must show the right one');

await loses(
  'The other backup sets metadata with an id of its own',
  container.setMetadata({ owner: 'ben' }, { conditions: { leaseId: other.leaseId } }),
  'The other backup lost: it says that it holds the lease, and does not.',
);

console.log('\n5. The lease ends by itself');

await letTimePass({ seconds: 61 });
console.log(`   The lease is ${(await container.getProperties()).leaseState}.`);
await succeeds('The backup, a little late, renews', backup.renewLease());
console.log('   Nobody else has leased the container since, so the backup has it again.');

console.log('\n6. Its holder may delete the container');

await succeeds(
  'The backup deletes it with the id of the lease',
  container.delete({ conditions: { leaseId: backup.leaseId } }),
);
console.log(`   Is the container there? ${(await container.exists()) ? 'Yes' : 'No'}.`);

await end();
