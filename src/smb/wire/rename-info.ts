/**
 * FileRenameInformation and FileRenameInformationEx ([MS-FSCC] 2.4.42.2, 2.4.43): they differ in whether a byte or a word of
 * flags comes first. The structure ends with the name, which may be shorter than its padding to 24 bytes, or have none.
 */
import type { Path } from '../../service/file/load.ts';
import { SmbError, Status } from '../statuses.ts';
import { decodeText } from './message.ts';

const NAME_AT = 20;

const REPLACES = 0x1;
const IGNORES_READ_ONLY = 0x40;

export interface RenameInfo {
  /** From the root of the share. */
  readonly path: Path;
  readonly replaces: boolean;
  readonly ignoresReadOnly: boolean;
}

export function decodeRename(buffer: Buffer): RenameInfo {
  const path = decodePath(buffer);
  return { path, replaces: buffer.readUInt8(0) !== 0, ignoresReadOnly: false };
}

/** That what is replaced may stay open to others (posix semantics) is not offered: then it is refused as ever. */
export function decodeRenameEx(buffer: Buffer): RenameInfo {
  const path = decodePath(buffer);
  const flags = buffer.readUInt32LE(0);
  return { path, replaces: (flags & REPLACES) !== 0, ignoresReadOnly: (flags & IGNORES_READ_ONLY) !== 0 };
}

function decodePath(buffer: Buffer): Path {
  if (buffer.length < NAME_AT) throw new SmbError(Status.INFO_LENGTH_MISMATCH);
  const rootDirectory = buffer.readBigUInt64LE(8);
  const nameBytes = buffer.readUInt32LE(16);
  if (rootDirectory !== 0n || nameBytes === 0 || nameBytes % 2 !== 0 || NAME_AT + nameBytes > buffer.length) {
    throw new SmbError(Status.INVALID_PARAMETER);
  }
  const name = decodeText(buffer.subarray(NAME_AT, NAME_AT + nameBytes));
  return (name.startsWith('\\') ? name.slice(1) : name).split('\\');
}
