/** What a response carries that has failed ([MS-SMB2] 2.2.2). */

const FIXED_BYTES = 8;

/** In 3.1.1 data stand in a context of their own. */
export function encodeError(data: Uint8Array | null, hasContexts: boolean): Buffer {
  if (data === null) {
    const body = Buffer.alloc(FIXED_BYTES + 1);
    body.writeUInt16LE(FIXED_BYTES + 1, 0);
    return body;
  }
  const head = Buffer.alloc(hasContexts ? FIXED_BYTES + 8 : FIXED_BYTES);
  head.writeUInt16LE(FIXED_BYTES + 1, 0);
  if (hasContexts) {
    head.writeUInt8(1, 2);
    head.writeUInt32LE(data.length, FIXED_BYTES);
  }
  head.writeUInt32LE(head.length - FIXED_BYTES + data.length, 4);
  return Buffer.concat([head, data]);
}
