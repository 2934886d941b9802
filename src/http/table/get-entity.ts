import { tableNeeds } from '../../auth/needs.ts';
import { entityTag } from '../../rules/entity-change.ts';
import { isInScope } from '../../rules/entity-scope.ts';
import { ticksOf } from '../../service/records/entity-record.ts';
import { StorageError } from '../../service/storage-error.ts';
import { getEntity as load } from '../../service/table/get-entity.ts';
import { scopeOf } from './caller-scope.ts';
import { jsonHeaders, parseMetadataLevel, serviceUrl } from './metadata.ts';
import { type Operation, tableNameOf } from './operation.ts';
import { parseSelect, refuseOtherOptions } from './query-options.ts';
import { renderEntity } from './render-entity.ts';

/** A query for one entity by its key. Outside of what a token opens there is nothing. */
export const getEntity: Operation = {
  name: 'Query Entity',
  need: tableNeeds.queryEntities,
  async handle(storage, exchange, resource) {
    if (resource.kind !== 'entity') throw new TypeError('the route is for an entity, and none is named');
    refuseOtherOptions(exchange, ['$select']);
    const level = parseMetadataLevel(exchange);
    const select = parseSelect(exchange);
    const { partitionKey, rowKey } = resource;
    const key = { partitionKey, rowKey };
    const { table, entity } = await load(storage, tableNameOf(exchange, resource), key);
    const scope = scopeOf(exchange.identity);
    if (scope !== null && !isInScope(scope, key)) throw new StorageError('ResourceNotFound');
    const { account } = exchange.target;
    const format = { level, serviceUrl: serviceUrl(exchange), account, table: table.name, select };
    const headers = [...jsonHeaders(level), 'ETag', entityTag(ticksOf(entity.value))];
    return { status: 200, headers, body: renderEntity(entity, format) };
  },
};
