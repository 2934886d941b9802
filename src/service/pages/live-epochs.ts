/** Which epochs of a map somebody sees: records by V rows, readers by volatile holds. 0 stands for none. */
import type { Id } from '../../base/ids.ts';
import type { Entry } from '../../engine/engine.ts';
import { epochOf, epochRange, heldEpochOf, holdRange } from '../records/page-keys.ts';
import type { RangeReader } from '../records/scan.ts';

export const NO_EPOCH = 0;

/** From `from` (included) to `to` (excluded); an end that is left out is open. */
interface EpochBounds {
  readonly from?: number;
  readonly to?: number;
}

export async function newestLive(reader: RangeReader, mapId: Id, bounds: EpochBounds = {}): Promise<number> {
  const [recorded, held] = await ends(reader, mapId, bounds, true);
  return Math.max(recorded, held);
}

export async function oldestLive(reader: RangeReader, mapId: Id, bounds: EpochBounds = {}): Promise<number> {
  const found = (await ends(reader, mapId, bounds, false)).filter((epoch) => epoch !== NO_EPOCH);
  return found.length === 0 ? NO_EPOCH : Math.min(...found);
}

export async function isAnyLive(reader: RangeReader, mapId: Id, bounds: EpochBounds = {}): Promise<boolean> {
  return (await newestLive(reader, mapId, bounds)) !== NO_EPOCH;
}

export async function newestHeld(reader: RangeReader, mapId: Id, bounds: EpochBounds): Promise<number> {
  const [last] = await reader.range(holdRange(mapId, bounds.from, bounds.to), { limit: 1, reverse: true });
  return epochIn(last, heldEpochOf);
}

export async function newestRecorded(reader: RangeReader, mapId: Id, bounds: EpochBounds): Promise<number> {
  const [last] = await reader.range(epochRange(mapId, bounds.from, bounds.to), { limit: 1, reverse: true });
  return epochIn(last, epochOf);
}

async function ends(
  reader: RangeReader,
  mapId: Id,
  { from, to }: EpochBounds,
  reverse: boolean,
): Promise<[recorded: number, held: number]> {
  const [recorded, held] = await Promise.all([
    reader.range(epochRange(mapId, from, to), { limit: 1, reverse }),
    reader.range(holdRange(mapId, from, to), { limit: 1, reverse }),
  ]);
  return [epochIn(recorded[0], epochOf), epochIn(held[0], heldEpochOf)];
}

const epochIn = (entry: Entry | undefined, parse: (key: Uint8Array) => number): number =>
  entry === undefined ? NO_EPOCH : parse(entry.key);
