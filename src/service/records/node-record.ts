import type { CopyState } from '../../rules/copy.ts';
import type { FileTime } from '../../rules/file-time.ts';
import type { Lease } from '../../rules/lease.ts';
import type { Metadata } from '../../rules/names.ts';
import type { BlobHeaders, PagesContent } from './blob-record.ts';

/** 16 hex digits, unique within a share and kept for life; as a number it is what clients know as the file's id. */
export type NodeId = string;

export const ROOT_ID: NodeId = '0'.repeat(16);

export const fileIdOf = (id: NodeId): string => String(BigInt(`0x${id}`));

interface Node {
  readonly id: NodeId;
  /** As it was written when it was created or renamed; empty for the root. */
  readonly name: string;
  /** The first epoch of the share's tree that sees this state. */
  readonly since: number;
  readonly etag: string;
  readonly lastModifiedMs: number;
  /** Bits (rules/file-attributes.ts). */
  readonly attributes: number;
  readonly createdAt: FileTime;
  readonly writtenAt: FileTime;
  readonly changedAt: FileTime;
  /** As an SMB client has set it; absent: when it was written last. */
  readonly accessedAt?: FileTime;
  /** Names the security descriptor (file/permissions.ts). */
  readonly permission: string;
  readonly metadata: Metadata;
}

export interface DirectoryRecord extends Node {
  readonly kind: 'directory';
}

export interface FileRecord extends Node {
  readonly kind: 'file';
  readonly lengthBytes: number;
  /** Where bytes were ever written: a map of pages (service/pages/). All else is zeros. */
  readonly content: FileContent;
  readonly headers: BlobHeaders;
  readonly lease: Lease;
  /** The last copy into this file, until it is created or its properties are set anew. */
  readonly copy?: CopyState;
  /** Since when nobody but Put Range and resizing has touched the content: what two states can be told apart by. */
  readonly contentSince: string;
}

export type FileContent = { readonly kind: 'empty' } | PagesContent;

/** What stands under a name in a directory. */
export type NodeRecord = DirectoryRecord | FileRecord;

/** Where a node stands at the moment: beside its key, the way from its id. */
export interface NodePlace {
  readonly parentId: NodeId;
  /** Folded. */
  readonly name: string;
}
