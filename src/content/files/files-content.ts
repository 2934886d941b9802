/**
 * Content on a local disk. Middling extents share segments, whose fdatasync serves many writers; large ones have a file
 * of their own, written and read in large pieces. A placement says which; nothing is looked up in an index of ours.
 */
import { mkdir, open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Id } from '../../base/ids.ts';
import {
  type ByteRange,
  type ContentStore,
  ContentUnavailable,
  ExtentMissing,
  type PlacedExtent,
  type Placement,
  type RecoveryReport,
} from '../content.ts';
import { refuseExtent, refuseRange } from '../malformed.ts';
import { Folders, type OpenFile, removeFile } from './disk.ts';
import { ExtentFiles } from './extent-files.ts';
import { HandleCache } from './handle-cache.ts';
import { LiveFrames } from './live-frames.ts';
import { parsePlacement } from './placement.ts';
import { readRange } from './range-read.ts';
import { slotCount } from './segment-frame.ts';
import { Segments } from './segments.ts';
import type { Stray } from './stray.ts';

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const SEGMENT_EXTENT_BYTES_MAX = 2 * 1024 * 1024;
const HANDLE_COUNT_MAX = 256;

export interface FilesContentOptions {
  readonly path: string;
  /** A segment that would grow beyond this is closed and another begun. */
  readonly segmentBytesMax?: number;
  /** Larger extents get a file of their own. */
  readonly segmentExtentBytesMax?: number;
  /** How files are opened; a test gives a disk that fails. */
  readonly openFile?: OpenFile;
}

export async function openFilesContent(options: FilesContentOptions): Promise<ContentStore> {
  const { openFile = open } = options;
  const path = resolve(options.path);
  const { segmentBytesMax = SEGMENT_BYTES_MAX, segmentExtentBytesMax = SEGMENT_EXTENT_BYTES_MAX } = options;
  const folders = new Folders(openFile);
  const handles = new HandleCache({ openFile, handleCountMax: HANDLE_COUNT_MAX });
  const folder = (name: string) => join(path, name);
  await makeDurably(path, folders);
  for (const name of ['segments', 'extents', 'incoming']) await mkdir(folder(name), { recursive: true });
  await folders.sync(path);
  const segments = new Segments({ folder: folder('segments'), segmentBytesMax, openFile, folders, handles });
  const files = new ExtentFiles({
    folder: folder('extents'),
    incomingFolder: folder('incoming'),
    openFile,
    folders,
    handles,
  });
  return new FilesContent({ segments, files, handles, segmentExtentBytesMax });
}

async function makeDurably(path: string, folders: Folders): Promise<void> {
  const firstMade = await mkdir(path, { recursive: true });
  // Also when it was there: the process that made it may have crashed before its name was durable.
  if (firstMade === undefined) return folders.sync(dirname(path));
  for (let made = path; made.length >= firstMade.length; made = dirname(made)) await folders.sync(dirname(made));
}

interface Parts {
  readonly segments: Segments;
  readonly files: ExtentFiles;
  readonly handles: HandleCache;
  readonly segmentExtentBytesMax: number;
}

/** What records name, as it is needed to find what they do not name. */
interface Named {
  readonly fileIds: Set<Id>;
  readonly frames: Map<Id, LiveFrames>;
}

class FilesContent implements ContentStore {
  readonly #segments: Segments;
  readonly #files: ExtentFiles;
  readonly #handles: HandleCache;
  readonly #segmentExtentBytesMax: number;
  readonly #writing = new Set<Promise<Placement>>();
  #state: 'opened' | 'in use' | 'closed' = 'opened';

  constructor({ segments, files, handles, segmentExtentBytesMax }: Parts) {
    this.#segments = segments;
    this.#files = files;
    this.#handles = handles;
    this.#segmentExtentBytesMax = segmentExtentBytesMax;
  }

  async write(id: Id, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Placement> {
    refuseExtent(id, lengthBytes);
    this.#refuseWhenClosed();
    this.#state = 'in use';
    const home = lengthBytes <= this.#segmentExtentBytesMax ? this.#segments : this.#files;
    const writing = home.write(id, source, lengthBytes);
    this.#writing.add(writing);
    try {
      return await writing;
    } catch (error) {
      throw translateDiskError(error);
    } finally {
      this.#writing.delete(writing);
    }
  }

  async *read(placement: Placement, range: ByteRange): AsyncIterable<Uint8Array> {
    this.#refuseWhenClosed();
    const place = parsePlacement(placement);
    if (place === null) throw new ExtentMissing(`not a placement of this store: ${placement}`);
    refuseRange(range, place.lengthBytes);
    const { path, startBytes } = place.kind === 'segment' ? this.#segments.locate(place) : this.#files.locate(place);
    const held = await this.#handles.acquire(path);
    try {
      yield* readRange(held.handle, { ...range, offsetBytes: startBytes + range.offsetBytes });
    } finally {
      held.release();
    }
  }

  async free(placement: Placement): Promise<void> {
    const place = parsePlacement(placement);
    if (place?.kind === 'segment') await this.#segments.free(place);
    if (place?.kind === 'file') await this.#files.free(place);
  }

  async verify({ id, placement, lengthBytes }: PlacedExtent): Promise<'ok' | 'missing' | 'damaged'> {
    const place = parsePlacement(placement);
    if (place === null) return 'missing';
    if (place.lengthBytes !== lengthBytes) return 'damaged';
    try {
      return await (place.kind === 'segment' ? this.#segments.verify(id, place) : this.#files.verify(id, place));
    } catch (error) {
      if (error instanceof ExtentMissing) return 'missing';
      throw error;
    }
  }

  async recover(live: AsyncIterable<PlacedExtent>): Promise<RecoveryReport> {
    if (this.#state !== 'opened') throw new Error('recover must be called once, directly after opening');
    this.#state = 'in use';
    const named = await collectNamed(live, (placement) => {
      // Records of another store: everything here would look like a stray.
      throw new Error(`a record refers to content that this store never wrote: ${placement}`);
    });
    const report = await tally(this.#straysOf(named), (stray) => this.#remove(stray));
    await this.#segments.adopt(named.frames);
    return report;
  }

  async worthMoving(): Promise<readonly PlacedExtent[]> {
    return this.#segments.worthMoving();
  }

  /** Freed frames in segments that others still need are no strays: they come back when the segment does. */
  async strays(live: AsyncIterable<PlacedExtent>): Promise<RecoveryReport> {
    const named = await collectNamed(live, () => {});
    return tally(this.#straysOf(named), async () => {});
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    await Promise.allSettled(this.#writing);
    await this.#segments.close();
    await this.#handles.close();
  }

  async *#straysOf({ frames, fileIds }: Named): AsyncGenerator<Stray> {
    yield* this.#segments.strays(frames);
    yield* this.#files.strays(fileIds);
  }

  async #remove({ path }: Stray): Promise<void> {
    await removeFile(path);
    this.#handles.forget(path);
  }

  #refuseWhenClosed(): void {
    if (this.#state === 'closed') throw new Error('the content store is closed');
  }
}

async function collectNamed(
  live: AsyncIterable<PlacedExtent>,
  onForeign: (placement: Placement) => void,
): Promise<Named> {
  const fileIds = new Set<Id>();
  const frames = new Map<Id, LiveFrames>();
  for await (const { placement } of live) {
    const place = parsePlacement(placement);
    if (place === null) {
      onForeign(placement);
    } else if (place.kind === 'file') {
      fileIds.add(place.id);
    } else {
      const segmentFrames = frames.get(place.segmentId) ?? new LiveFrames();
      segmentFrames.add({ slot: place.slot, slotCount: slotCount(place.lengthBytes) });
      frames.set(place.segmentId, segmentFrames);
    }
  }
  return { fileIds, frames };
}

async function tally(strays: AsyncIterable<Stray>, each: (stray: Stray) => Promise<void>): Promise<RecoveryReport> {
  let extentCount = 0;
  let bytes = 0;
  for await (const stray of strays) {
    await each(stray);
    extentCount += stray.extentCount;
    bytes += stray.bytes;
  }
  return { extentCount, bytes };
}

const DISK_ERRORS: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE']);

function translateDiskError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!DISK_ERRORS.has(code)) return error;
  return new ContentUnavailable(`the content store could not be written: ${code}`, { cause: error });
}
