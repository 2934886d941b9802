/**
 * One share of a TestStore, for tests of the File service without any HTTP before it: short forms of the operations on
 * its files and directories, by paths as text. Errors come as they are; `refusal` tells their code.
 */

import type { EntryKind } from '../../src/rules/file-attributes.ts';
import type { Moment } from '../../src/rules/moment.ts';
import type { Metadata } from '../../src/rules/names.ts';
import { createDirectory } from '../../src/service/file/create-directory.ts';
import { createFile } from '../../src/service/file/create-file.ts';
import { createShare, type NewShare } from '../../src/service/file/create-share.ts';
import { deleteDirectory } from '../../src/service/file/delete-directory.ts';
import { deleteFile } from '../../src/service/file/delete-file.ts';
import { deleteShare } from '../../src/service/file/delete-share.ts';
import { getFile } from '../../src/service/file/get-file.ts';
import type { FileName, ShareName } from '../../src/service/file/load.ts';
import { NO_CHANGES, type PropertyChanges } from '../../src/service/file/properties.ts';
import { putRange } from '../../src/service/file/put-range.ts';
import { renameNode } from '../../src/service/file/rename.ts';
import type { FileRequest } from '../../src/service/file/request.ts';
import { setFileProperties } from '../../src/service/file/set-file.ts';
import { snapshotShare } from '../../src/service/file/snapshot-share.ts';
import type { DirectoryRecord, FileRecord, NodeRecord } from '../../src/service/records/node-record.ts';
import { StorageError } from '../../src/service/storage-error.ts';
import { ACCOUNT, bodyOf, gather, TestStore, type TestStoreParts } from './store.ts';

export const NEW_SHARE: NewShare = { metadata: [], quotaGiB: 5_120, tier: 'TransactionOptimized' };

export interface FileOptions {
  readonly leaseId?: string | null;
  readonly metadata?: Metadata;
  readonly properties?: PropertyChanges;
}

export class TestShare {
  readonly store: TestStore;
  readonly name: ShareName;

  constructor(store: TestStore, share: string) {
    this.store = store;
    this.name = { account: ACCOUNT, share };
  }

  static async create(parts: Partial<TestStoreParts> = {}, request: Partial<NewShare> = {}): Promise<TestShare> {
    const share = new TestShare(await TestStore.open(parts), 'share');
    await createShare(share.store.storage, share.name, { ...NEW_SHARE, ...request });
    return share;
  }

  nameOf(path: string, snapshot: Moment | null = null): FileName {
    return { ...this.name, path: path === '' ? [] : path.split('/'), snapshot };
  }

  requestOf(path: string, { leaseId = null }: FileOptions = {}): FileRequest {
    return { name: this.nameOf(path), leaseId, waitMs: 0 };
  }

  async createDirectory(path: string, options: FileOptions = {}): Promise<DirectoryRecord> {
    const { metadata = [], properties = NO_CHANGES } = options;
    return (await createDirectory(this.store.storage, { ...this.requestOf(path), metadata, properties })).node;
  }

  async createFile(path: string, content: number | Uint8Array, options: FileOptions = {}): Promise<FileRecord> {
    const { metadata = [], properties = NO_CHANGES } = options;
    const [lengthBytes, body] = typeof content === 'number' ? [content, null] : [content.length, bodyOf(content)];
    const rest = { lengthBytes, headers: {}, metadata, properties, body };
    return (await createFile(this.store.storage, { ...this.requestOf(path, options), ...rest })).node;
  }

  async write(path: string, offsetBytes: number, bytes: Uint8Array, options: FileOptions = {}): Promise<FileRecord> {
    const range = { offsetBytes, lengthBytes: bytes.length };
    const request = { ...this.requestOf(path, options), range, body: bodyOf(bytes), keepsWriteTime: false };
    return (await putRange(this.store.storage, request)).node;
  }

  async clear(path: string, offsetBytes: number, lengthBytes: number): Promise<FileRecord> {
    const range = { offsetBytes, lengthBytes };
    const request = { ...this.requestOf(path), range, body: null, keepsWriteTime: false };
    return (await putRange(this.store.storage, request)).node;
  }

  async resize(path: string, lengthBytes: number): Promise<FileRecord> {
    const request = { ...this.requestOf(path), headers: null, lengthBytes, properties: NO_CHANGES };
    return (await setFileProperties(this.store.storage, request)).node;
  }

  async snapshot(): Promise<Moment> {
    return (await snapshotShare(this.store.storage, { name: this.name, metadata: null })).moment;
  }

  async deleteSnapshot(snapshot: Moment): Promise<void> {
    await deleteShare(this.store.storage, { name: this.name, leaseId: null, snapshot, deleteSnapshots: null });
  }

  async rename(kind: EntryKind, path: string, to: string, { replaces = false } = {}): Promise<NodeRecord> {
    const { node } = await renameNode(this.store.storage, {
      kind,
      source: this.nameOf(path),
      destination: this.nameOf(to),
      replaces,
      ignoresReadOnly: false,
      sourceLeaseId: null,
      destinationLeaseId: null,
      properties: NO_CHANGES,
      metadata: null,
      contentType: null,
      waitMs: 0,
    });
    return node;
  }

  async delete(kind: EntryKind, path: string): Promise<void> {
    const { storage } = this.store;
    if (kind === 'file') await deleteFile(storage, this.requestOf(path));
    else await deleteDirectory(storage, this.requestOf(path));
  }

  async read(path: string, snapshot: Moment | null = null): Promise<Buffer> {
    const request = { ...this.requestOf(path), name: this.nameOf(path, snapshot), range: null };
    return gather((await getFile(this.store.storage, request)).bytes);
  }
}

/** The code of the refusal; null: it was not refused. */
export async function refusal(act: Promise<unknown>): Promise<string | null> {
  try {
    await act;
    return null;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return error.code;
  }
}
