/**
 * One candidate of the leader election (leader-election.ts), a process of its own. It does what it is told to and says
 * what came of it: `campaign`, which renews the lease or tries to get it, and `work`, which only a leader does.
 */
import { on } from 'node:events';
import { BlobServiceClient } from '@azure/storage-blob';
import { answerTo, isAccepted } from './answers.ts';

const LEASE_SECONDS = 15;

export type Command = 'campaign' | 'work';

export interface Report {
  readonly said: string;
  readonly accepted: boolean;
}

const [name = '', containerName = ''] = process.argv.slice(2);
const connectionString = process.env['AZURE_STORAGE_CONNECTION_STRING'] as string;
const journal = BlobServiceClient.fromConnectionString(connectionString)
  .getContainerClient(containerName)
  .getBlockBlobClient('journal');

let lease = journal.getBlobLeaseClient();
/** What this process believes. The server knows better. */
let leads = false;

async function campaign(): Promise<Report> {
  if (leads) return report('renews the lease', await answerTo(lease.renewLease()));
  // A new id for every term, so that nothing left over from an earlier term of its own passes for this one.
  lease = journal.getBlobLeaseClient();
  return report(`acquires the lease for ${LEASE_SECONDS} seconds`, await answerTo(lease.acquireLease(LEASE_SECONDS)));
}

/** The id of the lease goes with the write: if somebody else leads by now, the server refuses it. */
async function work(): Promise<Report> {
  const content = `${(await journal.downloadToBuffer()).toString()}${name}\n`;
  const conditions = { leaseId: lease.leaseId };
  const answer = await answerTo(journal.upload(content, content.length, { conditions }));
  return report('writes to the journal with the id of its lease', answer);
}

function report(deed: string, answer: string): Report {
  leads = isAccepted(answer);
  return { said: `${name} ${deed}: ${answer}.`, accepted: leads };
}

const COMMANDS: Readonly<Record<Command, () => Promise<Report>>> = { campaign, work };

for await (const [command] of on(process, 'message')) process.send?.(await COMMANDS[command as Command]());
