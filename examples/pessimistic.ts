/**
 * Pessimistic concurrency: whoever wants to change a blob acquires a lease on it first. While the lease lasts, writes
 * without its id are refused. A lease has an end, so that a holder who dies does not lock the blob for ever.
 */
import { loses, succeeds } from './answers.ts';
import { connect } from './server.ts';

const { container, letTimePass, end } = await connect('pessimistic');
const account = container.getBlockBlobClient('account');
await account.upload('100', 3);

const write = (content: string, leaseId = ''): Promise<unknown> =>
  account.upload(content, content.length, leaseId === '' ? {} : { conditions: { leaseId } });
const leaseState = async (): Promise<string> => (await account.getProperties()).leaseState as string;

console.log('\n1. One gets the lease');

const ada = account.getBlobLeaseClient();
const ben = account.getBlobLeaseClient();
await succeeds('Ada acquires a lease for 15 seconds', ada.acquireLease(15));
await loses(
  'Ben acquires a lease',
  ben.acquireLease(15),
  "Ben lost: a blob has one lease at a time, and it is Ada's until she releases it or it ends.",
);

console.log('\n2. Only its holder writes, everybody reads');

await loses(
  'Ben writes without a lease id',
  write('0'),
  'Ben lost: while the blob is leased, a write must show the id.',
);
await loses('Ben writes with an id of his own', write('0', ben.leaseId), 'Ben lost: that is not the id of the lease.');
await succeeds('Ada writes with the id of her lease', write('90', ada.leaseId));
console.log(`   Ben reads without any id: "${(await account.downloadToBuffer()).toString()}".`);

console.log('\n3. Renewing keeps it, forgetting to renew loses it');

await letTimePass({ seconds: 10 });
await succeeds('Ada renews, which gives her another 15 seconds', ada.renewLease());
await letTimePass({ seconds: 10 });
console.log(`   20 seconds after Ada acquired it, the lease is ${await leaseState()}.`);
await letTimePass({ seconds: 6 });
console.log(`   16 seconds after she renewed it, the lease is ${await leaseState()}.`);
await succeeds('Ben acquires a lease', ben.acquireLease(15));
await loses(
  'Ada, who has not noticed, writes with her old id',
  write('80', ada.leaseId),
  "Ada lost: her lease has ended and the blob is Ben's now. Her late write changed nothing.",
);
await loses('Ada renews', ada.renewLease(), 'Ada lost: what another holds cannot be renewed.');

console.log('\n4. Breaking: for an operator who does not know the id');

// The holder keeps the blob for the break period; nobody acquires it before that is over.
const { leaseTime } = await account.getBlobLeaseClient().breakLease(5);
console.log(`   An operator breaks the lease, with a period of 5 seconds: ${leaseTime} seconds are left to Ben.`);
await loses('Ben renews', ben.renewLease(), 'Ben lost: a lease that is being broken runs out.');
await succeeds('Ben finishes his work, with his id', write('85', ben.leaseId));
await letTimePass({ seconds: 6 });
console.log(`   The lease is ${await leaseState()}.`);
await succeeds('Ada acquires a lease', ada.acquireLease(15));

console.log('\n5. Releasing: for whoever is done');

await succeeds('Ada releases', ada.releaseLease());
console.log(`   The lease is ${await leaseState()}.`);
await succeeds('Ben writes without any id', write('75'));

await end();
