/** Operations on a container that exists: reading it, changing its metadata or ACL, deleting it. */
import { type Transaction, transact } from '../../engine/transact.ts';
import type { AccessPolicy, PublicAccess } from '../../rules/acl.ts';
import { type Conditions, NO_CONDITIONS } from '../../rules/conditions.ts';
import { refuseChange } from '../../rules/immutability.ts';
import { AVAILABLE, type LeaseId } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import { refuseContainerDeleteOperation, refuseContainerUseOperation } from '../../rules/precedence.ts';
import { type Deleted, retentionUntil } from '../../rules/retention.ts';
import { noteDue } from '../due.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { blobRange, containerKey, deletedContainerKey, parseBlobKey } from '../records/keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { scanSteps } from '../records/scan.ts';
import { changedAt, type Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type ContainerName, findContainer, refuse } from './load.ts';

const STEP_RECORDS = 500;

export interface ContainerRequest {
  readonly name: ContainerName;
  readonly conditions: Conditions;
  readonly leaseId: LeaseId | null;
}

export interface ContainerRead {
  readonly container: ContainerRecord;
  /** The moment at which the lease is to be reported. */
  readonly nowMs: number;
}

/** Get Container Properties, Get Container Metadata, Get Container ACL. They take no conditions, and ignore any. */
export async function getContainer(
  storage: Storage,
  request: Omit<ContainerRequest, 'conditions'>,
): Promise<ContainerRead> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const nowMs = storage.clock.nowMs();
    const container = await findContainer(snapshotReader(snapshot), request.name);
    const { leaseId } = request;
    refuse(refuseContainerUseOperation({ container, leaseId, conditions: NO_CONDITIONS, takes: 'none', nowMs }));
    return { container: container as ContainerRecord, nowMs };
  });
}

export function setContainerMetadata(
  storage: Storage,
  request: ContainerRequest & { metadata: Metadata },
): Promise<ContainerRecord> {
  return changeContainer(storage, request, 'ifModifiedSince', { metadata: request.metadata });
}

/** Set Container ACL: replaces policies and public access, effective for the very next request. */
export function setContainerAcl(
  storage: Storage,
  request: ContainerRequest & { publicAccess: PublicAccess | null; policies: readonly AccessPolicy[] },
): Promise<ContainerRecord> {
  const { publicAccess, policies } = request;
  return changeContainer(storage, request, 'dates', { publicAccess, policies });
}

async function changeContainer(
  storage: Storage,
  request: ContainerRequest,
  takes: 'ifModifiedSince' | 'dates',
  change: Partial<ContainerRecord>,
): Promise<ContainerRecord> {
  const { name } = request;
  return transact(storage.engine, async (tx) => {
    const nowMs = storage.clock.nowMs();
    const found = await findContainer(tx, name);
    refuse(refuseContainerUseOperation({ ...request, container: found, takes, nowMs }));
    const before = found as ContainerRecord;
    const record: ContainerRecord = {
      ...before,
      ...change,
      etag: storage.etags.next(before.etag, nowMs),
      lastModifiedMs: changedAt(before.lastModifiedMs, nowMs),
    };
    tx.put(containerKey(name.account, name.container), encodeJson(record));
    return record;
  });
}

/**
 * Delete Container: gone at once with all it holds, whatever leases its blobs have. Kept for as long as the account keeps
 * deleted containers, and swept later.
 */
export async function deleteContainer(storage: Storage, request: ContainerRequest): Promise<void> {
  const { name } = request;
  await transact(storage.engine, async (tx) => {
    const found = await findContainer(tx, name);
    const nowMs = storage.clock.nowMs();
    refuse(refuseContainerDeleteOperation({ ...request, container: found, nowMs }));
    const container = found as ContainerRecord;
    if (container.mayHoldImmutable === true) await refuseImmutable(tx, name.account, container, nowMs);
    const days = storage.settings(name.account).containerRetentionDays;
    if (days === null) storage.extents.dropContainer(tx, name.account, container.id);
    else keepDeleted(tx, storage, { name, container, deleted: { atMs: nowMs, untilMs: retentionUntil(nowMs, days) } });
    tx.delete(containerKey(name.account, name.container));
  });
}

/** What must not be deleted by itself must not go with its container either. */
async function refuseImmutable(
  tx: Transaction,
  account: string,
  { id }: ContainerRecord,
  nowMs: number,
): Promise<void> {
  for await (const entries of scanSteps(tx, blobRange(account, id, ''), STEP_RECORDS)) {
    for (const { key, value } of entries) {
      if (parseBlobKey(key).kind === 'staging') continue;
      const code = refuseChange(decodeJson<BlobRecord>(value).immutability ?? {}, nowMs);
      if (code === null) continue;
      const isHeld = code === 'BlobImmutableDueToLegalHold';
      throw new StorageError(isHeld ? 'ContainerHasLegalHold' : 'ContainerImmutabilityPolicyLocked');
    }
  }
}

/** Its lease ends; its blobs stay as they are, where nobody finds them without the container. */
function keepDeleted(
  tx: Transaction,
  storage: Storage,
  { name, container, deleted }: { name: ContainerName; container: ContainerRecord; deleted: Deleted },
): void {
  const key = deletedContainerKey(name.account, name.container, container.id);
  const record: ContainerRecord = { ...container, lease: AVAILABLE, deleted };
  tx.put(key, encodeJson(record));
  noteDue(tx, storage.ids, { dueMs: deleted.untilMs, containerKey: key });
}
