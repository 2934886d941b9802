/**
 * Which Table operation a request asks for: one closed list by method, `comp` and what the path names. A POST may stand for
 * another method (`X-HTTP-Method`), where a client or a proxy knows no MERGE.
 */

import { SINCE_UPSERTS } from '../../rules/versions.ts';
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { compOf, unknownOperation } from '../routing.ts';
import { batch } from './batch.ts';
import {
  deleteEntity,
  insertEntity,
  insertOrMergeEntity,
  insertOrReplaceEntity,
  mergeEntity,
  updateEntity,
} from './change-entity.ts';
import { getEntity } from './get-entity.ts';
import type { Operation, TableResource } from './operation.ts';
import { queryEntities } from './query-entities.ts';
import { parseResourcePath } from './resource-path.ts';
import { getServiceProperties, getServiceStats, setServiceProperties } from './service.ts';
import { getTableAcl, setTableAcl } from './table-acl.ts';
import { createTable, deleteTable, getTable, queryTables } from './tables.ts';
import { getUserDelegationKey } from './user-delegation-key.ts';

const OPERATIONS: Readonly<Record<TableResource['kind'], Readonly<Record<string, Operation>>>> = {
  service: {
    'GET properties': getServiceProperties,
    'PUT properties': setServiceProperties,
    'GET stats': getServiceStats,
    'POST userdelegationkey': getUserDelegationKey,
  },
  tables: { 'GET ': queryTables, 'POST ': createTable },
  table: { 'GET ': getTable, 'DELETE ': deleteTable },
  entities: {
    'GET ': queryEntities,
    'POST ': insertEntity,
    'GET acl': getTableAcl,
    'HEAD acl': getTableAcl,
    'PUT acl': setTableAcl,
  },
  entity: {
    'GET ': getEntity,
    'PUT ': updateEntity,
    'MERGE ': mergeEntity,
    'PATCH ': mergeEntity,
    'DELETE ': deleteEntity,
  },
  batch: { 'POST ': batch },
};

/** Without If-Match these ask for nothing. */
const UPSERTS: ReadonlyMap<Operation, Operation> = new Map([
  [updateEntity as Operation, insertOrReplaceEntity as Operation],
  [mergeEntity as Operation, insertOrMergeEntity as Operation],
]);

export function findOperation(exchange: Exchange): { operation: Operation; resource: TableResource } {
  const { query, resourcePath } = exchange.target;
  const resource = parseResourcePath(resourcePath);
  const restype = query.get('restype');
  if (restype !== null && !(restype === 'service' && resource.kind === 'service'))
    throw invalidQuery('restype', restype);
  const operations = OPERATIONS[resource.kind];
  const operation = operations[`${methodOf(exchange)} ${compOf(exchange)}`];
  if (operation === undefined) throw unknownOperation(exchange, operations, 'MethodNotAllowed');
  if (exchange.header('if-match') !== null) return { operation, resource };
  // Before there were upserts, an update without If-Match was a mistake: change-entity.ts refuses it.
  const upsert = exchange.version < SINCE_UPSERTS ? undefined : UPSERTS.get(operation);
  return { operation: upsert ?? operation, resource };
}

const TUNNELLED: ReadonlySet<string> = new Set(['MERGE', 'PATCH', 'PUT', 'DELETE']);

function methodOf(exchange: Exchange): string {
  const instead = exchange.header('x-http-method');
  if (instead === null) return exchange.method;
  if (exchange.method !== 'POST') throw new StorageError('XMethodNotUsingPost');
  if (instead.includes(',')) throw new StorageError('XMethodIncorrectCount');
  const method = instead.trim().toUpperCase();
  if (!TUNNELLED.has(method)) throw new StorageError('XMethodIncorrectValue');
  return method;
}
