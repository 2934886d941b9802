/** QUERY_INFO ([MS-SMB2] 2.2.37); its response is that of QUERY_DIRECTORY. */
import { bodyOf, decodeFileId, type FileId, type RequestMessage } from './message.ts';

export const InfoType = { FILE: 1, FILE_SYSTEM: 2, SECURITY: 3, QUOTA: 4 } as const;

export const OWNER_SECURITY = 0x1;
export const GROUP_SECURITY = 0x2;
export const DACL_SECURITY = 0x4;
export const SACL_SECURITY = 0x8;

export interface QueryInfoRequest {
  readonly infoType: number;
  readonly infoClass: number;
  readonly outputBytesMax: number;
  /** For security: which parts. */
  readonly additional: number;
  readonly fileId: FileId;
}

export function decodeQueryInfo(message: RequestMessage): QueryInfoRequest {
  const body = bodyOf(message, 41);
  return {
    infoType: body.readUInt8(2),
    infoClass: body.readUInt8(3),
    outputBytesMax: body.readUInt32LE(4),
    additional: body.readUInt32LE(16),
    fileId: decodeFileId(body, 24),
  };
}
