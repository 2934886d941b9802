/**
 * What a SAS for a table opens of it: all, or the entities from one place to another in the order of the keys, both
 * included. Queries see nothing outside of it; writes outside of it are refused.
 * https://learn.microsoft.com/rest/api/storageservices/create-service-sas#specify-table-access-ranges
 */
import type { EntityKey } from './edm.ts';

export interface EntityScope {
  /** In lower case. */
  readonly table: string;
  readonly from: EntityKey | null;
  /** Without a row key: to the end of the partition. */
  readonly to: { readonly partitionKey: string; readonly rowKey: string | null } | null;
}

export function isInScope({ from, to }: EntityScope, { partitionKey, rowKey }: EntityKey): boolean {
  if (from !== null) {
    if (partitionKey < from.partitionKey) return false;
    if (partitionKey === from.partitionKey && rowKey < from.rowKey) return false;
  }
  if (to === null || partitionKey < to.partitionKey) return true;
  if (partitionKey > to.partitionKey) return false;
  return to.rowKey === null || rowKey <= to.rowKey;
}
