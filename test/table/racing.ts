/** What the races over tables share: clients that set off together, and what they find. */
import { odata, type TableClient, type TableEntity } from '@azure/data-tables';
import type { Reachable } from '../harness/clients.ts';
import { together } from '../harness/parallel.ts';
import { tableClient, tableOutcomes } from '../harness/table-clients.ts';

export const CLIENTS = 24;
export const PARTITION = 'p';

export const STALE = '412 UpdateConditionNotSatisfied';
export const EXISTS = '409 EntityAlreadyExists';
export const MISSING = '404 ResourceNotFound';

export type Properties = Record<string, unknown>;

export interface Written {
  readonly etag?: string;
}

export const entity = (rowKey: string, properties: Properties = {}): TableEntity => ({
  partitionKey: PARTITION,
  rowKey,
  ...properties,
});

/** Clients of one table set off from one starting line; each is a client of its own. */
export function raceOn(server: Reachable) {
  return <T>(
    { tableName }: TableClient,
    act: (client: TableClient, index: number) => Promise<T>,
    count = CLIENTS,
  ): Promise<PromiseSettledResult<T>[]> => {
    const clients = Array.from({ length: count }, () => tableClient(server, tableName));
    return together(count, (index) => act(clients[index] as TableClient, index));
  };
}

/** `ok`, or the refusal. */
export async function outcomeOf(request: Promise<unknown>): Promise<string> {
  return tableOutcomes(await Promise.allSettled([request]))[0] as string;
}

const NOT_STORED = ['partitionKey', 'rowKey', 'timestamp', 'etag', 'odata.metadata'];

/** What is stored, without the keys. */
export async function look(table: TableClient, rowKey: string): Promise<{ etag: string; properties: Properties }> {
  const found = await table.getEntity<Properties>(PARTITION, rowKey);
  const stored = Object.entries(found).filter(([name]) => !NOT_STORED.includes(name));
  return { etag: found.etag, properties: Object.fromEntries(stored) };
}

/** One page of at most 1,000, of one partition: what the server had at one moment. */
export async function page(table: TableClient, partitionKey = PARTITION): Promise<(Properties & Written)[]> {
  const query = table.listEntities<Properties>({ queryOptions: { filter: odata`PartitionKey eq ${partitionKey}` } });
  const { value } = await query.byPage({ maxPageSize: 1000 }).next();
  return [...value];
}
