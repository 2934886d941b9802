/** CREATE ([MS-SMB2] 2.2.13, 2.2.14). */
import { type ContextAnswer, type CreateContexts, decodeContexts, encodeContexts } from './create-contexts.ts';
import { allocationBytes, attributesOf, endOfFile, type NodeFacts, type Reserved } from './file-info.ts';
import { HEADER_BYTES } from './header.ts';
import { bodyOf, decodeText, type FileId, partOf, type RequestMessage, writeFileId } from './message.ts';

export interface CreateRequest {
  readonly oplockLevel: number;
  readonly impersonationLevel: number;
  readonly desiredAccess: number;
  readonly attributes: number;
  readonly shareAccess: number;
  readonly disposition: number;
  readonly options: number;
  /** From the root of the share, with backslashes; empty: the root. */
  readonly name: string;
  readonly contexts: CreateContexts;
}

export const OplockLevel = { NONE: 0, LEVEL_II: 1, EXCLUSIVE: 8, BATCH: 9, LEASE: 0xff } as const;

export const CreateOption = {
  DIRECTORY_FILE: 0x1,
  NON_DIRECTORY_FILE: 0x40,
  CREATE_TREE_CONNECTION: 0x80,
  COMPLETE_IF_OPLOCKED: 0x100,
  DELETE_ON_CLOSE: 0x1000,
  OPEN_BY_FILE_ID: 0x2000,
  RESERVE_OPFILTER: 0x10_0000,
} as const;

export function decodeCreate(message: RequestMessage): CreateRequest {
  const body = bodyOf(message, 57);
  return {
    oplockLevel: body.readUInt8(3),
    impersonationLevel: body.readUInt32LE(4),
    desiredAccess: body.readUInt32LE(24),
    attributes: body.readUInt32LE(28),
    shareAccess: body.readUInt32LE(32),
    disposition: body.readUInt32LE(36),
    options: body.readUInt32LE(40),
    name: decodeText(partOf(message, body.readUInt16LE(44), body.readUInt16LE(46))),
    contexts: decodeContexts(partOf(message, body.readUInt32LE(48), body.readUInt32LE(52))),
  };
}

/** What CREATE and CLOSE tell of a file or directory. Times are ticks since 1601. */
export interface FileSummary {
  readonly createdAt: bigint;
  readonly accessedAt: bigint;
  readonly writtenAt: bigint;
  readonly changedAt: bigint;
  readonly allocationBytes: number;
  readonly lengthBytes: number;
  readonly attributes: number;
}

export const summaryOf = (node: NodeFacts, open: Reserved): FileSummary => ({
  createdAt: BigInt(node.createdAt),
  accessedAt: BigInt(node.accessedAt ?? node.writtenAt),
  writtenAt: BigInt(node.writtenAt),
  changedAt: BigInt(node.changedAt),
  allocationBytes: allocationBytes(node, open),
  lengthBytes: endOfFile(node),
  attributes: attributesOf(node),
});

export interface CreateResponse extends FileSummary {
  readonly oplockLevel: number;
  readonly action: number;
  readonly fileId: FileId;
  readonly contexts: readonly ContextAnswer[];
}

const FIXED_BYTES = 88;

export function encodeCreate(response: CreateResponse): Buffer {
  const contexts = encodeContexts(response.contexts);
  // Of the structure's 89 bytes one belongs to the contexts, whether there are any or not.
  const body = Buffer.alloc(FIXED_BYTES + Math.max(1, contexts.length));
  body.writeUInt16LE(89, 0);
  body.writeUInt8(response.oplockLevel, 2);
  body.writeUInt32LE(response.action, 4);
  writeSummary(body, response, 8);
  writeFileId(body, response.fileId, 64);
  body.writeUInt32LE(contexts.length === 0 ? 0 : HEADER_BYTES + FIXED_BYTES, 80);
  body.writeUInt32LE(contexts.length, 84);
  contexts.copy(body, FIXED_BYTES);
  return body;
}

/** 52 bytes. */
export function writeSummary(bytes: Buffer, summary: FileSummary, offset: number): void {
  bytes.writeBigUInt64LE(summary.createdAt, offset);
  bytes.writeBigUInt64LE(summary.accessedAt, offset + 8);
  bytes.writeBigUInt64LE(summary.writtenAt, offset + 16);
  bytes.writeBigUInt64LE(summary.changedAt, offset + 24);
  bytes.writeBigUInt64LE(BigInt(summary.allocationBytes), offset + 32);
  bytes.writeBigUInt64LE(BigInt(summary.lengthBytes), offset + 40);
  bytes.writeUInt32LE(summary.attributes, offset + 48);
}
