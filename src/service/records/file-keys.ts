/**
 * Where shares and their trees live:
 *
 *   s account 00 share                              a share
 *   o account 00 share 00 id                        a deleted share that can be restored
 *   p account 00 shareId moment                     a snapshot of a share
 *   f account 00 shareId parentId name              what has this name in a directory, as it is
 *   h account 00 shareId parentId name 00 epoch     the same, as it was: `epoch` is the last one that sees it
 *   j account 00 shareId epoch since parentId name  for each h row, by its last and first epoch
 *   i account 00 shareId nodeId                     where a node stands
 *   u account 00 shareId shard                      a part of the bytes that the share's files have (file/usage.ts)
 *   a account 00 shareId permission                 a security descriptor (file/permissions.ts)
 *   F0 S shareId nodeId kind …                      what is known of a node that is in use (volatile, file/opens/)
 *
 * Names in keys are folded (rules/file-names.ts). The root stands in itself under the empty name, before its entries. What is in a
 * directory is keyed by the directory's id, so that to rename it is to move one row.
 */
import { asBuffer, prefixEnd } from '../../base/bytes.ts';
import { ID_BYTES, type Id } from '../../base/ids.ts';
import { type Key, type KeyRange, VOLATILE_PREFIX } from '../../engine/engine.ts';
import { formatMoment, type Moment, momentBytes, momentFromBytes, parseMoment } from '../../rules/moment.ts';
import { type NodeId, type NodePlace, ROOT_ID } from './node-record.ts';

/** The tree of one share. */
export interface TreeAddress {
  readonly account: string;
  readonly shareId: Id;
}

export const NODE_ID_BYTES = 8;
const EPOCH_BYTES = 6;
const EPOCH_MAX = 2 ** 48 - 1;

// ---- shares

export const shareKey = (account: string, share: string): Key => Buffer.from(`s${account}\0${share}`);

/** What a listing of shares walks: from the first name at or after `from` to the last with `prefix`. */
export const sharesRange = (account: string, prefix: string, from: string): KeyRange => ({
  from: shareKey(account, from > prefix ? from : prefix),
  to: endOf(shareKey(account, prefix)),
});

export const deletedShareKey = (account: string, share: string, id: Id): Key =>
  Buffer.from(`o${account}\0${share}\0${id}`);

/** Of deleted shares whose names start with `prefix`: from the first at or after the given one. */
export function deletedSharesRange(
  account: string,
  prefix: string,
  from: { readonly share: string; readonly id: Id },
): KeyRange {
  const all = Buffer.from(`o${account}\0${prefix}`);
  const start = deletedShareKey(account, from.share, from.id);
  return { from: Buffer.compare(start, all) > 0 ? start : all, to: endOf(all) };
}

export function parseDeletedShareKey(key: Key): { readonly share: string; readonly id: Id } {
  const [, share = '', id = ''] = asBuffer(key).toString().split('\0');
  return { share, id };
}

export const snapshotKey = (tree: TreeAddress, moment: Moment): Key =>
  Buffer.concat([treeKey('p', tree), momentBytes(parseMoment(moment) as bigint)]);

/** Oldest first. */
export const snapshotsRange = (tree: TreeAddress): KeyRange => rangeOf(treeKey('p', tree));

export const snapshotMomentOf = (key: Key): Moment => formatMoment(momentFromBytes(key.subarray(-8)));

// ---- the tree as it is

export const nodeKey = (tree: TreeAddress, { parentId, name }: NodePlace): Key =>
  Buffer.concat([directoryKey('f', tree, parentId), Buffer.from(name)]);

export const rootKey = (tree: TreeAddress): Key => nodeKey(tree, { parentId: ROOT_ID, name: '' });

/** What is in a directory, from the first name at or after `from`, with the prefix; both folded. The root is not in itself. */
export function entriesRange(tree: TreeAddress, parentId: NodeId, { prefix = '', from = '' } = {}): KeyRange {
  const all = Buffer.concat([directoryKey('f', tree, parentId), Buffer.from(prefix)]);
  const start = Buffer.concat([directoryKey('f', tree, parentId), Buffer.from(from || '\x01')]);
  return { from: Buffer.compare(start, all) > 0 ? start : all, to: endOf(all) };
}

export const nodesRange = (tree: TreeAddress): KeyRange => rangeOf(treeKey('f', tree));

export function nodePlaceOf(key: Key): NodePlace {
  const at = treeEnd(key);
  return { parentId: nodeIdAt(key, at), name: asBuffer(key).toString('utf8', at + NODE_ID_BYTES) };
}

export const placeKey = (tree: TreeAddress, id: NodeId): Key => Buffer.concat([treeKey('i', tree), nodeIdBytes(id)]);

export const placesRange = (tree: TreeAddress): KeyRange => rangeOf(treeKey('i', tree));

export const placedIdOf = (key: Key): NodeId => nodeIdAt(key, treeEnd(key));

// ---- the tree as it was

export const pastNodeKey = (tree: TreeAddress, { parentId, name }: NodePlace, epoch: number): Key =>
  Buffer.concat([directoryKey('h', tree, parentId), Buffer.from(name), Buffer.of(0), epochBytes(epoch)]);

/** States of one name that last to `epoch` or longer. */
export const pastNodeRange = (tree: TreeAddress, place: NodePlace, epoch: number): KeyRange => ({
  from: pastNodeKey(tree, place, epoch),
  to: Buffer.concat([directoryKey('h', tree, place.parentId), Buffer.from(place.name), Buffer.of(1)]),
});

/** Earlier states of all names in a directory, from a name's states that last to `epoch` on, with the prefix. */
export function pastEntriesRange(
  tree: TreeAddress,
  parentId: NodeId,
  { prefix = '', from = '', epoch = 0 } = {},
): KeyRange {
  const all = Buffer.concat([directoryKey('h', tree, parentId), Buffer.from(prefix)]);
  const start = pastNodeKey(tree, { parentId, name: from || '\x01' }, epoch);
  return { from: Buffer.compare(start, all) > 0 ? start : all, to: endOf(all) };
}

export const pastNodesRange = (tree: TreeAddress): KeyRange => rangeOf(treeKey('h', tree));

export function parsePastNodeKey(key: Key): NodePlace & { readonly epoch: number } {
  const at = treeEnd(key);
  const bytes = asBuffer(key);
  const nameEnd = bytes.length - EPOCH_BYTES - 1;
  return {
    parentId: nodeIdAt(key, at),
    name: bytes.toString('utf8', at + NODE_ID_BYTES, nameEnd),
    epoch: bytes.readUIntBE(nameEnd + 1, EPOCH_BYTES),
  };
}

export interface EndedNode extends NodePlace {
  readonly epoch: number;
  readonly since: number;
}

export const endedNodeKey = (tree: TreeAddress, { epoch, since, parentId, name }: EndedNode): Key =>
  Buffer.concat([treeKey('j', tree), epochBytes(epoch), epochBytes(since), nodeIdBytes(parentId), Buffer.from(name)]);

/** From what ended with `epoch` and began with `since` or later, up to what ended before `toEpoch`. */
export const endedNodesRange = (tree: TreeAddress, epoch = 0, since = 0, toEpoch = EPOCH_MAX): KeyRange => ({
  from: Buffer.concat([treeKey('j', tree), epochBytes(epoch), epochBytes(since)]),
  to: Buffer.concat([treeKey('j', tree), epochBytes(toEpoch)]),
});

export function parseEndedNodeKey(key: Key): EndedNode {
  const at = treeEnd(key);
  const bytes = asBuffer(key);
  return {
    epoch: bytes.readUIntBE(at, EPOCH_BYTES),
    since: bytes.readUIntBE(at + EPOCH_BYTES, EPOCH_BYTES),
    parentId: nodeIdAt(key, at + 2 * EPOCH_BYTES),
    name: bytes.toString('utf8', at + 2 * EPOCH_BYTES + NODE_ID_BYTES),
  };
}

// ---- what else a share has

export const usageKey = (tree: TreeAddress, shard: number): Key =>
  Buffer.concat([treeKey('u', tree), Buffer.of(shard)]);

export const usagesRange = (tree: TreeAddress): KeyRange => rangeOf(treeKey('u', tree));

/** `permission`: as in a node's record. */
export const permissionKey = (tree: TreeAddress, permission: string): Key =>
  Buffer.concat([treeKey('a', tree), Buffer.from(permission)]);

export const permissionsRange = (tree: TreeAddress): KeyRange => rangeOf(treeKey('a', tree));

export const permissionOf = (key: Key): string => asBuffer(key).toString('utf8', treeEnd(key));

/** Of every key here that is in a tree. */
export function treeOfKey(key: Key): TreeAddress {
  const bytes = asBuffer(key);
  const end = bytes.indexOf(0);
  return {
    account: bytes.toString('latin1', 1, end),
    shareId: bytes.toString('hex', end + 1, end + 1 + ID_BYTES),
  };
}

// ---- what is in use

const USE_PREFIX = Buffer.from([VOLATILE_PREFIX, 'S'.charCodeAt(0)]);

/** Opens, byte-range locks, a deletion that is pending, what caches are asked to give up. */
export type UseKind = 'open' | 'lock' | 'pending' | 'break';

const USE_LETTERS: Readonly<Record<UseKind, string>> = { open: 'o', lock: 'l', pending: 'p', break: 'b' };
const USE_KINDS = new Map(Object.entries(USE_LETTERS).map(([kind, letter]) => [letter, kind as UseKind]));

/** `ids`: of the open, and of what belongs to it; none for a pending deletion. */
export const useKey = (shareId: Id, nodeId: NodeId, kind: UseKind, ...ids: readonly Id[]): Key =>
  Buffer.concat([
    shareUses(shareId),
    nodeIdBytes(nodeId),
    Buffer.from(USE_LETTERS[kind], 'latin1'),
    ...ids.map((id) => Buffer.from(id, 'hex')),
  ]);

export const usesRange = (shareId: Id, nodeId: NodeId): KeyRange =>
  rangeOf(Buffer.concat([shareUses(shareId), nodeIdBytes(nodeId)]));

export const shareUsesRange = (shareId: Id): KeyRange => rangeOf(shareUses(shareId));

export function parseUseKey(key: Key): {
  readonly shareId: Id;
  readonly nodeId: NodeId;
  readonly kind: UseKind;
  readonly ids: readonly Id[];
} {
  const bytes = asBuffer(key);
  const nodeAt = USE_PREFIX.length + ID_BYTES;
  const kindAt = nodeAt + NODE_ID_BYTES;
  const ids: Id[] = [];
  for (let at = kindAt + 1; at < bytes.length; at += ID_BYTES) ids.push(bytes.toString('hex', at, at + ID_BYTES));
  return {
    shareId: bytes.toString('hex', USE_PREFIX.length, nodeAt),
    nodeId: nodeIdAt(key, nodeAt),
    kind: USE_KINDS.get(bytes.toString('latin1', kindAt, kindAt + 1)) as UseKind,
    ids,
  };
}

const shareUses = (shareId: Id): Buffer => Buffer.concat([USE_PREFIX, Buffer.from(shareId, 'hex')]);

// ---- parts of keys

const nodeIdBytes = (id: NodeId): Buffer => Buffer.from(id, 'hex');

const nodeIdAt = (key: Key, at: number): NodeId => asBuffer(key).toString('hex', at, at + NODE_ID_BYTES);

function epochBytes(epoch: number): Buffer {
  const bytes = Buffer.allocUnsafe(EPOCH_BYTES);
  bytes.writeUIntBE(epoch, 0, EPOCH_BYTES);
  return bytes;
}

function treeKey(letter: string, { account, shareId }: TreeAddress): Buffer {
  const at = 1 + account.length + 1;
  const key = Buffer.allocUnsafe(at + ID_BYTES);
  key.write(`${letter}${account}\0`, 0, 'latin1');
  key.write(shareId, at, 'hex');
  return key;
}

const treeEnd = (key: Key): number => asBuffer(key).indexOf(0) + 1 + ID_BYTES;

const directoryKey = (letter: string, tree: TreeAddress, parentId: NodeId): Buffer =>
  Buffer.concat([treeKey(letter, tree), nodeIdBytes(parentId)]);

const rangeOf = (from: Key): KeyRange => ({ from, to: endOf(from) });

/** Every prefix here starts with a letter or with F0, so it has an end. */
const endOf = (prefix: Key): Key => prefixEnd(prefix) as Key;
