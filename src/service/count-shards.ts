/**
 * Sums that many commits change: messages in a queue, bytes in a share. Each stands in up to so many records, of which a
 * commit changes one that nobody else in this process is using. Should another node use the same one, one of the two tries
 * again.
 */
import { randomInt } from 'node:crypto';

export const SHARD_COUNT = 256;

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
