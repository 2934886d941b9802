/**
 * A group of commits as the database gets it: the checks that only it can judge, and the net effect. What one commit
 * of the group has read of another is judged here.
 */

import type { Row } from '../../postgres/database.ts';
import { type Entry, isVolatile, type Key, type KeyRange } from '../engine.ts';
import { nameOf, stretchesOf, type Table, tableOf } from './keys.ts';
import { type Changes, mayHold, NO_CHANGES, type Pending, touches, withChangesOf } from './pending.ts';
import { CHECK_KINDS, type GroupChecks, type VersionCheck } from './statements.ts';

/** Limits to what others must wait for. */
const COMMIT_COUNT_MAX = 1_000;
const BYTES_MAX = 8 * 1024 * 1024;

type ByTable<T> = Record<Table, T[]>;
const byTable = <T>(): ByTable<T> => ({ larimar_records: [], larimar_volatile: [] });

export class Group {
  readonly commits: Pending[] = [];
  /** They rest on what a commit that was left out would have written. */
  readonly lost: Pending[] = [];
  #changes: Changes = NO_CHANGES;
  #bytes = 0;
  readonly #versions = byTable<VersionCheck>();
  readonly #empty = byTable<KeyRange>();
  /** The commits that made each check, in the order of the checks. */
  readonly #versionOwners = byTable<Pending[]>();
  readonly #emptyOwners = byTable<Pending[]>();
  readonly #placeOfVersion = new Map<string, number>();

  static of(commits: Iterable<Pending>): Group {
    const group = new Group();
    for (const commit of commits) group.add(commit);
    return group;
  }

  /** Whether the commit can be judged together with those before it, and there is room. */
  takes({ batch }: Pending): boolean {
    if (this.commits.length === 0) return true;
    if (this.commits.length >= COMMIT_COUNT_MAX || this.#bytes >= BYTES_MAX) return false;
    // It would lose to one that may itself be lost: that one is judged first.
    if (!mayHold(this.#changes, batch) && this.commits.some(({ isLikely }) => !isLikely)) return false;
    // The database would still see what the group deletes.
    return !batch.checks.some((check) => 'empty' in check && touches(this.#changes, check.empty));
  }

  add(commit: Pending): void {
    if (!mayHold(this.#changes, commit.batch)) {
      this.lost.push(commit);
      return;
    }
    this.commits.push(commit);
    for (const check of commit.batch.checks) {
      if ('empty' in check) this.#addEmpty(check.empty, commit);
      else if (this.#changes.get(check.key) === undefined) this.#addVersion(check, commit);
    }
    this.#changes = withChangesOf(this.#changes, commit);
    for (const { key, value } of commit.batch.puts) this.#bytes += key.length + value.length;
  }

  get checks(): GroupChecks {
    return { versions: this.#versions, empty: this.#empty };
  }

  /** Whether the group has anything to survive a crash: one without commits renews its session, which has. */
  get isDurable(): boolean {
    if (this.commits.length === 0) return true;
    for (const { key } of this.#changes.items()) if (!isVolatile(key)) return true;
    return false;
  }

  writes(table: Table): { puts: Entry[]; deletes: Key[] } {
    const puts: Entry[] = [];
    const deletes: Key[] = [];
    for (const { key, value } of this.#changes.items()) {
      if (tableOf(key) !== table) continue;
      if (value.entry === null) deletes.push(key);
      else puts.push(value.entry);
    }
    return { puts, deletes };
  }

  /** The commits whose checks failed, by the rows of `checkAndMark`. */
  failedBy(rows: readonly Row[]): Set<Pending> {
    const failed = new Set<Pending>();
    for (const [kind, place] of rows) {
      for (const owner of this.#ownersOf(CHECK_KINDS[Number(kind)] as string, Number(place) - 1)) failed.add(owner);
    }
    return failed;
  }

  #ownersOf(kind: string, index: number): readonly Pending[] {
    switch (kind) {
      case 'version':
        return this.#versionOwners.larimar_records[index] as Pending[];
      case 'volatile version':
        return this.#versionOwners.larimar_volatile[index] as Pending[];
      case 'empty':
        return this.#emptyOwners.larimar_records[index] as Pending[];
      case 'volatile empty':
        return this.#emptyOwners.larimar_volatile[index] as Pending[];
      default:
        return [];
    }
  }

  /** Many commits have read the same (their container, say): it is checked once. */
  #addVersion(check: VersionCheck, commit: Pending): void {
    const table = tableOf(check.key);
    const name = `${check.version} ${nameOf(check.key)}`;
    const place = this.#placeOfVersion.get(name);
    if (place !== undefined) {
      this.#versionOwners[table][place]?.push(commit);
      return;
    }
    this.#placeOfVersion.set(name, this.#versions[table].push(check) - 1);
    this.#versionOwners[table].push([commit]);
  }

  #addEmpty(range: KeyRange, commit: Pending): void {
    for (const stretch of stretchesOf(range)) {
      this.#empty[stretch.table].push(stretch);
      this.#emptyOwners[stretch.table].push([commit]);
    }
  }
}
