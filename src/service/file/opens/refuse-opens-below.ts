/** A directory is not renamed while SMB clients have something open in it, at any depth. */
import type { Transaction } from '../../../engine/transact.ts';
import { resolveConflict } from '../../../rules/in-use.ts';
import { breakOf } from '../../../rules/oplock.ts';
import type { TreeAddress } from '../../records/file-keys.ts';
import type { NodeId } from '../../records/node-record.ts';
import { follow } from './follow.ts';
import { PlaceReader } from './place-reader.ts';
import { shareUses } from './share-uses.ts';

/** Throws SharingViolation; or waits, in `changing`, where clients that cache their handles may have closed them long ago. */
export async function refuseOpensBelow(tx: Transaction, tree: TreeAddress, directoryId: NodeId): Promise<void> {
  const places = new PlaceReader(tx, tree);
  for await (const uses of shareUses(tx, tree.shareId)) {
    if (uses.opens.size === 0 || !(await places.isBelow(uses.at.nodeId, directoryId))) continue;
    const conflict = resolveConflict(uses.inUse.opens, ({ caching, style }) => breakOf(caching, style, 'handle'));
    if (conflict !== null) follow(uses, conflict);
  }
}
