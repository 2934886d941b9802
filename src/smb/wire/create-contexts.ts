/**
 * Create contexts ([MS-SMB2] 2.2.13.2, 2.2.14.2): what a CREATE asks for beside the open itself, and what it is answered. Those
 * that are not known here are passed over. What a context is worth beside others the command decides.
 */
import { decodeFileId, type FileId, Malformed } from './message.ts';

export interface LeaseContext {
  readonly version: 1 | 2;
  /** 16 bytes, in hex; so is the parent's. */
  readonly key: string;
  /** Bits: 1 R, 2 H, 4 W. */
  readonly state: number;
  readonly flags: number;
  /** Version 2 only. */
  readonly parentKey: string;
  readonly epoch: number;
}

export const LEASE_BREAK_IN_PROGRESS = 0x2;
export const LEASE_PARENT_KEY_SET = 0x4;

/** DHnQ and DH2Q. */
export type DurableContext =
  | { readonly version: 1 }
  /** 0 ms: as long as the server likes. `createGuid`: 16 bytes, in hex. */
  | { readonly version: 2; readonly timeoutMs: number; readonly createGuid: string };

/** DHnC and DH2C. */
export type ReconnectContext =
  | { readonly version: 1; readonly fileId: FileId }
  | { readonly version: 2; readonly fileId: FileId; readonly createGuid: string };

/** Null: not there. */
export interface CreateContexts {
  readonly durable: DurableContext | null;
  readonly reconnect: ReconnectContext | null;
  readonly lease: LeaseContext | null;
  /** MxAc. `writtenAt`: nothing is asked for if it was written then; null: it is, in any case. */
  readonly maximalAccess: { readonly writtenAt: bigint | null } | null;
  /** QFid. */
  readonly asksForDiskId: boolean;
  /** AlSi. */
  readonly allocationBytes: bigint | null;
  /** TWrp: ticks since 1601. */
  readonly snapshotAt: bigint | null;
  /** SecD. */
  readonly descriptor: Buffer | null;
  /** ExtA: whether there is one that is not empty. */
  readonly hasExtendedAttributes: boolean;
  /** SMB2_CREATE_APP_INSTANCE_ID: 16 bytes, in hex. */
  readonly appInstanceId: string | null;
}

const NAME_LENGTH_MIN = 4;
const ENTRY_BYTES = 16;

/** Later contexts have ids for names. */
const APP_INSTANCE_ID = Buffer.from('45bca66aefa7f74a9008fa462e144d74', 'hex').toString('latin1');

export function decodeContexts(bytes: Buffer): CreateContexts {
  const entries = entriesOf(bytes);
  const [v1, v2] = [entries.get('DHnQ'), entries.get('DH2Q')];
  const [again1, again2] = [entries.get('DHnC'), entries.get('DH2C')];
  // The second version goes with nothing else of the kind.
  if ((v2 !== undefined || again2 !== undefined) && [v1, v2, again1, again2].filter(Boolean).length > 1) {
    throw new Malformed('contexts that exclude each other');
  }
  return {
    durable: v1 === undefined ? map(v2, decodeDurable2) : map(v1, decodeDurable1),
    reconnect: again1 === undefined ? map(again2, decodeReconnect2) : map(again1, decodeReconnect1),
    lease: map(entries.get('RqLs'), decodeLease),
    maximalAccess: map(entries.get('MxAc'), (data) => ({
      writtenAt: sized(data, 0, 8).length === 0 ? null : data.readBigUInt64LE(0),
    })),
    asksForDiskId: entries.has('QFid'),
    allocationBytes: map(entries.get('AlSi'), (data) => sized(data, 8).readBigUInt64LE(0)),
    snapshotAt: map(entries.get('TWrp'), (data) => sized(data, 8).readBigUInt64LE(0)),
    descriptor: entries.get('SecD') ?? null,
    hasExtendedAttributes: (entries.get('ExtA')?.length ?? 0) > 0,
    appInstanceId: map(entries.get(APP_INSTANCE_ID), (data) => sized(data, 20).toString('hex', 4, 20)),
  };
}

const map = <T>(data: Buffer | undefined, decode: (data: Buffer) => T): T | null =>
  data === undefined ? null : decode(data);

function sized(data: Buffer, ...allowed: readonly number[]): Buffer {
  if (!allowed.includes(data.length)) throw new Malformed('a context of this length');
  return data;
}

function entriesOf(bytes: Buffer): Map<string, Buffer> {
  const entries = new Map<string, Buffer>();
  if (bytes.length === 0) return entries;
  for (let at = 0; ; ) {
    const next = bytes.readUInt32LE(at);
    const entry = bytes.subarray(at, next === 0 ? bytes.length : at + next);
    if (next !== 0 && (next % 8 !== 0 || at + next >= bytes.length)) throw new Malformed('Next');
    const name = within(entry, entry.readUInt16LE(4), entry.readUInt16LE(6));
    if (name.length < NAME_LENGTH_MIN) throw new Malformed('NameLength');
    const data = within(entry, entry.readUInt16LE(10), entry.readUInt32LE(12));
    if (!entries.has(name.toString('latin1'))) entries.set(name.toString('latin1'), data);
    if (next === 0) return entries;
    at += next;
  }
}

function within(entry: Buffer, offset: number, length: number): Buffer {
  if (length === 0) return entry.subarray(0, 0);
  if (offset < ENTRY_BYTES || offset + length > entry.length) throw new Malformed('a part lies outside the context');
  return entry.subarray(offset, offset + length);
}

function decodeLease(data: Buffer): LeaseContext {
  sized(data, 32, 52);
  const isSecond = data.length === 52;
  return {
    version: isSecond ? 2 : 1,
    key: data.toString('hex', 0, 16),
    state: data.readUInt32LE(16),
    flags: data.readUInt32LE(20),
    parentKey: isSecond ? data.toString('hex', 32, 48) : '',
    epoch: isSecond ? data.readUInt16LE(48) : 0,
  };
}

function decodeDurable1(data: Buffer): DurableContext {
  sized(data, 16);
  return { version: 1 };
}

function decodeDurable2(data: Buffer): DurableContext {
  sized(data, 32);
  return { version: 2, timeoutMs: data.readUInt32LE(0), createGuid: data.toString('hex', 16, 32) };
}

const decodeReconnect1 = (data: Buffer): ReconnectContext => ({
  version: 1,
  fileId: decodeFileId(sized(data, 16), 0),
});

const decodeReconnect2 = (data: Buffer): ReconnectContext => ({
  version: 2,
  fileId: decodeFileId(sized(data, 36), 0),
  createGuid: data.toString('hex', 16, 32),
});

// ---- what is answered

export interface ContextAnswer {
  readonly name: string;
  readonly data: Buffer;
}

export function encodeContexts(contexts: readonly ContextAnswer[]): Buffer {
  const entries = contexts.map(({ name, data }, index) => {
    const dataOffset = ENTRY_BYTES + 8;
    const isLast = index === contexts.length - 1;
    const lengthBytes = dataOffset + data.length;
    const entry = Buffer.alloc(isLast ? lengthBytes : Math.ceil(lengthBytes / 8) * 8);
    entry.writeUInt32LE(isLast ? 0 : entry.length, 0);
    entry.writeUInt16LE(ENTRY_BYTES, 4);
    entry.writeUInt16LE(name.length, 6);
    entry.writeUInt16LE(dataOffset, 10);
    entry.writeUInt32LE(data.length, 12);
    entry.write(name, ENTRY_BYTES, 'latin1');
    data.copy(entry, dataOffset);
    return entry;
  });
  return Buffer.concat(entries);
}

export function encodeLease({ version, key, state, flags, parentKey, epoch }: LeaseContext): ContextAnswer {
  const data = Buffer.alloc(version === 1 ? 32 : 52);
  data.write(key, 0, 'hex');
  data.writeUInt32LE(state, 16);
  data.writeUInt32LE(flags, 20);
  if (version === 2) {
    data.write(parentKey, 32, 'hex');
    data.writeUInt16LE(epoch, 48);
  }
  return { name: 'RqLs', data };
}

export const encodeDurable1 = (): ContextAnswer => ({ name: 'DHnQ', data: Buffer.alloc(8) });

export function encodeDurable2(timeoutMs: number): ContextAnswer {
  const data = Buffer.alloc(8);
  data.writeUInt32LE(timeoutMs, 0);
  return { name: 'DH2Q', data };
}

export function encodeMaximalAccess(answer: { status: number; access: number }): ContextAnswer {
  const data = Buffer.alloc(8);
  data.writeUInt32LE(answer.status, 0);
  data.writeUInt32LE(answer.access, 4);
  return { name: 'MxAc', data };
}

export function encodeDiskId(ids: { file: bigint; volume: bigint }): ContextAnswer {
  const data = Buffer.alloc(32);
  data.writeBigUInt64LE(ids.file, 0);
  data.writeBigUInt64LE(ids.volume, 8);
  return { name: 'QFid', data };
}
