/**
 * Content in memory: the model that other stores are compared with, and what `--memory` uses. An extent is a row of
 * chunks of one size, so that a range is found by division. What it gives out are views of the chunks: read, never write.
 */
import type { Id } from '../../base/ids.ts';
import {
  type ByteRange,
  type ContentStore,
  ExtentMissing,
  type PlacedExtent,
  type Placement,
  type RecoveryReport,
  SourceLengthMismatch,
} from '../content.ts';
import { refuseRange } from '../malformed.ts';

const CHUNK_BYTES = 256 * 1024;

interface Extent {
  readonly id: Id;
  readonly lengthBytes: number;
  readonly chunks: readonly Uint8Array[];
}

export function openMemoryContent(): ContentStore {
  return new MemoryContent();
}

class MemoryContent implements ContentStore {
  readonly #extents = new Map<Placement, Extent>();
  #written = 0;

  async write(id: Id, source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Placement> {
    if (!(lengthBytes > 0)) throw new RangeError(`an extent of ${lengthBytes} bytes`);
    const extent = { id, lengthBytes, chunks: await collect(source, lengthBytes) };
    const placement = `m${(this.#written++).toString(36)}`;
    this.#extents.set(placement, extent);
    return placement;
  }

  async *read(placement: Placement, { offsetBytes, lengthBytes }: ByteRange): AsyncIterable<Uint8Array> {
    const extent = this.#extents.get(placement);
    if (extent === undefined) throw new ExtentMissing(placement);
    refuseRange({ offsetBytes, lengthBytes }, extent.lengthBytes);
    const endBytes = offsetBytes + lengthBytes;
    for (let at = offsetBytes; at < endBytes; ) {
      const index = Math.floor(at / CHUNK_BYTES);
      const chunkStart = index * CHUNK_BYTES;
      const piece = (extent.chunks[index] as Uint8Array).subarray(at - chunkStart, endBytes - chunkStart);
      at += piece.length;
      yield piece;
    }
  }

  async free(placement: Placement): Promise<void> {
    this.#extents.delete(placement);
  }

  async verify({ id, placement, lengthBytes }: PlacedExtent): Promise<'ok' | 'missing' | 'damaged'> {
    const extent = this.#extents.get(placement);
    if (extent === undefined) return 'missing';
    return extent.id === id && extent.lengthBytes === lengthBytes ? 'ok' : 'damaged';
  }

  async recover(live: AsyncIterable<PlacedExtent>): Promise<RecoveryReport> {
    const strays = await this.#straysOf(live);
    for (const placement of strays.keys()) this.#extents.delete(placement);
    return report(strays);
  }

  async worthMoving(): Promise<readonly PlacedExtent[]> {
    return [];
  }

  async strays(live: AsyncIterable<PlacedExtent>): Promise<RecoveryReport> {
    return report(await this.#straysOf(live));
  }

  /** Nothing is held outside of the object, so whoever still has it can open it again. */
  async close(): Promise<void> {}

  async #straysOf(live: AsyncIterable<PlacedExtent>): Promise<Map<Placement, Extent>> {
    const strays = new Map(this.#extents);
    for await (const { placement } of live) strays.delete(placement);
    return strays;
  }
}

function report(strays: Map<Placement, Extent>): RecoveryReport {
  let bytes = 0;
  for (const { lengthBytes } of strays.values()) bytes += lengthBytes;
  return { extentCount: strays.size, bytes };
}

async function collect(source: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let chunk = new Uint8Array(0);
  let filledBytes = 0;
  let receivedBytes = 0;
  for await (const piece of source) {
    if (receivedBytes + piece.length > lengthBytes) {
      throw new SourceLengthMismatch(`received more than the ${lengthBytes} bytes announced`);
    }
    for (let at = 0; at < piece.length; ) {
      if (filledBytes === chunk.length) {
        chunk = new Uint8Array(Math.min(CHUNK_BYTES, lengthBytes - receivedBytes));
        chunks.push(chunk);
        filledBytes = 0;
      }
      const part = piece.subarray(at, at + chunk.length - filledBytes);
      chunk.set(part, filledBytes);
      filledBytes += part.length;
      receivedBytes += part.length;
      at += part.length;
    }
  }
  if (receivedBytes < lengthBytes) {
    throw new SourceLengthMismatch(`received ${receivedBytes} of the ${lengthBytes} bytes announced`);
  }
  return chunks;
}
