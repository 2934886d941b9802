/**
 * How many bytes the files of a share have together, kept in the same commits that change it, and held against the quota.
 * The sum stands in many records, so that those who change it do not meet (count-shards.ts). Whoever comes near the quota,
 * or grows a file by much, reads all of them in its transaction, and so meets everybody else: nobody gets past the quota.
 * Others only glance at the sum, and leave a margin for those who do the same at the same time.
 */
import { asBuffer } from '../../base/bytes.ts';
import type { Transaction } from '../../engine/transact.ts';
import { SHARD_COUNT } from '../count-shards.ts';
import { type TreeAddress, usageKey, usagesRange } from '../records/file-keys.ts';
import type { RangeReader } from '../records/scan.ts';
import type { ShareState } from '../records/share-record.ts';
import { StorageError } from '../storage-error.ts';
import type { LoadedShare } from './load.ts';

const GIB = 1024 ** 3;

export const quotaBytesOf = ({ quotaGiB }: Pick<ShareState, 'quotaGiB'>): number => quotaGiB * GIB;

const MARGIN_BYTES = 64 * GIB;
const GROWTH_UNCHECKED_MAX_BYTES = 16 * 1024 ** 2;

export async function usedBytes(reader: RangeReader, tree: TreeAddress): Promise<number> {
  const shards = await reader.range(usagesRange(tree), { limit: SHARD_COUNT });
  return Number(shards.reduce((sum, { value }) => sum + decodeUsage(value), 0n));
}

/** The share's files grow by so many bytes with this commit, or shrink. Refused where that would exceed the quota. */
export async function changeUsage(
  tx: Transaction,
  shard: number,
  { share, tree }: LoadedShare,
  changeBytes: number,
): Promise<void> {
  if (changeBytes === 0) return;
  if (changeBytes > 0) {
    const quotaBytes = quotaBytesOf(share);
    const isFar =
      changeBytes <= GROWTH_UNCHECKED_MAX_BYTES &&
      quotaBytes > MARGIN_BYTES &&
      (await usedBytes({ range: (...asked) => tx.glance(...asked) }, tree)) + changeBytes <= quotaBytes - MARGIN_BYTES;
    if (!isFar && (await usedBytes(tx, tree)) + changeBytes > quotaBytes)
      throw new StorageError('ShareSizeLimitReached');
  }
  const key = usageKey(tree, shard);
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(decodeUsage(await tx.get(key)) + BigInt(changeBytes));
  tx.put(key, bytes);
}

/** Whether so much more would fit: what is asked for by whoever means to write it, and takes nothing yet. */
export async function refuseOverQuota(tx: Transaction, { share, tree }: LoadedShare, moreBytes: number): Promise<void> {
  if (moreBytes === 0) return;
  const usedNowBytes = await usedBytes({ range: (...asked) => tx.glance(...asked) }, tree);
  if (usedNowBytes + moreBytes > quotaBytesOf(share)) throw new StorageError('ShareSizeLimitReached');
}

/** A shard may be below zero: files grow through others than they go by. */
export const decodeUsage = (value: Uint8Array | null): bigint =>
  value === null ? 0n : asBuffer(value).readBigInt64BE();
