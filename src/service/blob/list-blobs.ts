/**
 * List Blobs: one page, in name order, from one snapshot. With a delimiter, names that share a prefix up to it count as
 * one. The walk jumps over what it does not show, be it behind a prefix or of one name, so that a page costs what it shows
 * and not what it hides.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareBytes, successor } from '../../base/bytes.ts';
import type { Id } from '../../base/ids.ts';
import type { Key, Snapshot } from '../../engine/engine.ts';
import { blobKeys, blobNameEnd, blobNameStart, blobRange, type ParsedBlobKey, parseBlobKey } from '../records/keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { formatPlace, type ListPlace, parsePlace, placeKey } from './list-place.ts';
import { ListedName, type ListedRecord, type Shown, type Wanted } from './listed-name.ts';
import { type ContainerName, findContainer } from './load.ts';

/** Records read per turn of the event loop. */
const STEP = 500;
/** Records read behind a long jump: what follows may be jumped over as well. */
const STEP_AFTER_JUMP = 64;
const STEP_GROWTH = 4;

export interface ListBlobsRequest {
  readonly name: ContainerName;
  readonly prefix: string;
  readonly delimiter: string;
  /** The first name (or prefix) that the page may show, or where the page before ended. */
  readonly from: string;
  /** The first name that no page shows any more; null: to the end. */
  readonly before?: string | null;
  readonly limit: number;
  readonly includeUncommitted: boolean;
  readonly includeSnapshots?: boolean;
  readonly includeVersions?: boolean;
  /** Also of snapshots and versions, where those are included. */
  readonly includeDeleted?: boolean;
  readonly includeDeletedWithVersions?: boolean;
}

export type ListedBlob = ListedRecord | { readonly kind: 'prefix'; readonly name: string };

export interface BlobPage {
  readonly items: readonly ListedBlob[];
  /** Where the next page starts; null at the end. */
  readonly next: string | null;
  readonly nowMs: number;
}

export async function listBlobs(storage: Storage, request: ListBlobsRequest): Promise<BlobPage> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const container = await findContainer(snapshotReader(snapshot), request.name);
    if (container === null) throw new StorageError('ContainerNotFound');
    const items: ListedBlob[] = [];
    const nowMs = storage.clock.nowMs();
    for await (const { item, place } of new Walk(snapshot, request, { containerId: container.id, nowMs })) {
      if (items.length === request.limit) return { items, next: place, nowMs };
      items.push(item);
    }
    return { items, next: null, nowMs };
  });
}

interface Placed {
  readonly item: ListedBlob;
  /** What goes on from here shows it first. */
  readonly place: string;
}

class Walk implements AsyncIterable<Placed> {
  readonly #snapshot: Snapshot;
  readonly #request: ListBlobsRequest;
  readonly #containerId: Id;
  readonly #listing: { readonly wanted: Wanted; readonly nowMs: number };
  readonly #to: Key;
  /** Nothing before this key is of interest any more. */
  #from: Key;
  #current: ListedName | null = null;
  /** Whether something of the current name has been shown. */
  #isInside = false;

  constructor(
    snapshot: Snapshot,
    request: ListBlobsRequest,
    { containerId, nowMs }: { containerId: Id; nowMs: number },
  ) {
    this.#snapshot = snapshot;
    this.#request = request;
    this.#containerId = containerId;
    this.#listing = { wanted: wantedOf(request), nowMs };
    const { account } = request.name;
    const { from, to } = blobRange(account, containerId, request.prefix);
    this.#from = from;
    this.#to = request.before == null ? to : earlierOf(to, blobNameStart(account, containerId, request.before));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Placed> {
    await this.#resume(parsePlace(this.#request.from));
    // One more than the page: it tells whether there is a next one.
    let limit = Math.min(STEP, this.#request.limit + 1);
    for (let turnRecords = 0; ; ) {
      const entries = await this.#snapshot.range({ from: this.#from, to: this.#to }, { limit });
      let wastedRecords = 0;
      for (const { key, value } of entries) {
        wastedRecords++;
        if (compareBytes(key, this.#from) < 0) continue;
        wastedRecords = 0;
        const parsed = parseBlobKey(key);
        if (this.#current !== null && this.#current.name !== parsed.name) {
          for (const placed of await this.#endName(this.#current)) yield placed;
          if (compareBytes(key, this.#from) < 0) continue;
        }
        for (const placed of this.#take(parsed, value)) yield placed;
      }
      const last = entries.at(-1);
      if (last === undefined || entries.length < limit) break;
      if (compareBytes(this.#from, last.key) <= 0) this.#from = successor(last.key);
      limit = wastedRecords < STEP_AFTER_JUMP / 2 ? Math.min(STEP, limit * STEP_GROWTH) : STEP_AFTER_JUMP;
      turnRecords += entries.length;
      if (turnRecords >= STEP) {
        turnRecords = 0;
        await nextTurn();
      }
    }
    if (this.#current !== null) for (const placed of await this.#endName(this.#current)) yield placed;
  }

  /** In the middle of a name, what stands before is known to have been shown; its staged blocks are still to come. */
  async #resume({ name, at }: ListPlace): Promise<void> {
    const address = { account: this.#request.name.account, containerId: this.#containerId, name };
    const key = placeKey(address, at);
    if (compareBytes(key, this.#from) < 0) return;
    this.#from = key;
    if (at === null || compareBytes(key, this.#to) >= 0) return;
    this.#current = new ListedName(address, { ...this.#listing, resumedAt: at });
    this.#isInside = true;
    if (!this.#listing.wanted.uncommitted) return;
    const [staging] = await this.#snapshot.get([blobKeys(address).staging]);
    if (staging) this.#current.take({ kind: 'staging', moment: '' }, staging.value);
  }

  #take({ name, kind, moment }: ParsedBlobKey, value: Uint8Array): Placed[] {
    if (this.#current === null) {
      const address = { account: this.#request.name.account, containerId: this.#containerId, name };
      this.#current = new ListedName(address, this.#listing);
      this.#isInside = false;
    }
    const current = this.#current;
    const placed = this.#show(current, current.take({ kind, moment }, value));
    if (current.isLive) this.#current = null;
    if (this.#current !== null) this.#from = current.jumpBehind(kind) ?? this.#from;
    return placed;
  }

  async #endName(ended: ListedName): Promise<Placed[]> {
    this.#current = null;
    return this.#show(ended, await ended.end(this.#snapshot));
  }

  #show({ name }: ListedName, shown: readonly Shown[]): Placed[] {
    if (shown.length === 0) return [];
    const { prefix, delimiter, name: container } = this.#request;
    const cut = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
    if (cut !== -1) {
      const shared = name.slice(0, cut + delimiter.length);
      this.#current = null;
      this.#from = blobNameEnd(container.account, this.#containerId, shared);
      return [{ item: { kind: 'prefix', name: shared }, place: shared }];
    }
    return shown.map(({ item, at }) => {
      const place = formatPlace({ name, at: this.#isInside ? at : null });
      this.#isInside = true;
      return { item, place };
    });
  }
}

const wantedOf = (request: ListBlobsRequest): Wanted => ({
  uncommitted: request.includeUncommitted,
  snapshots: request.includeSnapshots ?? false,
  versions: request.includeVersions ?? false,
  deleted: request.includeDeleted ?? false,
  deletedWithVersions: request.includeDeletedWithVersions ?? false,
});

const earlierOf = (a: Uint8Array, b: Uint8Array): Uint8Array => (compareBytes(a, b) < 0 ? a : b);
