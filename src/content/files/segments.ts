/**
 * Append-only files that middling extents share. A writer reserves a frame, writes it beside the others, and waits for
 * an fdatasync that serves them all. Space comes back a segment at a time: one without live frames is removed; one with
 * few is named by worthMoving. A segment is only ever appended to by the process that made it, so nothing is written
 * behind a tail that a crash may have torn.
 */
import type { FileHandle } from 'node:fs/promises';
import { opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Id, IdSource, isId } from '../../base/ids.ts';
import { ExtentMissing, type PlacedExtent, type Placement } from '../content.ts';
import { type Folders, isMissing, type OpenFile, removeFile } from './disk.ts';
import { writeGathered } from './gathered-write.ts';
import { GroupSync } from './group-sync.ts';
import type { HandleCache } from './handle-cache.ts';
import { LiveFrames } from './live-frames.ts';
import { renderPlacement, type SegmentPlace } from './placement.ts';
import { decodeHeader, encodeHeader, type FrameHeader, HEADER_BYTES, SLOT_BYTES, slotCount } from './segment-frame.ts';
import type { Stray } from './stray.ts';

/** worthMoving ends with the segment that brings it to so many: the caller asks again when it has moved them. */
const WORTH_MOVING_COUNT = 1024;
const NAME_FORM = /^([0-9a-f]{24})\.segment$/;

interface Segment {
  readonly id: Id;
  readonly path: string;
  readonly live: LiveFrames;
  /** Reserved from the start on; the next frame goes here. */
  endSlot: number;
  writerCount: number;
  /** Null once it is sealed and its last writer has left. */
  appender: Appender | null;
  sealed: boolean;
}

interface Appender {
  readonly handle: FileHandle;
  readonly sync: GroupSync;
  /** Resolves once the segment's own name is durable. */
  readonly named: Promise<void>;
}

interface Frame {
  readonly segment: Segment;
  readonly appender: Appender;
  readonly slot: number;
  readonly slotCount: number;
}

export interface SegmentsOptions {
  readonly folder: string;
  readonly segmentBytesMax: number;
  readonly openFile: OpenFile;
  readonly folders: Folders;
  readonly handles: HandleCache;
}

export class Segments {
  readonly #options: SegmentsOptions;
  readonly #ids = new IdSource();
  readonly #segments = new Map<Id, Segment>();
  #appending: Promise<Segment> | null = null;

  constructor(options: SegmentsOptions) {
    this.#options = options;
  }

  async write(id: Id, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Placement> {
    const frame = await this.#reserve(slotCount(lengthBytes));
    const { segment, appender, slot } = frame;
    try {
      const header = encodeHeader({ id, lengthBytes });
      await writeGathered({ handle: appender.handle, positionBytes: slot * SLOT_BYTES, header, source, lengthBytes });
      await this.#durable(segment, appender);
      return renderPlacement({ kind: 'segment', segmentId: segment.id, slot, lengthBytes });
    } catch (error) {
      segment.live.delete(frame);
      throw error;
    } finally {
      segment.writerCount--;
      await this.#settle(segment);
    }
  }

  /** Where the extent's bytes begin. Throws ExtentMissing for a frame that was freed. */
  locate({ segmentId, slot }: SegmentPlace): { path: string; startBytes: number } {
    const segment = this.#segments.get(segmentId);
    if (segment !== undefined && !segment.live.has(slot)) throw new ExtentMissing(`${segmentId}, slot ${slot}`);
    return { path: this.#path(segmentId), startBytes: slot * SLOT_BYTES + HEADER_BYTES };
  }

  async free({ segmentId, slot, lengthBytes }: SegmentPlace): Promise<void> {
    const segment = this.#segments.get(segmentId);
    if (segment === undefined) return;
    segment.live.delete({ slot, slotCount: slotCount(lengthBytes) });
    await this.#settle(segment);
  }

  async verify(id: Id, place: SegmentPlace): Promise<'ok' | 'missing' | 'damaged'> {
    const { path } = this.locate(place);
    const header = await this.#readHeader(path, place.slot);
    const ownHeader = header !== null && header.id === id && header.lengthBytes === place.lengthBytes;
    const endBytes = place.slot * SLOT_BYTES + HEADER_BYTES + place.lengthBytes;
    return ownHeader && endBytes <= (await stat(path)).size ? 'ok' : 'damaged';
  }

  /** Takes over what an earlier process left: `live` are the frames that records name, by segment. */
  async adopt(live: ReadonlyMap<Id, LiveFrames>): Promise<void> {
    for await (const { id, path, sizeBytes } of this.#onDisk()) {
      const frames = live.get(id);
      if (frames === undefined) continue;
      const endSlot = Math.ceil(sizeBytes / SLOT_BYTES);
      this.#segments.set(id, { id, path, live: frames, endSlot, writerCount: 0, appender: null, sealed: true });
    }
  }

  /** Segments without a single live frame, but for those that are being written. */
  async *strays(live: ReadonlyMap<Id, LiveFrames>): AsyncGenerator<Stray> {
    for await (const { id, path, sizeBytes } of this.#onDisk()) {
      if (live.has(id) || (this.#segments.get(id)?.appender ?? null) !== null) continue;
      yield { path, extentCount: await this.#countFrames(path, sizeBytes), bytes: sizeBytes };
    }
  }

  async worthMoving(): Promise<PlacedExtent[]> {
    const mostlyDead = [...this.#segments.values()]
      .filter(({ sealed, live, endSlot }) => sealed && live.frameCount > 0 && live.slotCount < endSlot / 2)
      .sort((a, b) => a.live.slotCount - b.live.slotCount);
    const extents: PlacedExtent[] = [];
    for (const segment of mostlyDead) {
      extents.push(...(await this.#liveExtents(segment)));
      if (extents.length >= WORTH_MOVING_COUNT) break;
    }
    return extents;
  }

  /** The caller has waited for its writes. */
  async close(): Promise<void> {
    const segment = await this.#appending;
    this.#appending = null;
    if (segment !== null) await this.#seal(segment);
  }

  async #reserve(slots: number): Promise<Frame> {
    for (;;) {
      this.#appending ??= this.#create();
      const appending = this.#appending;
      const segment = await appending;
      const fits = segment.endSlot === 0 || (segment.endSlot + slots) * SLOT_BYTES <= this.#options.segmentBytesMax;
      if (fits && !segment.sealed && segment.appender !== null) {
        const frame = { segment, appender: segment.appender, slot: segment.endSlot, slotCount: slots };
        segment.endSlot += slots;
        segment.writerCount++;
        segment.live.add(frame);
        return frame;
      }
      if (this.#appending === appending) this.#appending = null;
      await this.#seal(segment);
    }
  }

  async #create(): Promise<Segment> {
    const id = this.#ids.next();
    const path = this.#path(id);
    try {
      const handle = await this.#options.openFile(path, 'wx');
      // Runs beside the first writes; each of them waits for it before it counts as durable.
      const named = this.#options.folders.sync(this.#options.folder);
      named.catch(() => {});
      const appender = { handle, sync: new GroupSync(() => handle.datasync()), named };
      const segment = { id, path, live: new LiveFrames(), endSlot: 0, writerCount: 0, appender, sealed: false };
      this.#segments.set(id, segment);
      return segment;
    } catch (error) {
      this.#appending = null;
      throw error;
    }
  }

  async #durable(segment: Segment, { sync, named }: Appender): Promise<void> {
    try {
      await Promise.all([named, sync.wait()]);
    } catch (error) {
      // What the disk holds is no longer known: nothing more goes into this segment.
      await this.#seal(segment);
      throw error;
    }
  }

  async #seal(segment: Segment): Promise<void> {
    segment.sealed = true;
    await this.#settle(segment);
  }

  /** Lets go of what a sealed segment no longer needs. */
  async #settle(segment: Segment): Promise<void> {
    if (!segment.sealed || segment.writerCount > 0) return;
    const { appender } = segment;
    segment.appender = null;
    await appender?.handle.close();
    if (segment.live.frameCount > 0 || !this.#segments.delete(segment.id)) return;
    await removeFile(segment.path);
    this.#options.handles.forget(segment.path);
  }

  async #liveExtents(segment: Segment): Promise<PlacedExtent[]> {
    const extents: PlacedExtent[] = [];
    for (const slot of segment.live.slots()) {
      const header = await this.#readHeader(segment.path, slot);
      // A damaged header cannot be moved; verify tells of it.
      if (header === null || !segment.live.has(slot)) continue;
      const placement = renderPlacement({ kind: 'segment', segmentId: segment.id, slot, ...header });
      extents.push({ ...header, placement });
    }
    return extents;
  }

  async #countFrames(path: string, sizeBytes: number): Promise<number> {
    let count = 0;
    for (let slot = 0; slot * SLOT_BYTES < sizeBytes; ) {
      const header = await this.#readHeader(path, slot);
      if (header !== null) count++;
      slot += header === null ? 1 : slotCount(header.lengthBytes);
    }
    return count;
  }

  async #readHeader(path: string, slot: number): Promise<FrameHeader | null> {
    const held = await this.#options.handles.acquire(path);
    try {
      const header = Buffer.alloc(HEADER_BYTES);
      const { bytesRead } = await held.handle.read(header, 0, HEADER_BYTES, slot * SLOT_BYTES);
      return decodeHeader(header.subarray(0, bytesRead));
    } finally {
      held.release();
    }
  }

  async *#onDisk(): AsyncGenerator<{ id: Id; path: string; sizeBytes: number }> {
    for await (const { name } of await opendir(this.#options.folder)) {
      const id = NAME_FORM.exec(name)?.[1];
      if (id === undefined) continue;
      const path = this.#path(id);
      try {
        yield { id, path, sizeBytes: (await stat(path)).size };
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
  }

  #path(id: Id): string {
    if (!isId(id)) throw new Error(`not a segment's id: ${id}`);
    return join(this.#options.folder, `${id}.segment`);
  }
}
