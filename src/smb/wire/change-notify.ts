/** CHANGE_NOTIFY ([MS-SMB2] 2.2.35, 2.2.36), and FILE_NOTIFY_INFORMATION, of which its answer is made ([MS-FSCC] 2.7.1). */
import type { ChangeKind, ToldChange } from '../../rules/file-change.ts';
import { HEADER_BYTES } from './header.ts';
import { bodyOf, decodeFileId, encodeText, type FileId, type RequestMessage } from './message.ts';

const FLAG_WATCH_TREE = 0x1;

const RESPONSE_BYTES = 8;
/** Before the name. */
const RECORD_BYTES = 12;
const RECORD_ALIGNMENT_BYTES = 4;

const ACTIONS: Readonly<Record<ChangeKind, number>> = {
  added: 1,
  removed: 2,
  modified: 3,
  'renamed from': 4,
  'renamed to': 5,
};

export interface ChangeNotifyRequest {
  readonly fileId: FileId;
  /** Everything below the directory, and not only what is in it. */
  readonly isTree: boolean;
  readonly filter: number;
  readonly outputBytesMax: number;
}

export function decodeChangeNotify(message: RequestMessage): ChangeNotifyRequest {
  const body = bodyOf(message, 32);
  return {
    isTree: (body.readUInt16LE(2) & FLAG_WATCH_TREE) !== 0,
    outputBytesMax: body.readUInt32LE(4),
    fileId: decodeFileId(body, 8),
    filter: body.readUInt32LE(24),
  };
}

/** What a change takes of the client's buffer. */
export const toldBytesOf = (change: ToldChange): number => aligned(RECORD_BYTES + 2 * nameOf(change).length);

/** Without changes: the client has to look for itself, or the watch has ended. */
export function encodeChangeNotify(changes: readonly ToldChange[]): Buffer {
  const records = changes.map((change, index) => encodeRecord(change, index === changes.length - 1));
  const output = Buffer.concat(records);
  const response = Buffer.alloc(RESPONSE_BYTES);
  response.writeUInt16LE(9, 0);
  response.writeUInt16LE(HEADER_BYTES + RESPONSE_BYTES, 2);
  response.writeUInt32LE(output.length, 4);
  return Buffer.concat([response, output]);
}

function encodeRecord(change: ToldChange, isLast: boolean): Buffer {
  const name = encodeText(nameOf(change));
  const lengthBytes = RECORD_BYTES + name.length;
  const record = Buffer.alloc(isLast ? lengthBytes : aligned(lengthBytes));
  record.writeUInt32LE(isLast ? 0 : record.length, 0);
  record.writeUInt32LE(ACTIONS[change.kind], 4);
  record.writeUInt32LE(name.length, 8);
  name.copy(record, RECORD_BYTES);
  return record;
}

const nameOf = ({ path }: ToldChange): string => path.join('\\');

const aligned = (lengthBytes: number): number =>
  Math.ceil(lengthBytes / RECORD_ALIGNMENT_BYTES) * RECORD_ALIGNMENT_BYTES;
