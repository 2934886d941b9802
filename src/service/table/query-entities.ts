/**
 * Query Entities: one page, in the order of the keys, from one snapshot. What the filter says of the keys narrows the scan
 * to ranges of them; all else of it is judged on encoded records. A page ends with its count, its bytes, or its time,
 * whichever comes first, and says where to go on; between the steps of a scan everybody else has a turn.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { successor } from '../../base/bytes.ts';
import { type Entry, KEY_BYTES_MAX, type Key, type KeyRange, type Snapshot } from '../../engine/engine.ts';
import type { EntityKey } from '../../rules/edm.ts';
import type { Filter } from '../../rules/entity-filter.ts';
import { keyBoxes } from '../../rules/entity-key-ranges.ts';
import type { EntityScope } from '../../rules/entity-scope.ts';
import { snapshotReader } from '../blob/load.ts';
import { nextStart } from '../records/scan.ts';
import { entitiesRange, entityKey, parseEntityKey, partitionEnd, type TableAddress } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import type { Storage } from '../storage.ts';
import { entityRanges } from './entity-ranges.ts';
import { compileFilter } from './filter-entities.ts';
import { loadTable, type StoredEntity, type TableName } from './load.ts';

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

export interface EntityPage {
  readonly table: TableRecord;
  readonly entities: readonly StoredEntity[];
  /** Where the next page starts; null at the end. */
  readonly next: EntityKey | null;
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
const STEP_RECORDS_MAX = 512;
const STEP_BYTES_MAX = 1024 * 1024;

export async function queryEntities(
  storage: Storage,
  request: QueryEntitiesRequest,
  limits: QueryLimits = QUERY_LIMITS,
): Promise<EntityPage> {
  const snapshot = storage.engine.snapshot();
  try {
    const table = await loadTable(snapshotReader(snapshot), request.name);
    const ranges = rangesOf(request, { account: request.name.account, tableId: table.id });
    return { table, ...(await fillPage(walk(snapshot, ranges, request), request, limits)) };
  } finally {
    snapshot.close();
  }
}

async function fillPage(
  steps: AsyncGenerator<readonly Entry[]>,
  { filter, limit }: QueryEntitiesRequest,
  { pageBytesMax, scanMsMax, monotonicMs }: QueryLimits,
): Promise<Omit<EntityPage, 'table'>> {
  const isMatch = filter === null ? () => true : compileFilter(filter);
  const entities: StoredEntity[] = [];
  const endsAtMs = monotonicMs() + scanMsMax;
  let pageBytes = 0;
  for await (const entries of steps) {
    for (const { key, value } of entries) {
      if (entities.length === limit) return { entities, next: parseEntityKey(key) };
      if (!isMatch(key, value)) continue;
      pageBytes += value.length;
      if (pageBytes > pageBytesMax && entities.length > 0) return { entities, next: parseEntityKey(key) };
      entities.push({ ...parseEntityKey(key), value });
    }
    const last = entries.at(-1);
    if (last !== undefined && monotonicMs() >= endsAtMs) return { entities, next: keyBehind(last.key) };
  }
  return { entities, next: null };
}

/** The least key that an entity behind this one can have: keys hold no character below the space. */
function keyBehind(key: Key): EntityKey {
  const { partitionKey, rowKey } = parseEntityKey(key);
  return { partitionKey, rowKey: `${rowKey} ` };
}

async function* walk(
  snapshot: Snapshot,
  ranges: readonly KeyRange[],
  { filter, limit }: QueryEntitiesRequest,
): AsyncGenerator<readonly Entry[]> {
  // One more than the page tells whether there is another.
  const options = {
    limit: filter === null ? Math.min(STEP_RECORDS_MAX, limit + 1) : STEP_RECORDS_MAX,
    bytesMax: STEP_BYTES_MAX,
  };
  let isFirst = true;
  for (const range of ranges) {
    for (let from: Key | null = range.from; from !== null; ) {
      if (!isFirst) await nextTurn();
      isFirst = false;
      const entries: Entry[] = await snapshot.range({ from, to: range.to }, options);
      if (entries.length > 0) yield entries;
      from = nextStart(entries, options);
    }
  }
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
