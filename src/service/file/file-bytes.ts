/**
 * The bytes of files, over maps of pages (service/pages/), which know whole pages of 512 bytes only. A write that begins or ends
 * within a page writes that page anew, with what the rest of it was: so what is allocated is always whole pages, and a
 * file written byte by byte has no more pieces than one written page by page. Behind a file's end its last page is zeros.
 */
import type { Id, IdSource } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import { chunksOver, endOf, type Span, spanOf } from '../../rules/page-ranges.ts';
import type { StagedExtent } from '../extents/extents.ts';
import { chunkStates } from '../pages/chunk-states.ts';
import { createPages } from '../pages/page-map.ts';
import { PAGE_SETTINGS } from '../pages/page-settings.ts';
import { resizePages, writePages } from '../pages/write-pages.ts';
import { UnreadableRecord } from '../records/codec.ts';
import { decodeInline, type ExtentRef } from '../records/extent-record.ts';
import { extentKey } from '../records/keys.ts';
import type { LayoutPiece } from '../records/layout.ts';
import type { FileContent } from '../records/node-record.ts';
import { decodeChunk } from '../records/page-chunk.ts';
import type { Storage } from '../storage.ts';

export const PAGE_BYTES = 512;

/** A range to write: its whole pages as an extent, and what begins or ends within a page as bytes. */
export interface TakenBytes extends Span {
  /** The part that lies in the first page, if it does not begin with it or does not fill it. */
  readonly head: Uint8Array;
  /** The whole pages behind it; null: there are none. */
  readonly middle: StagedExtent | null;
  /** The part that lies in the last page. */
  readonly tail: Uint8Array;
}

/** How the parts of a range lie in pages. */
export function splitPages(range: Span): { headBytes: number; middleBytes: number; tailBytes: number } {
  const start = range.offsetBytes;
  const end = endOf(range);
  const firstWhole = Math.ceil(start / PAGE_BYTES) * PAGE_BYTES;
  const lastWhole = Math.floor(end / PAGE_BYTES) * PAGE_BYTES;
  if (firstWhole > lastWhole) return { headBytes: range.lengthBytes, middleBytes: 0, tailBytes: 0 };
  return { headBytes: firstWhole - start, middleBytes: lastWhole - firstWhole, tailBytes: end - lastWhole };
}

/** What is known of extents in a transaction that cannot read them by itself: they never change, so it stays true. */
export class OldBytes {
  readonly #bytes = new Map<string, Uint8Array>();
  readonly #extents = new Map<Id, Uint8Array>();

  get(piece: LayoutPiece): Uint8Array {
    const { extent, offsetBytes, lengthBytes } = piece;
    const bytes =
      this.#bytes.get(nameOf(piece)) ??
      this.#extents.get(extent.id)?.subarray(offsetBytes, offsetBytes + lengthBytes) ??
      null;
    if (bytes === null) throw new BytesNeeded([piece]);
    return bytes;
  }

  note(piece: LayoutPiece, bytes: Uint8Array): void {
    this.#bytes.set(nameOf(piece), bytes);
  }

  /** All of an extent: one that the transaction itself publishes can be read nowhere else. */
  noteExtent({ id }: ExtentRef, bytes: Uint8Array): void {
    this.#extents.set(id, bytes);
  }
}

const nameOf = ({ extent, offsetBytes }: LayoutPiece): string => `${extent.id}/${offsetBytes}`;

/** Of the content store, and the transaction is to be run again with them. */
export class BytesNeeded extends Error {
  readonly pieces: readonly LayoutPiece[];

  constructor(pieces: readonly LayoutPiece[]) {
    super('bytes of extents are needed');
    this.pieces = pieces;
  }
}

/** Does it with one after the other, also where bytes are missing, and says in the end what all of them are missing. */
export async function gatherNeeds<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const needed: LayoutPiece[] = [];
  const results: R[] = [];
  for (const item of items) {
    try {
      results.push(await act(item));
    } catch (error) {
      if (!(error instanceof BytesNeeded)) throw error;
      needed.push(...error.pieces);
    }
  }
  if (needed.length > 0) throw new BytesNeeded(needed);
  return results;
}

/** Runs a change, and again whenever it has found out that it needs old bytes from the content store. */
export async function withOldBytes<T>(
  { readers }: Pick<Storage, 'readers'>,
  change: (old: OldBytes) => Promise<T>,
): Promise<T> {
  const old = new OldBytes();
  const gone = new Set<Id>();
  for (;;) {
    try {
      return await change(old);
    } catch (error) {
      if (!(error instanceof BytesNeeded)) throw error;
      await Promise.all(
        error.pieces.map(async (piece) => {
          const { id } = piece.extent;
          if (gone.has(id)) throw new UnreadableRecord(`extent ${id} has no record`);
          const bytes = await readers.readExtent(piece);
          // Others have written there meanwhile, and the change will find out.
          if (bytes === null) gone.add(id);
          else old.note(piece, bytes);
        }),
      );
    }
  }
}

type Parts = Pick<Storage, 'extents'> & { readonly ids: Pick<IdSource, 'next'> };

/** What begins or ends within pages is one extent with them, if it is small. */
export async function writeBytes(
  tx: Transaction,
  parts: Parts,
  content: FileContent,
  { taken, old }: { taken: TakenBytes; old: OldBytes },
): Promise<FileContent> {
  const { offsetBytes, head, middle, tail } = taken;
  const tailAt = offsetBytes + head.length + (middle?.lengthBytes ?? 0);
  const edges = [
    { at: offsetBytes, bytes: head },
    { at: tailAt, bytes: tail },
  ];
  const [headPage, tailPage] = (await gatherNeeds(edges, async ({ at, bytes }) => {
    if (bytes.length === 0) return bytes;
    const page = content.kind === 'empty' ? null : await oldPage(tx, content, { at, old });
    return patched(page ?? new Uint8Array(PAGE_BYTES), at, bytes);
  })) as [Uint8Array, Uint8Array];
  let pages = content.kind === 'empty' ? createPages(tx, parts.ids) : content;
  let at = pageStart(offsetBytes);
  for (const extent of wholePages(parts, headPage, middle, tailPage)) {
    const { lengthBytes } = extent;
    pages = await writePages(tx, parts.extents, pages, { offsetBytes: at, lengthBytes }, extent);
    at += lengthBytes;
  }
  return pages;
}

/** One after the other. */
function wholePages(
  { extents }: Parts,
  head: Uint8Array,
  middle: StagedExtent | null,
  tail: Uint8Array,
): StagedExtent[] {
  const stage = (...pieces: Uint8Array[]): StagedExtent[] => {
    const filled = pieces.filter(({ length }) => length > 0);
    return filled.length === 0 ? [] : [extents.stageSmall(Buffer.concat(filled))];
  };
  if (middle === null) return stage(head, tail);
  return 'bytes' in middle.body ? stage(head, middle.body.bytes, tail) : [...stage(head), middle, ...stage(tail)];
}

/** Whole pages are given back; of others what is cleared is zeros from now on. */
export async function clearBytes(
  tx: Transaction,
  parts: Parts,
  content: FileContent,
  { range, old }: { range: Span; old: OldBytes },
): Promise<FileContent> {
  if (content.kind === 'empty') return content;
  const { headBytes, middleBytes, tailBytes } = splitPages(range);
  let pages = content;
  const wipe = async (at: number, lengthBytes: number): Promise<void> => {
    const page = lengthBytes === 0 ? null : await oldPage(tx, pages, { at, old });
    if (page !== null) pages = await putPage(tx, parts, pages, at, patched(page, at, new Uint8Array(lengthBytes)));
  };
  await wipe(range.offsetBytes, headBytes);
  const middleAt = range.offsetBytes + headBytes;
  if (middleBytes > 0) {
    const whole = { offsetBytes: middleAt, lengthBytes: middleBytes };
    pages = await writePages(tx, parts.extents, pages, whole, null);
  }
  await wipe(middleAt + middleBytes, tailBytes);
  return pages;
}

/** A file that grows later shows zeros where it was cut off. */
export async function resizeBytes(
  tx: Transaction,
  parts: Parts,
  content: FileContent,
  { fromBytes, toBytes, old }: { fromBytes: number; toBytes: number; old: OldBytes },
): Promise<FileContent> {
  if (content.kind === 'empty' || toBytes >= fromBytes) return content;
  const keptBytes = Math.ceil(toBytes / PAGE_BYTES) * PAGE_BYTES;
  const wiped = await clearBytes(tx, parts, content, { range: spanOf(toBytes, keptBytes), old });
  const allocatedBytes = Math.ceil(fromBytes / PAGE_BYTES) * PAGE_BYTES;
  if (wiped.kind === 'empty') return wiped;
  return resizePages(tx, parts.extents, wiped, { fromBytes: allocatedBytes, toBytes: keptBytes });
}

type Pages = Exclude<FileContent, { kind: 'empty' }>;

async function putPage(
  tx: Transaction,
  { extents }: Parts,
  pages: Pages,
  at: number,
  page: Uint8Array,
): Promise<Pages> {
  const range = { offsetBytes: pageStart(at), lengthBytes: PAGE_BYTES };
  return writePages(tx, extents, pages, range, extents.stageSmall(page));
}

/** The page that holds this offset, null where none is allocated. */
async function oldPage(
  tx: Transaction,
  pages: Pages,
  { at, old }: { at: number; old: OldBytes },
): Promise<Uint8Array | null> {
  const page: Span = { offsetBytes: pageStart(at), lengthBytes: PAGE_BYTES };
  const { chunkBytes } = PAGE_SETTINGS;
  for await (const { chunk, states } of chunkStates(tx, [pages], chunksOver(page, chunkBytes), PAGE_SETTINGS)) {
    const inChunk = page.offsetBytes - chunk * chunkBytes;
    const { value } = states[0] as { value: Uint8Array };
    // Pieces are whole pages, so that one of them holds all of a page.
    const piece = decodeChunk(value).pieces.find((each) => each.offsetBytes <= inChunk && inChunk < endOf(each));
    if (piece === undefined) return null;
    const offsetBytes = piece.extentOffsetBytes + inChunk - piece.offsetBytes;
    const wanted: LayoutPiece = { extent: piece.extent, offsetBytes, lengthBytes: PAGE_BYTES };
    if (!piece.extent.inline) return old.get(wanted);
    const row = (await tx.get(extentKey(piece.extent))) as Uint8Array;
    return decodeInline(row).subarray(offsetBytes, offsetBytes + PAGE_BYTES);
  }
  return null;
}

const pageStart = (at: number): number => Math.floor(at / PAGE_BYTES) * PAGE_BYTES;

function patched(page: Uint8Array, at: number, bytes: Uint8Array): Uint8Array {
  const after = Uint8Array.from(page);
  after.set(bytes, at - pageStart(at));
  return after;
}
