/**
 * Parameters in PostgreSQL's binary form: the client library sends a Buffer as it is, and would turn an array of byte
 * strings into twice its length of text.
 */

const BYTEA_OID = 17;
const BIGINT_OID = 20;
const BIGINT_BYTES = 8;

export function bigint(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(BIGINT_BYTES);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

export const byteaArray = (items: readonly (Uint8Array | null)[]): Buffer => encodeArray(BYTEA_OID, items);

export const bigintArray = (items: readonly (number | null)[]): Buffer =>
  encodeArray(
    BIGINT_OID,
    items.map((item) => (item === null ? null : bigint(item))),
  );

/** One dimension with lower bound 1: flags, type, length, then each item with its own length (-1: null). */
function encodeArray(oid: number, items: readonly (Uint8Array | null)[]): Buffer {
  const dimensions = items.length === 0 ? 0 : 1;
  const lengthBytes = items.reduce((sum, item) => sum + 4 + (item?.length ?? 0), 12 + 8 * dimensions);
  const bytes = Buffer.allocUnsafe(lengthBytes);
  bytes.writeInt32BE(dimensions, 0);
  bytes.writeInt32BE(items.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(oid, 8);
  if (dimensions === 0) return bytes;
  bytes.writeInt32BE(items.length, 12);
  bytes.writeInt32BE(1, 16);
  let at = 20;
  for (const item of items) {
    at = bytes.writeInt32BE(item === null ? -1 : item.length, at);
    if (item === null) continue;
    bytes.set(item, at);
    at += item.length;
  }
  return bytes;
}
