/**
 * One candidate in the leader election (leader-election.ts), running in a process of its own. It carries out two
 * commands and reports the result: `campaign` renews the lease or tries to acquire it; `work` is what a leader does.
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
/** What this process believes. Only the server knows for sure. */
let leads = false;

async function campaign(): Promise<Report> {
  if (leads) return report('renews the lease', await answerTo(lease.renewLease()));
  // Each term has a new lease id, so that a late request from an earlier term is refused.
  lease = journal.getBlobLeaseClient();
  return report(`asks for a ${LEASE_SECONDS}-second lease`, await answerTo(lease.acquireLease(LEASE_SECONDS)));
}

/** The write carries the lease id: if somebody else leads by now, the server refuses it. */
async function work(): Promise<Report> {
  const content = `${(await journal.downloadToBuffer()).toString()}${name}\n`;
  const conditions = { leaseId: lease.leaseId };
  const answer = await answerTo(journal.upload(content, content.length, { conditions }));
  return report('writes to the journal with its lease id', answer);
}

function report(deed: string, answer: string): Report {
  leads = isAccepted(answer);
  return { said: `${name} ${deed}: ${answer}.`, accepted: leads };
}

const COMMANDS: Readonly<Record<Command, () => Promise<Report>>> = { campaign, work };

for await (const [command] of on(process, 'message')) process.send?.(await COMMANDS[command as Command]());
