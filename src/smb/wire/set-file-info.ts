/** What can be set of a file or directory, by class ([MS-FSCC] 2.4): the buffer of a SET_INFO, decoded. */
import { SmbError, Status } from '../statuses.ts';
import { type BasicInfo, decodeBasicInfo } from './basic-info.ts';
import { decodeRename, decodeRenameEx, type RenameInfo } from './rename-info.ts';

export type FileSetting =
  | { readonly what: 'basic'; readonly info: BasicInfo }
  | { readonly what: 'rename'; readonly info: RenameInfo }
  | { readonly what: 'disposition'; readonly isMarked: boolean }
  | { readonly what: 'position'; readonly positionBytes: bigint }
  | { readonly what: 'extended attributes'; readonly isEmpty: boolean }
  | { readonly what: 'mode'; readonly mode: number }
  | { readonly what: 'allocation'; readonly allocationBytes: number }
  | { readonly what: 'end of file'; readonly lengthBytes: number }
  | { readonly what: 'valid data length' };

const DELETES = 0x1;
/** That a mapped image is looked at first, which nobody has here. */
const LOOKS_AT_IMAGES = 0x4;

/** Of those that [MS-FSCC] has for setting: others are no classes to set. */
const NOT_SUPPORTED_CLASSES: ReadonlySet<number> = new Set([
  11, // FileLinkInformation
  23, // FilePipeInformation
  40, // FileShortNameInformation
  71, // FileCaseSensitiveInformation
  72, // FileLinkInformationEx
]);

const DECODERS: ReadonlyMap<number, (buffer: Buffer) => FileSetting> = new Map<number, (buffer: Buffer) => FileSetting>(
  [
    [4, (buffer) => ({ what: 'basic', info: decodeBasicInfo(buffer) })],
    [10, (buffer) => ({ what: 'rename', info: decodeRename(buffer) })],
    [13, (buffer) => ({ what: 'disposition', isMarked: sized(buffer, 1).readUInt8(0) !== 0 })],
    [14, (buffer) => ({ what: 'position', positionBytes: positiveAt(buffer) })],
    [15, (buffer) => ({ what: 'extended attributes', isEmpty: buffer.length === 0 })],
    [16, (buffer) => ({ what: 'mode', mode: sized(buffer, 4).readUInt32LE(0) })],
    [19, (buffer) => ({ what: 'allocation', allocationBytes: Number(positiveAt(buffer)) })],
    [20, (buffer) => ({ what: 'end of file', lengthBytes: Number(positiveAt(buffer)) })],
    [39, (buffer) => sized(buffer, 8) && { what: 'valid data length' }],
    [64, decodeDispositionEx],
    [65, (buffer) => ({ what: 'rename', info: decodeRenameEx(buffer) })],
  ],
);

export function decodeFileSetting(infoClass: number, buffer: Buffer): FileSetting {
  const decode = DECODERS.get(infoClass);
  if (decode !== undefined) return decode(buffer);
  throw new SmbError(NOT_SUPPORTED_CLASSES.has(infoClass) ? Status.NOT_SUPPORTED : Status.INVALID_INFO_CLASS);
}

/** What else the flags can ask for clients do without, with FileDispositionInformation, where the class is not known. */
function decodeDispositionEx(buffer: Buffer): FileSetting {
  const flags = sized(buffer, 4).readUInt32LE(0);
  if ((flags & ~(DELETES | LOOKS_AT_IMAGES)) !== 0) throw new SmbError(Status.INVALID_INFO_CLASS);
  return { what: 'disposition', isMarked: (flags & DELETES) !== 0 };
}

function sized(buffer: Buffer, lengthBytes: number): Buffer {
  if (buffer.length < lengthBytes) throw new SmbError(Status.INFO_LENGTH_MISMATCH);
  return buffer;
}

function positiveAt(buffer: Buffer): bigint {
  const value = sized(buffer, 8).readBigInt64LE(0);
  if (value < 0n) throw new SmbError(Status.INVALID_PARAMETER);
  return value;
}
