/**
 * Which node works on a copy: a volatile record beside the job's row, made where there is none, so that it goes with its
 * node and another takes over. Every write of a node's work on a job checks it: whoever was paused for so long that it
 * was given up for dead writes nothing.
 */
import type { Id } from '../../base/ids.ts';
import type { Engine } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { claimKey, copyJobKey } from '../records/keys.ts';
import type { Storage } from '../storage.ts';
import type { CopyJob } from './copy-job.ts';

interface ClaimRecord {
  readonly holder: Id;
  /** New whenever the claim is taken. */
  readonly term: Id;
}

export interface CopyClaim {
  readonly jobId: Id;
  readonly term: Id;
  /** As it was when the claim was taken. */
  readonly job: CopyJob;
}

const keyOf = (jobId: Id): Uint8Array => claimKey(`copy-${jobId}`);

async function load(tx: Transaction, jobId: Id): Promise<ClaimRecord | null> {
  const value = await tx.get(keyOf(jobId));
  return value === null ? null : decodeJson<ClaimRecord>(value);
}

/** Null: the job is over, or another node works on it. A claim of `holder` itself was left by work that failed. */
export async function claimCopy(
  { engine, ids }: Pick<Storage, 'engine' | 'ids'>,
  { jobId, holder }: { jobId: Id; holder: Id },
): Promise<CopyClaim | null> {
  const term = ids.next();
  return transact(engine, async (tx) => {
    const [job, claim] = [await tx.get(copyJobKey(jobId)), await load(tx, jobId)];
    if (job === null || (claim !== null && claim.holder !== holder)) return null;
    tx.put(keyOf(jobId), encodeJson({ holder, term } satisfies ClaimRecord));
    return { jobId, term, job: decodeJson<CopyJob>(job) };
  });
}

export async function holdsClaim(tx: Transaction, { jobId, term }: CopyClaim): Promise<boolean> {
  return (await load(tx, jobId))?.term === term;
}

export async function releaseClaim({ engine }: Pick<Storage, 'engine'>, claim: CopyClaim): Promise<void> {
  await transact(engine, async (tx) => {
    if (await holdsClaim(tx, claim)) tx.delete(keyOf(claim.jobId));
  });
}

/** Which of these jobs nobody but `holder` works on. */
export async function freeOf(engine: Engine, jobIds: readonly Id[], holder: Id): Promise<Id[]> {
  if (jobIds.length === 0) return [];
  const snapshot = engine.snapshot();
  const claims = await snapshot.get(jobIds.map(keyOf)).finally(() => snapshot.close());
  return jobIds.filter((_, index) => {
    const claim = claims[index] ?? null;
    return claim === null || decodeJson<ClaimRecord>(claim.value).holder === holder;
  });
}
