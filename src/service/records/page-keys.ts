/**
 * Keys of the maps of pages. Epochs count from 1; a chunk is numbered from the start of the blob.
 *
 *   M mapId chunk                   the pages of a chunk, as they are
 *   H mapId chunk epoch             the same, as they were: `epoch` is the last one that sees them
 *   N mapId epoch since chunk       for each H row, by its last and first epoch
 *   V mapId epoch                   an epoch that a record holds
 *   V mapId 0 epoch                 a cut that is not yet carried out
 *   V mapId                         extents of this map are also named by copies of it
 *   F0 M mapId epoch holdId         an epoch that a reader holds (volatile)
 */
import { ID_BYTES, type Id } from '../../base/ids.ts';
import { type Key, type KeyRange, VOLATILE_PREFIX } from '../../engine/engine.ts';

const EPOCH_BYTES = 6;
const CHUNK_BYTES = 4;
export const CHUNK_COUNT_MAX = 2 ** 32 - 1;
/** No map gets this far. */
const EPOCH_MAX = 2 ** 48 - 1;
const EPOCH_FIRST = 1;

const prefixed = (letter: string, mapId: Id): Buffer =>
  Buffer.concat([Buffer.from(letter, 'latin1'), Buffer.from(mapId, 'hex')]);

const epochBytes = (epoch: number): Buffer => {
  const bytes = Buffer.allocUnsafe(EPOCH_BYTES);
  bytes.writeUIntBE(epoch, 0, EPOCH_BYTES);
  return bytes;
};

const chunkBytes = (chunk: number): Buffer => {
  const bytes = Buffer.allocUnsafe(CHUNK_BYTES);
  bytes.writeUInt32BE(chunk, 0);
  return bytes;
};

// ---- chunks as they are

export const chunkKey = (mapId: Id, chunk: number): Key => Buffer.concat([prefixed('M', mapId), chunkBytes(chunk)]);

export const chunkOf = (key: Key): number => asBuffer(key).readUInt32BE(1 + ID_BYTES);

export const chunkRange = (mapId: Id, fromChunk = 0, toChunk = CHUNK_COUNT_MAX): KeyRange => ({
  from: chunkKey(mapId, fromChunk),
  to: chunkKey(mapId, toChunk),
});

// ---- chunks as they were

export const pastChunkKey = (mapId: Id, chunk: number, epoch: number): Key =>
  Buffer.concat([prefixed('H', mapId), chunkBytes(chunk), epochBytes(epoch)]);

export const parsePastChunkKey = (key: Key): { chunk: number; epoch: number } => ({
  chunk: chunkOf(key),
  epoch: asBuffer(key).readUIntBE(1 + ID_BYTES + CHUNK_BYTES, EPOCH_BYTES),
});

/** From one chunk's states that last to `epoch` or longer, up to all of those of the chunk before `toChunk`. */
export const pastRange = (mapId: Id, fromChunk = 0, epoch = 0, toChunk = CHUNK_COUNT_MAX): KeyRange => ({
  from: pastChunkKey(mapId, fromChunk, epoch),
  to: pastChunkKey(mapId, toChunk, 0),
});

/** One chunk's states that ended before `epoch`. */
export const olderRange = (mapId: Id, chunk: number, epoch = EPOCH_MAX): KeyRange => ({
  from: pastChunkKey(mapId, chunk, 0),
  to: pastChunkKey(mapId, chunk, epoch),
});

/** One chunk's states that ended later than `epoch`. */
export const newerRange = (mapId: Id, chunk: number, epoch: number): KeyRange =>
  pastRange(mapId, chunk, epoch + 1, chunk + 1);

// ---- which chunks have been otherwise, and when

export interface EndedChunk {
  readonly epoch: number;
  readonly since: number;
  readonly chunk: number;
}

export const endedKey = (mapId: Id, { epoch, since, chunk }: EndedChunk): Key =>
  Buffer.concat([prefixed('N', mapId), epochBytes(epoch), epochBytes(since), chunkBytes(chunk)]);

export const parseEndedKey = (key: Key): EndedChunk => {
  const bytes = asBuffer(key);
  return {
    epoch: bytes.readUIntBE(1 + ID_BYTES, EPOCH_BYTES),
    since: bytes.readUIntBE(1 + ID_BYTES + EPOCH_BYTES, EPOCH_BYTES),
    chunk: bytes.readUInt32BE(1 + ID_BYTES + 2 * EPOCH_BYTES),
  };
};

/** From what ended with `epoch` and began with `since` or later, up to what ended before `toEpoch`. */
export const endedRange = (mapId: Id, epoch: number, since: number, toEpoch = EPOCH_MAX): KeyRange => ({
  from: endedKey(mapId, { epoch, since, chunk: 0 }),
  to: endedKey(mapId, { epoch: toEpoch, since: 0, chunk: 0 }),
});

// ---- who sees a map

export const epochKey = (mapId: Id, epoch: number): Key => Buffer.concat([prefixed('V', mapId), epochBytes(epoch)]);

export const epochOf = (key: Key): number => asBuffer(key).readUIntBE(1 + ID_BYTES, EPOCH_BYTES);

/** From `from` (included) to `to` (excluded). */
export const epochRange = (mapId: Id, from = EPOCH_FIRST, to = EPOCH_MAX): KeyRange => ({
  from: epochKey(mapId, Math.max(from, EPOCH_FIRST)),
  to: epochKey(mapId, to),
});

export const holdKey = (mapId: Id, epoch: number, holdId: Id): Key =>
  Buffer.concat([holdPrefix(mapId), epochBytes(epoch), Buffer.from(holdId, 'hex')]);

export const heldEpochOf = (key: Key): number => asBuffer(key).readUIntBE(2 + ID_BYTES, EPOCH_BYTES);

/** The holds of epochs from `from` (included) to `to` (excluded). */
export const holdRange = (mapId: Id, from = EPOCH_FIRST, to = EPOCH_MAX): KeyRange => ({
  from: Buffer.concat([holdPrefix(mapId), epochBytes(from)]),
  to: Buffer.concat([holdPrefix(mapId), epochBytes(to)]),
});

const holdPrefix = (mapId: Id): Buffer => Buffer.concat([Buffer.of(VOLATILE_PREFIX), prefixed('M', mapId)]);

// ---- what else is known of a map

export const copiedKey = (mapId: Id): Key => prefixed('V', mapId);

export const cutKey = (mapId: Id, epoch: number): Key =>
  Buffer.concat([prefixed('V', mapId), epochBytes(0), epochBytes(epoch)]);

/** Everything of the V table but the epochs. */
export const mapNotesRange = (mapId: Id): KeyRange => ({ from: copiedKey(mapId), to: epochKey(mapId, EPOCH_FIRST) });

export type MapRow =
  | { readonly kind: 'epoch'; readonly mapId: Id; readonly epoch: number }
  | { readonly kind: 'cut'; readonly mapId: Id; readonly epoch: number }
  | { readonly kind: 'copied'; readonly mapId: Id };

/** What a row of the V table says. */
export function parseMapRow(key: Key): MapRow {
  const mapId = asBuffer(key).toString('hex', 1, 1 + ID_BYTES);
  if (key.length === 1 + ID_BYTES) return { kind: 'copied', mapId };
  if (key.length === 1 + ID_BYTES + EPOCH_BYTES) return { kind: 'epoch', mapId, epoch: epochOf(key) };
  return { kind: 'cut', mapId, epoch: asBuffer(key).readUIntBE(1 + ID_BYTES + EPOCH_BYTES, EPOCH_BYTES) };
}

const asBuffer = (key: Key): Buffer => Buffer.from(key.buffer, key.byteOffset, key.byteLength);
