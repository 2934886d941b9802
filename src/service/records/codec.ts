/**
 * How records become bytes: one byte for the format, then JSON. JSON, because records are small, read by people with
 * `larimar check`, and grow fields over the years; what must be compact (block lists, extents) has codecs of its own.
 */
const JSON_FORMAT = 1;

export function encodeJson(record: object): Uint8Array {
  const text = JSON.stringify(record);
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  bytes[0] = JSON_FORMAT;
  bytes.write(text, 1);
  return bytes;
}

export function decodeJson<T>(value: Uint8Array): T {
  if (value[0] !== JSON_FORMAT) throw new UnreadableRecord(`unknown record format ${value[0]}`);
  try {
    return JSON.parse(Buffer.from(value.buffer, value.byteOffset + 1, value.byteLength - 1).toString()) as T;
  } catch (error) {
    throw new UnreadableRecord('the record is not JSON', { cause: error });
  }
}

/** Bytes in the store that this release cannot read: damage, or a newer release's work. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
}
