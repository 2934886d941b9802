/** TREE_CONNECT ([MS-SMB2] 2.2.9, 2.2.10). */
import { bodyOf, decodeText, partOf, type RequestMessage } from './message.ts';

/** `\\host\share`, as the client wrote it. */
export function decodeTreeConnect(message: RequestMessage): { readonly path: string } {
  const body = bodyOf(message, 9);
  return { path: decodeText(partOf(message, body.readUInt16LE(4), body.readUInt16LE(6))) };
}

const TYPE_DISK = 1;
const TYPE_PIPE = 2;
/** Clients decide by themselves what they keep when they are offline: nothing. */
const FLAG_NO_CACHING = 0x30;

export function encodeTreeConnect({ isPipe, maximalAccess }: { isPipe: boolean; maximalAccess: number }): Buffer {
  const body = Buffer.alloc(16);
  body.writeUInt16LE(16, 0);
  body.writeUInt8(isPipe ? TYPE_PIPE : TYPE_DISK, 2);
  body.writeUInt32LE(isPipe ? FLAG_NO_CACHING : 0, 4);
  body.writeUInt32LE(maximalAccess, 12);
  return body;
}
