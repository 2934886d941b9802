/** What every write gives to a blob's record, whatever else it changes: a new ETag and time, and the lease it leaves. */
import { formatHttpDate } from '../../base/http-date.ts';
import { type BlobEncryption, resolveEncryption } from '../../rules/encryption.ts';
import type { Immutability } from '../../rules/immutability.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import type { Metadata } from '../../rules/names.ts';
import { type BlobType, leaseAfterWrite } from '../../rules/precedence.ts';
import type { Tags } from '../../rules/tags.ts';
import { refuseTier, type TierState, tierAt } from '../../rules/tier.ts';
import type { BlobHeaders, BlobRecord } from '../records/blob-record.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { changedAt, type Storage } from '../storage.ts';
import { invalidHeader, StorageError } from '../storage-error.ts';
import type { BlobRequest, LoadedBlob } from './load.ts';

export interface BlobWritten {
  readonly etag: string;
  readonly lastModifiedMs: number;
  /** Where the account keeps versions. */
  readonly versionId?: Moment;
  readonly encryption?: BlobEncryption;
}

export const written = ({ etag, lastModifiedMs, versionId, encryption }: BlobRecord): BlobWritten => ({
  etag,
  lastModifiedMs,
  ...(versionId === undefined ? {} : { versionId }),
  ...(encryption === undefined ? {} : { encryption }),
});

/** What a request that makes a blob, or puts another in its place, says about it besides its content. */
export interface NewBlob {
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  readonly tags: Tags | null;
  readonly tier: TierState['tier'] | null;
  readonly immutability: Immutability | null;
  /** Null: the container's, if it has one. */
  readonly encryptionScope: string | null;
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

/**
 * The fields of a record that come from the request; an overwrite without a tier keeps the old one, if that is of the
 * same type. `type`: of the new one, where it is no block blob.
 */
export function newBlobFields(
  request: NewBlob & Pick<BlobRequest, 'key'> & { readonly type?: BlobType },
  { blob, container }: LoadedBlob,
  nowMs: number,
): Pick<BlobRecord, 'headers' | 'metadata' | 'tags' | 'immutability' | 'encryption' | keyof TierState> {
  const { headers, metadata, tags, tier, immutability, type = 'BlockBlob' } = request;
  refusePastPolicy(immutability, nowMs);
  return {
    headers,
    metadata,
    ...(tags === null || tags.length === 0 ? {} : { tags }),
    ...(immutability === null ? {} : { immutability }),
    ...encryptionOf(request, container),
    ...tierOf(tier ?? null, blob?.type === type ? blob : null, nowMs),
  };
}

export function encryptionOf(
  { key = null, encryptionScope }: Pick<NewBlob, 'encryptionScope'> & Pick<BlobRequest, 'key'>,
  container: ContainerRecord | null,
): { encryption?: BlobEncryption } {
  const asked = { keySha256: key?.sha256 ?? null, scope: encryptionScope };
  const resolved = resolveEncryption(asked, container?.encryptionScope);
  if ('refusal' in resolved) throw new StorageError(resolved.refusal);
  return resolved.encryption === null ? {} : { encryption: resolved.encryption };
}

/** For a write that makes a blob: whether such a blob can have the tier that is asked for. */
export function refuseOtherTier(
  { tier }: Pick<NewBlob, 'tier'>,
  blob: { readonly blobType: BlobType; readonly lengthBytes: number },
): void {
  const code = tier == null ? null : refuseTier(tier, blob);
  if (code !== null) throw new StorageError(code);
}

/** A policy is set for the future, with the blob as with Set Blob Immutability Policy. */
function refusePastPolicy(immutability: Immutability | null, nowMs: number): void {
  const until = immutability?.until;
  if (until === undefined || until.ms > nowMs) return;
  throw invalidHeader('x-ms-immutability-policy-until-date', formatHttpDate(until.ms));
}

function tierOf(asked: TierState['tier'] | null, before: BlobRecord | null, nowMs: number): TierState {
  if (asked != null) return { tier: asked, changedMs: nowMs };
  return before === null ? {} : tierAt(before, nowMs);
}
