/** Create, Query and Delete Table. */
import { tableNeeds } from '../../auth/needs.ts';
import { StorageError } from '../../service/storage-error.ts';
import { createTable as create } from '../../service/table/create-table.ts';
import { deleteTable as remove } from '../../service/table/delete-table.ts';
import { queryTables as query } from '../../service/table/query-tables.ts';
import { lookUpTable } from '../../service/table/use-table.ts';
import { readWhole } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { parseContinuation, renderContinuation } from './continuation.ts';
import { tablePath } from './links.ts';
import {
  jsonHeaders,
  type MetadataLevel,
  PLAIN_HEADERS,
  parseMetadataLevel,
  refuseContentType,
  serviceUrl,
} from './metadata.ts';
import { type Operation, tableNameOf } from './operation.ts';
import { parsePrefer, preferenceHeaders } from './prefer.ts';
import { parseFilterOption, parseTop, refuseOtherOptions } from './query-options.ts';
import { parseTableName } from './table-name.ts';

const BODY_BYTES_MAX = 64 * 1024;

export const createTable: Operation = {
  name: 'Create Table',
  need: tableNeeds.createTable,
  async handle(storage, exchange) {
    refuseContentType(exchange);
    const level = parseMetadataLevel(exchange);
    const preference = parsePrefer(exchange);
    const table = readTableName(await readWhole(exchange, { maxBytes: BODY_BYTES_MAX }));
    await create(storage, { account: exchange.target.account, table });
    const location = `${serviceUrl(exchange)}/${tablePath(table)}`;
    const headers = ['Location', location, ...preferenceHeaders(preference)];
    if (preference === 'return-no-content') {
      return { status: 204, headers: [...PLAIN_HEADERS, 'DataServiceId', location, ...headers] };
    }
    return {
      status: 201,
      headers: [...jsonHeaders(level), ...headers],
      body: JSON.stringify({ ...metadata(exchange, level, '/@Element'), ...described(exchange, level, table) }),
    };
  },
};

export const getTable: Operation = {
  name: 'Query Table',
  need: tableNeeds.queryTables,
  async handle(storage, exchange, resource) {
    const level = parseMetadataLevel(exchange);
    const table = await lookUpTable(storage, tableNameOf(exchange, resource));
    if (table === null) throw new StorageError('ResourceNotFound');
    return {
      status: 200,
      headers: jsonHeaders(level),
      body: JSON.stringify({ ...metadata(exchange, level, '/@Element'), ...described(exchange, level, table.name) }),
    };
  },
};

export const queryTables: Operation = {
  name: 'Query Tables',
  need: tableNeeds.queryTables,
  async handle(storage, exchange) {
    refuseOtherOptions(exchange, ['$filter', '$select', '$top']);
    const level = parseMetadataLevel(exchange);
    const token = exchange.target.query.get('NextTableName') ?? '';
    const { names, next } = await query(storage, {
      account: exchange.target.account,
      filter: parseFilterOption(exchange),
      from: token === '' ? '' : parseContinuation('NextTableName', token),
      limit: parseTop(exchange),
    });
    const continuation = next === null ? [] : ['x-ms-continuation-NextTableName', renderContinuation(next)];
    const value = names.map((name) => described(exchange, level, name));
    return {
      status: 200,
      headers: [...jsonHeaders(level), ...continuation],
      body: JSON.stringify({ ...metadata(exchange, level, ''), value }),
    };
  },
};

export const deleteTable: Operation = {
  name: 'Delete Table',
  need: tableNeeds.deleteTable,
  async handle(storage, exchange, resource) {
    await remove(storage, tableNameOf(exchange, resource));
    return { status: 204, headers: PLAIN_HEADERS };
  },
};

function readTableName(body: Uint8Array): string {
  const name = tableNameIn(body);
  if (name === null) throw new StorageError('InvalidInput', { message: 'The body must be {"TableName":"name"}.' });
  return parseTableName(name);
}

function tableNameIn(body: Uint8Array): string | null {
  try {
    const { TableName } = JSON.parse(Buffer.from(body).toString()) as { TableName?: unknown };
    return typeof TableName === 'string' ? TableName : null;
  } catch {
    return null;
  }
}

const metadata = (exchange: Exchange, level: MetadataLevel, element: string): object =>
  level === 'none' ? {} : { 'odata.metadata': `${serviceUrl(exchange)}/$metadata#Tables${element}` };

function described(exchange: Exchange, level: MetadataLevel, table: string): object {
  if (level !== 'full') return { TableName: table };
  return {
    'odata.type': `${exchange.target.account}.Tables`,
    'odata.id': `${serviceUrl(exchange)}/${tablePath(table)}`,
    'odata.editLink': tablePath(table),
    TableName: table,
  };
}
