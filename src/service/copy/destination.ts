/**
 * Where a copy goes: whether the blob there may be replaced by it, and the one transaction in which it is. A copy takes
 * content headers, metadata and content from its source, and everything else from the request.
 */
import { type Transaction, transact } from '../../engine/transact.ts';
import type { CopyState } from '../../rules/copy.ts';
import { leaseAt } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import { type BlobType, refuseBlobWriteOperation } from '../../rules/precedence.ts';
import type { Tags } from '../../rules/tags.ts';
import { refuseTier, type Tier } from '../../rules/tier.ts';
import { type BlobRequest, type LoadedToWrite, loadBlob, loadBlobToWrite, refuse, situation } from '../blob/load.ts';
import { type NewBlob, newBlobFields, newVersion } from '../blob/new-version.ts';
import { endStaging } from '../blob/staging.ts';
import { replaceBlob, replacing } from '../blob/store-blob.ts';
import type { Held } from '../extents/extents.ts';
import type { BlobHeaders, BlobRecord } from '../records/blob-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';

export interface DestinationRequest extends BlobRequest, NewBlob {
  /** False for a token that may only create. */
  readonly mayOverwrite: boolean;
}

export interface Copied {
  readonly type: BlobType;
  readonly lengthBytes: number;
  readonly held: Held;
  readonly headers: BlobHeaders;
  readonly metadata: Metadata;
  readonly tags: Tags | null;
  /** Absent: the request's. */
  readonly tier?: Tier | null | undefined;
  readonly sequenceNumber?: string | undefined;
  readonly isSealed?: boolean;
  /** Absent: the blob is not to be known as a copy, and may be put in the place of one of another type. */
  readonly copy?: CopyState;
  /** The destination, where giving its content away has changed it: it was the source as well. */
  readonly destination?: LoadedToWrite;
}

export type MakeCopy = (
  tx: Transaction,
  at: { readonly loaded: LoadedToWrite; readonly nowMs: number },
) => Promise<Copied>;

/** In a transaction of its own; see storeCopyIn. */
export const storeCopy = (storage: Storage, request: DestinationRequest, make: MakeCopy): Promise<BlobRecord> =>
  transact(storage.engine, (tx) => storeCopyIn(tx, storage, request, make));

/** Judges the destination, has `make` judge the source and say what is copied, and puts that in the destination's place. */
export async function storeCopyIn(
  tx: Transaction,
  storage: Storage,
  request: DestinationRequest,
  make: MakeCopy,
): Promise<BlobRecord> {
  const nowMs = storage.clock.nowMs();
  const loaded = await loadBlobToWrite(tx, storage, request.name, nowMs);
  refuseDestination(storage, loaded, request, nowMs);
  const copied = await make(tx, { loaded, nowMs });
  refuseCopied(loaded, request, copied, nowMs);
  const { type, lengthBytes, held, headers, metadata, tags, tier = request.tier } = copied;
  const { sequenceNumber, isSealed = false, copy, destination = loaded } = copied;
  const record: BlobRecord = {
    type,
    ...newVersion(storage, loaded, nowMs),
    lengthBytes,
    ...held,
    ...newBlobFields({ ...request, headers, metadata, tags, tier }, loaded, nowMs),
    ...(sequenceNumber === undefined ? {} : { sequenceNumber }),
    ...(isSealed ? { isSealed } : {}),
    ...(copy === undefined ? {} : { copy }),
  };
  const { staging, keys } = loaded;
  if (staging !== null) endStaging(tx, storage.extents, { headKey: keys.staging, staging });
  return replaceBlob(tx, storage, destination, { record, nowMs });
}

/** Nothing is fetched for a request that is refused anyway. Judged again in the transaction. */
export async function refuseEarly(storage: Storage, request: DestinationRequest): Promise<void> {
  await storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    const loaded = await loadBlob(snapshotReader(snapshot), request.name, { nowMs, known: storage.known });
    refuseDestination(storage, loaded, request, nowMs);
  });
}

function refuseDestination(storage: Storage, loaded: LoadedToWrite, request: DestinationRequest, nowMs: number): void {
  // What was there before, and its key, are nothing to whoever puts another in its place.
  const asked = { ...situation(loaded, request, nowMs), keySha256: undefined };
  refuse(refuseBlobWriteOperation({ ...asked, creates: true, requiredType: null, effect: replacing(storage, loaded) }));
  if (loaded.blob !== null && !request.mayOverwrite) throw new StorageError('UnauthorizedBlobOverwrite');
}

function refuseCopied(
  { blob, state }: LoadedToWrite,
  { tier }: DestinationRequest,
  { type, lengthBytes, copy }: Copied,
  nowMs: number,
): void {
  if (copy !== undefined && blob !== null && blob.type !== type) throw new StorageError('InvalidBlobType');
  const code = tier == null ? null : refuseTier(tier, { blobType: type, lengthBytes });
  if (code !== null) throw new StorageError(code);
  const lease = state === null ? null : leaseAt(state.lease, nowMs);
  // A lease that ends by itself could end before the copy does.
  const isFinite = lease?.state === 'breaking' || (lease?.state === 'leased' && lease.expiresAtMs !== null);
  if (copy?.status === 'pending' && isFinite) throw new StorageError('InfiniteLeaseDurationRequired');
}
