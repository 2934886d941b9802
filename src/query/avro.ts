/**
 * Avro's binary encoding and its object container file, as far as the answer to a query needs them: a head with the
 * schema, then blocks of records, each with a count, a length and the marker that the head announced.
 * https://avro.apache.org/docs/1.11.1/specification/#object-container-files
 */

const MAGIC = Buffer.from([0x4f, 0x62, 0x6a, 0x01]);
export const SYNC_MARKER_BYTES = 16;

/** Zig-zag, seven bits to a byte, lowest first. Takes safe integers. */
export function encodeLong(value: number): Buffer {
  const bytes: number[] = [];
  // Beyond 31 bits, bit operations lose what they do not see.
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  if (!Number.isSafeInteger(rest)) return encodeBigLong(BigInt(value));
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

function encodeBigLong(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value < 0n ? -2n * value - 1n : 2n * value;
  while (rest >= 0x80n) {
    bytes.push(Number(rest % 0x80n) | 0x80);
    rest /= 0x80n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

export const encodeBytes = (bytes: Uint8Array): Buffer => Buffer.concat([encodeLong(bytes.length), bytes]);

export const encodeString = (text: string): Buffer => encodeBytes(Buffer.from(text));

export const encodeBoolean = (value: boolean): Buffer => Buffer.from([value ? 1 : 0]);

/** What stands at the start of the file. */
export function encodeFileHead(schema: string, syncMarker: Uint8Array): Buffer {
  const metadata = [
    encodeString('avro.schema'),
    encodeString(schema),
    encodeString('avro.codec'),
    encodeString('null'),
  ];
  return Buffer.concat([MAGIC, encodeLong(metadata.length / 2), ...metadata, encodeLong(0), syncMarker]);
}

export function encodeBlock(records: readonly Uint8Array[], syncMarker: Uint8Array): Buffer {
  const lengthBytes = records.reduce((sum, record) => sum + record.length, 0);
  return Buffer.concat([encodeLong(records.length), encodeLong(lengthBytes), ...records, syncMarker]);
}
