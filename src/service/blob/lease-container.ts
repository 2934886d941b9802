import { transact } from '../../engine/transact.ts';
import type { LeaseAction } from '../../rules/lease.ts';
import { resolveContainerLeaseOperation } from '../../rules/precedence.ts';
import { encodeJson } from '../records/codec.ts';
import { containerKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import type { LeaseResult } from './lease-blob.ts';
import { findContainer, refuse } from './load.ts';
import type { ContainerRequest } from './use-container.ts';

/** Lease Container: as Lease Blob; the lease guards the container's deletion and nothing else. */
export async function leaseContainer(
  storage: Storage,
  request: Omit<ContainerRequest, 'leaseId'> & { action: LeaseAction },
): Promise<LeaseResult> {
  const { name, conditions, action } = request;
  return transact(storage.engine, async (tx) => {
    const container = await findContainer(tx, name);
    const nowMs = storage.clock.nowMs();
    const result = resolveContainerLeaseOperation({ container, conditions, action, nowMs });
    if ('refusal' in result) return refuse(result.refusal) as never;
    const { lease, remainingSeconds } = result;
    tx.put(containerKey(name.account, name.container), encodeJson({ ...container, lease }));
    return { lease, remainingSeconds, target: container };
  });
}
