/**
 * The order in which an operation on a share or on a snapshot of one is refused, once it is found: what its lease forbids,
 * then what its snapshots do. A share's lease speaks with the codes of a container's, as the service's does. Leases come in
 * as stored.
 */
import type { ErrorCode } from './error-code.ts';
import {
  type Lease,
  type LeaseAction,
  type LeaseId,
  type LeaseOutcome,
  leaseAt,
  leaseHeaders,
  refuseContainerDelete,
  refuseContainerUse,
  refuseLeaseNumbers,
  resolveLeaseAction,
} from './lease.ts';

export interface ShareUse {
  readonly lease: Lease;
  readonly leaseId: LeaseId | null;
  readonly nowMs: number;
}

/** `x-ms-delete-snapshots`: whether snapshots go with their share, and whether leased ones do. */
export type DeleteSnapshots = 'include' | 'include-leased';

export interface ShareDelete extends ShareUse {
  /** The leases of the share's snapshots; none for a snapshot. */
  readonly snapshotLeases: readonly Lease[];
  readonly deleteSnapshots: DeleteSnapshots | null;
}

/** Reading the share itself: needs no lease id, but one that is given must be right. */
export const refuseShareRead = ({ lease, leaseId, nowMs }: ShareUse): ErrorCode | null =>
  refuseContainerUse(leaseAt(lease, nowMs), leaseId);

/** Properties, metadata and access policies of a leased share are changed by its holder only. */
export const refuseShareChange = ({ lease, leaseId, nowMs }: ShareUse): ErrorCode | null =>
  refuseContainerDelete(leaseAt(lease, nowMs), leaseId);

export function refuseShareDelete(deletion: ShareDelete): ErrorCode | null {
  return refuseShareChange(deletion) ?? refuseSnapshots(deletion);
}

function refuseSnapshots({ snapshotLeases, deleteSnapshots, nowMs }: ShareDelete): ErrorCode | null {
  const staying = {
    none: snapshotLeases,
    include: snapshotLeases.filter((lease) => leaseHeaders(leaseAt(lease, nowMs)).status === 'locked'),
    'include-leased': [],
  }[deleteSnapshots ?? 'none'];
  return staying.length > 0 ? 'ShareHasSnapshots' : null;
}

export function resolveShareLease(
  { lease, nowMs }: Omit<ShareUse, 'leaseId'>,
  action: LeaseAction,
): LeaseOutcome | { readonly refusal: ErrorCode } {
  const refusal = refuseLeaseNumbers(action);
  return refusal === null ? resolveLeaseAction(leaseAt(lease, nowMs), action, nowMs) : { refusal };
}
