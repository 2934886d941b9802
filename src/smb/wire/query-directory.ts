/** QUERY_DIRECTORY ([MS-SMB2] 2.2.33, 2.2.34). */
import { HEADER_BYTES } from './header.ts';
import { bodyOf, decodeFileId, decodeText, type FileId, partOf, type RequestMessage } from './message.ts';

export const RESTART_SCANS = 0x1;
export const RETURN_SINGLE_ENTRY = 0x2;
export const REOPEN = 0x10;

export interface QueryDirectoryRequest {
  readonly infoClass: number;
  readonly flags: number;
  readonly fileId: FileId;
  /** Empty: not said. */
  readonly pattern: string;
  readonly outputBytesMax: number;
}

export function decodeQueryDirectory(message: RequestMessage): QueryDirectoryRequest {
  const body = bodyOf(message, 33);
  return {
    infoClass: body.readUInt8(2),
    flags: body.readUInt8(3),
    fileId: decodeFileId(body, 8),
    pattern: decodeText(partOf(message, body.readUInt16LE(24), body.readUInt16LE(26))),
    outputBytesMax: body.readUInt32LE(28),
  };
}

const OUTPUT_HEAD_BYTES = 8;

/** What stands before the output, of QUERY_INFO as well. */
export function encodeOutputHead(outputBytes: number): Buffer {
  const head = Buffer.alloc(OUTPUT_HEAD_BYTES);
  head.writeUInt16LE(OUTPUT_HEAD_BYTES + 1, 0);
  head.writeUInt16LE(HEADER_BYTES + OUTPUT_HEAD_BYTES, 2);
  head.writeUInt32LE(outputBytes, 4);
  return head;
}
