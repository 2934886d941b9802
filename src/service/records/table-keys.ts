/**
 * Where tables and entities live:
 *
 *   t account 00 name           a table, under its name in lower case
 *   e account 00 tableId partitionKey 00 rowKey    an entity
 *
 * Entities stand in the order of queries: by partition key, then by row key, code unit by code unit of UTF-16. UTF-8 has
 * another order only for characters beyond U+FFFF, whose halves are therefore written one by one, three bytes each
 * (CESU-8). No key holds a NUL (rules/entity.ts), so 00 ends a partition key and sorts before any longer one.
 */
import { asBuffer, prefixEnd } from '../../base/bytes.ts';
import { ID_BYTES, type Id } from '../../base/ids.ts';
import type { Key, KeyRange } from '../../engine/engine.ts';
import type { EntityKey } from '../../rules/edm.ts';

export interface TableAddress {
  readonly account: string;
  readonly tableId: Id;
}

export const tableKey = (account: string, table: string): Key => Buffer.from(`t${account}\0${table.toLowerCase()}`);

/** The account's tables from this name (in lower case) on. */
export const tablesRange = (account: string, from: string): KeyRange => ({
  from: tableKey(account, from),
  to: prefixEnd(Buffer.from(`t${account}\0`)) as Key,
});

export function entityKey({ account, tableId }: TableAddress, { partitionKey, rowKey }: EntityKey): Key {
  const at = 1 + account.length + 1 + ID_BYTES;
  const partitionBytes = keyBytes(partitionKey);
  const key = Buffer.allocUnsafe(at + partitionBytes + 1 + keyBytes(rowKey));
  key.write(`e${account}\0`, 0, 'latin1');
  key.write(tableId, at - ID_BYTES, 'hex');
  writeKey(key, partitionKey, at);
  key[at + partitionBytes] = 0;
  writeKey(key, rowKey, at + partitionBytes + 1);
  return key;
}

/** Every entity of a table. */
export function entitiesRange({ account, tableId }: TableAddress): KeyRange {
  const from = Buffer.concat([Buffer.from(`e${account}\0`, 'latin1'), Buffer.from(tableId, 'hex')]);
  return { from, to: prefixEnd(from) as Key };
}

/** The first key behind every entity of a partition. */
export function partitionEnd(address: TableAddress, partitionKey: string): Key {
  const end = Buffer.from(entityKey(address, { partitionKey, rowKey: '' }));
  end[end.length - 1] = 1;
  return end;
}

export const entityTableIdOf = (key: Key): Id => {
  const bytes = asBuffer(key);
  const start = bytes.indexOf(0) + 1;
  return bytes.toString('hex', start, start + ID_BYTES);
};

export function parseEntityKey(key: Key): EntityKey {
  const bytes = asBuffer(key);
  const start = partitionStartOf(bytes);
  const end = partitionEndOf(bytes, start);
  return { partitionKey: readKey(bytes, start, end), rowKey: readKey(bytes, end + 1, bytes.length) };
}

/** Where the partition key begins in the key of an entity. */
export const partitionStartOf = (key: Key): number => key.indexOf(0) + 1 + ID_BYTES;

/** Where it ends: at a NUL, behind which the row key stands to the end. */
export const partitionEndOf = (key: Key, partitionStart: number): number => key.indexOf(0, partitionStart);

/** Where the two keys stand, in UTF-8. */
export interface KeyBytes {
  readonly bytes: Uint8Array;
  readonly partitionStart: number;
  readonly partitionEnd: number;
  readonly rowStart: number;
  readonly rowEnd: number;
}

/** In the record's own key, where that is UTF-8 already. */
export function keyBytesOf(key: Key): KeyBytes {
  if (key.includes(SURROGATE_LEAD_BYTE)) return keyBytesOfTexts(parseEntityKey(key));
  const partitionStart = partitionStartOf(key);
  const partitionEnd = partitionEndOf(key, partitionStart);
  return { bytes: key, partitionStart, partitionEnd, rowStart: partitionEnd + 1, rowEnd: key.length };
}

export function keyBytesOfTexts({ partitionKey, rowKey }: EntityKey): KeyBytes {
  const bytes = Buffer.from(partitionKey + rowKey);
  const partitionEnd = Buffer.byteLength(partitionKey);
  return { bytes, partitionStart: 0, partitionEnd, rowStart: partitionEnd, rowEnd: bytes.length };
}

const SURROGATES = /[\ud800-\udfff]/;
const SURROGATE_LEAD_BYTE = 0xed;

/** The bytes that a partition or row key of this text has, which sort as texts do. */
export function encodeKeyText(text: string): Buffer {
  const bytes = Buffer.allocUnsafe(keyBytes(text));
  writeKey(bytes, text, 0);
  return bytes;
}

function keyBytes(text: string): number {
  const bytes = Buffer.byteLength(text);
  // UTF-8 has four bytes for a pair, and here it has six.
  return bytes > text.length && SURROGATES.test(text) ? bytes + (text.match(PAIRS)?.length ?? 0) * 2 : bytes;
}

const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

function writeKey(key: Buffer, text: string, at: number): void {
  if (!SURROGATES.test(text)) {
    key.write(text, at, 'utf8');
    return;
  }
  let place = at;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0xd800 || unit > 0xdfff) place += key.write(text.charAt(index), place, 'utf8');
    else {
      key[place++] = SURROGATE_LEAD_BYTE;
      key[place++] = 0x80 | ((unit >> 6) & 0x3f);
      key[place++] = 0x80 | (unit & 0x3f);
    }
  }
}

function readKey(bytes: Buffer, start: number, end: number): string {
  const lead = bytes.indexOf(SURROGATE_LEAD_BYTE, start);
  if (lead < 0 || lead >= end) return bytes.toString('utf8', start, end);
  let text = '';
  for (let at = start; at < end; ) {
    const byte = bytes[at] as number;
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : 3;
    text += String.fromCharCode(codeUnitAt(bytes, at, length));
    at += length;
  }
  return text;
}

function codeUnitAt(bytes: Buffer, at: number, length: number): number {
  const [first = 0, second = 0, third = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]];
  if (length === 1) return first;
  if (length === 2) return ((first & 0x1f) << 6) | (second & 0x3f);
  return ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
}
