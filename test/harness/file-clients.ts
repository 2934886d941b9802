/** The official File client as tests use it: never retrying, so that every answer of the server is seen. */
import { randomUUID } from 'node:crypto';
import { type ShareClient, ShareServiceClient, type StoragePipelineOptions } from '@azure/storage-file-share';
import type { TestAccount } from './accounts.ts';
import type { Reachable } from './clients.ts';

export const FILE_CLIENT_OPTIONS: StoragePipelineOptions = { retryOptions: { maxTries: 1 } };

export const shareService = (server: Reachable, account?: TestAccount): ShareServiceClient =>
  ShareServiceClient.fromConnectionString(server.connectionString(account), FILE_CLIENT_OPTIONS);

export const shareClient = (server: Reachable, share: string, account?: TestAccount): ShareClient =>
  shareService(server, account).getShareClient(share);

/** A share of its own for a test, so that tests of one server do not meet. */
export async function freshShare(server: Reachable, purpose = 'test'): Promise<ShareClient> {
  const share = shareClient(server, `${purpose}-${randomUUID()}`);
  await share.create();
  return share;
}
