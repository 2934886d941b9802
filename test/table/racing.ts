/** What the races over tables share: clients that set off together, and what they find. */
import assert from 'node:assert/strict';
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

/** Lets a few turns of the event loop pass, so that the rounds of a race set off in ever other orders. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Does it again and again, at least once, until work that is under way has ended, well or not. */
export async function meanwhile(work: Promise<unknown>, act: () => Promise<void>): Promise<void> {
  const progress = { isUnderWay: true };
  const end = (): void => {
    progress.isUnderWay = false;
  };
  void work.then(end, end);
  do await act();
  while (progress.isUnderWay);
}

/** The results of a race in which nobody may be refused. */
export function successes<T>(results: readonly PromiseSettledResult<T>[]): T[] {
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** The one index that succeeded. */
export function winnerOf(results: readonly PromiseSettledResult<unknown>[]): number {
  const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []));
  assert.equal(winners.length, 1, `one winner, not ${winners.length}`);
  return winners[0] as number;
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
