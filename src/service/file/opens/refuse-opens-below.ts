/** A directory is not renamed while SMB clients have something open in it, at any depth. */
import type { Transaction } from '../../../engine/transact.ts';
import type { ErrorCode } from '../../../rules/error-code.ts';
import { judgeBelow } from '../../../rules/smb-rename.ts';
import type { TreeAddress } from '../../records/file-keys.ts';
import type { NodeId } from '../../records/node-record.ts';
import { follow } from './follow.ts';
import { PlaceReader } from './place-reader.ts';
import { shareUses } from './share-uses.ts';

/** Throws the code; or waits, where clients that cache their handles may have closed them long ago. */
export async function refuseOpensBelow(
  tx: Transaction,
  tree: TreeAddress,
  directoryId: NodeId,
  code: ErrorCode,
): Promise<void> {
  const places = new PlaceReader(tx, tree);
  for await (const uses of shareUses(tx, tree.shareId)) {
    if (uses.opens.size === 0 || !(await places.isBelow(uses.at.nodeId, directoryId))) continue;
    follow(uses, judgeBelow(uses.inUse, code));
  }
}
