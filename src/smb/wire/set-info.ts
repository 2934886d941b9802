/** SET_INFO ([MS-SMB2] 2.2.39, 2.2.40): what is set, and on what. What the buffer holds is said by the class (set-file-info.ts). */
import { bodyOf, decodeFileId, type FileId, partOf, type RequestMessage } from './message.ts';

export const InfoType = { FILE: 1, FILESYSTEM: 2, SECURITY: 3, QUOTA: 4 } as const;

export interface SetInfoRequest {
  readonly infoType: number;
  readonly infoClass: number;
  /** Of security: which parts of the descriptor. */
  readonly additionalInformation: number;
  readonly fileId: FileId;
  readonly buffer: Buffer;
}

const STRUCTURE_SIZE = 33;

export function decodeSetInfo(message: RequestMessage): SetInfoRequest {
  const body = bodyOf(message, STRUCTURE_SIZE);
  return {
    infoType: body.readUInt8(2),
    infoClass: body.readUInt8(3),
    additionalInformation: body.readUInt32LE(12),
    fileId: decodeFileId(body, 16),
    buffer: partOf(message, body.readUInt16LE(8), body.readUInt32LE(4)),
  };
}

export const SET_INFO_RESPONSE: Uint8Array = Uint8Array.of(2, 0);
