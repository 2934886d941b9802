/** What every write gives to a blob's record, whatever else it changes: a new ETag and time, and the lease it leaves. */
import { AVAILABLE } from '../../rules/lease.ts';
import { leaseAfterWrite } from '../../rules/precedence.ts';
import type { AccessTier, BlobRecord } from '../records/blob-record.ts';
import { changedAt, type Storage } from '../storage.ts';
import type { LoadedBlob } from './load.ts';

export interface BlobWritten {
  readonly etag: string;
  readonly lastModifiedMs: number;
}

export function newVersion(
  storage: Storage,
  loaded: LoadedBlob,
  nowMs: number,
): Pick<BlobRecord, 'etag' | 'lastModifiedMs' | 'createdMs' | 'lease'> {
  const { blob } = loaded;
  return {
    etag: storage.etags.next(blob?.etag ?? null, nowMs),
    lastModifiedMs: changedAt(blob?.lastModifiedMs ?? 0, nowMs),
    createdMs: blob?.createdMs ?? nowMs,
    lease: keptLease(loaded, nowMs),
  };
}

/** The lease lives on over any write that it allowed. */
export function keptLease({ state }: LoadedBlob, nowMs: number): BlobRecord['lease'] {
  return state === null ? AVAILABLE : leaseAfterWrite(state.lease, nowMs);
}

/** An overwrite without a tier keeps the old one. */
export function tierOf(asked: AccessTier | null, before: BlobRecord | null): { tier?: AccessTier } {
  const tier = asked ?? before?.tier;
  return tier === undefined ? {} : { tier };
}
