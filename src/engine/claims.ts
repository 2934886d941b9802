/** Who is working on which records right now, within one process: the claims of an engine that no other process uses. */
import type { Claim, Entry, Key } from './engine.ts';

export class Claims {
  readonly #claimed = new Set<string>();

  /** Takes the first `limit` of these entries that nobody holds; reads no further than that. */
  take(entries: Iterable<Entry>, limit: number): Claim {
    const taken: Entry[] = [];
    if (limit > 0) {
      for (const entry of entries) {
        if (this.#claimed.has(nameOf(entry.key))) continue;
        this.#claimed.add(nameOf(entry.key));
        taken.push(entry);
        if (taken.length >= limit) break;
      }
    }
    let held = true;
    return {
      entries: taken,
      release: () => {
        if (held) for (const { key } of taken) this.#claimed.delete(nameOf(key));
        held = false;
      },
    };
  }
}

const nameOf = (key: Key): string => Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
