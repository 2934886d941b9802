/**
 * What will have to be done at a time: clearing away stagings whose week is over, deleted states that cannot be had back
 * any more, blobs that have expired. That the time has come is derived whenever a record is read; these rows, in the order
 * of their times, only tell where to look for what nobody reads. So a row may be out of date: the record decides.
 */
import type { IdSource } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import { encodeJson } from '../records/codec.ts';
import { expiryKey } from '../records/keys.ts';

export type DueRecord =
  /** Names the staging head to look at, and the staging it held. */
  | { readonly headKey: string; readonly stagingId: string }
  | { readonly blobKey: string }
  | { readonly containerKey: string };

export function noteDue(
  tx: Transaction,
  ids: IdSource,
  due: { dueMs: number } & ({ blobKey: Uint8Array } | { containerKey: Uint8Array }),
): void {
  const record: DueRecord =
    'blobKey' in due ? { blobKey: base64(due.blobKey) } : { containerKey: base64(due.containerKey) };
  tx.put(expiryKey(due.dueMs, ids.next()), encodeJson(record));
}

const base64 = (key: Uint8Array): string => Buffer.from(key).toString('base64');
