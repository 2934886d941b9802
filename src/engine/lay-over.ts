/** Changes laid over the entries of a range; both in the order of reading. */
import { compareBytes } from '../base/bytes.ts';
import type { Entry, Key } from './engine.ts';

export interface Overlay {
  readonly key: Key;
  /** null: deleted. */
  readonly entry: Entry | null;
}

export function layOver(stored: readonly Entry[], over: readonly Overlay[], reverse: boolean): Entry[] {
  if (over.length === 0) return [...stored];
  const merged: Entry[] = [];
  let at = 0;
  for (const { key, entry } of over) {
    for (; at < stored.length; at++) {
      const next = stored[at] as Entry;
      const order = compareBytes(next.key, key);
      if (reverse ? order <= 0 : order >= 0) break;
      merged.push(next);
    }
    const hidden = stored[at];
    if (hidden !== undefined && compareBytes(hidden.key, key) === 0) at++;
    if (entry !== null) merged.push(entry);
  }
  return merged.concat(stored.slice(at));
}
