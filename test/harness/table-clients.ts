/** The official Table client as tests use it: never retrying, so that every answer of the server is seen, and refusals as data. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { RestError, TableClient, TableServiceClient, type TableServiceClientOptions } from '@azure/data-tables';
import type { TestAccount } from './accounts.ts';
import type { Reachable, Refusal } from './clients.ts';

export const TABLE_CLIENT_OPTIONS: TableServiceClientOptions = {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
};

export const tableService = (server: Reachable, account?: TestAccount): TableServiceClient =>
  TableServiceClient.fromConnectionString(server.connectionString(account), TABLE_CLIENT_OPTIONS);

export const tableClient = (server: Reachable, table: string, account?: TestAccount): TableClient =>
  TableClient.fromConnectionString(server.connectionString(account), table, TABLE_CLIENT_OPTIONS);

/** A table of its own for a test, so that tests of one server do not meet. */
export async function freshTable(server: Reachable, purpose = 'test'): Promise<TableClient> {
  const table = tableClient(server, `${purpose}${randomBytes(8).toString('hex')}`);
  await table.createTable();
  return table;
}

/** `412 UpdateConditionNotSatisfied` for a refused request; anything that is no answer of the server is thrown on. */
export function tableRefusalOf(error: unknown): Refusal {
  if (!(error instanceof RestError) || error.statusCode === undefined) throw error;
  const details = error.details as { odataError?: { code?: string } } | undefined;
  const code = details?.odataError?.code ?? error.response?.headers.get('x-ms-error-code') ?? error.code ?? '';
  return { status: error.statusCode, code };
}

const written = ({ status, code }: Refusal): string => `${status} ${code}`;

/** The refusal of a request that must not succeed. */
export async function tableRefusal(request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    return written(tableRefusalOf(error));
  }
  assert.fail('the request was not refused');
}

/** What `together` settled as, each as `ok` or its refusal. */
export const tableOutcomes = (results: readonly PromiseSettledResult<unknown>[]): string[] =>
  results.map((result) => (result.status === 'fulfilled' ? 'ok' : written(tableRefusalOf(result.reason))));
