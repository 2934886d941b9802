/**
 * Maps of pages as a whole: made, frozen and dropped, each at a cost that knows nothing of their size. A map has epochs.
 * Every record that holds a map holds it at one epoch, alone, and a V row says so. The record that holds the newest one
 * writes (write-pages.ts); a freeze leaves its epoch to another record and lets it go on at the next.
 */
import type { Id, IdSource } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { Extents } from '../extents/extents.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { epochKey } from '../records/page-keys.ts';

/** Of rows that say all in their key. */
export const NO_VALUE = new Uint8Array(0);

const FIRST_EPOCH = 1;

export function createPages(tx: Transaction, ids: Pick<IdSource, 'next'>): PagesContent {
  const content: PagesContent = { kind: 'pages', id: ids.next(), epoch: FIRST_EPOCH, cuts: [] };
  putEpoch(tx, content.id, FIRST_EPOCH);
  return content;
}

/** `frozen` stays as it is, and belongs into another record; `current` replaces what the first one held. */
export function freezePages(tx: Transaction, content: PagesContent): { frozen: PagesContent; current: PagesContent } {
  refuseFrozen(content);
  const current: PagesContent = { ...content, epoch: content.epoch + 1 };
  putEpoch(tx, content.id, current.epoch);
  return { frozen: { ...content, isFrozen: true }, current };
}

/** The record that held the map at this epoch is gone, or holds something else. */
export function dropPages(tx: Transaction, extents: Pick<Extents, 'discardLater'>, { id, epoch }: PagesContent): void {
  tx.delete(epochKey(id, epoch));
  extents.discardLater(tx, { kind: 'epoch', id, epoch });
}

/** The record that writes moves on to the next epoch; readers may still hold the one before. */
export function raiseEpoch(tx: Transaction, { id, epoch }: PagesContent): number {
  tx.delete(epochKey(id, epoch));
  putEpoch(tx, id, epoch + 1);
  return epoch + 1;
}

export function refuseFrozen({ id, epoch, isFrozen }: PagesContent): void {
  if (isFrozen === true) throw new Error(`map ${id} is frozen at epoch ${epoch}: only what goes on can change`);
}

function putEpoch(tx: Transaction, id: Id, epoch: number): void {
  tx.put(epochKey(id, epoch), NO_VALUE);
}
