/**
 * Query Entities: one page, in the order of the keys, from one snapshot. What the filter says of the keys narrows the scan
 * to ranges of them; all else of it is judged on encoded records. A page ends with its count, its bytes, or its time,
 * whichever comes first, and says where to go on; between the steps of a scan everybody else has a turn.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { successor } from '../../base/bytes.ts';
import { KEY_BYTES_MAX, type Key, type KeyRange, type ScanOptions, type Snapshot } from '../../engine/engine.ts';
import type { EntityKey } from '../../rules/edm.ts';
import type { Filter } from '../../rules/entity-filter.ts';
import { keyBoxes } from '../../rules/entity-key-ranges.ts';
import type { EntityScope } from '../../rules/entity-scope.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { entitiesRange, entityKey, parseEntityKey, partitionEnd, type TableAddress } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import type { Storage } from '../storage.ts';
import { entityRanges } from './entity-ranges.ts';
import { compileFilter, type EntityPredicate } from './filter-entities.ts';
import { loadTable, type TableName } from './load.ts';

export interface QueryEntitiesRequest {
  readonly name: TableName;
  readonly filter: Filter | null;
  /** At most so many in the page. */
  readonly limit: number;
  /** The first entity that the page may show. */
  readonly from: EntityKey | null;
  /** Nothing outside of it is seen. */
  readonly scope: EntityScope | null;
}

/** Where the entities of a page go, in order. */
export interface EntitySink {
  /** Before the first: of which table they are. */
  begin(table: TableRecord): void;
  /** The bytes last as long as the call. */
  take(key: Key, value: Uint8Array): void;
}

export interface QueryLimits {
  /** Of the encoded entities of a page; the first one always fits. */
  readonly pageBytesMax: number;
  /** After which a page ends, however few entities it has. */
  readonly scanMsMax: number;
  readonly monotonicMs: () => number;
}

export const QUERY_LIMITS: QueryLimits = {
  pageBytesMax: 4 * 1024 * 1024,
  scanMsMax: 5_000,
  monotonicMs: () => performance.now(),
};

/** Between two steps everybody else has a turn, so they are short; an entity may have a megabyte. */
const STEP: ScanOptions = { limit: 512, bytesMax: 1024 * 1024 };

/** Where the next page starts; null at the end. */
export async function queryEntities(
  storage: Storage,
  request: QueryEntitiesRequest,
  sink: EntitySink,
  limits: QueryLimits = QUERY_LIMITS,
): Promise<EntityKey | null> {
  const snapshot = storage.engine.snapshot();
  try {
    const table = await loadTable(snapshotReader(snapshot), request.name);
    sink.begin(table);
    const ranges = rangesOf(request, { account: request.name.account, tableId: table.id });
    return await fillPage(snapshot, ranges, { page: new Page(request, sink, limits), limits });
  } finally {
    snapshot.close();
  }
}

async function fillPage(
  snapshot: Snapshot,
  ranges: readonly KeyRange[],
  { page, limits: { monotonicMs, scanMsMax } }: { readonly page: Page; readonly limits: QueryLimits },
): Promise<EntityKey | null> {
  const endsAtMs = monotonicMs() + scanMsMax;
  let isFirst = true;
  for (const { from, to } of ranges) {
    for (let start: Key | null = from; start !== null; ) {
      if (!isFirst) await nextTurn();
      isFirst = false;
      start = await snapshot.scan({ from: start, to }, STEP, page.see);
      if (page.isFull) return parseEntityKey(start as Key);
      if (start !== null && monotonicMs() >= endsAtMs) return placeAt(start);
    }
  }
  return null;
}

/** What of the entities that are seen belongs to the page. */
class Page {
  /** The last one seen belongs to the next page. */
  isFull = false;
  readonly #sink: EntitySink;
  readonly #isMatch: EntityPredicate;
  readonly #limit: number;
  readonly #bytesMax: number;
  #count = 0;
  #bytes = 0;

  constructor({ filter, limit }: QueryEntitiesRequest, sink: EntitySink, { pageBytesMax }: QueryLimits) {
    this.#sink = sink;
    this.#isMatch = filter === null ? () => true : compileFilter(filter);
    this.#limit = limit;
    this.#bytesMax = pageBytesMax;
  }

  readonly see = (key: Key, value: Uint8Array): boolean => {
    if (this.#count === this.#limit) return this.#end();
    if (!this.#isMatch(key, value)) return true;
    this.#bytes += value.length;
    if (this.#bytes > this.#bytesMax && this.#count > 0) return this.#end();
    this.#count++;
    this.#sink.take(key, value);
    return true;
  };

  #end(): false {
    this.isFull = true;
    return false;
  }
}

/** Just behind an entity, where a scan may go on, stands a NUL: the least key from there on has a space in its place. */
function placeAt(start: Key): EntityKey {
  const { partitionKey, rowKey } = parseEntityKey(start);
  return { partitionKey, rowKey: rowKey.replace('\0', ' ') };
}

/** What is to be looked at, in order: what the filter leaves of the table, of that what the caller may see, from `from` on. */
function rangesOf({ filter, from, scope }: QueryEntitiesRequest, address: TableAddress): KeyRange[] {
  const whole = entitiesRange(address);
  const boxes = filter === null ? null : keyBoxes(filter);
  let ranges = boxes === null ? [whole] : entityRanges(address, boxes);
  if (from !== null) ranges = within(ranges, { from: entityKey(address, from), to: whole.to });
  if (scope !== null) ranges = within(ranges, rangeOfScope(scope, address));
  return ranges.map(storable);
}

/** Filters and tokens may name keys of any length. No entity has one so long, so the rest of it tells nothing apart. */
const storable = ({ from, to }: KeyRange): KeyRange => ({
  from: from.subarray(0, KEY_BYTES_MAX + 1),
  to: to.subarray(0, KEY_BYTES_MAX + 1),
});

function rangeOfScope({ from, to }: EntityScope, address: TableAddress): KeyRange {
  const whole = entitiesRange(address);
  return {
    from: from === null ? whole.from : entityKey(address, from),
    to: to === null ? whole.to : endOfScope(to, address),
  };
}

const endOfScope = ({ partitionKey, rowKey }: NonNullable<EntityScope['to']>, address: TableAddress): Key =>
  rowKey === null ? partitionEnd(address, partitionKey) : successor(entityKey(address, { partitionKey, rowKey }));

/** What of these ranges lies in another. */
function within(ranges: readonly KeyRange[], { from, to }: KeyRange): KeyRange[] {
  return ranges.flatMap((range) => {
    const start = Buffer.compare(range.from, from) < 0 ? from : range.from;
    const end = Buffer.compare(range.to, to) > 0 ? to : range.to;
    return Buffer.compare(start, end) < 0 ? [{ from: start, to: end }] : [];
  });
}
