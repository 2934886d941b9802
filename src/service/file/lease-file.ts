/** Lease File: acquire, change, release, break. Leases of files have no end of their own. Neither ETag nor Last-Modified change. */
import { isPending } from '../../rules/copy.ts';
import type { ErrorCode } from '../../rules/error-code.ts';
import { INFINITE_SECONDS, type Lease, type LeaseAction, leaseAt, resolveLeaseAction } from '../../rules/lease.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { changeNode } from './keep-past.ts';
import { findNode, refuseUnlessFile } from './load.ts';
import { changing } from './opens/admit.ts';
import type { NodeRequest } from './request.ts';

export interface FileLeaseResult {
  readonly node: FileRecord;
  readonly lease: Lease;
  /** After a break: seconds until the lease is broken, and that is none. */
  readonly remainingSeconds: number | null;
}

export async function leaseFile(
  storage: Storage,
  { action, ...request }: NodeRequest & { readonly action: LeaseAction },
): Promise<FileLeaseResult> {
  refuse(refuseFileLeaseAction(action));
  return changing(storage, request, async (tx, uses) => {
    const found = await findNode(tx, request.name, storage.known);
    refuseUnlessFile(found);
    await uses.refusePending(found);
    const nowMs = storage.clock.nowMs();
    const result = resolveLeaseAction(leaseAt(found.node.lease, nowMs), withoutPeriod(action), nowMs);
    if ('refusal' in result) throw new StorageError(result.refusal);
    if (isPending(found.node.copy)) throw new StorageError('PendingCopyOperation');
    await uses.admit(found, action.action === 'acquire' ? 'acquire lease' : 'other lease action');
    const { lease, remainingSeconds } = result;
    const node = await changeNode(tx, found, (before) => ({ ...before, lease }));
    return { node, lease, remainingSeconds };
  });
}

function refuseFileLeaseAction(action: LeaseAction): ErrorCode | null {
  if (action.action === 'renew') return 'InvalidHeaderValue';
  return action.action === 'acquire' && action.durationSeconds !== INFINITE_SECONDS ? 'InvalidHeaderValue' : null;
}

/** A break takes effect at once. */
const withoutPeriod = (action: LeaseAction): LeaseAction =>
  action.action === 'break' ? { ...action, periodSeconds: null } : action;

function refuse(code: ErrorCode | null): void {
  if (code !== null) throw new StorageError(code);
}
