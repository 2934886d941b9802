/**
 * Insert, Update, Merge, Insert Or Replace, Insert Or Merge and Delete Entity, alone or many in one entity group
 * transaction: existence, conditions, the change and the new ETag are one commit, for all of them together.
 */
import { type Transaction, transact } from '../../engine/transact.ts';
import type { EntityKey } from '../../rules/edm.ts';
import { refuseEntity } from '../../rules/entity.ts';
import { changedProperties, type EntityChange, refuseEntityChange } from '../../rules/entity-change.ts';
import type { ErrorCode } from '../../rules/error-code.ts';
import { decodeEntity, encodeEntity, ticksOf } from '../records/entity-record.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { loadEntities, type TableName } from './load.ts';

export interface KeyedChange {
  readonly key: EntityKey;
  readonly change: EntityChange;
}

/** What became of a change: the entity as it is stored now, or null after a delete. */
export type Changed = Uint8Array | null;

export type ChangesOutcome =
  | { readonly changed: readonly Changed[] }
  /** Nothing was changed, because of the first of the changes that could not be. */
  | { readonly refusal: ErrorCode; readonly index: number };

/** All or nothing. No two changes are of the same entity. A missing table is refused for the first of them. */
export async function changeEntities(
  storage: Storage,
  name: TableName,
  changes: readonly KeyedChange[],
): Promise<ChangesOutcome> {
  return transact(storage.engine, async (tx): Promise<ChangesOutcome> => {
    const keys = changes.map(({ key }) => key);
    const loaded = await loadEntities(tx, name, { keys, known: storage.known });
    const nowMs = storage.clock.nowMs();
    const changed: Changed[] = [];
    for (const [index, { key, change }] of changes.entries()) {
      const before = loaded.entities[index]?.value ?? null;
      const outcome = apply(storage, { key, change, before, nowMs });
      if (typeof outcome === 'string') return { refusal: outcome, index };
      changed.push(outcome);
    }
    store(
      tx,
      loaded.entities.map(({ key }) => key),
      changed,
    );
    return { changed };
  });
}

/** One change alone; a refusal is thrown. */
export async function changeEntity(storage: Storage, name: TableName, change: KeyedChange): Promise<Changed> {
  const outcome = await changeEntities(storage, name, [change]);
  if ('refusal' in outcome) throw new StorageError(outcome.refusal);
  return outcome.changed[0] as Changed;
}

function apply(
  storage: Storage,
  { key, change, before, nowMs }: { readonly nowMs: number; readonly before: Uint8Array | null } & KeyedChange,
): Changed | ErrorCode {
  const ticksBefore = before === null ? null : ticksOf(before);
  const refusal = refuseEntityChange(change, ticksBefore);
  if (refusal !== null) return refusal;
  if (change.kind === 'delete') return null;
  const mergesWith = change.kind === 'merge' && before !== null ? decodeEntity(before).properties : null;
  const properties = changedProperties(change, mergesWith);
  // Each part was judged on its own; merged with what was there, it may be too much.
  const tooMuch = mergesWith === null ? null : refuseEntity(key, properties);
  if (tooMuch !== null) return tooMuch;
  const ticks = BigInt(storage.etags.next(ticksBefore === null ? null : etagOf(ticksBefore), nowMs));
  return encodeEntity({ ticks, properties });
}

const ETAG_DIGITS = 15;

/** As the source of ETags writes them. */
const etagOf = (ticks: bigint): string => `0x${ticks.toString(16).toUpperCase().padStart(ETAG_DIGITS, '0')}`;

function store(tx: Transaction, keys: readonly Uint8Array[], changed: readonly Changed[]): void {
  for (const [index, key] of keys.entries()) {
    const value = changed[index];
    if (value === null || value === undefined) tx.delete(key);
    else tx.put(key, value);
  }
}
