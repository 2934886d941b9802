/**
 * How much one record may cost. An expression of a quarter of a megabyte can copy a record of a megabyte very often:
 * whatever works through text says how many characters it was, and the record ends where that becomes too much.
 */
import { RecordError } from './query-error.ts';

const CHARACTERS_PER_RECORD_MAX = 32 * 1024 * 1024;

export class Work {
  #ofRecord = 0;
  #sincePause = 0;

  /** For the record that comes. */
  beginRecord(characters: number): void {
    this.#sincePause += this.#ofRecord + characters;
    this.#ofRecord = 0;
  }

  spend(characters: number): void {
    this.#ofRecord += characters;
    if (this.#ofRecord > CHARACTERS_PER_RECORD_MAX) {
      throw new RecordError('ResourceLimitExceeded', 'The expression takes too much work for this record.');
    }
  }

  /** Whether so much was done since the last time this was true. */
  isPauseDue(characters: number): boolean {
    if (this.#sincePause + this.#ofRecord < characters) return false;
    this.#sincePause = -this.#ofRecord;
    return true;
  }
}
