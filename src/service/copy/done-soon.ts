/** Most copies of what is on this server are done in no time: an answer can wait for that, and need not say `pending`. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Id } from '../../base/ids.ts';
import type { PageHold } from '../pages/page-holds.ts';
import type { Storage } from '../storage.ts';

const PATIENCE_MS = 1_000;

/** Begins a job, and resolves when it is done, or when it takes longer than a caller is kept waiting. */
export async function doneSoon({ copies }: Pick<Storage, 'copies'>, jobId: Id, hold: PageHold | null): Promise<void> {
  const patience = new AbortController();
  const { signal } = patience;
  await Promise.race([
    copies.begun(jobId, hold),
    delay(PATIENCE_MS, undefined, { signal, ref: false }).catch(() => {}),
  ]);
  patience.abort();
}
