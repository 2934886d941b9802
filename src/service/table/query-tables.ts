/** Query Tables: one page, in the order of names without regard to case, from one snapshot. */
import { type Filter, matchesFilter } from '../../rules/entity-filter.ts';
import { decodeJson } from '../records/codec.ts';
import { scanSteps } from '../records/scan.ts';
import { tablesRange } from '../records/table-keys.ts';
import type { TableRecord } from '../records/table-record.ts';
import type { Storage } from '../storage.ts';

const STEP_RECORDS = 500;

export interface TablePage {
  readonly names: readonly string[];
  /** The name that the next page starts with; null at the end. */
  readonly next: string | null;
}

export async function queryTables(
  storage: Storage,
  request: {
    readonly account: string;
    /** On TableName alone, without regard to case. */
    readonly filter: Filter | null;
    /** The first name that the page may show. */
    readonly from: string;
    readonly limit: number;
  },
): Promise<TablePage> {
  const { limit } = request;
  const filter = request.filter === null ? null : withoutCase(request.filter);
  const names: string[] = [];
  const snapshot = storage.engine.snapshot();
  try {
    const range = tablesRange(request.account, request.from);
    // Without a filter, one more than the page tells whether there is another.
    const stepRecords = filter === null ? Math.min(limit + 1, STEP_RECORDS) : STEP_RECORDS;
    for await (const entries of scanSteps(snapshot, range, stepRecords)) {
      for (const { value } of entries) {
        const { name } = decodeJson<TableRecord>(value);
        if (names.length === limit) return { names, next: name };
        if (filter === null || isMatch(filter, name)) names.push(name);
      }
    }
    return { names, next: null };
  } finally {
    snapshot.close();
  }
}

const isMatch = (filter: Filter, name: string): boolean =>
  matchesFilter(filter, (property) =>
    property === 'TableName' ? { type: 'Edm.String', value: name.toLowerCase() } : null,
  );

/** A name finds its table in any case, here too: some tools ask the list whether a table is there. */
function withoutCase(filter: Filter): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { ...filter, left: withoutCase(filter.left), right: withoutCase(filter.right) };
    case 'not':
      return { ...filter, operand: withoutCase(filter.operand) };
    case 'compare':
      if (filter.literal.type !== 'Edm.String') return filter;
      return { ...filter, literal: { type: 'Edm.String', value: filter.literal.value.toLowerCase() } };
    default:
      return filter;
  }
}
