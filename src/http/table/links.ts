/** Where tables and entities are found, as paths below the service's URL. */
import type { EntityKey } from '../../rules/edm.ts';

export const tablePath = (table: string): string => `Tables('${table}')`;

export const entityPath = (table: string, { partitionKey, rowKey }: EntityKey): string =>
  `${table}(PartitionKey='${inPath(partitionKey)}',RowKey='${inPath(rowKey)}')`;

const inPath = (key: string): string => encodeURIComponent(key.replaceAll("'", "''"));
