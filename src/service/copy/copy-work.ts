/** What a run (copy-run.ts) and the work it does, by the kind of the job, are to each other. */
import type { Transaction } from '../../engine/transact.ts';
import type { CopyState } from '../../rules/copy.ts';
import type { StagedExtent } from '../extents/extents.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { Storage } from '../storage.ts';
import type { CopyJob } from './copy-job.ts';
import type { CopyRecord, LoadedPlace } from './copy-place.ts';

export interface CopyWork {
  /** As it stands by now. */
  readonly job: CopyJob;
  /** How much of the source is copied, as far as it is known. */
  readonly reachedBytes: number;
  /** Copies what is missing, and has the result published as its last step. `notedBytes`: what the record says. */
  run(notedBytes: number): Promise<void>;
  /** The job for another try, and how much of what was copied that finds there. */
  again(tx: Transaction): { readonly job: CopyJob; readonly keptBytes: number };
  /** The copy will not be: lets go of what there is of it. */
  drop(tx: Transaction): void;
  /** Lets go of the source. */
  close(): Promise<void>;
}

/** The destination, as it waits for the copy. */
export interface Waiting<R extends CopyRecord = CopyRecord> {
  readonly record: R & { readonly copy: CopyState };
  /** How the record is put back. */
  readonly place: LoadedPlace<R>;
  readonly nowMs: number;
}

export type Step<T, R extends CopyRecord = CopyRecord> = (tx: Transaction, waiting: Waiting<R>) => T | Promise<T>;

export type CopiedContent = Pick<BlobRecord, 'content' | 'lengthBytes' | 'isSealed'> & {
  readonly contentMd5: string | null;
};

/** `R`: what the copy is into, where that matters. */
export interface CopySteps<R extends CopyRecord = CopyRecord> {
  readonly storage: Storage;
  /** The node stops, or the copy is over. */
  readonly signal: AbortSignal;
  /** A transaction that takes effect only while the copy is wanted, and this node's to do. */
  transact<T>(step: Step<T, R>): Promise<T>;
  putJob(tx: Transaction, job: CopyJob): void;
  /** Gives the destination its content and ends the copy. `extent`: what that publishes. */
  succeed(extent: StagedExtent | null, publish: Step<CopiedContent, R>): Promise<void>;
  /** Ends the copy well, as a part of such a transaction. Whatever becomes of the old content is the caller's business. */
  finish(tx: Transaction, waiting: Waiting<R>, change: Partial<R>): Promise<R>;
}
