/**
 * What the tables hold and no record names: rows in the order of their placements, and pieces without a row, merged
 * with the extents that are live, in the order of ids. Page by page, so that memory stays flat.
 */
import type { PlacedExtent, Placement } from '../content.ts';
import type { ExtentTables, Moment } from './extent-tables.ts';
import { type Place, parsePlacement } from './placement.ts';

const PAGE_ROWS = 500;
/** Sorts before every placement, and after. */
const FIRST: Placement = '';
const LAST: Placement = '~';

export interface Stray {
  readonly place: Place;
  readonly hasRow: boolean;
  readonly bytes: number;
}

export interface StrayHunt {
  readonly tables: ExtentTables;
  readonly live: AsyncIterable<PlacedExtent>;
  /** Rows touched later are no strays. Before `live` is begun, which so names whatever was due to be named by then. */
  readonly notTouchedSince: Moment;
  /** Written or read by this process right now. */
  readonly isInUse: (placement: Placement) => boolean;
  /** A record names what this store never wrote. */
  readonly onForeign: (placement: Placement) => void;
}

/** In pages. */
export async function* findStrays(hunt: StrayHunt): AsyncGenerator<Stray[]> {
  const names = new LiveNames(hunt.live, hunt.onForeign);
  try {
    for await (const { rows, rowless } of pagesOf(hunt)) {
      const unnamed: Place[] = [];
      for (const placement of [...rows, ...rowless].sort()) {
        if ((await names.has(placement)) || hunt.isInUse(placement)) continue;
        const place = parsePlacement(placement);
        // A form that only a later release knows is not ours to judge.
        if (place !== null) unnamed.push(place);
      }
      if (unnamed.length === 0) continue;
      const [bytes, withRow] = [await hunt.tables.weigh(unnamed), new Set(rows)];
      yield unnamed.map((place) => ({
        place,
        hasRow: withRow.has(place.placement),
        bytes: bytes.get(place.placement) ?? 0,
      }));
    }
  } finally {
    await names.close();
  }
}

interface Page {
  readonly rows: readonly Placement[];
  readonly rowless: readonly Placement[];
}

async function* pagesOf({ tables, notTouchedSince }: StrayHunt): AsyncGenerator<Page> {
  for (let after = FIRST; after !== LAST; ) {
    const rows = await tables.listRows(after, notTouchedSince, PAGE_ROWS);
    let to = rows.length < PAGE_ROWS ? LAST : (rows.at(-1) as Placement);
    const rowless = await tables.listRowless(after, to, PAGE_ROWS);
    if (rowless.length === PAGE_ROWS) to = rowless.at(-1) as Placement;
    const isWithin = (placement: Placement): boolean => placement <= to;
    yield { rows: rows.filter(isWithin), rowless };
    after = to;
  }
}

/** Walks along what is live, as far as it is asked for. */
class LiveNames {
  readonly #live: AsyncIterator<PlacedExtent>;
  readonly #onForeign: (placement: Placement) => void;
  #current: Placement = FIRST;
  #ended = false;

  constructor(live: AsyncIterable<PlacedExtent>, onForeign: (placement: Placement) => void) {
    this.#live = live[Symbol.asyncIterator]();
    this.#onForeign = onForeign;
  }

  /** To be asked in the order of placements. */
  async has(placement: Placement): Promise<boolean> {
    while (!this.#ended && this.#current < placement) await this.#advance();
    return this.#current === placement;
  }

  async close(): Promise<void> {
    if (!this.#ended) await this.#live.return?.();
  }

  async #advance(): Promise<void> {
    const next = await this.#live.next();
    if (next.done === true) {
      this.#ended = true;
      return;
    }
    const { placement } = next.value;
    if (parsePlacement(placement) === null) return this.#onForeign(placement);
    // Whatever was passed by would be removed.
    if (placement < this.#current) throw new Error('live extents came out of order');
    this.#current = placement;
  }
}
