/**
 * Makes a map show what another one shows, by replacing the rows that differ: no byte is copied, and what the two have in
 * common is not even written. In steps that can be cut off anywhere and done again. Until the last one the map shows some
 * of the old state and some of the new: nobody may read it at this epoch, but earlier ones stay as they are.
 *
 * The maps followed one after the other must be states of one map, in their order, except that those which were given up
 * on the way do not count. So within a chunk nothing that is kept comes back after it was gone (let-go.ts).
 */
import type { Id } from '../../base/ids.ts';
import type { Engine, Snapshot } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { PagePiece } from '../../rules/page-ranges.ts';
import type { Extents } from '../extents/extents.ts';
import { share } from '../extents/references.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { decodeChunk, encodeChunk, pieceCountOf } from '../records/page-chunk.ts';
import { CHUNK_COUNT_MAX, chunkKey, copiedKey, olderRange } from '../records/page-keys.ts';
import { type ChunkState, chunkStates, type StatesOfChunk } from './chunk-states.ts';
import { MapGone } from './copy-pages.ts';
import { keepPast } from './keep-past.ts';
import { extentsIn, letGoOfReplaced, type ReplacedChunk } from './let-go.ts';
import { isAnyLive, newestLive } from './live-epochs.ts';
import { NO_VALUE, refuseFrozen } from './page-map.ts';
import { PAGE_SETTINGS, type PageSettings } from './page-settings.ts';

export interface PagesFollowing {
  readonly engine: Engine;
  readonly extents: Pick<Extents, 'dropExtent'>;
  /** Frozen, or held by a reader, from the first step to the last. */
  readonly from: PagesContent;
  /** Not cut, and written to by nobody else meanwhile. */
  readonly to: PagesContent;
  /** Where to go on: what an earlier run came to. */
  readonly fromBytes?: number;
  /** A transaction of the caller's, who may have conditions of his own. */
  readonly transact: (step: (tx: Transaction) => Promise<void>) => Promise<void>;
  readonly settings?: PageSettings;
}

/** Yields the offset up to which the maps are alike, step by step. What the longer one has behind the other's end counts. */
export async function* followPages(following: PagesFollowing): AsyncGenerator<number> {
  const { engine, extents, from, to, fromBytes = 0, settings = PAGE_SETTINGS } = following;
  if (from.isFrozen !== true) throw new Error(`map ${from.id} may be written to while it is followed`);
  refuseFrozen(to);
  for (let fromChunk = Math.floor(fromBytes / settings.chunkBytes); fromChunk < CHUNK_COUNT_MAX; ) {
    const { changes, nextChunk } = await readChanges(engine, { from, to, fromChunk }, settings);
    if (changes.length > 0) await following.transact((tx) => change(tx, extents, { from, to, changes }));
    fromChunk = nextChunk;
    yield nextChunk * settings.chunkBytes;
  }
}

/** A chunk in which the maps differ, and what it is to have; null: nothing. */
interface Change {
  readonly chunk: number;
  readonly value: Uint8Array | null;
}

/** What one step changes. Nobody else writes to either, so that rows need not be read in the step's transaction. */
async function readChanges(
  engine: Engine,
  maps: { from: PagesContent; to: PagesContent; fromChunk: number },
  settings: PageSettings,
): Promise<{ changes: Change[]; nextChunk: number }> {
  const { stepRows, stepPieces, walkRows } = settings;
  const changes: Change[] = [];
  let pieceCount = 0;
  let rowCount = 0;
  const snapshot = engine.snapshot();
  try {
    for await (const { chunk, theirs, ours } of sideBySide(snapshot, maps, settings)) {
      // Rows that are alike are passed over, and yet a view must not be kept for so long.
      if (rowCount++ >= walkRows) return { changes, nextChunk: chunk };
      if (isAlike(theirs, ours)) continue;
      pieceCount += (theirs === null ? 0 : pieceCountOf(theirs)) + (ours === null ? 0 : pieceCountOf(ours));
      const isFull = changes.length >= stepRows || pieceCount > stepPieces;
      if (changes.length > 0 && isFull) return { changes, nextChunk: chunk };
      changes.push({ chunk, value: theirs });
    }
  } finally {
    snapshot.close();
  }
  return { changes, nextChunk: CHUNK_COUNT_MAX };
}

interface ChunkPair {
  readonly chunk: number;
  readonly theirs: Uint8Array | null;
  readonly ours: Uint8Array | null;
}

/** Every chunk in which either has pages. */
async function* sideBySide(
  snapshot: Snapshot,
  { from, to, fromChunk }: { from: PagesContent; to: PagesContent; fromChunk: number },
  settings: PageSettings,
): AsyncGenerator<ChunkPair> {
  const walks = [from, to].map((content) =>
    chunkStates(snapshot, [content], { fromChunk, toChunk: CHUNK_COUNT_MAX }, settings),
  );
  const heads = await Promise.all(walks.map((walk) => walk.next()));
  for (;;) {
    const chunk = Math.min(...heads.map(chunkAt));
    if (chunk === Number.POSITIVE_INFINITY) return;
    const [theirs = null, ours = null] = heads.map((head) => (chunkAt(head) === chunk ? valueAt(head) : null));
    yield { chunk, theirs, ours };
    for (const [index, walk] of walks.entries()) {
      if (chunkAt(heads[index] as Head) === chunk) heads[index] = await walk.next();
    }
  }
}

/** Where a walk has come to. */
type Head = IteratorResult<StatesOfChunk>;

const chunkAt = (head: Head): number => (head.done === true ? Number.POSITIVE_INFINITY : head.value.chunk);
const valueAt = (head: Head): Uint8Array => ((head.value as StatesOfChunk).states[0] as ChunkState).value;

/** Whether they show the same bytes of the same extents; since when, and who else does, is nothing to readers. */
function isAlike(theirs: Uint8Array | null, ours: Uint8Array | null): boolean {
  if (theirs === null || ours === null) return theirs === ours;
  if (theirs.length !== ours.length) return false;
  const others = decodeChunk(ours).pieces;
  return decodeChunk(theirs).pieces.every((piece, index) => {
    const other = others[index] as PagePiece;
    return (
      piece.extent.id === other.extent.id &&
      piece.offsetBytes === other.offsetBytes &&
      piece.lengthBytes === other.lengthBytes &&
      piece.extentOffsetBytes === other.extentOffsetBytes
    );
  });
}

async function change(
  tx: Transaction,
  extents: Pick<Extents, 'dropExtent'>,
  { from, to, changes }: { from: PagesContent; to: PagesContent; changes: readonly Change[] },
): Promise<void> {
  const keys = changes.map(({ chunk }) => chunkKey(to.id, chunk));
  const [isSourceLive, copied, isCopied, liveBefore, values, older] = await Promise.all([
    isAnyLive(tx, from.id, { from: from.epoch, to: from.epoch + 1 }),
    tx.get(copiedKey(from.id)),
    tx.get(copiedKey(to.id)),
    newestLive(tx, to.id, { to: to.epoch }),
    tx.getMany(keys),
    Promise.all(changes.map(({ chunk }) => tx.range(olderRange(to.id, chunk), { limit: 1, reverse: true }))),
  ]);
  if (!isSourceLive) throw new MapGone('a map was dropped while it was followed');
  const named: Id[] = [];
  const replaced: ReplacedChunk[] = [];
  for (const [index, { chunk, value }] of changes.entries()) {
    const key = keys[index] as Uint8Array;
    const before = values[index] ?? null;
    const after = value === null ? [] : decodeChunk(value).pieces.map((piece) => ({ ...piece, isShared: true }));
    if (after.length > 0) tx.put(key, encodeChunk({ since: to.epoch, pieces: after }));
    else tx.delete(key);
    const known = extentsIn([...(before === null ? [] : [{ value: before }]), ...(older[index] ?? [])]);
    named.push(...new Set(after.map(({ extent }) => extent.id).filter((id) => !known.has(id))));
    if (before === null) continue;
    const { since, pieces } = decodeChunk(before);
    if (since <= liveBefore) keepPast(tx, to.id, { chunk, value: before, epoch: liveBefore });
    else replaced.push({ chunk, before: pieces, after });
  }
  await share(tx, named);
  await letGoOfReplaced(tx, extents, { mapId: to.id, isCopied: isCopied !== null, replaced });
  if (copied === null) tx.put(copiedKey(from.id), NO_VALUE);
}
