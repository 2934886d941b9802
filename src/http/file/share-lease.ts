/** Lease Share: of the share or of a snapshot. */

import { fileNeeds } from '../../auth/needs.ts';
import { leaseShare as leaseOnShare } from '../../service/file/lease-share.ts';
import { parseLeaseAction, renderLease } from '../lease-action.ts';
import { type Operation, shareNameOf, snapshotOf } from './operation.ts';

export const leaseShare: Operation = {
  name: 'Lease Share',
  need: fileNeeds.leaseShare,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const action = parseLeaseAction(exchange);
    const { share, lease, remainingSeconds } = await leaseOnShare(storage, {
      name: shareNameOf(exchange, resource),
      snapshot: snapshotOf(exchange),
      action,
    });
    return renderLease(exchange, action, { target: share, lease, remainingSeconds });
  },
};
