/** VALIDATE_NEGOTIATE_INFO ([MS-SMB2] 2.2.31.4, 2.2.32.6). */

export const NEGOTIATE_INFO_BYTES = 24;

/** What the client said in NEGOTIATE. */
export interface NegotiateInfo {
  readonly capabilities: number;
  /** 16 bytes, in hex. */
  readonly clientGuid: string;
  readonly securityMode: number;
  readonly dialects: readonly number[];
}

/** Throws RangeError. */
export function decodeNegotiateInfo(input: Buffer): NegotiateInfo {
  const dialectCount = input.readUInt16LE(22);
  return {
    capabilities: input.readUInt32LE(0),
    clientGuid: input.toString('hex', 4, 20),
    securityMode: input.readUInt16LE(20),
    dialects: Array.from({ length: dialectCount }, (_, index) => input.readUInt16LE(24 + 2 * index)),
  };
}

/** What the server answered. */
export function encodeNegotiateInfo(info: {
  readonly capabilities: number;
  readonly serverGuid: Buffer;
  readonly securityMode: number;
  readonly dialect: number;
}): Buffer {
  const output = Buffer.alloc(NEGOTIATE_INFO_BYTES);
  output.writeUInt32LE(info.capabilities, 0);
  info.serverGuid.copy(output, 4, 0, 16);
  output.writeUInt16LE(info.securityMode, 20);
  output.writeUInt16LE(info.dialect, 22);
  return output;
}
