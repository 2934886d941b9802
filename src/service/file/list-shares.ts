/**
 * List Shares: one page, in name order, from one snapshot of the engine. Of one name the snapshots come first, oldest
 * first, then the share, then deleted shares that can be restored, oldest first.
 */
import type { Id } from '../../base/ids.ts';
import type { Entry, KeyRange, Snapshot } from '../../engine/engine.ts';
import type { Moment } from '../../rules/moment.ts';
import { type Deleted, isGone } from '../../rules/retention.ts';
import { decodeJson } from '../records/codec.ts';
import { deletedSharesRange, parseDeletedShareKey, sharesRange } from '../records/file-keys.ts';
import { ownNameOf } from '../records/keys.ts';
import { scanSteps } from '../records/scan.ts';
import type { ShareRecord, ShareState } from '../records/share-record.ts';
import type { Storage } from '../storage.ts';
import { treeOf } from './load.ts';
import { snapshotsOf } from './snapshot-share.ts';

const STEP_RECORDS = 500;

export interface ListedShare {
  readonly name: string;
  readonly share: ShareState;
  /** Null: a share itself. */
  readonly snapshot: Moment | null;
  /** Of a deleted share: by which version it can be restored, and until when. */
  readonly deleted: (Deleted & { readonly version: string }) | null;
}

export interface SharePage {
  readonly shares: readonly ListedShare[];
  /** Where the next page starts; null at the end. */
  readonly next: string | null;
  /** The moment at which leases are to be reported. */
  readonly nowMs: number;
}

export interface ListSharesRequest {
  readonly account: string;
  readonly prefix: string;
  /** Where the page before ended; empty: from the beginning. */
  readonly from: string;
  readonly limit: number;
  readonly includeSnapshots: boolean;
  readonly includeDeleted: boolean;
}

export async function listShares(storage: Storage, request: ListSharesRequest): Promise<SharePage> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const shares: ListedShare[] = [];
    const nowMs = storage.clock.nowMs();
    const from = parsePlace(request.from);
    for await (const listed of inOrder(
      liveShares(snapshot, request, from),
      deletedShares(snapshot, request, { from, nowMs }),
    )) {
      if (shares.length === request.limit) return { shares, next: placeOf(listed), nowMs };
      shares.push(listed);
    }
    return { shares, next: null, nowMs };
  });
}

/** Behind the name and a NUL, which no name has: which kind of entry it is, in their order, and which of them. */
const KINDS = { snapshot: '1', share: '2', deleted: '3' } as const;

interface Place {
  readonly name: string;
  /** Sorts as the entries of one name do. */
  readonly within: string;
}

function parsePlace(text: string): Place {
  const [name = '', within = ''] = text.split('\0');
  return { name, within };
}

const placeOf = (listed: ListedShare): string => `${listed.name}\0${withinOf(listed)}`;

function withinOf({ snapshot, deleted }: Pick<ListedShare, 'snapshot' | 'deleted'>): string {
  if (deleted !== null) return KINDS.deleted + deleted.version;
  return snapshot === null ? KINDS.share : KINDS.snapshot + snapshot;
}

async function* liveShares(
  snapshot: Snapshot,
  { account, prefix, limit, includeSnapshots }: ListSharesRequest,
  from: Place,
): AsyncGenerator<ListedShare> {
  for await (const { key, value } of scan(snapshot, sharesRange(account, prefix, from.name), limit)) {
    const name = ownNameOf(key);
    const share = decodeJson<ShareRecord>(value);
    const hasSnapshots = includeSnapshots && share.snapshotCount > 0;
    const snapshots = hasSnapshots ? await snapshotsOf(snapshot, treeOf({ account, share: name }, share)) : [];
    const listed = [
      ...snapshots.map((each) => ({ name, share: each.snapshot, snapshot: each.moment, deleted: null })),
      { name, share, snapshot: null, deleted: null },
    ];
    yield* name === from.name ? listed.filter((each) => withinOf(each) >= from.within) : listed;
  }
}

async function* deletedShares(
  snapshot: Snapshot,
  { account, prefix, limit, includeDeleted }: ListSharesRequest,
  { from, nowMs }: { from: Place; nowMs: number },
): AsyncGenerator<ListedShare> {
  if (!includeDeleted) return;
  const id: Id = from.within.startsWith(KINDS.deleted) ? from.within.slice(KINDS.deleted.length) : '';
  const range = deletedSharesRange(account, prefix, { share: from.name, id });
  for await (const { key, value } of scan(snapshot, range, limit)) {
    const share = decodeJson<ShareRecord>(value);
    const { deleted } = share;
    if (deleted === undefined || isGone(deleted, nowMs)) continue;
    const { share: name, id: version } = parseDeletedShareKey(key);
    yield { name, share, snapshot: null, deleted: { ...deleted, version } };
  }
}

/** One more than the page is read first: it tells whether there is a next one. */
async function* scan(snapshot: Snapshot, range: KeyRange, limit: number): AsyncGenerator<Entry> {
  for await (const entries of scanSteps(snapshot, range, Math.min(limit + 1, STEP_RECORDS))) yield* entries;
}

/** Two sequences in name order as one; of the same name, the first one's come first. */
async function* inOrder(
  first: AsyncGenerator<ListedShare>,
  second: AsyncGenerator<ListedShare>,
): AsyncGenerator<ListedShare> {
  let [a, b] = [await first.next(), await second.next()];
  while (a.done !== true || b.done !== true) {
    if (b.done === true || (a.done !== true && a.value.name <= b.value.name)) {
      yield a.value as ListedShare;
      a = await first.next();
    } else {
      yield b.value;
      b = await second.next();
    }
  }
}
