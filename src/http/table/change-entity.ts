/**
 * Insert, Update, Merge, Insert Or Replace, Insert Or Merge and Delete Entity: from a request to a change of one entity,
 * and from what became of it to an answer. The parts of an entity group transaction go the same way.
 */

import type { Need } from '../../auth/identity.ts';
import { tableNeeds } from '../../auth/needs.ts';
import type { EntityKey } from '../../rules/edm.ts';
import { refuseEntity } from '../../rules/entity.ts';
import { type EntityChange, entityTag, type IfMatch, parseIfMatch } from '../../rules/entity-change.ts';
import type { ErrorCode } from '../../rules/error-code.ts';
import { ticksOf } from '../../service/records/entity-record.ts';
import { StorageError } from '../../service/storage-error.ts';
import { type Changed, changeEntity, type KeyedChange } from '../../service/table/change-entities.ts';
import { readWhole } from '../body.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';
import { refuseOutOfScope } from './caller-scope.ts';
import { parseEntity } from './entity-json.ts';
import { invalidInput } from './invalid-input.ts';
import { entityPath } from './links.ts';
import { jsonHeaders, PLAIN_HEADERS, parseMetadataLevel, refuseContentType, serviceUrl } from './metadata.ts';
import { type Operation, type TableResource, tableNameOf } from './operation.ts';
import { type Preference, parsePrefer, preferenceHeaders } from './prefer.ts';
import { renderEntity } from './render-entity.ts';

export const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** An operation that changes one entity, and can be part of an entity group transaction. */
export interface ChangeOperation extends Operation {
  readonly kind: EntityChange['kind'];
}

export const isChange = (operation: Operation): operation is ChangeOperation => 'kind' in operation;

function changeOperation(name: string, kind: ChangeOperation['kind'], need: Need): ChangeOperation {
  const operation: ChangeOperation = {
    name,
    kind,
    need,
    async handle(storage, exchange, resource) {
      const body = await readWhole(exchange, { maxBytes: BODY_BYTES_MAX });
      const request = parseChange(operation, exchange, { resource, body });
      refuseOutOfScope(exchange.identity, request.table, request.key);
      const changed = await changeEntity(storage, tableNameOf(exchange, resource), request);
      return renderChanged(exchange, request, changed);
    },
  };
  return operation;
}

export const insertEntity = changeOperation('Insert Entity', 'insert', tableNeeds.insertEntity);
export const updateEntity = changeOperation('Update Entity', 'replace', tableNeeds.updateEntity);
export const mergeEntity = changeOperation('Merge Entity', 'merge', tableNeeds.updateEntity);
export const insertOrReplaceEntity = changeOperation('Insert Or Replace Entity', 'replace', tableNeeds.upsertEntity);
export const insertOrMergeEntity = changeOperation('Insert Or Merge Entity', 'merge', tableNeeds.upsertEntity);
export const deleteEntity = changeOperation('Delete Entity', 'delete', tableNeeds.deleteEntity);

export interface ChangeRequest extends KeyedChange {
  /** As the request wrote it. */
  readonly table: string;
  readonly preference: Preference | null;
}

/** What a request asks to change; typed, complete and within the limits, or refused. */
export function parseChange(
  operation: ChangeOperation,
  exchange: Pick<Exchange, 'header' | 'target'>,
  { resource, body }: { readonly resource: TableResource; readonly body: Uint8Array },
): ChangeRequest {
  if (operation.kind === 'insert') return parseInsert(exchange, resource, body);
  if (resource.kind !== 'entity') throw new TypeError('the route is for an entity, and none is named');
  const { table, partitionKey, rowKey } = resource;
  const key = { partitionKey, rowKey };
  const ifMatch = readIfMatch(exchange);
  if (ifMatch === null && !isUpsert(operation)) throw missingIfMatch();
  if (operation.kind === 'delete') {
    return { table, key, change: { kind: 'delete', ifMatch: ifMatch as IfMatch }, preference: null };
  }
  refuseContentType(exchange);
  const entity = parseEntity(body);
  refuseOtherKey(key, entity);
  refuse(refuseEntity(key, entity.properties));
  return { table, key, change: { kind: operation.kind, ifMatch, properties: entity.properties }, preference: null };
}

function parseInsert(
  exchange: Pick<Exchange, 'header' | 'target'>,
  resource: TableResource,
  body: Uint8Array,
): ChangeRequest {
  if (resource.kind !== 'entities') throw new TypeError('the route is for a table, and none is named');
  refuseContentType(exchange);
  // What the answer is to look like is refused before anything is stored.
  parseMetadataLevel(exchange);
  const preference = parsePrefer(exchange);
  const { partitionKey, rowKey, properties } = parseEntity(body);
  if (partitionKey === null || rowKey === null) throw new StorageError('PropertiesNeedValue');
  const key = { partitionKey, rowKey };
  refuse(refuseEntity(key, properties));
  return { table: resource.table, key, change: { kind: 'insert', properties }, preference };
}

function readIfMatch(exchange: Pick<Exchange, 'header'>): IfMatch | null {
  if (exchange.header('if-none-match') !== null) {
    throw invalidInput('A write of an entity accepts If-Match, but not If-None-Match.');
  }
  const text = exchange.header('if-match');
  if (text === null) return null;
  const ifMatch = parseIfMatch(text);
  if (ifMatch === null) {
    throw invalidInput(
      `The etag value '${text}' specified in one of the request headers is not valid. Please make sure only one etag ` +
        'value is specified and is valid.',
    );
  }
  return ifMatch;
}

const isUpsert = (operation: ChangeOperation): boolean =>
  operation === insertOrReplaceEntity || operation === insertOrMergeEntity;

const missingIfMatch = (): StorageError =>
  new StorageError('MissingRequiredHeader', {
    message: 'If-Match is required here: the ETag of the entity, or * for any.',
    elements: { HeaderName: 'If-Match' },
  });

/** Keys may be left out of a body; those in it are the ones of the URL. */
function refuseOtherKey(
  { partitionKey, rowKey }: EntityKey,
  body: { readonly partitionKey: string | null; readonly rowKey: string | null },
): void {
  if ((body.partitionKey ?? partitionKey) === partitionKey && (body.rowKey ?? rowKey) === rowKey) return;
  throw invalidInput('PartitionKey and RowKey in the body do not match those in the URL.');
}

function refuse(code: ErrorCode | null): void {
  if (code !== null) throw new StorageError(code);
}

/** The answer to a change that was made. `changed`: the entity as it is stored now. */
export function renderChanged(
  exchange: Pick<AuthorizedExchange, 'header' | 'target' | 'origin'>,
  { table, key, change, preference }: ChangeRequest,
  changed: Changed,
): Reply {
  if (changed === null) return { status: 204, headers: PLAIN_HEADERS };
  const etag = entityTag(ticksOf(changed));
  if (change.kind !== 'insert') return { status: 204, headers: [...PLAIN_HEADERS, 'ETag', etag] };
  const root = serviceUrl(exchange);
  const location = `${root}/${entityPath(table, key)}`;
  const headers = ['ETag', etag, 'Location', location, ...preferenceHeaders(preference)];
  if (preference === 'return-no-content') {
    return { status: 204, headers: [...PLAIN_HEADERS, 'DataServiceId', location, ...headers] };
  }
  const level = parseMetadataLevel(exchange);
  const { account } = exchange.target;
  const body = renderEntity({ ...key, value: changed }, { level, serviceUrl: root, account, table, select: null });
  return { status: 201, headers: [...jsonHeaders(level), ...headers], body };
}
