/** Walking a long range of records in steps, so that neither memory nor the event loop is held for all of it at once. */
import { type Engine, type Entry, type Key, type KeyRange, nextStart, type RangeOptions } from '../../engine/engine.ts';

/** A snapshot, a transaction, or `freshSnapshots`. */
export interface RangeReader {
  range(range: KeyRange, options: RangeOptions): Promise<Entry[]>;
}

/** Each step sees the latest durable state: for walks that need no single view, and must not hold one for long. */
export const freshSnapshots = (engine: Engine): RangeReader => ({
  range(range, options) {
    const snapshot = engine.snapshot();
    return snapshot.range(range, options).finally(() => snapshot.close());
  },
});

export async function* scanSteps(reader: RangeReader, range: KeyRange, stepRecords: number): AsyncGenerator<Entry[]> {
  let from: Key | null = range.from;
  while (from !== null) {
    const options = { limit: stepRecords, bytesMax: STEP_BYTES_MAX };
    const entries = await reader.range({ from, to: range.to }, options);
    if (entries.length > 0) yield entries;
    from = nextStart(entries, options);
  }
}

/** So much, and one record more, is held at once however large records are. */
const STEP_BYTES_MAX = 4 * 1024 * 1024;
