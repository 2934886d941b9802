/** List Queues: one page, in name order, from one snapshot. */
import { decodeJson } from '../records/codec.ts';
import { ownNameOf } from '../records/keys.ts';
import { queuesRange } from '../records/queue-keys.ts';
import type { QueueRecord } from '../records/queue-record.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';

const STEP_RECORDS = 500;

export interface QueuePage {
  readonly queues: readonly { readonly name: string; readonly queue: QueueRecord }[];
  /** The name that the next page starts with; null at the end. */
  readonly next: string | null;
}

export async function listQueues(
  storage: Storage,
  request: {
    readonly account: string;
    readonly prefix: string;
    /** The first name that the page may show. */
    readonly from: string;
    readonly limit: number;
  },
): Promise<QueuePage> {
  const { account, prefix, from, limit } = request;
  const queues: QueuePage['queues'][number][] = [];
  const snapshot = storage.engine.snapshot();
  try {
    // One more than the page tells whether there is another.
    const stepRecords = Math.min(limit + 1, STEP_RECORDS);
    for await (const entries of scanSteps(snapshot, queuesRange(account, prefix, from), stepRecords)) {
      for (const { key, value } of entries) {
        const name = ownNameOf(key);
        if (queues.length === limit) return { queues, next: name };
        queues.push({ name, queue: decodeJson<QueueRecord>(value) });
      }
    }
    return { queues, next: null };
  } finally {
    snapshot.close();
  }
}
