/**
 * Where every record lives. A key starts with its table's letter and then follows Azure's own partitioning, so that one
 * container is one contiguous range and its blobs stand in name order:
 *
 *   P account 00 service            service properties
 *   C account 00 container          a container
 *   B account 00 containerId name 00 FF   a blob        (… 00 10: its staged blocks' head)
 *   K stagingId blockId             a staged block
 *   E dueMs stagingId               when to see whether staged blocks have expired
 *   L layoutId                      a committed block list
 *   I extentId                      an extent's bytes, when they are few
 *   X extentId                      where the content store put an extent
 *   G id                            something to sweep
 *   F0 N nodeId                     a node that is alive        (volatile: engine.ts)
 *   F0 W task                       the node that does a task   (volatile)
 *
 * Names never hold a NUL (rules/names.ts), so 00 ends them and sorts before any longer name.
 */
import { prefixEnd } from '../../base/bytes.ts';
import { ID_BYTES, type Id } from '../../base/ids.ts';
import { type Key, type KeyRange, VOLATILE_PREFIX } from '../../engine/engine.ts';
import type { ExtentRef } from './extent-record.ts';

const BLOB_SUFFIX = 0xff;
const STAGING_SUFFIX = 0x10;

export const servicePropertiesKey = (account: string, service: string): Key => Buffer.from(`P${account}\0${service}`);

export const containerKey = (account: string, container: string): Key => Buffer.from(`C${account}\0${container}`);

export const containerNameOf = (key: Key): string => {
  const text = Buffer.from(key).toString();
  return text.slice(text.indexOf('\0') + 1);
};

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
  const account = address.account;
  const nameBytes = Buffer.byteLength(address.name);
  const at = 1 + account.length + 1 + ID_BYTES;
  const blob = Buffer.allocUnsafe(at + nameBytes + 2);
  blob.write(`B${account}\0`, 0, 'latin1');
  blob.write(address.containerId, at - ID_BYTES, 'hex');
  blob.write(address.name, at, 'utf8');
  blob[at + nameBytes] = 0;
  const staging = Buffer.from(blob);
  blob[at + nameBytes + 1] = BLOB_SUFFIX;
  staging[at + nameBytes + 1] = STAGING_SUFFIX;
  return { blob, staging };
}

export type BlobKeyKind = 'blob' | 'staging';

export function parseBlobKey(key: Key): BlobAddress & { kind: BlobKeyKind } {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const accountEnd = bytes.indexOf(0);
  const nameStart = accountEnd + 1 + ID_BYTES;
  const nameEnd = bytes.indexOf(0, nameStart);
  return {
    account: bytes.toString('latin1', 1, accountEnd),
    containerId: bytes.toString('hex', accountEnd + 1, nameStart),
    name: bytes.toString('utf8', nameStart, nameEnd),
    kind: bytes[nameEnd + 1] === BLOB_SUFFIX ? 'blob' : 'staging',
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

/** Everything due at this time or before. */
export const expiryRange = (nowMs: number): KeyRange => ({
  from: Buffer.from('E'),
  to: expiryKey(nowMs + 1, '0'.repeat(2 * ID_BYTES)),
});

export const layoutKey = (id: Id): Key => idKey('L', id);
export const extentKey = (extent: ExtentRef): Key => idKey(extent.inline ? 'I' : 'X', extent.id);
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
