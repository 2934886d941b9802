/**
 * What the store should hold, as plain maps: of every name the blob, its staged blocks, and what stands beside it. An
 * operation that is refused changes nothing; one that goes through first ends what has ended by itself, as the service
 * does. Moments and version ids are the service's to give; here is only told what they must be.
 */
import { formatMoment, type Moment, nextMoment, parseMoment } from '../../src/rules/moment.ts';
import type { BlobType } from '../../src/rules/precedence.ts';
import type { Tags } from '../../src/rules/tags.ts';
import type { PastKind } from '../../src/service/records/keys.ts';

const DAY_MS = 86_400_000;
const STAGING_LIFE_MS = 7 * DAY_MS;

export interface ModelBlock {
  readonly id: string;
  readonly bytes: Buffer;
}

/** One state of a blob: the current one or a past one. */
export interface ModelState {
  readonly type: BlobType;
  readonly bytes: Buffer;
  /** Of a block blob that was made from blocks. */
  readonly blocks: readonly ModelBlock[];
  /** Of an append blob. */
  readonly blockCount: number;
  /** Its metadata. */
  readonly turn: string;
  readonly tags: Tags;
  readonly isSealed: boolean;
  /** Its bytes are sealed with the customer's key. */
  readonly isKeyed: boolean;
  readonly versionId: Moment | null;
  readonly expiresMs: number | null;
  readonly changedMs: number;
  /** There may be snapshots that a delete has to look for. */
  readonly hasOthers: boolean;
}

export interface PastState {
  readonly state: ModelState;
  readonly deletedUntilMs: number | null;
}

interface StagedBlock {
  readonly bytes: Buffer;
  readonly stagedMs: number;
}

/** What the account does with what is overwritten or deleted. */
export interface Keeping {
  readonly keepsVersions: boolean;
  readonly retentionDays: number | null;
}

export type PastMap = ReadonlyMap<Moment, PastState>;

export class ModelName {
  base: ModelState | null = null;
  staged = new Map<string, StagedBlock>();
  readonly past: Record<PastKind, Map<Moment, PastState>> = {
    snapshot: new Map(),
    version: new Map(),
    deleted: new Map(),
  };

  clone(): ModelName {
    const copy = new ModelName();
    copy.base = this.base;
    copy.staged = new Map(this.staged);
    for (const kind of ['snapshot', 'version', 'deleted'] as const) copy.past[kind] = new Map(this.past[kind]);
    return copy;
  }

  get isEmpty(): boolean {
    const { snapshot, version, deleted } = this.past;
    return this.base === null && this.staged.size + snapshot.size + version.size + deleted.size === 0;
  }

  /** The blob, unless its time is over. */
  live(nowMs: number): ModelState | null {
    return this.base === null || isOver(this.base, nowMs) ? null : this.base;
  }

  liveStaged(nowMs: number): ReadonlyMap<string, StagedBlock> {
    return this.#hasExpired(nowMs) ? new Map() : this.staged;
  }

  /** A snapshot or version that can be read. */
  livePast(kind: 'snapshot' | 'version'): [Moment, PastState][] {
    return [...this.past[kind]].filter(([, { deletedUntilMs }]) => deletedUntilMs === null);
  }

  /** What every write that goes through does first. */
  clearEnded(keeping: Keeping, nowMs: number): void {
    if (this.#hasExpired(nowMs)) this.staged = new Map();
    if (this.base !== null && isOver(this.base, nowMs)) this.endExpired(keeping, nowMs);
  }

  endExpired(keeping: Keeping, nowMs: number): void {
    if (this.base?.hasOthers === true) this.deleteSnapshots(keeping, nowMs);
    this.#letGo(keeping, nowMs);
    this.base = null;
  }

  /** Puts another state in place of the blob's. */
  replace(state: Omit<ModelState, 'hasOthers'>, keeping: Keeping, nowMs: number): void {
    const before = this.base;
    const isKept = before !== null && this.#letGo(keeping, nowMs);
    this.base = { ...state, hasOthers: isKept || before?.hasOthers === true };
  }

  remove(keeping: Keeping, nowMs: number): void {
    this.#letGo(keeping, nowMs);
    this.base = null;
  }

  deleteSnapshots(keeping: Keeping, nowMs: number): void {
    for (const [moment] of this.livePast('snapshot')) this.deletePast('snapshot', moment, keeping, nowMs);
  }

  deletePast(kind: 'snapshot' | 'version', moment: Moment, { retentionDays }: Keeping, nowMs: number): void {
    const { state } = this.past[kind].get(moment) as PastState;
    if (retentionDays === null) this.past[kind].delete(moment);
    else this.past[kind].set(moment, { state, deletedUntilMs: nowMs + retentionDays * DAY_MS });
  }

  /** Whether there is anything to have back, or a blob that is there. */
  undelete(nowMs: number): boolean {
    const kinds = ['snapshot', 'version', 'deleted'] as const;
    const kept = kinds.flatMap((kind) => [...this.past[kind]].filter(([, state]) => !isGone(state, nowMs)));
    if (this.base === null && kept.length === 0) return false;
    const states = [...this.past.deleted].filter(([, state]) => !isGone(state, nowMs)).toSorted(byMoment);
    const newest = this.base === null ? states.pop() : undefined;
    let isAnyBack = newest !== undefined || states.length > 0;
    for (const kind of ['snapshot', 'version'] as const) {
      for (const [moment, past] of this.past[kind]) {
        if (past.deletedUntilMs === null || isGone(past, nowMs)) continue;
        isAnyBack = true;
        this.past[kind].set(moment, { state: past.state, deletedUntilMs: null });
      }
    }
    const taken = new Set(this.past.snapshot.keys());
    for (const [moment, { state }] of states) {
      this.past.deleted.delete(moment);
      let free = moment;
      while (taken.has(free)) free = after(free, 0);
      taken.add(free);
      this.past.snapshot.set(free, { state: { ...state, expiresMs: null }, deletedUntilMs: null });
    }
    if (newest !== undefined) {
      this.past.deleted.delete(newest[0]);
      const { state } = newest[1];
      this.base = { ...state, expiresMs: isOver(state, nowMs) ? null : state.expiresMs };
    }
    if (this.base !== null && isAnyBack) this.base = { ...this.base, hasOthers: true };
    return true;
  }

  /** What nobody met is cleared away at its time. */
  doWhatIsDue(keeping: Keeping, nowMs: number): void {
    this.clearEnded(keeping, nowMs);
    for (const kind of ['snapshot', 'version', 'deleted'] as const) {
      for (const [moment, state] of this.past[kind]) if (isGone(state, nowMs)) this.past[kind].delete(moment);
    }
  }

  /** Whether the state before lives on somewhere. */
  #letGo({ keepsVersions, retentionDays }: Keeping, nowMs: number): boolean {
    const before = this.base as ModelState;
    if (keepsVersions || before.versionId !== null) {
      const versionId = before.versionId ?? after(newestOf(this.past.version), before.changedMs);
      this.past.version.set(versionId, { state: { ...before, versionId, expiresMs: null }, deletedUntilMs: null });
      return true;
    }
    if (retentionDays === null) return false;
    const moment = after(newestOf(this.past.deleted), nowMs);
    this.past.deleted.set(moment, { state: before, deletedUntilMs: nowMs + retentionDays * DAY_MS });
    return true;
  }

  #hasExpired(nowMs: number): boolean {
    if (this.staged.size === 0) return false;
    return nowMs >= Math.max(...[...this.staged.values()].map(({ stagedMs }) => stagedMs)) + STAGING_LIFE_MS;
  }
}

export const isGone = ({ deletedUntilMs }: PastState, nowMs: number): boolean =>
  deletedUntilMs !== null && nowMs >= deletedUntilMs;

export const isOver = ({ expiresMs }: ModelState, nowMs: number): boolean => expiresMs !== null && expiresMs <= nowMs;

/** Now, or right behind a moment that is not earlier. */
export const after = (moment: Moment | null, nowMs: number): Moment =>
  formatMoment(nextMoment(moment === null ? null : parseMoment(moment), nowMs));

export const newestOf = (past: PastMap): Moment | null => [...past.keys()].toSorted().at(-1) ?? null;

const byMoment = ([a]: readonly [Moment, unknown], [b]: readonly [Moment, unknown]): number => (a < b ? -1 : 1);

/** A container, live or deleted. */
export class ModelContainer {
  readonly name: string;
  readonly id: string;
  readonly names = new Map<string, ModelName>();
  /** Of a deleted one. */
  deletedUntilMs: number | null = null;

  constructor(name: string, id: string) {
    this.name = name;
    this.id = id;
  }

  /** Made where there is none; `settle` forgets it again if nothing came to it. */
  of(name: string): ModelName {
    const known = this.names.get(name);
    if (known !== undefined) return known;
    const made = new ModelName();
    this.names.set(name, made);
    return made;
  }

  settle(): void {
    for (const [name, { isEmpty }] of this.names) if (isEmpty) this.names.delete(name);
  }
}
