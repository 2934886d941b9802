/**
 * A lock for a whole table, or for anything else: the lease on one blob that all have agreed upon. It binds only those who
 * ask for it. A holder that dies loses it when its lease ends, and nobody has to notice.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { BlobLeaseClient, BlockBlobClient } from '@azure/storage-blob';
import { answerTo, isAccepted } from './answers.ts';

export const LEASE_SECONDS = 15;
const PAUSE_MS = 20;

/** Waits for the lock, does the work, lets go of the lock. Work that may take longer than a lease renews it. */
export async function whileLocked<T>(
  lock: BlockBlobClient,
  work: (lease: BlobLeaseClient) => Promise<T>,
): Promise<{ result: T; attempts: number }> {
  // A new id every time, so that nothing left over from earlier work passes for this.
  const lease = lock.getBlobLeaseClient();
  const attempts = await acquire(lease);
  try {
    return { result: await work(lease), attempts };
  } finally {
    await lease.releaseLease();
  }
}

async function acquire(lease: BlobLeaseClient): Promise<number> {
  for (let attempts = 1; ; attempts++) {
    const answer = await answerTo(lease.acquireLease(LEASE_SECONDS));
    if (isAccepted(answer)) return attempts;
    if (answer !== '409 LeaseAlreadyPresent') throw new Error(`The lock cannot be had: ${answer}.`);
    await delay(PAUSE_MS);
  }
}
