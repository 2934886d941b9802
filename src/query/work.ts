/**
 * How much one row may cost. An expression of a quarter of a megabyte can copy a field of a megabyte very often: whatever
 * works through text says how many characters it was, and the row ends where that becomes too much.
 */
import { RecordError } from './query-error.ts';

const CHARACTERS_PER_ROW_MAX = 16 * 1024 * 1024;

export class Work {
  #ofRow = 0;
  #sincePause = 0;

  /** For the row that comes, which costs so much by itself. */
  beginRow(characters: number): void {
    this.#sincePause += this.#ofRow + characters;
    this.#ofRow = 0;
  }

  spend(characters: number): void {
    this.#ofRow += characters;
    if (this.#ofRow > CHARACTERS_PER_ROW_MAX) {
      throw new RecordError('ResourceLimitExceeded', 'The expression takes too much work for this record.');
    }
  }

  /** Whether so much was done since the last time this was true. */
  isPauseDue(characters: number): boolean {
    if (this.#sincePause + this.#ofRow < characters) return false;
    this.#sincePause = -this.#ofRow;
    return true;
  }
}
