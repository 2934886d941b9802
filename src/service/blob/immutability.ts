/** Set and Delete Blob Immutability Policy, Set Blob Legal Hold: what keeps a blob from being changed and deleted. */
import {
  type Immutability,
  type ImmutabilityMode,
  refuseChange,
  resolveDeletePolicy,
  resolveSetPolicy,
} from '../../rules/immutability.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import type { BlobRequest } from './load.ts';
import { noteOnBlob } from './note-on-blob.ts';

export function setImmutabilityPolicy(
  storage: Storage,
  request: BlobRequest & { readonly policy: { readonly untilMs: number; readonly mode: ImmutabilityMode } },
): Promise<Immutability> {
  return setImmutability(storage, request, (stored, nowMs) => resolveSetPolicy(stored, request.policy, nowMs));
}

export function deleteImmutabilityPolicy(storage: Storage, request: BlobRequest): Promise<Immutability> {
  return setImmutability(storage, request, resolveDeletePolicy);
}

export function setLegalHold(
  storage: Storage,
  request: BlobRequest & { readonly legalHold: boolean },
): Promise<Immutability> {
  const { legalHold } = request;
  return setImmutability(storage, request, (stored) => ({ immutability: { ...stored, legalHold } }));
}

async function setImmutability(
  storage: Storage,
  request: BlobRequest,
  resolve: (stored: Immutability, nowMs: number) => ReturnType<typeof resolveSetPolicy>,
): Promise<Immutability> {
  const record = await noteOnBlob(storage, { ...request, leaseId: null, needsLease: false }, (blob, { nowMs }) => {
    const result = resolve(blob.immutability ?? {}, nowMs);
    if ('refusal' in result) throw new StorageError(result.refusal);
    return withImmutability(blob, result.immutability, nowMs);
  });
  return record.immutability ?? {};
}

/** What must stay does not end by itself either. */
function withImmutability(blob: BlobRecord, immutability: Immutability, nowMs: number): BlobRecord {
  const { expiresMs, ...lasting } = blob;
  const ends = expiresMs === undefined || refuseChange(immutability, nowMs) !== null ? {} : { expiresMs };
  return { ...lasting, ...ends, immutability };
}
