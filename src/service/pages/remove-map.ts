/** Removes a map that nobody sees at any epoch: first the earlier states, chunk by chunk, then the newest ones. */
import type { Id } from '../../base/ids.ts';
import type { Engine, Entry } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Extents } from '../extents/extents.ts';
import { chunkKey, chunkRange, mapNotesRange, parsePastChunkKey, pastRange } from '../records/page-keys.ts';
import { removePast } from './keep-past.ts';
import { type EndedStates, letGoOfEnded } from './let-go.ts';
import { isAnyLive } from './live-epochs.ts';
import type { PageSettings } from './page-settings.ts';
import { countWithin } from './remove-states.ts';

export interface MapRemoval {
  readonly engine: Engine;
  readonly extents: Pick<Extents, 'dropExtent'>;
  readonly isClosed: () => boolean;
  readonly settings: PageSettings;
}

/** Whether nothing of it is left. */
export async function removeMap(removal: MapRemoval, mapId: Id): Promise<boolean> {
  for (let isLeft = true; isLeft; ) {
    if (removal.isClosed()) return false;
    isLeft = await transact(removal.engine, async (tx) => {
      if (await isAnyLive(tx, mapId)) return false;
      return (
        (await removeSomePast(tx, removal, mapId)) ||
        (await removeSomeNewest(tx, removal, mapId)) ||
        (await removeSomeNotes(tx, removal, mapId))
      );
    });
  }
  return true;
}

/** Whether there was something to remove; there may be more. */
async function removeSomePast(tx: Transaction, { extents, settings }: MapRemoval, mapId: Id): Promise<boolean> {
  const { stepRows, stepPieces } = settings;
  const rows = await tx.range(pastRange(mapId), { limit: stepRows + 1 });
  const values = rows.slice(0, stepRows).map(({ value }) => value);
  const count = countWithin(values, stepPieces);
  if (count === 0) return false;
  const going = rows.slice(0, count).map(pastStateOf);
  const next = rows[count] === undefined ? null : pastStateOf(rows[count]);
  const chunks = [...new Set(going.map(({ chunk }) => chunk))];
  const newest = await tx.getMany(chunks.map((chunk) => chunkKey(mapId, chunk)));
  // Nothing older is left; what comes next of a chunk is its next earlier state, or its newest.
  const ended = chunks.map((chunk, index): EndedStates => {
    const follower = next?.chunk === chunk ? next.value : (newest[index] ?? null);
    return {
      gone: going.filter((state) => state.chunk === chunk).map(({ value }) => value),
      kept: follower === null ? [] : [follower],
    };
  });
  await letGoOfEnded(tx, extents, ended);
  for (const state of going) removePast(tx, mapId, state);
  return true;
}

const pastStateOf = ({ key, value }: Entry): { chunk: number; epoch: number; value: Uint8Array } => ({
  ...parsePastChunkKey(key),
  value,
});

async function removeSomeNewest(tx: Transaction, { extents, settings }: MapRemoval, mapId: Id): Promise<boolean> {
  const rows = await tx.range(chunkRange(mapId), { limit: settings.stepRows });
  const count = countWithin(
    rows.map(({ value }) => value),
    settings.stepPieces,
  );
  const going = rows.slice(0, count);
  await letGoOfEnded(
    tx,
    extents,
    going.map(({ value }) => ({ gone: [value], kept: [] })),
  );
  for (const { key } of going) tx.delete(key);
  return count > 0;
}

async function removeSomeNotes(tx: Transaction, { settings }: MapRemoval, mapId: Id): Promise<boolean> {
  const rows = await tx.range(mapNotesRange(mapId), { limit: settings.stepRows });
  for (const { key } of rows) tx.delete(key);
  return rows.length > 0;
}
