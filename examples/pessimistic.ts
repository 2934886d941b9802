/**
 * Pessimistic concurrency: to change a blob, a writer first acquires a lease on it. While the lease lasts, writes without
 * its id are refused. The lease expires, so that a holder who dies does not lock the blob for ever.
 */
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const { container, letTimePass, end } = await connect('pessimistic');
const account = container.getBlockBlobClient('account');
await account.upload('100', 3);

const write = (content: string, leaseId = ''): Promise<unknown> =>
  account.upload(content, content.length, leaseId === '' ? {} : { conditions: { leaseId } });
const leaseState = async (): Promise<string> => (await account.getProperties()).leaseState as string;

console.log('\n1. Only one of them gets the lease');

const ada = account.getBlobLeaseClient();
const ben = account.getBlobLeaseClient();
await succeeds('Ada acquires a lease for 15 seconds', ada.acquireLease(15));
await loses(
  'Ben tries to acquire a lease',
  ben.acquireLease(15),
  "Ben lost: a blob can have only one lease at a time, and it is Ada's until she releases it or it expires.",
);

console.log('\n2. Only the holder can write, but everybody can read');

await loses(
  'Ben tries to write without a lease id',
  write('0'),
  'Ben lost: while the blob is leased, a write must carry the lease id.',
);
await loses(
  'Ben tries to write with a lease id of his own',
  write('0', ben.leaseId),
  'Ben lost: that is not the id of the current lease.',
);
await succeeds('Ada writes with her lease id', write('90', ada.leaseId));
console.log(`   Ben reads without a lease id: "${(await account.downloadToBuffer()).toString()}".`);

console.log('\n3. A lease has to be renewed in time');

await letTimePass({ seconds: 10 });
await succeeds('Ada renews her lease, which gives her another 15 seconds', ada.renewLease());
await letTimePass({ seconds: 10 });
console.log(`   20 seconds after Ada acquired the lease, its state is "${await leaseState()}".`);
await letTimePass({ seconds: 6 });
console.log(`   16 seconds after she renewed it, its state is "${await leaseState()}".`);
await succeeds('Ben acquires a lease', ben.acquireLease(15));
await loses(
  'Ada, who has not noticed, tries to write with her old lease id',
  write('80', ada.leaseId),
  'Ada lost: her lease has expired, and Ben holds the lease now. Her late write changed nothing.',
);
await loses(
  'Ada tries to renew her lease',
  ada.renewLease(),
  'Ada lost: a lease cannot be renewed once somebody else has one.',
);

console.log('\n4. Breaking a lease: for an operator who does not know the lease id');

// The holder keeps the blob for the break period. Nobody else can acquire a lease until it is over.
const { leaseTime } = await account.getBlobLeaseClient().breakLease(5);
console.log(`   An operator breaks the lease with a break period of 5 seconds. Ben has ${leaseTime} seconds left.`);
await loses(
  'Ben tries to renew his lease',
  ben.renewLease(),
  'Ben lost: a lease that is being broken cannot be renewed.',
);
await succeeds('Ben finishes his work with his lease id', write('85', ben.leaseId));
await letTimePass({ seconds: 6 });
console.log(`   The state of the lease is "${await leaseState()}".`);
await succeeds('Ada acquires a lease', ada.acquireLease(15));

console.log('\n5. Releasing a lease: for a holder who has finished');

await succeeds('Ada releases her lease', ada.releaseLease());
console.log(`   The state of the lease is "${await leaseState()}".`);
await succeeds('Ben writes without a lease id', write('75'));

await end();
