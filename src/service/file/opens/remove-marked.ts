/** Carrying out a deletion that an SMB client has asked for. */
import type { Transaction } from '../../../engine/transact.ts';
import { decodeJson } from '../../records/codec.ts';
import { entriesRange, nodeKey, placeKey, type TreeAddress } from '../../records/file-keys.ts';
import {
  type DirectoryRecord,
  type NodeId,
  type NodePlace,
  type NodeRecord,
  ROOT_ID,
} from '../../records/node-record.ts';
import type { RecordReader } from '../../records/record-reader.ts';
import type { ShareRecord } from '../../records/share-record.ts';
import type { Storage } from '../../storage.ts';
import { removeNode } from '../keep-past.ts';
import { type FoundNode, findRoot, findShare } from '../load.ts';
import { changeUsage } from '../usage.ts';
import type { UsedPlace } from './open-node.ts';

/** A directory goes only if it is empty; a share may be gone with all that was in it. */
export async function removeMarked(
  tx: Transaction,
  { storage, shard }: { storage: Storage; shard: number },
  place: UsedPlace,
): Promise<void> {
  const found = await findById(tx, place);
  if (found === null || found.parent === null || !(await isEmptied(tx, found))) return;
  if (found.node.kind === 'file') await changeUsage(tx, shard, found, -found.node.lengthBytes);
  await removeNode(tx, storage, found);
}

/** Whether what is open could be deleted right now. */
export async function isDeletable(tx: Transaction, place: UsedPlace): Promise<boolean> {
  const found = await findById(tx, place);
  return found !== null && found.parent !== null && (await isEmptied(tx, found));
}

async function isEmptied(tx: Transaction, { tree, node }: FoundNode): Promise<boolean> {
  return node.kind === 'file' || (await tx.isEmpty(entriesRange(tree, node.id)));
}

/** Where the node stands by now; null: it is gone. */
export async function findById(
  reader: RecordReader,
  { account, share: name, shareId, nodeId }: UsedPlace,
): Promise<FoundNode | null> {
  const share = await findShare(reader, { account, share: name });
  if (share?.id !== shareId) return null;
  const tree: TreeAddress = { account, shareId };
  if (nodeId === ROOT_ID) return rootOf(share, tree, await findRoot(reader, tree));
  const found = await findPlaced(reader, tree, nodeId);
  if (found === null) return null;
  const { place, node } = found;
  const parent =
    place.parentId === ROOT_ID
      ? await findRoot(reader, tree)
      : ((await findPlaced(reader, tree, place.parentId))?.node as DirectoryRecord);
  return { share, tree, snapshot: null, parent, place, name: node.name, node, above: [parent.id] };
}

const rootOf = (share: ShareRecord, tree: TreeAddress, node: DirectoryRecord): FoundNode => ({
  share,
  tree,
  snapshot: null,
  parent: null,
  place: { parentId: ROOT_ID, name: '' },
  name: '',
  node,
  above: [],
});

export async function findPlaced(
  reader: RecordReader,
  tree: TreeAddress,
  id: NodeId,
): Promise<{ place: NodePlace; node: NodeRecord } | null> {
  const [placed] = await reader.getMany([placeKey(tree, id)]);
  if (!placed) return null;
  const place = decodeJson<NodePlace>(placed);
  const [value] = await reader.getMany([nodeKey(tree, place)]);
  return value ? { place, node: decodeJson<NodeRecord>(value) } : null;
}
