/**
 * Changes to a share's tree. Every state of a node says since which epoch of the tree it stands; a snapshot keeps the epoch
 * that was the newest when it was taken. A state that a snapshot sees is kept beside the new one when it changes for the
 * first time after it; any other is replaced, and what it held is let go of. So a snapshot costs nothing, and a change
 * costs one row more, once.
 */
import type { Transaction } from '../../engine/transact.ts';
import { freezePages, NO_VALUE } from '../pages/page-map.ts';
import { encodeJson } from '../records/codec.ts';
import { endedNodeKey, nodeKey, pastNodeKey, placeKey } from '../records/file-keys.ts';
import type { FileContent, NodePlace, NodeRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import type { Found, FoundNode, LoadedShare } from './load.ts';

/** Puts what is new under a name that nothing has. */
export function addNode(tx: Transaction, found: LoadedShare & Pick<Found, 'place'>, node: NodeRecord): void {
  tx.put(nodeKey(found.tree, found.place), encodeJson({ ...node, since: found.share.epoch }));
  tx.put(placeKey(found.tree, node.id), encodeJson(found.place));
}

/** Puts a state in the place of one that was let go of (`letGoOfContent`). */
export function putNode(tx: Transaction, { tree, place, share }: Found, node: NodeRecord): void {
  tx.put(nodeKey(tree, place), encodeJson({ ...node, since: share.epoch }));
}

/**
 * Puts a changed state in the place of the one that was found. `change` gets the content that it may write to, and gives
 * what the new state holds.
 */
export async function changeNode<T extends NodeRecord>(
  tx: Transaction,
  found: Found & { readonly node: T },
  change: (node: T) => T | Promise<T>,
): Promise<T> {
  const { tree, place, share } = found;
  const after: T = { ...(await change(goOn(tx, found))), since: share.epoch };
  tx.put(nodeKey(tree, place), encodeJson(after));
  return after;
}

/** Moves a node to another place, where nothing is, and changes it on the way. What is in a directory goes with it. */
export async function moveNode<T extends NodeRecord>(
  tx: Transaction,
  { from, to }: { from: Found & { readonly node: T }; to: NodePlace },
  change: (node: T) => T | Promise<T>,
): Promise<T> {
  const { tree, place, share } = from;
  const after: T = { ...(await change(goOn(tx, from))), since: share.epoch };
  tx.delete(nodeKey(tree, place));
  tx.put(nodeKey(tree, to), encodeJson(after));
  tx.put(placeKey(tree, after.id), encodeJson(to));
  return after;
}

/** The name is free from now on. */
export async function removeNode(tx: Transaction, storage: Pick<Storage, 'extents'>, found: FoundNode): Promise<void> {
  const { tree, place, node } = found;
  await letGoOfContent(tx, storage, found);
  tx.delete(nodeKey(tree, place));
  tx.delete(placeKey(tree, node.id));
}

/** What the node holds is to be replaced, whole, by something else: its state is kept for those who see it, or dropped. */
export async function letGoOfContent(
  tx: Transaction,
  storage: Pick<Storage, 'extents'>,
  found: FoundNode,
): Promise<void> {
  const { node } = found;
  if (isSeen(found)) {
    putPast(tx, found, node.kind === 'file' ? { ...node, content: frozen(node.content) } : node);
  } else if (node.kind === 'file') {
    await storage.extents.drop(tx, { content: node.content });
  }
}

/** The node with content that may be written to. */
function goOn<T extends NodeRecord>(tx: Transaction, found: Found & { readonly node: T }): T {
  const { node } = found;
  if (!isSeen(found)) return node;
  if (node.kind !== 'file' || node.content.kind === 'empty') {
    putPast(tx, found, node);
    return node;
  }
  const pages = freezePages(tx, node.content);
  putPast(tx, found, { ...node, content: pages.frozen });
  return { ...node, content: pages.current };
}

/** Whether a snapshot sees the state that is about to change. */
const isSeen = ({ share, node }: LoadedShare & { readonly node: NodeRecord }): boolean => node.since <= share.keptEpoch;

function putPast(tx: Transaction, { tree, place, share: { keptEpoch: epoch } }: Found, node: NodeRecord): void {
  tx.put(pastNodeKey(tree, place, epoch), encodeJson(node));
  tx.put(endedNodeKey(tree, { ...place, epoch, since: node.since }), NO_VALUE);
}

const frozen = (content: FileContent): FileContent =>
  content.kind === 'empty' ? content : { ...content, isFrozen: true };
