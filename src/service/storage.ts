/** What every operation works with. Made once, in main.ts. */
import type { Clock } from '../base/clock.ts';
import type { IdSource } from '../base/ids.ts';
import type { Engine } from '../engine/engine.ts';
import { nextEtag } from '../rules/etag.ts';
import type { CopyDesk } from './copy/copies.ts';
import type { Outside } from './copy/outside.ts';
import type { CountShards } from './count-shards.ts';
import type { Extents } from './extents/extents.ts';
import type { Readers } from './extents/readers.ts';
import type { FileChanges } from './file/opens/changes.ts';
import type { OpenTable } from './file/opens/open-table.ts';
import type { Known } from './known.ts';
import type { PageHolds } from './pages/page-holds.ts';
import type { Dispenser } from './queue/get-messages.ts';

export interface Storage {
  readonly engine: Engine;
  readonly extents: Extents;
  readonly readers: Readers;
  readonly holds: PageHolds;
  readonly outside: Outside;
  readonly copies: CopyDesk;
  /** Hands out messages. */
  readonly dispenser: Dispenser;
  /** Of messages in queues, and of bytes in shares. */
  readonly counting: CountShards;
  /** What SMB clients have open. */
  readonly opens: OpenTable;
  /** What they change, for those who watch directories. */
  readonly fileChanges: FileChanges;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly etags: EtagSource;
  readonly known: Known;
  readonly settings: (account: string) => AccountSettings;
}

/** What the owner of the server decides per account. */
export interface AccountSettings {
  /** Every overwrite and delete of a blob keeps the state before as a version. */
  readonly keepsVersions: boolean;
  /** For how many days a deleted container can be restored; null: not at all. */
  readonly containerRetentionDays: number | null;
  /** How long it takes to bring a blob back from the archive. */
  readonly rehydrationMs: number;
}

export const DEFAULT_SETTINGS: AccountSettings = {
  keepsVersions: false,
  containerRetentionDays: null,
  rehydrationMs: 5_000,
};

/**
 * ETags that grow and are never given twice, not even to a name that is deleted and created again: not by this process,
 * nor, where nodes have slots of their own, by another.
 */
export class EtagSource {
  readonly #slot: () => number | null;
  #last: string | null = null;

  /** `slot`: this node's number at the moment (rules/etag.ts). */
  constructor(slot: () => number | null) {
    this.#slot = slot;
  }

  next(previous: string | null, nowMs: number): string {
    const floor = previous === null || (this.#last !== null && this.#last > previous) ? this.#last : previous;
    this.#last = nextEtag(floor, nowMs, this.#slot());
    return this.#last;
  }
}

/** The time of a change to something last changed at `previousMs`: never earlier, though a clock may be set back. */
export const changedAt = (previousMs: number, nowMs: number): number => Math.max(previousMs, nowMs);
