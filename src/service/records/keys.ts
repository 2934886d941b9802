/**
 * Where every record lives. A key starts with its table's letter and then follows Azure's own partitioning, so that one
 * container is one contiguous range and its blobs stand in name order:
 *
 *   P account 00 service            service properties
 *   C account 00 container          a container
 *   B account 00 containerId name 00 FF   a blob; with another suffix, what else has its name:
 *                                10           the head of its staged blocks
 *                                40 moment    a snapshot
 *                                50 moment    an earlier version
 *                                60 moment    a deleted state
 *   K stagingId blockId             a staged block
 *   E dueMs stagingId               when to see whether staged blocks have expired
 *   L layoutId                      a committed block list
 *   I extentId                      an extent's bytes, when they are few
 *   X extentId                      where the content store put an extent
 *   A listId startBytes             an appended block
 *   R id                            how many hold something that is stored once, if more than one does
 *   M mapId chunk                   the pages of one chunk, as they are       (pages/page-keys.ts)
 *   H mapId chunk epoch             the same, as they were up to an epoch
 *   N mapId epoch since chunk       which chunks have an earlier state that ended with this epoch
 *   V mapId epoch                   an epoch that a record holds; also what is noted about a map
 *   T …                             which blobs have which tags              (tag-index.ts)
 *   D account 00 container 00 id    a deleted container that can be restored
 *   J id                            a copy under way
 *   t …, e …                        tables and their entities                (table-keys.ts)
 *   q …, m …, v …, n …              queues and their messages                (queue-keys.ts)
 *   G id                            something to sweep
 *   F0 N nodeId                     a node that is alive        (volatile: engine.ts)
 *   F0 W task                       the node that does a task   (volatile)
 *   F0 M mapId epoch id             a reader that holds an epoch of a map   (volatile)
 *
 * Names never hold a NUL (rules/names.ts), so 00 ends them and sorts before any longer name.
 */
import { asBuffer, prefixEnd } from '../../base/bytes.ts';
import { ID_BYTES, type Id } from '../../base/ids.ts';
import { type Key, type KeyRange, VOLATILE_PREFIX } from '../../engine/engine.ts';
import { formatMoment, type Moment, momentBytes, momentFromBytes, parseMoment } from '../../rules/moment.ts';
import { UnreadableRecord } from './codec.ts';
import type { ExtentRef } from './extent-record.ts';

const BLOB_SUFFIX = 0xff;
const STAGING_SUFFIX = 0x10;
const SUFFIXES = { snapshot: 0x40, version: 0x50, deleted: 0x60 } as const;

export const servicePropertiesKey = (account: string, service: string): Key => Buffer.from(`P${account}\0${service}`);

export const containerKey = (account: string, container: string): Key => Buffer.from(`C${account}\0${container}`);

/** Of a key that begins with its table's letter and an account. */
export function accountOf(key: Key): string {
  const bytes = asBuffer(key);
  return bytes.toString('latin1', 1, bytes.indexOf(0));
}

/** The name under which a container, a queue or a table stands. */
export function ownNameOf(key: Key): string {
  const bytes = asBuffer(key);
  return bytes.toString('utf8', bytes.indexOf(0) + 1);
}

/** What a listing of containers walks: from the first name at or after `from` to the last with `prefix`. */
export function containerRange(account: string, prefix: string, from: string): KeyRange {
  return { from: containerKey(account, from > prefix ? from : prefix), to: endOf(containerKey(account, prefix)) };
}

export interface BlobAddress {
  readonly account: string;
  readonly containerId: Id;
  readonly name: string;
}

/** The base blob and its staging head, which most writes read together. */
export function blobKeys(address: BlobAddress): { blob: Key; staging: Key } {
  const blob = suffixed(address, BLOB_SUFFIX);
  const staging = Buffer.from(blob);
  staging[staging.length - 1] = STAGING_SUFFIX;
  return { blob, staging };
}

/** What a moment names: a snapshot, an earlier version, a state that was deleted or overwritten at that time. */
export type PastKind = keyof typeof SUFFIXES;

export function pastKey(address: BlobAddress, kind: PastKind, moment: Moment): Key {
  return Buffer.concat([suffixed(address, SUFFIXES[kind]), momentBytes(parseMoment(moment) as bigint)]);
}

/** Everything of one kind that has the blob's name, oldest first. */
export function pastRange(address: BlobAddress, kind: PastKind): KeyRange {
  const from = suffixed(address, SUFFIXES[kind]);
  return { from, to: endOf(from) };
}

/** Every record of one name. */
export function blobNameRange(address: BlobAddress): KeyRange {
  return { from: suffixed(address, 0), to: Buffer.concat([suffixed(address, BLOB_SUFFIX), Uint8Array.of(0)]) };
}

function suffixed({ account, containerId, name }: BlobAddress, suffix: number): Buffer {
  const nameBytes = Buffer.byteLength(name);
  const at = 1 + account.length + 1 + ID_BYTES;
  const key = Buffer.allocUnsafe(at + nameBytes + 2);
  key.write(`B${account}\0`, 0, 'latin1');
  key.write(containerId, at - ID_BYTES, 'hex');
  key.write(name, at, 'utf8');
  key[at + nameBytes] = 0;
  key[at + nameBytes + 1] = suffix;
  return key;
}

export type BlobKeyKind = 'blob' | 'staging' | PastKind;

export interface ParsedBlobKey extends BlobAddress {
  readonly kind: BlobKeyKind;
  /** Of a snapshot, version or deleted state; empty for all else. */
  readonly moment: Moment;
}

const KINDS: ReadonlyMap<number, BlobKeyKind> = new Map<number, BlobKeyKind>([
  [BLOB_SUFFIX, 'blob'],
  [STAGING_SUFFIX, 'staging'],
  ...Object.entries(SUFFIXES).map(([kind, suffix]) => [suffix, kind as PastKind] as const),
]);

export function parseBlobKey(key: Key): ParsedBlobKey {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const accountEnd = bytes.indexOf(0);
  const nameStart = accountEnd + 1 + ID_BYTES;
  const nameEnd = bytes.indexOf(0, nameStart);
  const kind = KINDS.get(bytes[nameEnd + 1] as number);
  if (kind === undefined) throw new UnreadableRecord('the blob key is of an unknown kind');
  return {
    account: bytes.toString('latin1', 1, accountEnd),
    containerId: bytes.toString('hex', accountEnd + 1, nameStart),
    name: bytes.toString('utf8', nameStart, nameEnd),
    kind,
    moment: kind === 'blob' || kind === 'staging' ? '' : formatMoment(momentFromBytes(bytes.subarray(nameEnd + 2))),
  };
}

/** Every record of the container's blobs whose names start with `prefix`. */
export function blobRange(account: string, containerId: Id, prefix: string): KeyRange {
  const from = blobNameStart(account, containerId, prefix);
  return { from, to: endOf(from) };
}

/** The first key that a blob of this name, or a longer one, can have. */
export const blobNameStart = (account: string, containerId: Id, name: string): Key =>
  Buffer.concat([Buffer.from(`B${account}\0`), Buffer.from(containerId, 'hex'), Buffer.from(name)]);

/** The first key behind everything that starts with this name. */
export const blobNameEnd = (account: string, containerId: Id, name: string): Key =>
  endOf(blobNameStart(account, containerId, name));

/** Block ids are kept as the text that the client sent: the same bytes in another spelling are another id. */
export const stagedBlockKey = (stagingId: Id, blockId: string): Key =>
  Buffer.concat([idKey('K', stagingId), Buffer.from(blockId)]);

export const stagedBlockIdOf = (key: Key): string => Buffer.from(key.subarray(1 + ID_BYTES)).toString();

export const stagedBlockRange = (stagingId: Id): KeyRange => {
  const from = idKey('K', stagingId);
  return { from, to: endOf(from) };
};

const DUE_BYTES = 6;

export function expiryKey(dueMs: number, stagingId: Id): Key {
  const key = Buffer.allocUnsafe(1 + DUE_BYTES + ID_BYTES);
  key.write('E', 0, 'latin1');
  key.writeUIntBE(dueMs, 1, DUE_BYTES);
  key.write(stagingId, 1 + DUE_BYTES, 'hex');
  return key;
}

export const dueMsOf = (key: Key): number => Buffer.from(key).readUIntBE(1, DUE_BYTES);

/** Everything due at this time or before. */
export const expiryRange = (nowMs: number): KeyRange => ({
  from: Buffer.from('E'),
  to: expiryKey(nowMs + 1, '0'.repeat(2 * ID_BYTES)),
});

const START_BYTES = 6;

export function appendedBlockKey(listId: Id, startBytes: number): Key {
  const key = Buffer.allocUnsafe(1 + ID_BYTES + START_BYTES);
  key.write('A', 0, 'latin1');
  key.write(listId, 1, 'hex');
  key.writeUIntBE(startBytes, 1 + ID_BYTES, START_BYTES);
  return key;
}

export const appendedBlockStartOf = (key: Key): number => Buffer.from(key).readUIntBE(1 + ID_BYTES, START_BYTES);

/** The blocks that start between the two. */
export const appendedBlockRange = (listId: Id, fromBytes: number, toBytes: number): KeyRange => ({
  from: appendedBlockKey(listId, fromBytes),
  to: appendedBlockKey(listId, toBytes),
});

export const appendedListRange = (listId: Id): KeyRange => {
  const from = idKey('A', listId);
  return { from, to: endOf(from) };
};

export const deletedContainerKey = (account: string, container: string, id: Id): Key =>
  Buffer.from(`D${account}\0${container}\0${id}`);

export const deletedContainerRange = (account: string, container: string): KeyRange => {
  const from = Buffer.from(`D${account}\0${container}\0`);
  return { from, to: endOf(from) };
};

/** What a listing of containers walks beside the live ones: from the first id at or after `from` of the name on. */
export function deletedContainersRange(
  account: string,
  prefix: string,
  from: { readonly name: string; readonly id: Id },
): KeyRange {
  const all = Buffer.from(`D${account}\0${prefix}`);
  const start = deletedContainerKey(account, from.name, from.id);
  return { from: Buffer.compare(start, all) > 0 ? start : all, to: endOf(all) };
}

export function parseDeletedContainerKey(key: Key): { readonly name: string; readonly id: Id } {
  const [, name = '', id = ''] = Buffer.from(key).toString().split('\0');
  return { name, id };
}

export const copyJobKey = (id: Id): Key => idKey('J', id);

export const layoutKey = (id: Id): Key => idKey('L', id);
export const extentKey = (extent: ExtentRef): Key => idKey(extent.inline ? 'I' : 'X', extent.id);
export const referencesKey = (id: Id): Key => idKey('R', id);
export const garbageKey = (id: Id): Key => idKey('G', id);
export const idOf = (key: Key): Id => Buffer.from(key.subarray(1, 1 + ID_BYTES)).toString('hex');

const NODE_PREFIX = Buffer.from([VOLATILE_PREFIX, 'N'.charCodeAt(0)]);
const CLAIM_PREFIX = Buffer.from([VOLATILE_PREFIX, 'W'.charCodeAt(0)]);

export const nodeKey = (id: Id): Key => Buffer.concat([NODE_PREFIX, Buffer.from(id, 'hex')]);
export const nodeIdOf = (key: Key): Id => Buffer.from(key.subarray(NODE_PREFIX.length)).toString('hex');
export const nodeRange = (): KeyRange => ({ from: NODE_PREFIX, to: endOf(NODE_PREFIX) });
export const claimKey = (task: string): Key => Buffer.concat([CLAIM_PREFIX, Buffer.from(task)]);

/** A whole table, by its letter. */
export const tableRange = (letter: string): KeyRange => ({ from: Buffer.from(letter), to: endOf(Buffer.from(letter)) });

function idKey(letter: string, id: Id): Key {
  const key = Buffer.allocUnsafe(1 + ID_BYTES);
  key.write(letter, 0, 'latin1');
  key.write(id, 1, 'hex');
  return key;
}

/** Every prefix here starts with a letter or with F0, so it has an end. */
const endOf = (prefix: Key): Key => prefixEnd(prefix) as Key;
