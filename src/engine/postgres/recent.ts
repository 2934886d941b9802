/**
 * What this node has last seen of keys it has read or written. It tells nothing for sure, since another node may have
 * changed a key meanwhile; but a commit that has read something else is refused without a round trip, one that has read
 * just this will most likely go through, so that others may already build on it, and who reads what is being written
 * need not ask for the records around it. While nobody else seems to change what this node works on, it is also read
 * instead of the database by those whose commit will tell: then a compare-and-set takes one round trip.
 */
import type { Entry, Key, Version } from '../engine.ts';
import { nameOf } from './keys.ts';

const KEY_COUNT_MAX = 20_000;
/** Of longer ones only the version is kept. */
const VALUE_BYTES_MAX = 2_048;
/** After so many readings in a row that found what was seen before, it is relied on. */
const CONFIRMATIONS_MIN = 64;

interface Seen {
  /** null: absent. */
  readonly version: Version | null;
  /** undefined: not kept. */
  readonly entry: Entry | null | undefined;
  /** Whoever began to read later has seen what is newer. */
  readonly moment: number;
}

export class Recent {
  readonly #seen = new Map<string, Seen>();
  #moments = 0;
  /** What was seen then or before is not heard of any more. */
  #forgottenMoment = 0;
  #confirmationCount = 0;

  /** For a reading that begins, or a commit that took effect: later than all before. */
  nextMoment(): number {
    return ++this.#moments;
  }

  /** Whether other nodes seem to leave alone what this one works on. */
  get isTrusted(): boolean {
    return this.#confirmationCount >= CONFIRMATIONS_MIN;
  }

  /** What a reading that began at this moment has found. */
  noteRead(key: Key, entry: Entry | null, moment: number): void {
    const before = this.#seen.get(nameOf(key));
    if (before !== undefined && before.moment <= moment) {
      const isConfirmed = before.version === (entry?.version ?? null);
      this.#confirmationCount = isConfirmed ? this.#confirmationCount + 1 : 0;
    }
    this.note(key, entry, moment);
  }

  note(key: Key, entry: Entry | null, moment: number): void {
    if (moment <= this.#forgottenMoment) return;
    const name = nameOf(key);
    const before = this.#seen.get(name);
    if (before !== undefined && before.moment > moment) return;
    // Set anew, it stands last: the first are those not seen for the longest time.
    this.#seen.delete(name);
    const isKept = entry === null || entry.value.length <= VALUE_BYTES_MAX;
    this.#seen.set(name, { version: entry?.version ?? null, entry: isKept ? entry : undefined, moment });
    if (this.#seen.size > KEY_COUNT_MAX) this.#seen.delete(this.#seen.keys().next().value as string);
  }

  /** undefined: not seen lately. */
  versionOf(key: Key): Version | null | undefined {
    const seen = this.#seen.get(nameOf(key));
    return seen === undefined ? undefined : seen.version;
  }

  /** undefined: not seen lately, or too long to keep; null: absent. */
  entryOf(key: Key): Entry | null | undefined {
    return this.#seen.get(nameOf(key))?.entry;
  }

  /** Something was not as it was seen last: nothing is relied on any more. */
  forget(): void {
    this.#forgottenMoment = this.#moments;
    this.#confirmationCount = 0;
    this.#seen.clear();
  }
}
