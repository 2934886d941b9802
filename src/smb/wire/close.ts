/** CLOSE ([MS-SMB2] 2.2.15, 2.2.16). */
import { type FileSummary, writeSummary } from './create.ts';
import { bodyOf, decodeFileId, type FileId, type RequestMessage } from './message.ts';

const POSTQUERY_ATTRIBUTES = 0x1;

export interface CloseRequest {
  readonly fileId: FileId;
  /** Whether the client wants to be told what it leaves. */
  readonly asksForAttributes: boolean;
}

export function decodeClose(message: RequestMessage): CloseRequest {
  const body = bodyOf(message, 24);
  return {
    asksForAttributes: (body.readUInt16LE(2) & POSTQUERY_ATTRIBUTES) !== 0,
    fileId: decodeFileId(body, 8),
  };
}

/** Null: nothing is told. */
export function encodeClose(summary: FileSummary | null): Buffer {
  const body = Buffer.alloc(60);
  body.writeUInt16LE(60, 0);
  if (summary === null) return body;
  body.writeUInt16LE(POSTQUERY_ATTRIBUTES, 2);
  writeSummary(body, summary, 8);
  return body;
}
