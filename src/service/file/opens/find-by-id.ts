/**
 * Where something stands that is known by its id. What is looked for again and again is asked for where it stood last time,
 * together with its share and its directory, and confirmed by its id: one round trip, unless it was renamed meanwhile.
 */
import { decodeJson } from '../../records/codec.ts';
import { nodeKey, placeKey, rootKey, shareKey, type TreeAddress } from '../../records/file-keys.ts';
import {
  type DirectoryRecord,
  type NodeId,
  type NodePlace,
  type NodeRecord,
  ROOT_ID,
} from '../../records/node-record.ts';
import type { RecordReader } from '../../records/record-reader.ts';
import type { ShareRecord } from '../../records/share-record.ts';
import type { FoundNode } from '../load.ts';
import type { UsedPlace } from './open-node.ts';

const ROOT_PLACE: NodePlace = { parentId: ROOT_ID, name: '' };

/** Its own place, and that of its directory. */
interface Standing {
  readonly place: NodePlace;
  readonly parentPlace: NodePlace;
}

/** A guess, whatever became of the transaction that it comes from. */
const lastStandings = new WeakMap<UsedPlace, Standing>();

/** Null: it is gone. */
export async function findById(reader: RecordReader, at: UsedPlace): Promise<FoundNode | null> {
  if (at.nodeId === ROOT_ID) return findRootById(reader, at);
  const last = lastStandings.get(at);
  const found = last === undefined ? null : await findStanding(reader, at, last);
  if (found !== null) return found;
  const standing = await loadStanding(reader, at);
  if (standing === null) return null;
  lastStandings.set(at, standing);
  return findStanding(reader, at, standing);
}

async function findRootById(reader: RecordReader, at: UsedPlace): Promise<FoundNode | null> {
  const tree: TreeAddress = { account: at.account, shareId: at.shareId };
  const [shareValue, value] = await reader.getMany([shareKey(at.account, at.share), rootKey(tree)]);
  const share = shareIn(shareValue, at);
  if (share === null || !value) return null;
  const node = decodeJson<DirectoryRecord>(value);
  return { share, tree, snapshot: null, parent: null, place: ROOT_PLACE, name: '', node, above: [] };
}

/** Null: it does not stand there. */
async function findStanding(
  reader: RecordReader,
  at: UsedPlace,
  { place, parentPlace }: Standing,
): Promise<FoundNode | null> {
  const tree: TreeAddress = { account: at.account, shareId: at.shareId };
  const keys = [shareKey(at.account, at.share), nodeKey(tree, place), nodeKey(tree, parentPlace)];
  const [shareValue, value, parentValue] = await reader.getMany(keys);
  const share = shareIn(shareValue, at);
  if (share === null || !value || !parentValue) return null;
  const node = decodeJson<NodeRecord>(value);
  const parent = decodeJson<DirectoryRecord>(parentValue);
  if (node.id !== at.nodeId || parent.id !== place.parentId) return null;
  return { share, tree, snapshot: null, parent, place, name: node.name, node, above: [parent.id] };
}

/** Another share may have its name by now. */
function shareIn(value: Uint8Array | null | undefined, { shareId }: UsedPlace): ShareRecord | null {
  const share = value ? decodeJson<ShareRecord>(value) : null;
  return share?.id === shareId ? share : null;
}

async function loadStanding(reader: RecordReader, { account, shareId, nodeId }: UsedPlace): Promise<Standing | null> {
  const tree: TreeAddress = { account, shareId };
  const place = await findPlace(reader, tree, nodeId);
  if (place === null) return null;
  const parentPlace = place.parentId === ROOT_ID ? ROOT_PLACE : await findPlace(reader, tree, place.parentId);
  return parentPlace === null ? null : { place, parentPlace };
}

async function findPlace(reader: RecordReader, tree: TreeAddress, id: NodeId): Promise<NodePlace | null> {
  const [placed] = await reader.getMany([placeKey(tree, id)]);
  return placed ? decodeJson<NodePlace>(placed) : null;
}

export async function findPlaced(
  reader: RecordReader,
  tree: TreeAddress,
  id: NodeId,
): Promise<{ place: NodePlace; node: NodeRecord } | null> {
  const place = await findPlace(reader, tree, id);
  if (place === null) return null;
  const [value] = await reader.getMany([nodeKey(tree, place)]);
  return value ? { place, node: decodeJson<NodeRecord>(value) } : null;
}
