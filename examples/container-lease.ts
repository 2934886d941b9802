/**
 * A lease on a container protects it from being deleted, and from nothing else: blobs in it can be read and written as
 * usual. Here, a backup holds the lease while it copies.
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
  'Another backup tries to acquire a lease',
  other.acquireLease(60),
  'The other backup lost: a container can have only one lease at a time.',
);

console.log('\n2. Nobody else can delete the container');

await loses(
  'A clean-up job tries to delete the container',
  container.delete(),
  'The clean-up job lost: deleting a leased container requires its lease id.',
);
await loses(
  'It tries again with a lease id of its own',
  container.delete({ conditions: { leaseId: other.leaseId } }),
  'The clean-up job lost: that is not the id of the current lease.',
);

console.log('\n3. Everything else works without a lease id');

await succeeds('A user overwrites a blob', photo.upload('second', 6));
await succeeds('A user adds a blob', container.uploadBlockBlob('letter', 'text', 4));
const names: string[] = [];
for await (const { name } of container.listBlobsFlat()) names.push(name);
console.log(`   A user lists the blobs: ${names.join(', ')}.`);
await succeeds('A user deletes a blob', container.deleteBlob('letter'));
await succeeds("An administrator sets the container's metadata", container.setMetadata({ owner: 'ada' }));
await succeeds("An administrator sets the container's access policies", container.setAccessPolicy());

console.log('\n4. But a request that gives a lease id must give the right one');

await loses(
  'The other backup tries to set metadata with a lease id of its own',
  container.setMetadata({ owner: 'ben' }, { conditions: { leaseId: other.leaseId } }),
  'The other backup lost: it claims to hold the lease, but does not.',
);

console.log('\n5. The lease expires by itself');

await letTimePass({ seconds: 61 });
console.log(`   The state of the lease is "${(await container.getProperties()).leaseState}".`);
await succeeds('The backup renews its lease, a little late', backup.renewLease());
console.log('   Nobody else has leased the container in the meantime, so the backup gets its lease back.');

console.log('\n6. The holder of the lease can delete the container');

await succeeds(
  'The backup deletes it with the lease id',
  container.delete({ conditions: { leaseId: backup.leaseId } }),
);
console.log(`   Does the container still exist? ${(await container.exists()) ? 'Yes' : 'No'}.`);

await end();
