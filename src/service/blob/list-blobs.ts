/**
 * List Blobs: one page, in name order, from one snapshot. With a delimiter, names that share a prefix up to it count as
 * one; the walk jumps over all of them at once, so a page costs what it shows, not what it hides.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareBytes, successor } from '../../base/bytes.ts';
import type { Entry, Snapshot } from '../../engine/engine.ts';
import type { BlobRecord, StagingRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import { blobNameEnd, blobNameStart, blobRange, parseBlobKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type ContainerName, findContainer, snapshotReader } from './load.ts';

/** Records read per turn of the event loop. */
const STEP = 500;

export interface ListBlobsRequest {
  readonly name: ContainerName;
  readonly prefix: string;
  readonly delimiter: string;
  /** The first name (or prefix) that the page may show. */
  readonly from: string;
  /** The first name that no page shows any more; null: to the end. */
  readonly before?: string | null;
  readonly limit: number;
  readonly includeUncommitted: boolean;
}

export type ListedBlob =
  | { readonly kind: 'blob'; readonly name: string; readonly blob: BlobRecord }
  | { readonly kind: 'uncommitted'; readonly name: string; readonly staging: StagingRecord }
  | { readonly kind: 'prefix'; readonly name: string };

export interface BlobPage {
  readonly items: readonly ListedBlob[];
  /** The name (or prefix) the next page starts with; null at the end. */
  readonly next: string | null;
  readonly nowMs: number;
}

export async function listBlobs(storage: Storage, request: ListBlobsRequest): Promise<BlobPage> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const container = await findContainer(snapshotReader(snapshot), request.name);
    if (container === null) throw new StorageError('ContainerNotFound');
    const items: ListedBlob[] = [];
    const nowMs = storage.clock.nowMs();
    for await (const item of walk(snapshot, request, container.id)) {
      if (items.length === request.limit) return { items, next: item.name, nowMs };
      items.push(item);
    }
    return { items, next: null, nowMs };
  });
}

async function* walk(snapshot: Snapshot, request: ListBlobsRequest, containerId: string): AsyncGenerator<ListedBlob> {
  const { account } = request.name;
  const end = blobRange(account, containerId, request.prefix).to;
  const to = request.before == null ? end : earlierOf(end, blobNameStart(account, containerId, request.before));
  let from = laterOf(
    blobNameStart(account, containerId, request.prefix),
    blobNameStart(account, containerId, request.from),
  );
  // One more than the page: it tells whether there is a next one.
  let limit = Math.min(STEP, request.limit + 1);
  for (;;) {
    const read = await snapshot.range({ from, to }, { limit });
    const entries = read.length === limit ? withoutCutPair(read) : read;
    let jumped = false;
    for (const [index, entry] of entries.entries()) {
      const item = itemOf(entry, entries[index + 1], request);
      if (item === null) continue;
      yield item;
      if (item.kind === 'prefix') {
        from = blobNameEnd(account, containerId, item.name);
        jumped = true;
        break;
      }
    }
    if (jumped) continue;
    const last = entries.at(-1);
    if (last === undefined || read.length < limit) return;
    from = successor(last.key);
    limit = STEP;
    await nextTurn();
  }
}

const earlierOf = (a: Uint8Array, b: Uint8Array): Uint8Array => (compareBytes(a, b) < 0 ? a : b);
const laterOf = (a: Uint8Array, b: Uint8Array): Uint8Array => (compareBytes(a, b) > 0 ? a : b);

/** The head of staged blocks and its blob are judged together: a step that ends between them leaves both to the next. */
function withoutCutPair(entries: readonly Entry[]): readonly Entry[] {
  return parseBlobKey((entries.at(-1) as Entry).key).kind === 'staging' ? entries.slice(0, -1) : entries;
}

function itemOf(entry: Entry, next: Entry | undefined, request: ListBlobsRequest): ListedBlob | null {
  const { name, kind } = parseBlobKey(entry.key);
  if (kind === 'staging') {
    // The head of staged blocks stands right before its blob; alone, it is an uncommitted blob.
    const hasBlob = next !== undefined && parseBlobKey(next.key).name === name;
    if (!request.includeUncommitted || hasBlob) return null;
  }
  const { prefix, delimiter } = request;
  const cut = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
  if (cut !== -1) return { kind: 'prefix', name: name.slice(0, cut + delimiter.length) };
  return kind === 'blob'
    ? { kind: 'blob', name, blob: decodeJson<BlobRecord>(entry.value) }
    : { kind: 'uncommitted', name, staging: decodeJson<StagingRecord>(entry.value) };
}
