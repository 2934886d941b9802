/**
 * How many records hold something that is stored once: an extent, a block list, a list of appended blocks. What was
 * never shared has one holder and no row here, so that counting costs nothing where nothing is shared.
 */
import type { Id } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { referencesKey } from '../records/keys.ts';

export interface ReferencesRecord {
  /** Two or more. */
  readonly count: number;
}

/** One more holder each, or as many as an id is named times. */
export async function share(tx: Transaction, ids: readonly Id[]): Promise<void> {
  const added = countEach(ids);
  for (const { key, count, id } of await loadCounts(tx, [...added.keys()])) {
    tx.put(key, encodeJson({ count: count + (added.get(id) as number) }));
  }
}

/** One holder fewer each; those that nobody holds any more are returned, and are the caller's to drop. */
export async function release(tx: Transaction, ids: readonly Id[]): Promise<Id[]> {
  const released = countEach(ids);
  const gone: Id[] = [];
  for (const { key, count, id } of await loadCounts(tx, [...released.keys()])) {
    const left = count - (released.get(id) as number);
    if (left > 1) tx.put(key, encodeJson({ count: left }));
    else if (count > 1) tx.delete(key);
    if (left < 1) gone.push(id);
  }
  return gone;
}

function countEach(ids: readonly Id[]): Map<Id, number> {
  const counts = new Map<Id, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

async function loadCounts(tx: Transaction, ids: readonly Id[]): Promise<{ id: Id; key: Uint8Array; count: number }[]> {
  const keys = ids.map(referencesKey);
  const values = keys.length === 0 ? [] : await tx.getMany(keys);
  return ids.map((id, index) => {
    const value = values[index] ?? null;
    return {
      id,
      key: keys[index] as Uint8Array,
      count: value === null ? 1 : decodeJson<ReferencesRecord>(value).count,
    };
  });
}
