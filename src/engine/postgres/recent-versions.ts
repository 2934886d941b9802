/**
 * The versions that this node has last seen of keys it has read or written. They tell nothing for sure, since another
 * node may have changed a key meanwhile; but a commit that has read something else is refused without a round trip, and
 * one that has read just this will most likely go through, so that others may already build on it.
 */
import type { Key, Version } from '../engine.ts';
import { nameOf } from './keys.ts';

const KEY_COUNT_MAX = 20_000;

interface Seen {
  /** null: absent. */
  readonly version: Version | null;
  /** Whoever began to read later has seen what is newer. */
  readonly moment: number;
}

export class RecentVersions {
  readonly #seen = new Map<string, Seen>();
  #moments = 0;

  /** For a reading that begins, or a commit that took effect: later than all before. */
  nextMoment(): number {
    return ++this.#moments;
  }

  note(key: Key, version: Version | null, moment: number): void {
    const name = nameOf(key);
    const before = this.#seen.get(name);
    if (before !== undefined && before.moment > moment) return;
    // Set anew, it stands last: the first are those not seen for the longest time.
    this.#seen.delete(name);
    this.#seen.set(name, { version, moment });
    if (this.#seen.size > KEY_COUNT_MAX) this.#seen.delete(this.#seen.keys().next().value as string);
  }

  /** undefined: not seen lately. */
  versionOf(key: Key): Version | null | undefined {
    const seen = this.#seen.get(nameOf(key));
    return seen === undefined ? undefined : seen.version;
  }

  /** Everything may have changed: the connection was lost, or much time has passed. */
  forget(): void {
    this.#seen.clear();
  }
}
