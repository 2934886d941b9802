/**
 * Where a copy goes, to whoever works on it: a blob or a file, found anew in every transaction, and put back with what has
 * become of it. A file may have been moved meanwhile, and a snapshot of its share may see the state that changes.
 */
import type { Transaction } from '../../engine/transact.ts';
import { changeNode, letGoOfContent, putNode } from '../file/keep-past.ts';
import type { FoundFile } from '../file/load.ts';
import { changeUsage } from '../file/usage.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { deletedShareKey, nodeKey, placeKey, shareKey } from '../records/file-keys.ts';
import type { FileRecord, NodePlace, NodeRecord } from '../records/node-record.ts';
import type { ShareRecord } from '../records/share-record.ts';
import type { Storage } from '../storage.ts';
import type { CopyDestination, FileDestination } from './copy-job.ts';

export type CopyRecord = BlobRecord | FileRecord;

export interface LoadedPlace<R extends CopyRecord = CopyRecord> {
  readonly record: R;
  /** Puts the record back, with the content that it has. */
  change(tx: Transaction, record: R): Promise<void>;
  /** Puts it back with another content, and lets go of what it held. */
  replace(tx: Transaction, record: R): Promise<void>;
}

/** Null: there is nothing any more. */
export type CopyPlace = (tx: Transaction) => Promise<LoadedPlace | null>;

export const placeOf = (storage: Storage, destination: CopyDestination): CopyPlace =>
  'file' in destination
    ? (tx) => loadFile(tx, storage, destination.file)
    : (tx) => loadBlob(tx, storage, Buffer.from(destination.blobKey, 'base64'));

async function loadBlob(
  tx: Transaction,
  { extents }: Storage,
  blobKey: Uint8Array,
): Promise<LoadedPlace<BlobRecord> | null> {
  const value = await tx.get(blobKey);
  if (value === null) return null;
  const before = decodeJson<BlobRecord>(value);
  const put = (record: BlobRecord): void => tx.put(blobKey, encodeJson(record));
  return {
    record: before,
    async change(_, record) {
      put(record);
    },
    async replace(_, record) {
      await extents.drop(tx, before);
      put(record);
    },
  };
}

async function loadFile(
  tx: Transaction,
  storage: Storage,
  destination: FileDestination,
): Promise<LoadedPlace<FileRecord> | null> {
  const found = await findFile(tx, destination);
  if (found === null) return null;
  const { lengthBytes } = found.node;
  const count = (record: FileRecord): Promise<void> =>
    changeUsage(tx, USAGE_SHARD, found, record.lengthBytes - lengthBytes);
  return {
    record: found.node,
    async change(_, record) {
      await count(record);
      await changeNode(tx, found, ({ content }) => ({ ...record, content }));
    },
    async replace(_, record) {
      await count(record);
      await letGoOfContent(tx, storage, found);
      putNode(tx, found, { ...record, contentSince: record.etag });
    },
  };
}

/** Copies that fail are few: they can meet in one. */
const USAGE_SHARD = 0;

/** By its id, for it may have another name by now. A share that is deleted and can be restored has it still. */
async function findFile(
  tx: Transaction,
  { account, share: shareName, shareId, nodeId }: FileDestination,
): Promise<FoundFile | null> {
  const tree = { account, shareId };
  const [live, deleted, placed] = await tx.getMany([
    shareKey(account, shareName),
    deletedShareKey(account, shareName, shareId),
    placeKey(tree, nodeId),
  ]);
  const share = [live, deleted]
    .flatMap((value) => (value ? [decodeJson<ShareRecord>(value)] : []))
    .find(({ id }) => id === shareId);
  if (share === undefined || !placed) return null;
  const place = decodeJson<NodePlace>(placed);
  const value = await tx.get(nodeKey(tree, place));
  const node = value === null ? null : decodeJson<NodeRecord>(value);
  if (node?.kind !== 'file') return null;
  return { share, tree, snapshot: null, parent: null, place, name: node.name, node, above: [] };
}
