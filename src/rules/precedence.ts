/**
 * The order in which an operation on blobs and containers is refused: what services ask, and all that they ask, before
 * they write. Each exported function reads as a list, first refusal first: what no state could make right; a missing
 * container; a missing blob; the blob's type; conditions; the lease; what else the blob's state forbids (a copy under way,
 * an archive, a policy). Blobs, containers and leases come in as stored.
 */
import {
  type Conditions,
  type ContainerConditions,
  type Refusal,
  refuseAbsent,
  refuseContainerConditions,
  refuseContainerHeaders,
  refuseMix,
  refuseRead,
  refuseTags,
  refuseWriteConditions,
  type Target,
} from './conditions.ts';
import { type CopyState, isPending } from './copy.ts';
import { type BlobEncryption, refuseKey } from './encryption.ts';
import type { ErrorCode } from './error-code.ts';
import { type Immutability, refuseChange } from './immutability.ts';
import { hidesContent } from './incremental-copy.ts';
import {
  afterWrite,
  type Lease,
  type LeaseAction,
  type LeaseHeaders,
  type LeaseId,
  type LeaseOutcome,
  leaseAt,
  leaseHeaders,
  refuseAbsentBlobWrite,
  refuseBlobRead,
  refuseBlobWrite,
  refuseContainerDelete,
  refuseContainerUse,
  refuseLeaseNumbers,
  resolveLeaseAction,
} from './lease.ts';
import type { Tags } from './tags.ts';
import { isArchived, type TierState, tierAt } from './tier.ts';
import {
  type ApiVersion,
  SINCE_IF_MATCH_ANY_NEEDS_COMMITTED,
  SINCE_LEASE_ID_NEEDS_BLOB,
  SINCE_READ_CONDITIONS_COMBINE,
  SINCE_UNCOMMITTED_DELETABLE,
} from './versions.ts';

export type { Refusal } from './conditions.ts';

export type BlobType = 'BlockBlob' | 'PageBlob' | 'AppendBlob';

export type BlobState = Target & {
  readonly type: BlobType;
  readonly lease: Lease;
  /** False where blocks were staged and none committed: no blob to most operations, and yet it can be leased. */
  readonly committed: boolean;
  /** A snapshot or an earlier version of the blob. */
  readonly isPast?: true;
  readonly tags?: Tags | undefined;
  readonly copy?: CopyState | undefined;
  readonly immutability?: Immutability | undefined;
  readonly encryption?: BlobEncryption | undefined;
  readonly tier?: TierState;
};

export type ContainerState = Target & { readonly lease: Lease };

type BlobRequest = {
  readonly containerExists: boolean;
  readonly blob: BlobState | null;
  /** NO_CONDITIONS for operations that take none. */
  readonly conditions: Conditions;
  readonly nowMs: number;
  readonly version: ApiVersion;
};

type TypedRequest = BlobRequest & {
  /** The digest of the customer's key that came with the request, null for none; absent: the operation asks for no key. */
  readonly keySha256?: string | null | undefined;
  readonly leaseId: LeaseId | null;
  /** The only type that the operation works on; null: all. */
  readonly requiredType: BlobType | null;
};

export type BlobWrite = TypedRequest & {
  /** Put Blob, Put Block, Put Block List, copies: the operation makes the blob where there is none. */
  readonly creates: boolean;
  readonly effect?: Effect;
};

/**
 * What an operation does to a blob that is there: changes it in place (the default); puts another in its place, while the
 * state before is kept or not; makes ready for that; only notes something about it; or goes on with incremental copies.
 */
export type Effect = 'changes' | 'replaces' | 'replacesKept' | 'stages' | 'notes' | 'follows';

export type BlobRead = TypedRequest & {
  /** Get Blob and its kin: the bytes must be at hand. */
  readonly needsContent?: boolean;
  /** Get Block List: staged blocks are enough. */
  readonly acceptsUncommitted?: boolean;
};

export type BlobDelete = Omit<TypedRequest, 'requiredType'> & {
  readonly hasSnapshots: boolean;
  /** `x-ms-delete-snapshots`. */
  readonly deleteSnapshots: 'include' | 'only' | null;
};

export type BlobLease = BlobRequest & { readonly action: LeaseAction };

/** Every operation that changes a blob, except Delete Blob. */
export function refuseBlobWriteOperation(write: BlobWrite): Refusal | null {
  return (
    refused(refuseMix(write.conditions)) ??
    refuseMissingContainer(write) ??
    (write.creates ? null : refuseMissingBlob(write)) ??
    refuseOtherType(write) ??
    refuseConditionsOfWrite(write, { creates: write.creates }) ??
    refuseLease(write, refuseBlobWrite) ??
    refuseState(write, write.effect ?? 'changes') ??
    refuseOtherKey(write)
  );
}

/** Snapshot Blob, Set Blob Tier: conditions as for a write, but a lease id is looked at only where one is given. */
export function refuseBlobSideWriteOperation(write: TypedRequest & { readonly effect: Effect }): Refusal | null {
  return (
    refused(refuseMix(write.conditions)) ??
    refuseMissingContainer(write) ??
    refuseMissingBlob(write) ??
    refuseOtherType(write) ??
    refuseConditionsOfWrite(write, { creates: false }) ??
    refuseLease(write, refuseBlobRead) ??
    refuseState(write, write.effect) ??
    refuseOtherKey(write)
  );
}

export function refuseBlobReadOperation(read: BlobRead): Refusal | null {
  return (
    refused(read.version < SINCE_READ_CONDITIONS_COMBINE ? refuseMix(read.conditions) : null) ??
    refuseMissingContainer(read) ??
    refuseMissingBlob(read, { acceptsUncommitted: read.acceptsUncommitted ?? false }) ??
    refuseOtherType(read) ??
    refuseRead(read.conditions, conditionTarget(read), read) ??
    refuseTags(read.conditions, read.blob?.tags ?? []) ??
    refuseLease(read, refuseBlobRead) ??
    (read.needsContent === true ? refused(refuseHidden(read) ?? refuseArchived(read)) : null) ??
    refuseOtherKey(read)
  );
}

/** Deleting snapshots only leaves the blob as it is, so it needs no lease id. */
export function refuseBlobDeleteOperation(deletion: BlobDelete): Refusal | null {
  const acceptsUncommitted = deletion.version >= SINCE_UNCOMMITTED_DELETABLE;
  return (
    refused(refuseMix(deletion.conditions)) ??
    refuseMissingContainer(deletion) ??
    refuseMissingBlob(deletion, { acceptsUncommitted }) ??
    refuseConditionsOfWrite(deletion, { creates: false }) ??
    refuseLease(deletion, deletion.deleteSnapshots === 'only' ? refuseBlobRead : refuseBlobWrite) ??
    refused(deletion.hasSnapshots && deletion.deleteSnapshots === null ? 'SnapshotsPresent' : null) ??
    (deletion.deleteSnapshots === 'only' ? null : refuseState(deletion, 'deletes'))
  );
}

/** Lease Blob: the lease to store, or why not. Staged blocks are enough to be leased. */
export function resolveBlobLeaseOperation(request: BlobLease): LeaseOutcome | { readonly refusal: Refusal } {
  const refusal =
    refused(refuseLeaseNumbers(request.action)) ??
    refused(refuseMix(request.conditions)) ??
    refuseMissingContainer(request) ??
    refuseMissingBlob(request, { acceptsUncommitted: true }) ??
    refuseConditionsOfWrite(request, { creates: false }) ??
    refused(isPending(request.blob?.copy) ? 'PendingCopyOperation' : null);
  if (refusal !== null) return { refusal };
  return resolveOn(request.blob as BlobState, request);
}

export type ContainerUse = {
  readonly container: ContainerState | null;
  readonly conditions: Conditions;
  readonly takes: ContainerConditions;
  readonly leaseId: LeaseId | null;
  readonly nowMs: number;
};

export type ContainerDelete = Omit<ContainerUse, 'takes'>;

export type ContainerLease = Omit<ContainerUse, 'takes' | 'leaseId'> & { readonly action: LeaseAction };

/** Get and set properties, metadata and ACL; List Blobs, too, which presents no lease id. */
export function refuseContainerUseOperation(use: ContainerUse): Refusal | null {
  return refuseContainer(use, use.takes) ?? refuseContainerLease(use, refuseContainerUse);
}

export function refuseContainerDeleteOperation(deletion: ContainerDelete): Refusal | null {
  return refuseContainer(deletion, 'dates') ?? refuseContainerLease(deletion, refuseContainerDelete);
}

/** Lease Container: the lease to store, or why not. */
export function resolveContainerLeaseOperation(request: ContainerLease): LeaseOutcome | { readonly refusal: Refusal } {
  const refusal = refused(refuseLeaseNumbers(request.action)) ?? refuseContainer(request, 'dates');
  if (refusal !== null) return { refusal };
  return resolveOn(request.container as ContainerState, request);
}

/** The lease to store with a blob's write that went through: one that has ended is forgotten. */
export function leaseAfterWrite(stored: Lease, nowMs: number): Lease {
  return afterWrite(leaseAt(stored, nowMs));
}

/** What properties and listings say about a lease. */
export function reportedLease(stored: Lease, nowMs: number): LeaseHeaders {
  return leaseHeaders(leaseAt(stored, nowMs));
}

// ---- the steps

function refused(code: ErrorCode | null): Refusal | null {
  return code === null ? null : { code, notModified: false };
}

function refuseMissingContainer({ containerExists }: { containerExists: boolean }): Refusal | null {
  return refused(containerExists ? null : 'ContainerNotFound');
}

/** For an operation on a blob that must be there: If-Match on one that is not is false before it is missing. */
function refuseMissingBlob(
  request: BlobRequest,
  { acceptsUncommitted }: { acceptsUncommitted: boolean } = { acceptsUncommitted: false },
): Refusal | null {
  const { blob } = request;
  if (blob !== null && (blob.committed || acceptsUncommitted)) return null;
  return refuseConditionsOnAbsent(request) ?? refused('BlobNotFound');
}

function refuseOtherType({ blob, requiredType }: TypedRequest): Refusal | null {
  return refused(blob !== null && requiredType !== null && blob.type !== requiredType ? 'InvalidBlobType' : null);
}

function refuseConditionsOfWrite(request: BlobRequest, options: { creates: boolean }): Refusal | null {
  const target = conditionTarget(request);
  return (
    (target === null
      ? refuseConditionsOnAbsent(request)
      : refuseWriteConditions(request.conditions, target, options)) ??
    refuseTags(request.conditions, request.blob?.tags ?? [])
  );
}

/** What may be done to a blob that takes incremental copies: it is not even overwritten, only deleted. */
const ON_INCREMENTAL_COPIES: ReadonlySet<Effect | 'deletes'> = new Set(['follows', 'notes', 'deletes'] as const);

/** What the blob's state forbids, whoever asks. */
function refuseState(request: BlobRequest, effect: Effect | 'deletes'): Refusal | null {
  const { blob, nowMs } = request;
  if (blob === null) return null;
  if (isPending(blob.copy)) return refused('PendingCopyOperation');
  if (blob.copy?.incremental === true && !ON_INCREMENTAL_COPIES.has(effect)) {
    return refused('OperationNotAllowedOnIncrementalCopyBlob');
  }
  const archived = effect === 'notes' || effect === 'deletes' ? null : refuseArchived(request);
  const keeps = effect === 'notes' || effect === 'stages' || effect === 'replacesKept';
  return refused(archived ?? (keeps ? null : refuseChange(blob.immutability ?? {}, nowMs)));
}

function refuseOtherKey({ blob, keySha256 }: TypedRequest): Refusal | null {
  if (blob === null || keySha256 === undefined) return null;
  return refused(refuseKey(blob.encryption, keySha256));
}

function refuseHidden({ blob }: BlobRequest): ErrorCode | null {
  const isHidden = blob !== null && hidesContent(blob.copy, { isPast: blob.isPast === true });
  return isHidden ? 'OperationNotAllowedOnIncrementalCopyBlob' : null;
}

function refuseArchived({ blob, nowMs }: BlobRequest): ErrorCode | null {
  if (blob?.tier === undefined || !isArchived(blob.tier, nowMs)) return null;
  return tierAt(blob.tier, nowMs).rehydrating === undefined ? 'BlobArchived' : 'BlobBeingRehydrated';
}

/** Staged blocks have neither ETag nor Last-Modified: to conditions there is no blob. */
function conditionTarget({ blob }: BlobRequest): Target | null {
  return blob?.committed === true ? blob : null;
}

/** Staged blocks were once enough for `If-Match: *`. */
function refuseConditionsOnAbsent({ blob, conditions, version }: BlobRequest): Refusal | null {
  const stagedSuffice = version < SINCE_IF_MATCH_ANY_NEEDS_COMMITTED;
  return blob !== null && conditions.ifMatch === '*' && stagedSuffice ? null : refuseAbsent(conditions);
}

type LeaseRule = (lease: Lease, presented: LeaseId | null) => ErrorCode | null;

function refuseLease(request: BlobRequest & { leaseId: LeaseId | null }, rule: LeaseRule): Refusal | null {
  const { blob, leaseId, nowMs, version } = request;
  if (blob !== null) return refused(rule(leaseAt(blob.lease, nowMs), leaseId));
  return refused(version >= SINCE_LEASE_ID_NEEDS_BLOB ? refuseAbsentBlobWrite(leaseId) : null);
}

function refuseContainer(
  { container, conditions }: { container: ContainerState | null; conditions: Conditions },
  takes: ContainerConditions,
): Refusal | null {
  return (
    refused(refuseContainerHeaders(conditions, takes)) ??
    (container === null ? refused('ContainerNotFound') : refuseContainerConditions(conditions, container, { takes }))
  );
}

function refuseContainerLease({ container, leaseId, nowMs }: ContainerDelete, rule: LeaseRule): Refusal | null {
  return container === null ? null : refused(rule(leaseAt(container.lease, nowMs), leaseId));
}

function resolveOn(
  { lease }: { lease: Lease },
  { action, nowMs }: { action: LeaseAction; nowMs: number },
): LeaseOutcome | { readonly refusal: Refusal } {
  const result = resolveLeaseAction(leaseAt(lease, nowMs), action, nowMs);
  return 'refusal' in result ? { refusal: { code: result.refusal, notModified: false } } : result;
}
