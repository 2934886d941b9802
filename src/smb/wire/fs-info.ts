/** What clients are told of the volume that a share is to them, by information class ([MS-FSCC] 2.5). */
import { hash } from 'node:crypto';
import type { Id } from '../../base/ids.ts';
import { FILE_NAME_LENGTH_MAX } from '../../rules/file-names.ts';
import type { FileTime } from '../../rules/file-time.ts';
import { type Layout, UNIT_BYTES } from './file-info.ts';
import { ALL_ONES_64 } from './message.ts';

export interface VolumeFacts {
  readonly shareId: Id;
  readonly label: string;
  readonly createdAt: FileTime;
  readonly quotaBytes: number;
  readonly usedBytes: number;
}

export const FsClass = {
  VOLUME: 1,
  SIZE: 3,
  DEVICE: 4,
  ATTRIBUTE: 5,
  CONTROL: 6,
  FULL_SIZE: 7,
  OBJECT_ID: 8,
  SECTOR_SIZE: 11,
} as const;

const SECTOR_BYTES = 512;
const SECTORS_PER_UNIT = UNIT_BYTES / SECTOR_BYTES;
const DEVICE_DISK = 7;
const DEVICE_IS_MOUNTED = 0x20;
const CASE_PRESERVED = 0x2;
const UNICODE_ON_DISK = 0x4;
const PERSISTENT_ACLS = 0x8;
const FILE_SYSTEM = 'NTFS';
/** Aligned on the device and on its partition. */
const SECTORS_ALIGNED = 0x3;
const LABEL_AT = 18;
const FILE_SYSTEM_AT = 12;

/** The same for everything in a share: with the number of a file it names that file. */
export const volumeIdOf = (shareId: Id): bigint => hash('sha256', shareId, 'buffer').readBigUInt64LE(0);

const serialNumberOf = (shareId: Id): number => Number(BigInt.asUintN(32, volumeIdOf(shareId)));

export const FS_LAYOUTS: ReadonlyMap<number, Layout<VolumeFacts>> = new Map<number, Layout<VolumeFacts>>([
  [FsClass.VOLUME, { fixedBytes: 24, encode: encodeVolume }],
  [FsClass.SIZE, { fixedBytes: 24, encode: encodeSize }],
  [FsClass.DEVICE, { fixedBytes: 8, encode: encodeDevice }],
  [FsClass.ATTRIBUTE, { fixedBytes: 16, encode: encodeAttributes }],
  [FsClass.CONTROL, { fixedBytes: 48, encode: encodeControl }],
  [FsClass.FULL_SIZE, { fixedBytes: 32, encode: encodeFullSize }],
  [FsClass.OBJECT_ID, { fixedBytes: 64, encode: encodeObjectId }],
  [FsClass.SECTOR_SIZE, { fixedBytes: 28, encode: encodeSectorSize }],
]);

function encodeVolume({ shareId, label, createdAt }: VolumeFacts): Buffer {
  const name = Buffer.from(label, 'utf16le');
  const bytes = Buffer.alloc(LABEL_AT + name.length);
  bytes.writeBigUInt64LE(BigInt(createdAt), 0);
  bytes.writeUInt32LE(serialNumberOf(shareId), 8);
  bytes.writeUInt32LE(name.length, 12);
  name.copy(bytes, LABEL_AT);
  return bytes;
}

const unitsOf = (lengthBytes: number): bigint => BigInt(Math.max(0, Math.floor(lengthBytes / UNIT_BYTES)));

function encodeSize({ quotaBytes, usedBytes }: VolumeFacts): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.writeBigUInt64LE(unitsOf(quotaBytes), 0);
  bytes.writeBigUInt64LE(unitsOf(quotaBytes - usedBytes), 8);
  bytes.writeUInt32LE(SECTORS_PER_UNIT, 16);
  bytes.writeUInt32LE(SECTOR_BYTES, 20);
  return bytes;
}

/** What is free is free for the caller, and altogether. */
function encodeFullSize({ quotaBytes, usedBytes }: VolumeFacts): Buffer {
  const bytes = Buffer.alloc(32);
  bytes.writeBigUInt64LE(unitsOf(quotaBytes), 0);
  bytes.writeBigUInt64LE(unitsOf(quotaBytes - usedBytes), 8);
  bytes.writeBigUInt64LE(unitsOf(quotaBytes - usedBytes), 16);
  bytes.writeUInt32LE(SECTORS_PER_UNIT, 24);
  bytes.writeUInt32LE(SECTOR_BYTES, 28);
  return bytes;
}

function encodeDevice(): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(DEVICE_DISK, 0);
  bytes.writeUInt32LE(DEVICE_IS_MOUNTED, 4);
  return bytes;
}

function encodeAttributes(): Buffer {
  const name = Buffer.from(FILE_SYSTEM, 'utf16le');
  const bytes = Buffer.alloc(FILE_SYSTEM_AT + name.length);
  bytes.writeUInt32LE(CASE_PRESERVED | UNICODE_ON_DISK | PERSISTENT_ACLS, 0);
  bytes.writeUInt32LE(FILE_NAME_LENGTH_MAX, 4);
  bytes.writeUInt32LE(name.length, 8);
  name.copy(bytes, FILE_SYSTEM_AT);
  return bytes;
}

/** No quotas of users: no limit, and none is kept. */
function encodeControl(): Buffer {
  const bytes = Buffer.alloc(48);
  bytes.writeBigUInt64LE(ALL_ONES_64, 24);
  bytes.writeBigUInt64LE(ALL_ONES_64, 32);
  return bytes;
}

function encodeObjectId({ shareId }: VolumeFacts): Buffer {
  const bytes = Buffer.alloc(64);
  hash('sha256', shareId, 'buffer').copy(bytes, 0, 0, 16);
  return bytes;
}

function encodeSectorSize(): Buffer {
  const bytes = Buffer.alloc(28);
  bytes.writeUInt32LE(SECTOR_BYTES, 0);
  bytes.writeUInt32LE(UNIT_BYTES, 4);
  bytes.writeUInt32LE(UNIT_BYTES, 8);
  bytes.writeUInt32LE(UNIT_BYTES, 12);
  bytes.writeUInt32LE(SECTORS_ALIGNED, 16);
  return bytes;
}
