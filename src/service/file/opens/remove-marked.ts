/** Carrying out a deletion that an SMB client has asked for. */
import type { Transaction } from '../../../engine/transact.ts';
import { entriesRange } from '../../records/file-keys.ts';
import type { Storage } from '../../storage.ts';
import { removeNode } from '../keep-past.ts';
import type { FoundNode } from '../load.ts';
import { changeUsage } from '../usage.ts';
import { findById } from './find-by-id.ts';
import type { UsedPlace } from './open-node.ts';

export { findById, findPlaced } from './find-by-id.ts';

/** A directory goes only if it is empty; a share may be gone with all that was in it. What was removed; null: nothing. */
export async function removeMarked(
  tx: Transaction,
  { storage, shard }: { storage: Storage; shard: number },
  place: UsedPlace,
): Promise<FoundNode | null> {
  const found = await findById(tx, place);
  if (found === null || found.parent === null || !(await isEmptied(tx, found))) return null;
  if (found.node.kind === 'file') await changeUsage(tx, shard, found, -found.node.lengthBytes);
  await removeNode(tx, storage, found);
  return found;
}

/** Whether what is open could be deleted right now. */
export async function isDeletable(tx: Transaction, place: UsedPlace): Promise<boolean> {
  const found = await findById(tx, place);
  return found !== null && found.parent !== null && (await isEmptied(tx, found));
}

async function isEmptied(tx: Transaction, { tree, node }: FoundNode): Promise<boolean> {
  return node.kind === 'file' || (await tx.isEmpty(entriesRange(tree, node.id)));
}
