/**
 * Changes to a map of pages: bytes written, ranges cleared, a blob made shorter. Each costs what it touches. A state of a
 * chunk that an older epoch sees is kept beside the new one; any other is replaced, and what it alone named is let go of.
 *
 * A reader that holds the very epoch that would be written to (page-holds.ts) makes the writer go on at the next one: the
 * holds were read in this transaction, so that a hold that is taken meanwhile makes one of the two begin anew.
 */
import type { ByteRange } from '../../content/content.ts';
import type { Key } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import {
  type ChunkSpan,
  chunkParts,
  type PagePiece,
  splitSpan,
  withoutSpan,
  withPiece,
} from '../../rules/page-ranges.ts';
import type { Extents, StagedExtent } from '../extents/extents.ts';
import type { ReferencesRecord } from '../extents/references.ts';
import type { PageCut, PagesContent } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { referencesKey } from '../records/keys.ts';
import { decodeChunk, encodeChunk, pieceCountOf } from '../records/page-chunk.ts';
import { chunkKey, chunkOf, chunkRange, copiedKey, cutKey } from '../records/page-keys.ts';
import { StorageError } from '../storage-error.ts';
import { keepPast } from './keep-past.ts';
import { letGoOfReplaced, type ReplacedChunk } from './let-go.ts';
import { newestHeld, newestLive, newestRecorded } from './live-epochs.ts';
import { cutsOver, goneBefore, standingCuts, withCut } from './page-cuts.ts';
import { NO_VALUE, raiseEpoch, refuseFrozen } from './page-map.ts';
import { PAGE_SETTINGS, type PageSettings } from './page-settings.ts';

export type PageExtents = Pick<Extents, 'publish' | 'dropExtent' | 'discardLater'>;

/** Null clears the range. The result belongs into the record, with the same commit. */
export async function writePages(
  tx: Transaction,
  extents: PageExtents,
  content: PagesContent,
  range: ByteRange,
  staged: StagedExtent | null,
  settings: PageSettings = PAGE_SETTINGS,
): Promise<PagesContent> {
  refuseFrozen(content);
  const writer = new Writer(tx, extents, content, settings);
  return staged === null ? writer.clear(range, { toEnd: false }) : writer.write(range, staged);
}

/** Growing is only a matter of the record. */
export async function resizePages(
  tx: Transaction,
  extents: PageExtents,
  content: PagesContent,
  { fromBytes, toBytes }: { fromBytes: number; toBytes: number },
  settings: PageSettings = PAGE_SETTINGS,
): Promise<PagesContent> {
  refuseFrozen(content);
  if (toBytes >= fromBytes) return content;
  // Nothing stands behind the old end: up to the end of its chunk it can be cleared as well, and whole.
  const endBytes = Math.ceil(fromBytes / settings.chunkBytes) * settings.chunkBytes;
  const range = { offsetBytes: toBytes, lengthBytes: endBytes - toBytes };
  return new Writer(tx, extents, content, settings).clear(range, { toEnd: true });
}

/** A chunk's row, and what becomes of its pieces. */
interface Change {
  readonly chunk: number;
  readonly value: Uint8Array | null;
  readonly changed: (pieces: readonly PagePiece[]) => PagePiece[];
}

/** What a change depends on besides the rows of its chunks. */
interface Scene {
  /** A reader holds the epoch that the record is at. */
  readonly isHeld: boolean;
  /** The newest epoch before the one that is written to that somebody sees. */
  readonly liveBefore: number;
  readonly cuts: readonly PageCut[];
  /** By the epoch of each cut that matters here: the newest before it that somebody sees. */
  readonly liveBeforeCut: ReadonlyMap<number, number>;
  readonly isCopied: boolean;
}

class Writer {
  readonly #tx: Transaction;
  readonly #extents: PageExtents;
  readonly #content: PagesContent;
  readonly #settings: PageSettings;

  constructor(tx: Transaction, extents: PageExtents, content: PagesContent, settings: PageSettings) {
    this.#tx = tx;
    this.#extents = extents;
    this.#content = content;
    this.#settings = settings;
  }

  async write(range: ByteRange, staged: StagedExtent): Promise<PagesContent> {
    if (staged.lengthBytes !== range.lengthBytes) throw new Error('the extent has another length than its range');
    const parts = chunkParts(range, this.#settings.chunkBytes);
    const [values, scene] = await Promise.all([
      this.#tx.getMany(parts.map(({ chunk }) => this.#chunkKey(chunk))),
      this.#loadScene(range),
    ]);
    this.#extents.publish(this.#tx, staged);
    const isShared = parts.length > 1;
    if (isShared) this.#putReferences(staged, parts.length);
    const changes = parts.map((part, index): Change => {
      const extentOffsetBytes = part.chunk * this.#settings.chunkBytes + part.offsetBytes - range.offsetBytes;
      const { chunk, ...span } = part;
      const piece: PagePiece = { ...span, extent: staged.ref, extentOffsetBytes, isShared };
      return { chunk, value: values[index] as Uint8Array | null, changed: (pieces) => withPiece(pieces, piece) };
    });
    const epoch = scene.isHeld ? this.#raise(scene) : this.#content.epoch;
    await this.#apply(changes, scene, epoch);
    return { ...this.#content, epoch, cuts: scene.cuts };
  }

  async clear(range: ByteRange, { toEnd }: { toEnd: boolean }): Promise<PagesContent> {
    const { clearedRowsMax, clearedPiecesMax, chunkBytes } = this.#settings;
    const { edges, inner } = splitSpan(range, chunkBytes);
    const [values, rows, scene] = await Promise.all([
      this.#tx.getMany(edges.map(({ chunk }) => this.#chunkKey(chunk))),
      this.#tx.range(chunkRange(this.#content.id, inner.fromChunk, inner.toChunk), { limit: clearedRowsMax + 1 }),
      this.#loadScene(range),
    ]);
    const pieceCount = rows.reduce((sum, { value }) => sum + pieceCountOf(value), 0);
    const isWide = rows.length > clearedRowsMax || pieceCount > clearedPiecesMax;
    const changes = edges.map((part, index): Change => {
      const value = values[index] as Uint8Array | null;
      return { chunk: part.chunk, value, changed: (pieces) => withoutSpan(pieces, part) };
    });
    if (!isWide) for (const { key, value } of rows) changes.push({ chunk: chunkOf(key), value, changed: () => [] });
    const touched = changes.filter(({ value }) => value !== null);
    if (touched.length === 0 && !isWide) return { ...this.#content, cuts: scene.cuts };
    const epoch = scene.isHeld || isWide ? this.#raise(scene) : this.#content.epoch;
    await this.#apply(touched, scene, epoch);
    const cuts = isWide ? this.#cut(scene.cuts, { epoch, inner, toEnd }) : scene.cuts;
    return { ...this.#content, epoch, cuts };
  }

  async #loadScene(range: ByteRange): Promise<Scene> {
    const { id, epoch, cuts } = this.#content;
    const overlapping = cutsOver(cuts, range.offsetBytes - this.#settings.chunkBytes, endOfRange(range));
    const [held, recorded, copied, standing, liveBeforeCuts] = await Promise.all([
      newestHeld(this.#tx, id, { to: epoch + 1 }),
      newestRecorded(this.#tx, id, { to: epoch }),
      this.#tx.get(copiedKey(id)),
      standingCuts(this.#tx, this.#content),
      Promise.all(overlapping.map((cut) => newestLive(this.#tx, id, { to: cut.epoch }))),
    ]);
    return {
      isHeld: held === epoch,
      liveBefore: Math.max(held, recorded),
      cuts: standing,
      liveBeforeCut: new Map(overlapping.map((cut, index) => [cut.epoch, liveBeforeCuts[index] as number])),
      isCopied: copied !== null,
    };
  }

  async #apply(changes: readonly Change[], scene: Scene, epoch: number): Promise<void> {
    const replaced: ReplacedChunk[] = [];
    for (const change of changes) {
      const gone = this.#change(change, scene, epoch);
      if (gone !== null) replaced.push(gone);
    }
    await letGoOfReplaced(this.#tx, this.#extents, { mapId: this.#content.id, isCopied: scene.isCopied, replaced });
  }

  /** What nobody sees any more, if there was a state before and it is not kept. */
  #change({ chunk, value, changed }: Change, scene: Scene, epoch: number): ReplacedChunk | null {
    const before = value === null ? null : decodeChunk(value);
    const cutEpoch = goneBefore(scene.cuts, chunk * this.#settings.chunkBytes);
    const isCut = before !== null && before.since < cutEpoch;
    const visible = before === null || isCut ? [] : before.pieces;
    const after = changed(visible);
    if (after.length === visible.length && after.every((piece, index) => piece === visible[index])) return null;

    const liveBefore = isCut ? (scene.liveBeforeCut.get(cutEpoch) as number) : scene.liveBefore;
    const isKept = before !== null && before.since <= liveBefore;
    const pieces = isKept ? sharedWith(visible, after) : after;
    const key = this.#chunkKey(chunk);
    if (pieces.length > 0) this.#tx.put(key, encodeChunk({ since: epoch, pieces }));
    else this.#tx.delete(key);
    if (isKept) keepPast(this.#tx, this.#content.id, { chunk, value: value as Uint8Array, epoch: liveBefore });
    return before === null || isKept ? null : { chunk, before: before.pieces, after };
  }

  #raise({ isHeld }: Scene): number {
    const { id, epoch } = this.#content;
    // The reader may die without a word. Without one, no state is kept for this epoch, and nothing is left to sweep.
    if (isHeld) this.#extents.discardLater(this.#tx, { kind: 'epoch', id, epoch });
    return raiseEpoch(this.#tx, this.#content);
  }

  #cut(
    cuts: readonly PageCut[],
    { epoch, inner, toEnd }: { epoch: number; inner: ChunkSpan; toEnd: boolean },
  ): readonly PageCut[] {
    const { chunkBytes, cutsMax } = this.#settings;
    const cut: PageCut = {
      epoch,
      fromBytes: inner.fromChunk * chunkBytes,
      toBytes: toEnd ? null : inner.toChunk * chunkBytes,
    };
    const all = withCut(cuts, cut);
    // Every one that is carried out leaves the list: so many stand only while nothing is swept at all.
    if (all.length > cutsMax) throw new StorageError('ServerBusy');
    this.#tx.put(cutKey(this.#content.id, epoch), NO_VALUE);
    this.#extents.discardLater(this.#tx, { kind: 'cut', id: this.#content.id, ...cut });
    return all;
  }

  /** The extent is new, so that nobody has counted it yet. */
  #putReferences({ ref }: StagedExtent, count: number): void {
    this.#tx.put(referencesKey(ref.id), encodeJson({ count } satisfies ReferencesRecord));
  }

  #chunkKey(chunk: number): Key {
    return chunkKey(this.#content.id, chunk);
  }
}

/** The pieces of the later state; both name the extents of those that were there before. */
function sharedWith(before: readonly PagePiece[], after: readonly PagePiece[]): PagePiece[] {
  const named = new Set(before.map(({ extent }) => extent.id));
  return after.map((piece) => (named.has(piece.extent.id) ? { ...piece, isShared: true } : piece));
}

const endOfRange = ({ offsetBytes, lengthBytes }: ByteRange): number => offsetBytes + lengthBytes;
