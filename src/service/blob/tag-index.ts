/**
 * Which blobs have which tags, for Find Blobs by Tags. Every tag of a blob has two rows, one to be found by in the whole
 * account and one in its container, written in the commit that changes the tags, so that the index is never behind:
 *
 *   T account 00 scope (12 bytes: zeros, or the container's id) tag 00 value 00 containerId name
 *
 * Tags have no NUL in them (rules/tags.ts), so values sort as text does.
 */
import { ID_BYTES, type Id } from '../../base/ids.ts';
import type { Key } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { Tags } from '../../rules/tags.ts';
import type { BlobAddress } from '../records/keys.ts';

const WHOLE_ACCOUNT: Id = '0'.repeat(2 * ID_BYTES);
const NOTHING = new Uint8Array(0);

export function indexTags(
  tx: Transaction,
  address: BlobAddress,
  { before = [], after = [] }: { before: Tags | undefined; after: Tags | undefined },
): void {
  if (before === after) return;
  for (const tag of before) if (!isIn(after, tag)) for (const key of tagKeys(address, tag)) tx.delete(key);
  for (const tag of after) if (!isIn(before, tag)) for (const key of tagKeys(address, tag)) tx.put(key, NOTHING);
}

const isIn = (tags: Tags, [name, value]: Tags[number]): boolean =>
  tags.some(([otherName, otherValue]) => otherName === name && otherValue === value);

/** The two rows of one tag of a blob. */
export const tagKeys = (address: BlobAddress, [name, value]: Tags[number]): Key[] =>
  [WHOLE_ACCOUNT, address.containerId].map((scope) =>
    Buffer.concat([
      tagPrefix(address.account, scope, name),
      Buffer.from(`${value}\0`),
      Buffer.from(address.containerId, 'hex'),
      Buffer.from(address.name),
    ]),
  );

/** What all rows of one tag begin with; its values follow. `containerId`: null for the whole account. */
export const tagPrefix = (account: string, containerId: Id | null, name: string): Buffer =>
  Buffer.concat([
    Buffer.from(`T${account}\0`),
    Buffer.from(containerId ?? WHOLE_ACCOUNT, 'hex'),
    Buffer.from(`${name}\0`),
  ]);

export interface TagRow {
  readonly account: string;
  readonly containerId: Id;
  readonly blob: string;
  readonly tag: string;
  readonly value: string;
}

export function parseTagKey(key: Key): TagRow {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const accountEnd = bytes.indexOf(0);
  const tagStart = accountEnd + 1 + ID_BYTES;
  const tagEnd = bytes.indexOf(0, tagStart);
  const valueEnd = bytes.indexOf(0, tagEnd + 1);
  const blobStart = valueEnd + 1 + ID_BYTES;
  return {
    account: bytes.toString('latin1', 1, accountEnd),
    containerId: bytes.toString('hex', valueEnd + 1, blobStart),
    blob: bytes.toString('utf8', blobStart),
    tag: bytes.toString('utf8', tagStart, tagEnd),
    value: bytes.toString('utf8', tagEnd + 1, valueEnd),
  };
}
