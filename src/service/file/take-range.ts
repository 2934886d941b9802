/** Takes the bytes of a range in: stages its whole pages, and hashes on the way what comes from outside. */
import { hash as hashOnce } from 'node:crypto';
import { BodyHash } from '../../base/body-hash.ts';
import { SourceLengthMismatch } from '../../content/content.ts';
import { type Body, refuseHashMismatch } from '../extents/take-body.ts';
import type { Storage } from '../storage.ts';
import { splitPages, type TakenBytes } from './file-bytes.ts';

export interface TakenRange {
  readonly bytes: TakenBytes;
  readonly md5: Buffer;
}

export async function takeRange(storage: Storage, offsetBytes: number, body: Body): Promise<TakenRange> {
  return storage.extents.isSmall(body.lengthBytes)
    ? takeSmall(storage, offsetBytes, body)
    : takeLarge(storage, offsetBytes, body);
}

async function takeSmall(storage: Storage, offsetBytes: number, body: Body): Promise<TakenRange> {
  const whole = await body.whole();
  if (whole.length !== body.lengthBytes) throw new SourceLengthMismatch('the body does not have the announced length');
  const md5 = hashOnce('md5', whole, 'buffer');
  refuseHashMismatch(body, { md5, crc64: null });
  return { bytes: takeFew(storage, offsetBytes, whole), md5 };
}

/** Few enough to stand in the engine (`isSmall`): nothing is stored yet. */
export function takeFew({ extents }: Storage, offsetBytes: number, bytes: Uint8Array): TakenBytes {
  const { head, middle, tail } = cut(offsetBytes, bytes);
  const staged = middle.length === 0 ? null : extents.stageSmall(middle);
  return { offsetBytes, lengthBytes: bytes.length, head, middle: staged, tail };
}

/** Many bytes that are here already. */
export async function takeMany({ extents }: Storage, offsetBytes: number, bytes: Uint8Array): Promise<TakenBytes> {
  const { head, middle, tail } = cut(offsetBytes, bytes);
  const staged = await extents.stageLarge(once(middle), middle.length);
  return { offsetBytes, lengthBytes: bytes.length, head, middle: staged, tail };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Where pages begin and end. */
export function cut(offsetBytes: number, bytes: Uint8Array): Record<'head' | 'middle' | 'tail', Uint8Array> {
  const { headBytes, middleBytes } = splitPages({ offsetBytes, lengthBytes: bytes.length });
  const tailAt = headBytes + middleBytes;
  return {
    head: bytes.subarray(0, headBytes),
    middle: bytes.subarray(headBytes, tailAt),
    tail: bytes.subarray(tailAt),
  };
}

async function takeLarge(storage: Storage, offsetBytes: number, body: Body): Promise<TakenRange> {
  const { headBytes, middleBytes, tailBytes } = splitPages({ offsetBytes, lengthBytes: body.lengthBytes });
  const head = new Uint8Array(headBytes);
  const tail = new Uint8Array(tailBytes);
  const hash = new BodyHash({ md5: true, crc64: false, lengthBytes: body.lengthBytes });
  async function* middleOf(): AsyncGenerator<Uint8Array> {
    let at = 0;
    for await (const piece of body.stream()) {
      await hash.update(piece);
      const start = at;
      at += piece.length;
      copyPart(piece, { from: start, into: head, ofStart: 0 });
      copyPart(piece, { from: start, into: tail, ofStart: headBytes + middleBytes });
      const middle = piece.subarray(Math.max(0, headBytes - start), Math.max(0, headBytes + middleBytes - start));
      if (middle.length > 0) yield middle;
    }
    if (at !== body.lengthBytes) throw new SourceLengthMismatch('the body does not have the announced length');
  }
  try {
    const middle = await storage.extents.stageLarge(middleOf(), middleBytes);
    try {
      const md5 = (await hash.digest()).md5 as Buffer;
      refuseHashMismatch(body, { md5, crc64: null });
      return { bytes: { offsetBytes, lengthBytes: body.lengthBytes, head, middle, tail }, md5 };
    } catch (error) {
      await storage.extents.discard(middle);
      throw error;
    }
  } finally {
    hash.dispose();
  }
}

/** Copies what of the piece, which begins at `from`, lies in the part that begins at `ofStart`. */
function copyPart(
  piece: Uint8Array,
  { from, into, ofStart }: { from: number; into: Uint8Array; ofStart: number },
): void {
  const start = Math.max(from, ofStart);
  const end = Math.min(from + piece.length, ofStart + into.length);
  if (start < end) into.set(piece.subarray(start - from, end - from), start - ofStart);
}
