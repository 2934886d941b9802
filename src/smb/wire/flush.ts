/** FLUSH ([MS-SMB2] 2.2.17): its response says nothing. */
import { bodyOf, decodeFileId, type FileId, type RequestMessage } from './message.ts';

export interface FlushRequest {
  readonly fileId: FileId;
}

export const decodeFlush = (message: RequestMessage): FlushRequest => ({
  fileId: decodeFileId(bodyOf(message, 24), 8),
});
