/** The header of every SMB2 message, 64 bytes ([MS-SMB2] 2.2.1), and the commands. */

export const HEADER_BYTES = 64;
export const SMB2_ID = 0x424d_53fe;
export const TRANSFORM_ID = 0x424d_53fd;
export const SMB1_ID = 0x424d_53ff;

export const CommandCode = {
  NEGOTIATE: 0,
  SESSION_SETUP: 1,
  LOGOFF: 2,
  TREE_CONNECT: 3,
  TREE_DISCONNECT: 4,
  CREATE: 5,
  CLOSE: 6,
  FLUSH: 7,
  READ: 8,
  WRITE: 9,
  LOCK: 0xa,
  IOCTL: 0xb,
  CANCEL: 0xc,
  ECHO: 0xd,
  QUERY_DIRECTORY: 0xe,
  CHANGE_NOTIFY: 0xf,
  QUERY_INFO: 0x10,
  SET_INFO: 0x11,
  OPLOCK_BREAK: 0x12,
} as const;

export type CommandCode = (typeof CommandCode)[keyof typeof CommandCode];

export const FLAG_RESPONSE = 0x1;
export const FLAG_ASYNC = 0x2;
export const FLAG_RELATED = 0x4;
export const FLAG_SIGNED = 0x8;
export const FLAGS_PRIORITY = 0x70;
export const FLAG_REPLAY = 0x2000_0000;

export interface Header {
  readonly creditCharge: number;
  /** Of a response; of a request in 3.x the channel's sequence. */
  readonly status: number;
  readonly command: number;
  /** Asked for, or granted. */
  readonly credits: number;
  readonly flags: number;
  /** Where the next message of a compound begins, counted from this header; 0: this is the last. */
  readonly nextCommand: number;
  readonly messageId: bigint;
  /** Of those with FLAG_ASYNC; they have no tree. */
  readonly asyncId: bigint;
  readonly treeId: number;
  readonly sessionId: bigint;
}

/** Null: no header of SMB2. */
export function decodeHeader(message: Buffer): Header | null {
  if (
    message.length < HEADER_BYTES ||
    message.readUInt32LE(0) !== SMB2_ID ||
    message.readUInt16LE(4) !== HEADER_BYTES
  ) {
    return null;
  }
  return {
    creditCharge: message.readUInt16LE(6),
    status: message.readUInt32LE(8),
    command: message.readUInt16LE(12),
    credits: message.readUInt16LE(14),
    flags: message.readUInt32LE(16),
    nextCommand: message.readUInt32LE(20),
    messageId: message.readBigUInt64LE(24),
    asyncId: message.readBigUInt64LE(32),
    treeId: message.readUInt32LE(36),
    sessionId: message.readBigUInt64LE(40),
  };
}

/** The signature is zeros. */
export function encodeHeader(header: Header): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt32LE(SMB2_ID, 0);
  bytes.writeUInt16LE(HEADER_BYTES, 4);
  bytes.writeUInt16LE(header.creditCharge, 6);
  bytes.writeUInt32LE(header.status, 8);
  bytes.writeUInt16LE(header.command, 12);
  bytes.writeUInt16LE(header.credits, 14);
  bytes.writeUInt32LE(header.flags, 16);
  bytes.writeUInt32LE(header.nextCommand, 20);
  bytes.writeBigUInt64LE(header.messageId, 24);
  if ((header.flags & FLAG_ASYNC) !== 0) bytes.writeBigUInt64LE(header.asyncId, 32);
  else bytes.writeUInt32LE(header.treeId, 36);
  bytes.writeBigUInt64LE(header.sessionId, 40);
  return bytes;
}
