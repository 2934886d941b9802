/** Reading what operations on shares and their trees start from, in a transaction or in a snapshot of the engine. */

import { foldName } from '../../rules/file-names.ts';
import { AVAILABLE } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import { parseMoment } from '../../rules/moment.ts';
import type { Known } from '../known.ts';
import { decodeJson } from '../records/codec.ts';
import { nodeKey, pastNodeRange, shareKey, snapshotKey, type TreeAddress } from '../records/file-keys.ts';
import {
  type DirectoryRecord,
  type FileRecord,
  type NodeId,
  type NodePlace,
  type NodeRecord,
  ROOT_ID,
} from '../records/node-record.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { ShareRecord, ShareSnapshotRecord } from '../records/share-record.ts';
import { StorageError } from '../storage-error.ts';

export interface ShareName {
  readonly account: string;
  readonly share: string;
}

/** Names on the way from the root, as they were asked for; none: the root itself. */
export type Path = readonly string[];

export interface FileName extends ShareName {
  readonly path: Path;
  /** The share as it was then; null: as it is. */
  readonly snapshot: Moment | null;
}

/** A share or a snapshot of it, to find things in. */
export interface LoadedShare {
  readonly share: ShareRecord;
  readonly tree: TreeAddress;
  /** Null: the share itself. */
  readonly snapshot: ShareSnapshotRecord | null;
}

/** Where a path leads. */
export interface Found extends LoadedShare {
  /** The directory that it is in, or would be in; null for the root. */
  readonly parent: DirectoryRecord | null;
  readonly place: NodePlace;
  /** As it was asked for; empty for the root. */
  readonly name: string;
  /** Null: nothing has this name. */
  readonly node: NodeRecord | null;
  /** The directories above it, the root first. */
  readonly above: readonly NodeId[];
}

export type FoundNode = Found & { readonly node: NodeRecord };
export type FoundFile = Found & { readonly node: FileRecord };
export type FoundDirectory = Found & { readonly node: DirectoryRecord };

export async function findShare(reader: RecordReader, { account, share }: ShareName): Promise<ShareRecord | null> {
  const [value] = await reader.getMany([shareKey(account, share)]);
  return value ? decodeJson<ShareRecord>(value) : null;
}

export async function loadShare(reader: RecordReader, name: ShareName): Promise<ShareRecord> {
  const share = await findShare(reader, name);
  if (share === null) throw new StorageError('ShareNotFound');
  return share;
}

export const treeOf = ({ account }: ShareName, { id }: ShareRecord): TreeAddress => ({ account, shareId: id });

export async function loadSnapshot(
  reader: RecordReader,
  tree: TreeAddress,
  moment: Moment,
): Promise<ShareSnapshotRecord> {
  // What is no moment at all was never the name of a snapshot.
  const [value] = parseMoment(moment) === null ? [] : await reader.getMany([snapshotKey(tree, moment)]);
  if (!value) throw new StorageError('ShareNotFound');
  return decodeJson<ShareSnapshotRecord>(value);
}

/**
 * Where the path leads. Refused: a share that does not exist, or a directory on the way. Of the share as it is, one round
 * trip suffices where the ids of the directories on the way are known from earlier.
 */
export async function findNode(reader: RecordReader, name: FileName, known: Known): Promise<Found> {
  return name.snapshot === null ? findLiveNode(reader, name, known) : findPastNode(reader, name, name.snapshot);
}

async function findLiveNode(
  reader: RecordReader,
  { account, share: shareName, path }: FileName,
  known: Known,
): Promise<Found> {
  const folded = path.map(foldName);
  const guess = guessIds(known, { account, share: shareName }, folded);
  const guessed = guess === null ? [] : guess.places.map((place) => nodeKey(guess.tree, place));
  const [value, ...values] = await reader.getMany([shareKey(account, shareName), ...guessed]);
  if (!value) throw new StorageError('ShareNotFound');
  const share = decodeJson<ShareRecord>(value);
  known.shares.note(account, shareName, share.id);
  const tree: TreeAddress = { account, shareId: share.id };
  const byKey = new Map<string, Uint8Array | null>();
  if (guess?.tree.shareId === share.id) {
    for (const [index, { parentId, name }] of guess.places.entries()) {
      byKey.set(`${parentId}/${name}`, values[index] ?? null);
    }
  }
  const look = async (place: NodePlace): Promise<NodeRecord | null> => {
    const asked = byKey.get(`${place.parentId}/${place.name}`);
    const [found] = asked === undefined ? await reader.getMany([nodeKey(tree, place)]) : [asked];
    return found ? decodeJson<NodeRecord>(found) : null;
  };
  return walk({ share, tree, snapshot: null }, { path, folded, look, known });
}

async function findPastNode(reader: RecordReader, { path, ...name }: FileName, moment: Moment): Promise<Found> {
  const share = await loadShare(reader, name);
  const tree = treeOf(name, share);
  const snapshot = await loadSnapshot(reader, tree, moment);
  const look = (place: NodePlace): Promise<NodeRecord | null> => findPast(reader, tree, place, snapshot.epoch);
  return walk({ share, tree, snapshot }, { path, folded: path.map(foldName), look, known: null });
}

/** What had this name at an epoch. */
export async function findPast(
  reader: RecordReader,
  tree: TreeAddress,
  place: NodePlace,
  epoch: number,
): Promise<NodeRecord | null> {
  const [[past], [current]] = await Promise.all([
    reader.range(pastNodeRange(tree, place, epoch), { limit: 1 }),
    reader.getMany([nodeKey(tree, place)]),
  ]);
  const value = past?.value ?? current;
  const node = value ? decodeJson<NodeRecord>(value) : null;
  if (node === null || node.since > epoch) return null;
  // Leases are the file's own: a snapshot of it has none to speak of.
  return node.kind === 'file' ? { ...node, lease: AVAILABLE } : node;
}

async function walk(
  loaded: LoadedShare,
  {
    path,
    folded,
    look,
    known,
  }: {
    path: Path;
    folded: readonly string[];
    look: (place: NodePlace) => Promise<NodeRecord | null>;
    known: Known | null;
  },
): Promise<Found> {
  let place: NodePlace = { parentId: ROOT_ID, name: '' };
  let parent: DirectoryRecord | null = null;
  let node = await look(place);
  const above: NodeId[] = [];
  for (const name of folded) {
    if (node?.kind !== 'directory') throw new StorageError('ParentNotFound');
    if (parent !== null) known?.directories.note(loaded.tree.shareId, `${place.parentId}/${place.name}`, node.id);
    parent = node;
    above.push(node.id);
    place = { parentId: node.id, name };
    node = await look(place);
  }
  return { ...loaded, parent, place, name: path.at(-1) ?? '', node, above };
}

/** The places that a path leads over if nothing was renamed since; null: the share is not known. */
function guessIds(
  known: Known,
  { account, share }: ShareName,
  folded: readonly string[],
): { tree: TreeAddress; places: NodePlace[] } | null {
  const shareId = known.shares.idOf(account, share);
  if (shareId === null) return null;
  const places: NodePlace[] = [{ parentId: ROOT_ID, name: '' }];
  let parentId: NodeId = ROOT_ID;
  for (const name of folded) {
    places.push({ parentId, name });
    const id = known.directories.idOf(shareId, `${parentId}/${name}`);
    if (id === null) break;
    parentId = id;
  }
  return { tree: { account, shareId }, places };
}

export function refuseMissing(found: Found): asserts found is FoundNode {
  if (found.node === null) throw new StorageError('ResourceNotFound');
}

export function refuseUnlessFile(found: Found): asserts found is FoundFile {
  refuseMissing(found);
  if (found.node.kind !== 'file') throw new StorageError('ResourceTypeMismatch');
}

export function refuseUnlessDirectory(found: Found): asserts found is FoundDirectory {
  refuseMissing(found);
  if (found.node.kind !== 'directory') throw new StorageError('ResourceTypeMismatch');
}

/** Whoever reads a file finds none where a directory is: clients find out that way which of the two it is. */
export function refuseNoFile(found: Found): asserts found is FoundFile {
  if (found.node?.kind !== 'file') throw new StorageError('ResourceNotFound');
}

export function refuseNoDirectory(found: Found): asserts found is FoundDirectory {
  if (found.node?.kind !== 'directory') throw new StorageError('ResourceNotFound');
}
