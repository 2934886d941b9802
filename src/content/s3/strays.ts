/**
 * What the store holds and no record names, found by walking both in the order of ids: memory grows with neither. Only
 * what has been listed is looked up among the records, so `live` is read to an id after the objects of that id (and
 * the rest of their page) were seen. `live` may read ahead of that: what is young enough to be named while the walk
 * goes on is not to be among the objects.
 */
import type { Id } from '../../base/ids.ts';
import { ContentUnavailable, type PlacedExtent, type Placement } from '../content.ts';

/** Both in order; several objects and several records can have one id. */
export async function* straysAmong(
  objects: AsyncIterable<PlacedExtent>,
  live: AsyncIterable<PlacedExtent>,
): AsyncGenerator<PlacedExtent> {
  const named = new NamedPlacements(live);
  let last: Placement = '';
  try {
    for await (const object of objects) {
      if (object.placement < last) throw new ContentUnavailable('the S3 server does not list objects in order');
      last = object.placement;
      if (!(await named.at(object.id)).includes(object.placement)) yield object;
    }
  } finally {
    await named.close();
  }
}

/** A forward cursor over the records. */
class NamedPlacements {
  readonly #live: AsyncIterable<PlacedExtent>;
  #iterator: AsyncIterator<PlacedExtent> | null = null;
  /** Read already, but of a later id. */
  #ahead: PlacedExtent | null = null;
  #id: Id = '';
  #placements: Placement[] = [];

  constructor(live: AsyncIterable<PlacedExtent>) {
    this.#live = live;
  }

  /** The placements that records name for an id; ids are asked for in order. */
  async at(id: Id): Promise<readonly Placement[]> {
    if (this.#iterator === null) {
      this.#iterator = this.#live[Symbol.asyncIterator]();
      this.#ahead = await this.#next();
    }
    if (id !== this.#id) this.#placements = [];
    this.#id = id;
    for (; this.#ahead !== null && this.#ahead.id <= id; this.#ahead = await this.#next()) {
      if (this.#ahead.id === id) this.#placements.push(this.#ahead.placement);
    }
    return this.#placements;
  }

  async close(): Promise<void> {
    await this.#iterator?.return?.();
  }

  async #next(): Promise<PlacedExtent | null> {
    const next = await this.#iterator?.next();
    if (next === undefined || next.done === true) return null;
    if (next.value.id < (this.#ahead?.id ?? '')) throw new Error('the extents that records name came out of order');
    return next.value;
  }
}
