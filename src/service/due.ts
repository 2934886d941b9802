/**
 * What will have to be done at a time: clearing away stagings whose week is over, deleted states that cannot be had back
 * any more, blobs that have expired, containers and shares deleted for long. That the time has come is derived whenever a record is read; these rows, in the order
 * of their times, only tell where to look for what nobody reads. So a row may be out of date: the record decides.
 */
import type { IdSource } from '../base/ids.ts';
import type { Transaction } from '../engine/transact.ts';
import { encodeJson } from './records/codec.ts';
import { expiryKey } from './records/keys.ts';

export type DueRecord =
  /** Names the staging head to look at, and the staging it held. */
  | { readonly headKey: string; readonly stagingId: string }
  | { readonly blobKey: string }
  | { readonly containerKey: string }
  | { readonly shareKey: string };

type DueKey =
  | { readonly blobKey: Uint8Array }
  | { readonly containerKey: Uint8Array }
  | { readonly shareKey: Uint8Array };

export function noteDue(tx: Transaction, ids: IdSource, due: { readonly dueMs: number } & DueKey): void {
  tx.put(expiryKey(due.dueMs, ids.next()), encodeJson(recordOf(due)));
}

function recordOf(due: DueKey): DueRecord {
  if ('blobKey' in due) return { blobKey: base64(due.blobKey) };
  return 'containerKey' in due ? { containerKey: base64(due.containerKey) } : { shareKey: base64(due.shareKey) };
}

const base64 = (key: Uint8Array): string => Buffer.from(key).toString('base64');
