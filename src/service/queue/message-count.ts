/**
 * How many messages a queue holds, exact and kept in the same commits that add and remove them. One record for it would be
 * written by all of them, so the count is the sum of many: whoever changes it takes a shard that nobody else in this
 * process is using. Should another node use the same one, one of the two tries again.
 */
import { randomInt } from 'node:crypto';
import { asBuffer } from '../../base/bytes.ts';
import type { Snapshot } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import { type ContentAddress, countsRange } from '../records/queue-keys.ts';
import type { LoadedContent } from './load.ts';

const SHARD_COUNT = 256;
const COUNT_BYTES = 6;

/** The shards that this process uses: few at a time, and rather not those of other nodes. */
export class CountShards {
  /** The one used last is taken next. */
  readonly #free = shardsFrom(randomInt(SHARD_COUNT));

  async use<T>(change: (shard: number) => Promise<T>): Promise<T> {
    const shard = this.#free.pop();
    // Where all are in use, any will do: commits that meet in it follow each other.
    if (shard === undefined) return change(randomInt(SHARD_COUNT));
    try {
      return await change(shard);
    } finally {
      this.#free.push(shard);
    }
  }
}

const shardsFrom = (first: number): number[] =>
  Array.from({ length: SHARD_COUNT }, (_, index) => (first + SHARD_COUNT - index) % SHARD_COUNT);

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
