/** A commit that was accepted and has not become durable yet, and what it changes. */
import { OrderedMap } from '../../base/ordered-map.ts';
import type { Batch, EngineUnavailable, Entry, Key, KeyRange, Outcome, Version } from '../engine.ts';
import type { Recent } from './recent.ts';

export class Pending {
  readonly batch: Batch;
  /** What its puts will have. */
  readonly version: Version;
  /** Whether all that it has read is, as far as this node knows, still so; others build on it only then. */
  readonly isLikely: boolean;
  readonly outcome: Promise<Outcome>;
  /** The group it was sent with; null while it waits. Groups take effect in the order of their numbers. */
  group: number | null = null;
  #resolve!: (outcome: Outcome) => void;
  #reject!: (error: Error) => void;

  constructor(batch: Batch, { version, isLikely }: { version: Version; isLikely: boolean }) {
    this.batch = batch;
    this.version = version;
    this.isLikely = isLikely;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Not everybody who accepted it waits for it.
    this.outcome.catch(() => {});
  }

  settle(outcome: Outcome): void {
    this.#resolve(outcome);
  }

  fail(error: EngineUnavailable): void {
    this.#reject(error);
  }
}

export interface Change {
  /** null: deleted. */
  readonly entry: Entry | null;
  readonly by: Pending;
  /** What is the case should this one, not being likely, fail; null: what the database says. */
  readonly under: Change | null;
}

/** The net effect of commits, in key order. */
export type Changes = OrderedMap<Change>;

export const NO_CHANGES: Changes = OrderedMap.empty<Change>();

export function withChangesOf(changes: Changes, by: Pending): Changes {
  let result = changes;
  const change = (key: Key, entry: Entry | null): void => {
    const under = by.isLikely ? null : (result.get(key) ?? null);
    result = result.set(key, { entry, by, under });
  };
  for (const { key, value } of by.batch.puts) change(key, { key, version: by.version, value });
  for (const key of by.batch.deletes) change(key, null);
  return result;
}

/** Leaves out what these commits changed, unless a later one changed it again. */
export function withoutChangesOf(changes: Changes, gone: readonly Pending[]): Changes {
  let result = changes;
  for (const by of gone) {
    for (const { key } of by.batch.puts) if (result.get(key)?.by === by) result = result.delete(key);
    for (const key of by.batch.deletes) if (result.get(key)?.by === by) result = result.delete(key);
  }
  return result;
}

/** These commits and all among `later`, in the order of acceptance, that have read what they would have written. */
export function withFollowers(failed: ReadonlySet<Pending>, later: readonly Pending[]): Pending[] {
  const versions = new Set<Version | null>();
  return later.filter((pending) => {
    const follows = pending.batch.checks.some((check) => !('empty' in check) && versions.has(check.version));
    if (follows || failed.has(pending)) versions.add(pending.version);
    return follows || failed.has(pending);
  });
}

/** Whether the checks can still hold after these changes; what they do not touch, only the database can tell. */
export function mayHold(changes: Changes, batch: Batch): boolean {
  for (const check of batch.checks) {
    if ('empty' in check) {
      for (const { value } of changes.items(check.empty)) if (value.entry !== null) return false;
    } else {
      const change = changes.get(check.key);
      if (change !== undefined && (change.entry?.version ?? null) !== check.version) return false;
    }
  }
  return true;
}

/** What this node can tell of a batch at once: that it will surely conflict, most likely hold, or neither. */
export function foresee(changes: Changes, recent: Recent, batch: Batch): 'conflict' | 'likely' | 'open' {
  let foreseen: 'likely' | 'open' = 'likely';
  for (const check of batch.checks) {
    if ('empty' in check) {
      foreseen = 'open';
      for (const { value } of changes.items(check.empty)) {
        if (value.entry !== null && value.by.isLikely) return 'conflict';
      }
      continue;
    }
    const change = changes.get(check.key);
    const version = change === undefined ? recent.versionOf(check.key) : (change.entry?.version ?? null);
    const isOpen = version === undefined || change?.by.isLikely === false;
    if (isOpen) foreseen = 'open';
    else if (version !== check.version) return 'conflict';
  }
  return foreseen;
}

export function touches(changes: Changes, range: KeyRange): boolean {
  return changes.items(range).next().done !== true;
}
