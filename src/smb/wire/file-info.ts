/**
 * What clients are told of a file or directory, by information class ([MS-FSCC] 2.4), and the values in it that other
 * responses have too: times, attributes, sizes.
 */
import type { FileTime } from '../../rules/file-time.ts';
import type { NodeId } from '../../service/records/node-record.ts';

const ATTRIBUTE_NORMAL = 0x80;

/** What files are said to take is in multiples of this (fs-info.ts). */
export const UNIT_BYTES = 4096;

export const TIMES_BYTES = 32;

export interface NodeTimes {
  readonly createdAt: FileTime;
  /** Absent: when it was written. */
  readonly accessedAt?: FileTime;
  readonly writtenAt: FileTime;
  readonly changedAt: FileTime;
}

/** What the layouts need of a file or directory. */
export interface NodeFacts extends NodeTimes {
  readonly id: NodeId;
  readonly kind: 'file' | 'directory';
  readonly attributes: number;
  /** Of files. */
  readonly lengthBytes?: number;
}

/** Creation, last access, last write, change. */
export function writeTimes(
  bytes: Buffer,
  { createdAt, accessedAt, writtenAt, changedAt }: NodeTimes,
  at: number,
): void {
  bytes.writeBigUInt64LE(BigInt(createdAt), at);
  bytes.writeBigUInt64LE(BigInt(accessedAt ?? writtenAt), at + 8);
  bytes.writeBigUInt64LE(BigInt(writtenAt), at + 16);
  bytes.writeBigUInt64LE(BigInt(changedAt), at + 24);
}

/** None at all have a bit of their own. */
export const attributesOf = ({ attributes }: Pick<NodeFacts, 'attributes'>): number => attributes || ATTRIBUTE_NORMAL;

export const endOfFile = ({ lengthBytes = 0 }: Pick<NodeFacts, 'lengthBytes'>): number => lengthBytes;

/** In whole units. */
export const allocationOf = (lengthBytes: number): number => Math.ceil(lengthBytes / UNIT_BYTES) * UNIT_BYTES;

/** What a client has asked for beyond what there is. */
export interface Reserved {
  readonly reservedBytes: number;
}

/** What a file is said to take. */
export const allocationBytes = (node: Pick<NodeFacts, 'lengthBytes'>, { reservedBytes }: Reserved): number =>
  Math.max(allocationOf(endOfFile(node)), reservedBytes);

/** The number that REST knows as the file's id. */
export const indexNumberOf = ({ id }: Pick<NodeFacts, 'id'>): bigint => BigInt(`0x${id}`);

export function writeLength(bytes: Buffer, length: number, at: number): void {
  bytes.writeBigUInt64LE(BigInt(length), at);
}

/** Something open, as the classes tell of it. */
export interface FileFacts extends Reserved {
  readonly node: NodeFacts;
  /** From the root. */
  readonly path: readonly string[];
  /** Marked for deletion. */
  readonly isPending: boolean;
  /** Of the open. */
  readonly access: number;
  readonly mode: number;
  readonly positionBytes: bigint;
  /** Of the share (fs-info.ts). */
  readonly volumeId: bigint;
}

export const FileClass = {
  BASIC: 4,
  STANDARD: 5,
  INTERNAL: 6,
  EA: 7,
  ACCESS: 8,
  NAME: 9,
  POSITION: 14,
  FULL_EA: 15,
  MODE: 16,
  ALIGNMENT: 17,
  ALL: 18,
  ALTERNATE_NAME: 21,
  STREAM: 22,
  PIPE: 23,
  PIPE_LOCAL: 24,
  PIPE_REMOTE: 25,
  COMPRESSION: 28,
  OBJECT_ID: 29,
  REPARSE_POINT: 33,
  NETWORK_OPEN: 34,
  ATTRIBUTE_TAG: 35,
  HARD_LINK: 46,
  NORMALIZED_NAME: 48,
  ID: 59,
} as const;

export interface Layout<Facts> {
  /** What a client must have room for at least. */
  readonly fixedBytes: number;
  readonly encode: (facts: Facts) => Buffer;
}

/** Those of the options of a CREATE that are a mode. */
const MODE_BITS = 0x103e;
const BASIC_BYTES = 40;
const STANDARD_BYTES = 24;
/** Where the parts of ALL lie. */
const ALL_STANDARD_AT = 40;
const ALL_INTERNAL_AT = 64;
const ALL_ACCESS_AT = 76;
const ALL_POSITION_AT = 80;
const ALL_MODE_AT = 88;
const ALL_NAME_LENGTH_AT = 96;
const NAME_FIXED_BYTES = 8;
const MAIN_STREAM = '::$DATA';
const STREAM_NAME_AT = 24;

const layout = <Facts>(fixedBytes: number, write: (bytes: Buffer, facts: Facts) => void): Layout<Facts> => ({
  fixedBytes,
  encode(facts) {
    const bytes = Buffer.alloc(fixedBytes);
    write(bytes, facts);
    return bytes;
  },
});

export const FILE_LAYOUTS: ReadonlyMap<number, Layout<FileFacts>> = new Map<number, Layout<FileFacts>>([
  [FileClass.BASIC, layout(BASIC_BYTES, (bytes, { node }) => writeBasic(bytes, node, 0))],
  [FileClass.STANDARD, layout(STANDARD_BYTES, (bytes, facts) => writeStandard(bytes, facts, 0))],
  [FileClass.INTERNAL, layout(8, (bytes, { node }) => bytes.writeBigUInt64LE(indexNumberOf(node), 0))],
  [FileClass.EA, layout(4, () => {})],
  [FileClass.ACCESS, layout(4, (bytes, { access }) => bytes.writeUInt32LE(access, 0))],
  [FileClass.POSITION, layout(8, (bytes, { positionBytes }) => bytes.writeBigUInt64LE(positionBytes, 0))],
  [FileClass.MODE, layout(4, (bytes, { mode }) => bytes.writeUInt32LE(mode & MODE_BITS, 0))],
  [FileClass.ALIGNMENT, layout(4, () => {})],
  [FileClass.ALL, { fixedBytes: 104, encode: encodeAll }],
  // A name that is none: clients that ask for it ask for everything else after it.
  [FileClass.ALTERNATE_NAME, { fixedBytes: NAME_FIXED_BYTES, encode: () => encodeName('') }],
  [FileClass.STREAM, { fixedBytes: 32, encode: encodeStreams }],
  [FileClass.COMPRESSION, layout(16, (bytes, { node }) => writeLength(bytes, endOfFile(node), 0))],
  [FileClass.NETWORK_OPEN, layout(56, writeNetworkOpen)],
  [FileClass.ATTRIBUTE_TAG, layout(8, (bytes, { node }) => bytes.writeUInt32LE(attributesOf(node), 0))],
  [FileClass.NORMALIZED_NAME, { fixedBytes: NAME_FIXED_BYTES, encode: ({ path }) => encodeName(path.join('\\')) }],
  [FileClass.ID, layout(24, writeId)],
]);

function writeBasic(bytes: Buffer, node: NodeFacts, at: number): void {
  writeTimes(bytes, node, at);
  bytes.writeUInt32LE(attributesOf(node), at + TIMES_BYTES);
}

function writeStandard(bytes: Buffer, facts: FileFacts, at: number): void {
  const { node, isPending } = facts;
  writeLength(bytes, allocationBytes(node, facts), at);
  writeLength(bytes, endOfFile(node), at + 8);
  bytes.writeUInt32LE(isPending ? 0 : 1, at + 16);
  bytes.writeUInt8(Number(isPending), at + 20);
  bytes.writeUInt8(Number(node.kind === 'directory'), at + 21);
}

function encodeAll(facts: FileFacts): Buffer {
  const { node, path, access, positionBytes, mode } = facts;
  const name = Buffer.from(`\\${path.join('\\')}`, 'utf16le');
  const bytes = Buffer.alloc(ALL_NAME_LENGTH_AT + 4 + name.length);
  writeBasic(bytes, node, 0);
  writeStandard(bytes, facts, ALL_STANDARD_AT);
  bytes.writeBigUInt64LE(indexNumberOf(node), ALL_INTERNAL_AT);
  bytes.writeUInt32LE(access, ALL_ACCESS_AT);
  bytes.writeBigUInt64LE(positionBytes, ALL_POSITION_AT);
  bytes.writeUInt32LE(mode & MODE_BITS, ALL_MODE_AT);
  bytes.writeUInt32LE(name.length, ALL_NAME_LENGTH_AT);
  name.copy(bytes, ALL_NAME_LENGTH_AT + 4);
  return bytes;
}

/** A file has one, a directory none. */
function encodeStreams(facts: FileFacts): Buffer {
  const { node } = facts;
  if (node.kind === 'directory') return Buffer.alloc(0);
  const name = Buffer.from(MAIN_STREAM, 'utf16le');
  const bytes = Buffer.alloc(STREAM_NAME_AT + name.length);
  bytes.writeUInt32LE(name.length, 4);
  writeLength(bytes, endOfFile(node), 8);
  writeLength(bytes, allocationBytes(node, facts), 16);
  name.copy(bytes, STREAM_NAME_AT);
  return bytes;
}

function writeNetworkOpen(bytes: Buffer, facts: FileFacts): void {
  const { node } = facts;
  writeTimes(bytes, node, 0);
  writeLength(bytes, allocationBytes(node, facts), 32);
  writeLength(bytes, endOfFile(node), 40);
  bytes.writeUInt32LE(attributesOf(node), 48);
}

function encodeName(text: string): Buffer {
  const name = Buffer.from(text, 'utf16le');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(name.length, 0);
  return Buffer.concat([length, name]);
}

function writeId(bytes: Buffer, { node, volumeId }: FileFacts): void {
  bytes.writeBigUInt64LE(volumeId, 0);
  bytes.writeBigUInt64LE(indexNumberOf(node), 8);
}

/** A pipe has no size, and is gone once it is closed. */
export function encodePipeStandard(): Buffer {
  const bytes = Buffer.alloc(STANDARD_BYTES);
  writeLength(bytes, UNIT_BYTES, 0);
  bytes.writeUInt32LE(1, 16);
  bytes.writeUInt8(1, 20);
  return bytes;
}
