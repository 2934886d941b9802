/**
 * What the test process knows of the server's tables. The partition is what one request changes at most, so each has its
 * last acknowledged state and, while a request is under way, the one that it would lead to: after a crash it is in one of
 * the two, whole, or an entity group transaction was torn.
 */
import type { TestAccount } from '../harness/accounts.ts';

export type Properties = Readonly<Record<string, string | number>>;

export interface Row {
  readonly properties: Properties;
  /** null: given in an answer that never came, so any but `etagBefore`. */
  readonly etag: string | null;
  readonly etagBefore: string | null;
}

/** By row key. */
export type Rows = ReadonlyMap<string, Row>;

export const NO_ROWS: Rows = new Map();

export interface Partition {
  readonly key: string;
  acknowledged: Rows;
  /** Where the request under way leads to, if it takes effect. */
  pending: Rows | null;
  /** By row key, what was last read of each row that ever was: none goes back behind it. */
  readonly lastRead: Map<string, Stamp>;
}

export interface Stamp {
  readonly etag: string;
  readonly timestamp: string;
}

export interface TableEntry {
  readonly account: TestAccount;
  readonly name: string;
  exists: boolean;
  pendingExists: boolean | null;
  readonly partitions: readonly Partition[];
}

export function newTableEntry(
  name: string,
  { account, partitionCount }: { account: TestAccount; partitionCount: number },
): TableEntry {
  const partitions = Array.from({ length: partitionCount }, (_, index): Partition => {
    return { key: `partition ${index}`, acknowledged: NO_ROWS, pending: null, lastRead: new Map() };
  });
  return { account, name, exists: false, pendingExists: null, partitions };
}
