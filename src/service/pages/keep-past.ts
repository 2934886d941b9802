/** A state of a chunk that is no longer the newest, and that older epochs still see: where it stands, and how it goes. */
import type { Id } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import { sinceOf } from '../records/page-chunk.ts';
import { endedKey, pastChunkKey } from '../records/page-keys.ts';
import { NO_VALUE } from './page-map.ts';

export interface PastState {
  readonly chunk: number;
  readonly value: Uint8Array;
  /** The newest epoch that sees it, which somebody holds: a sweep of that epoch is still to come. */
  readonly epoch: number;
}

export function keepPast(tx: Transaction, mapId: Id, { chunk, value, epoch }: PastState): void {
  tx.put(pastChunkKey(mapId, chunk, epoch), value);
  tx.put(endedKey(mapId, { epoch, since: sinceOf(value), chunk }), NO_VALUE);
}

export function removePast(tx: Transaction, mapId: Id, { chunk, value, epoch }: PastState): void {
  tx.delete(pastChunkKey(mapId, chunk, epoch));
  tx.delete(endedKey(mapId, { epoch, since: sinceOf(value), chunk }));
}
