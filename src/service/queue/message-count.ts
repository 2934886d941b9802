/**
 * How many messages a queue holds, exact and kept in the same commits that add and remove them. One record for it would be
 * written by all of them, so the count is the sum of many (count-shards.ts).
 */
import { asBuffer } from '../../base/bytes.ts';
import type { Snapshot } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import { SHARD_COUNT } from '../count-shards.ts';
import { type ContentAddress, countsRange } from '../records/queue-keys.ts';
import type { LoadedContent } from './load.ts';

const COUNT_BYTES = 6;

/** A shard may be below zero: messages go through others than they came by. */
export function addToCount(tx: Transaction, { key, value }: LoadedContent['records'][number], change: number): void {
  const bytes = Buffer.allocUnsafe(COUNT_BYTES);
  bytes.writeIntBE(decodeCount(value) + change, 0, COUNT_BYTES);
  tx.put(key, bytes);
}

export const decodeCount = (value: Uint8Array | null): number =>
  value === null ? 0 : asBuffer(value).readIntBE(0, COUNT_BYTES);

export async function countMessages(snapshot: Snapshot, content: ContentAddress): Promise<number> {
  const shards = await snapshot.range(countsRange(content), { limit: SHARD_COUNT });
  return shards.reduce((sum, { value }) => sum + decodeCount(value), 0);
}
