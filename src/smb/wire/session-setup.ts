/** SESSION_SETUP ([MS-SMB2] 2.2.5, 2.2.6). */
import { bodyOf, partOf, type RequestMessage } from './message.ts';

export const SESSION_FLAG_BINDING = 0x1;
export const SESSION_ENCRYPTS = 0x4;

export interface SessionSetupRequest {
  readonly isBinding: boolean;
  readonly securityMode: number;
  readonly token: Buffer;
  readonly previousSessionId: bigint;
}

export function decodeSessionSetup(message: RequestMessage): SessionSetupRequest {
  const body = bodyOf(message, 25);
  return {
    isBinding: ((body[2] as number) & SESSION_FLAG_BINDING) !== 0,
    securityMode: body[3] as number,
    token: partOf(message, body.readUInt16LE(12), body.readUInt16LE(14)),
    previousSessionId: body.readBigUInt64LE(16),
  };
}

const TOKEN_AT = 72;

export function encodeSessionSetup({ flags, token }: { flags: number; token: Buffer }): Buffer {
  const fixed = Buffer.alloc(8);
  fixed.writeUInt16LE(9, 0);
  fixed.writeUInt16LE(flags, 2);
  fixed.writeUInt16LE(TOKEN_AT, 4);
  fixed.writeUInt16LE(token.length, 6);
  return Buffer.concat([fixed, token]);
}
