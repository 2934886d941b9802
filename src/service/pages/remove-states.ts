/** Removes states of chunks that nobody sees, together with the extents that only they named. */
import type { Id } from '../../base/ids.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { Extents } from '../extents/extents.ts';
import { pieceCountOf } from '../records/page-chunk.ts';
import { chunkKey, newerRange, olderRange, pastChunkKey } from '../records/page-keys.ts';
import { removePast } from './keep-past.ts';
import { type EndedStates, letGoOfEnded } from './let-go.ts';

export interface StateAt {
  readonly chunk: number;
  /** The last epoch that saw it; null: the newest state. */
  readonly epoch: number | null;
}

interface FoundState extends StateAt {
  readonly key: Key;
  readonly value: Uint8Array;
}

/** How many of them, from the first on, are dealt with: fewer than all where they have more than `piecesMax` pieces. */
export async function removeStates(
  tx: Transaction,
  extents: Pick<Extents, 'dropExtent'>,
  { mapId, states, piecesMax }: { mapId: Id; states: readonly StateAt[]; piecesMax: number },
): Promise<number> {
  const keys = states.map((state) => keyOf(mapId, state));
  const values = await tx.getMany(keys);
  const count = countWithin(values, piecesMax);
  const found: FoundState[] = [];
  for (const [index, state] of states.slice(0, count).entries()) {
    const value = values[index] ?? null;
    if (value !== null) found.push({ ...state, key: keys[index] as Key, value });
  }
  const neighbours = await Promise.all(found.map((state) => neighboursOf(tx, mapId, state)));
  await letGoOfEnded(tx, extents, endedByChunk(found, neighbours.flat()));
  for (const { chunk, epoch, key, value } of found) {
    if (epoch === null) tx.delete(key);
    else removePast(tx, mapId, { chunk, epoch, value });
  }
  return count;
}

/** So many of the first rows have at most `piecesMax` pieces; at least one, so that there is progress. */
export function countWithin(values: readonly (Uint8Array | null)[], piecesMax: number): number {
  let pieceCount = 0;
  for (const [index, value] of values.entries()) {
    pieceCount += value === null ? 0 : pieceCountOf(value);
    if (pieceCount > piecesMax) return Math.max(index, 1);
  }
  return values.length;
}

const keyOf = (mapId: Id, { chunk, epoch }: StateAt): Key =>
  epoch === null ? chunkKey(mapId, chunk) : pastChunkKey(mapId, chunk, epoch);

interface Neighbour extends Pick<Entry, 'key' | 'value'> {
  readonly chunk: number;
}

async function neighboursOf(tx: Transaction, mapId: Id, { chunk, epoch }: StateAt): Promise<Neighbour[]> {
  if (epoch === null) {
    const older = await tx.range(olderRange(mapId, chunk), { limit: 1, reverse: true });
    return older.map((entry) => ({ ...entry, chunk }));
  }
  const newestKey = chunkKey(mapId, chunk);
  const [older, newer, newest] = await Promise.all([
    tx.range(olderRange(mapId, chunk, epoch), { limit: 1, reverse: true }),
    tx.range(newerRange(mapId, chunk, epoch), { limit: 1 }),
    tx.get(newestKey),
  ]);
  if (newer.length === 0 && newest !== null)
    return [...older, { key: newestKey, value: newest }].map((entry) => ({ ...entry, chunk }));
  return [...older, ...newer].map((entry) => ({ ...entry, chunk }));
}

/** A neighbour that goes as well keeps nothing: what it shares with those that stay, one of its own neighbours names. */
function endedByChunk(found: readonly FoundState[], neighbours: readonly Neighbour[]): EndedStates[] {
  const going = new Set(found.map(({ key }) => nameOf(key)));
  const byChunk = new Map<number, { gone: Uint8Array[]; kept: Uint8Array[] }>();
  for (const { chunk, value } of found) {
    const states = byChunk.get(chunk) ?? { gone: [], kept: [] };
    states.gone.push(value);
    byChunk.set(chunk, states);
  }
  for (const { chunk, key, value } of neighbours) {
    if (!going.has(nameOf(key))) byChunk.get(chunk)?.kept.push(value);
  }
  return [...byChunk.values()];
}

const nameOf = (key: Key): string => Buffer.from(key).toString('latin1');
