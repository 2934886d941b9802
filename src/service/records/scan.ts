/** Walking a long range of records in steps, so that neither memory nor the event loop is held for all of it at once. */
import { successor } from '../../base/bytes.ts';
import type { Engine, Entry, KeyRange, RangeOptions } from '../../engine/engine.ts';

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
  let { from } = range;
  for (;;) {
    const entries = await reader.range({ from, to: range.to }, { limit: stepRecords });
    if (entries.length > 0) yield entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < stepRecords) return;
    from = successor(last.key);
  }
}
