/**
 * A lock for a whole table, or for anything else: the lease on one blob that all workers have agreed on. It binds only
 * workers that ask for it. A holder that dies loses the lock when its lease expires, and nobody has to notice.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { BlobLeaseClient, BlockBlobClient } from '@azure/storage-blob';
import { answerTo, isAccepted } from './answers.ts';

export const LEASE_SECONDS = 15;
const PAUSE_MS = 20;

/** Waits for the lock, does the work and releases the lock. Work that may take longer than a lease must renew it. */
export async function whileLocked<T>(
  lock: BlockBlobClient,
  work: (lease: BlobLeaseClient) => Promise<T>,
): Promise<{ result: T; attempts: number }> {
  // The lease id is new each time, so that a late request from earlier work is refused.
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
    if (answer !== '409 LeaseAlreadyPresent') throw new Error(`The lock cannot be acquired: ${answer}.`);
    await delay(PAUSE_MS);
  }
}
