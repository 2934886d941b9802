/** Requests of SMB2 put out of order: bits and bytes, values at the edge of their field, lengths and offsets, pieces of others. */
import { CommandCode, HEADER_BYTES } from '../../src/smb/wire/header.ts';
import type { Random } from '../harness/random.ts';

/** Where a request says how long or where something is, or what it is about: from its structure on, with the bytes of the field. */
const FIELDS: Readonly<Record<number, readonly (readonly [at: number, bytes: 1 | 2 | 4 | 8])[]>> = {
  [CommandCode.TREE_CONNECT]: [
    [2, 2],
    [4, 2],
    [6, 2],
  ],
  [CommandCode.CREATE]: [
    [3, 1],
    [4, 4],
    [24, 4],
    [28, 4],
    [32, 4],
    [36, 4],
    [40, 4],
    [44, 2],
    [46, 2],
    [48, 4],
    [52, 4],
  ],
  [CommandCode.CLOSE]: [[2, 2]],
  [CommandCode.READ]: [
    [4, 4],
    [8, 8],
    [32, 4],
    [36, 4],
    [40, 4],
    [44, 2],
    [46, 2],
  ],
  [CommandCode.WRITE]: [
    [2, 2],
    [4, 4],
    [8, 8],
    [32, 4],
    [36, 4],
    [40, 2],
    [42, 2],
    [44, 4],
  ],
  [CommandCode.LOCK]: [
    [2, 2],
    [4, 4],
    [24, 8],
    [32, 8],
    [40, 4],
  ],
  [CommandCode.IOCTL]: [
    [4, 4],
    [24, 4],
    [28, 4],
    [32, 4],
    [36, 4],
    [40, 4],
    [44, 4],
    [48, 4],
  ],
  [CommandCode.QUERY_DIRECTORY]: [
    [2, 1],
    [3, 1],
    [4, 4],
    [24, 2],
    [26, 2],
    [28, 4],
  ],
  [CommandCode.CHANGE_NOTIFY]: [
    [2, 2],
    [4, 4],
    [24, 4],
  ],
  [CommandCode.QUERY_INFO]: [
    [2, 1],
    [3, 1],
    [4, 4],
    [8, 2],
    [12, 4],
    [16, 4],
    [20, 4],
  ],
  [CommandCode.SET_INFO]: [
    [2, 1],
    [3, 1],
    [4, 4],
    [8, 2],
    [12, 4],
  ],
  [CommandCode.OPLOCK_BREAK]: [
    [2, 1],
    [24, 4],
  ],
};

/** Where it names a file. */
const FILE_ID_AT: Readonly<Record<number, number>> = {
  [CommandCode.CLOSE]: 8,
  [CommandCode.FLUSH]: 8,
  [CommandCode.READ]: 16,
  [CommandCode.WRITE]: 16,
  [CommandCode.LOCK]: 8,
  [CommandCode.IOCTL]: 8,
  [CommandCode.QUERY_DIRECTORY]: 8,
  [CommandCode.CHANGE_NOTIFY]: 8,
  [CommandCode.QUERY_INFO]: 24,
  [CommandCode.SET_INFO]: 16,
  [CommandCode.OPLOCK_BREAK]: 8,
};

const NO_FILE_ID = 'ff'.repeat(16);
const FILE_ID_BYTES = 16;

const commandOf = (request: Buffer): number => request.readUInt16LE(12);

/** With the id of a file that is open, where it names one and does not mean that of the request before it. */
export function withFileId(request: Buffer, fileId: Buffer): Buffer {
  const at = HEADER_BYTES + (FILE_ID_AT[commandOf(request)] ?? Number.POSITIVE_INFINITY);
  const endsAt = at + FILE_ID_BYTES;
  if (endsAt > request.length || request.toString('hex', at, endsAt) === NO_FILE_ID) return request;
  const changed = Buffer.from(request);
  fileId.copy(changed, at);
  return changed;
}

/** `isLast`: of its message, so that it may become longer or shorter. `others`: to take pieces from. */
export function mutateBody(
  random: Random,
  request: Buffer,
  { isLast, others }: { isLast: boolean; others: readonly Buffer[] },
): Buffer {
  const changed = Buffer.from(request);
  const choice = random.below(isLast ? 9 : 7);
  if (choice < 3) setField(random, changed);
  else if (choice === 3) flipBit(random, changed, HEADER_BYTES);
  else if (choice === 4) setEdge(random, changed, HEADER_BYTES);
  else if (choice === 5) changed.fill(random.pick([0, 0xff, 0x41]), ...span(random, changed.length));
  else if (choice === 6) splice(random, changed, random.pick(others));
  else if (choice === 7) return changed.subarray(0, HEADER_BYTES + random.below(changed.length - HEADER_BYTES + 1));
  else return Buffer.concat([changed, random.bytes(random.pick([1, 7, 8, 100, 5_000]))]);
  return changed;
}

export function mutateHeader(random: Random, request: Buffer): Buffer {
  const changed = Buffer.from(request);
  if (random.chance(0.5)) flipBit(random, changed, 0, HEADER_BYTES);
  else setEdge(random, changed, 0, HEADER_BYTES);
  return changed;
}

/** Bytes of no known structure. */
export function mutateBytes(random: Random, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const choice = random.below(5);
  if (changed.length === 0 || choice === 0)
    return Buffer.concat([changed, random.bytes(random.pick([1, 8, 100, 3_000]))]);
  if (choice === 1) return changed.subarray(0, random.below(changed.length));
  if (choice === 2) flipBit(random, changed, 0);
  else if (choice === 3) setEdge(random, changed, 0);
  else changed.fill(random.pick([0, 0xff, 0x30]), ...span(random, changed.length, 0));
  return changed;
}

function flipBit(random: Random, bytes: Buffer, from: number, to = bytes.length): void {
  if (to <= from) return;
  const at = from + random.below(to - from);
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << random.below(8)), at);
}

const EDGES_32 = [
  0, 1, 2, 7, 8, 16, 0x7fff, 0x8000, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fff8, 0xffff_ffff,
];

function writeEdge(random: Random, bytes: Buffer, at: number, fieldBytes: number): void {
  const near = [bytes.length, bytes.length - 1, bytes.length + 1, bytes.length - HEADER_BYTES, bytes.length - at];
  const value = random.chance(0.3) ? Math.max(0, random.pick(near)) : random.pick(EDGES_32);
  const low = value % 2 ** (8 * Math.min(fieldBytes, 4));
  bytes.writeUIntLE(low, at, Math.min(fieldBytes, 4));
  if (fieldBytes === 8) bytes.writeUInt32LE(random.pick([0, 0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]), at + 4);
}

function setEdge(random: Random, bytes: Buffer, from: number, to = bytes.length): void {
  const fieldBytes = random.pick([1, 2, 4, 8]);
  const count = Math.floor((to - from) / fieldBytes);
  if (count > 0) writeEdge(random, bytes, from + fieldBytes * random.below(count), fieldBytes);
}

function setField(random: Random, request: Buffer): void {
  const fields = FIELDS[commandOf(request)] ?? [[0, 2] as const];
  const [at, fieldBytes] = random.pick(fields);
  const from = HEADER_BYTES + at;
  if (from + fieldBytes > request.length) return;
  if (random.chance(0.3)) request.writeUIntLE(random.below(0x100), from, 1);
  else writeEdge(random, request, from, fieldBytes);
}

function span(random: Random, lengthBytes: number, from = HEADER_BYTES): [number, number] {
  const at = from + random.below(Math.max(1, lengthBytes - from));
  return [Math.min(at, lengthBytes), Math.min(lengthBytes, at + 1 + random.below(32))];
}

/** A piece of another's body, in the same place or elsewhere. */
function splice(random: Random, request: Buffer, other: Buffer): void {
  const [from, to] = span(random, other.length);
  const at = random.chance(0.5) ? from : span(random, request.length)[0];
  if (at < request.length) other.copy(request, at, from, to);
}
