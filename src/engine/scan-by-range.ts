/** A scan for engines that gain nothing by showing entries without copying them. */
import { type Key, type KeyRange, nextStart, type ScanOptions, type Snapshot, type Visit } from './engine.ts';

export async function scanByRange(
  view: Pick<Snapshot, 'range'>,
  range: KeyRange,
  { options, visit }: { readonly options: ScanOptions; readonly visit: Visit },
): Promise<Key | null> {
  const entries = await view.range(range, options);
  for (const { key, value } of entries) if (!visit(key, value)) return key;
  return nextStart(entries, options);
}
