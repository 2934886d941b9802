/** Reading records in a transaction or in a snapshot alike. */
import type { Snapshot } from '../../engine/engine.ts';
import type { RangeReader } from './scan.ts';

/** What is common to a transaction and a snapshot. */
export interface RecordReader extends RangeReader {
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | null)[]>;
}

export const snapshotReader = (snapshot: Snapshot): RecordReader => ({
  getMany: async (keys) => (await snapshot.get(keys)).map((entry) => entry?.value ?? null),
  range: (range, options) => snapshot.range(range, options),
});
