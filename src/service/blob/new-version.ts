/** What every write gives to a blob's record, whatever else it changes: a new ETag and time, and the lease it leaves. */
import type { Immutability } from '../../rules/immutability.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import type { Metadata } from '../../rules/names.ts';
import { leaseAfterWrite } from '../../rules/precedence.ts';
import type { Tags } from '../../rules/tags.ts';
import type { TierState } from '../../rules/tier.ts';
import type { BlobHeaders, BlobRecord } from '../records/blob-record.ts';
import { changedAt, type Storage } from '../storage.ts';
import type { LoadedBlob } from './load.ts';

export interface BlobWritten {
  readonly etag: string;
  readonly lastModifiedMs: number;
  /** Where the account keeps versions. */
  readonly versionId?: Moment;
}

export const written = ({ etag, lastModifiedMs, versionId }: BlobRecord): BlobWritten => ({
  etag,
  lastModifiedMs,
  ...(versionId === undefined ? {} : { versionId }),
});

/** What a request that makes a blob, or puts another in its place, says about it besides its content. */
export interface NewBlob {
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  readonly tags: Tags | null;
  readonly tier: TierState['tier'] | null;
  readonly immutability: Immutability | null;
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

/** The fields of a record that come from the request; an overwrite without a tier keeps the old one. */
export function newBlobFields(
  { headers, metadata, tags, tier, immutability }: NewBlob,
  before: BlobRecord | null,
  nowMs: number,
): Pick<BlobRecord, 'headers' | 'metadata' | 'tags' | 'immutability' | keyof TierState> {
  return {
    headers,
    metadata,
    ...(tags === null || tags.length === 0 ? {} : { tags }),
    ...(immutability === null ? {} : { immutability }),
    ...tierOf(tier ?? null, before, nowMs),
  };
}

function tierOf(asked: TierState['tier'] | null, before: BlobRecord | null, nowMs: number): TierState {
  if (asked != null) return { tier: asked, changedMs: nowMs };
  if (before?.tier === undefined) return {};
  return { tier: before.tier, ...(before.changedMs === undefined ? {} : { changedMs: before.changedMs }) };
}
