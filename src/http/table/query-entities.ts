import { tableNeeds } from '../../auth/needs.ts';
import type { EntityKey } from '../../rules/edm.ts';
import { queryEntities as query } from '../../service/table/query-entities.ts';
import type { Exchange } from '../exchange.ts';
import { scopeOf } from './caller-scope.ts';
import { parseContinuation, renderContinuation } from './continuation.ts';
import { jsonHeaders, parseMetadataLevel, serviceUrl } from './metadata.ts';
import { type Operation, tableNameOf } from './operation.ts';
import { parseFilterOption, parseSelect, parseTop, refuseOtherOptions } from './query-options.ts';
import { EntityFeed } from './render-entity.ts';

export const queryEntities: Operation = {
  name: 'Query Entities',
  need: tableNeeds.queryEntities,
  async handle(storage, exchange, resource) {
    refuseOtherOptions(exchange, ['$filter', '$select', '$top']);
    const level = parseMetadataLevel(exchange);
    const select = parseSelect(exchange);
    const request = {
      name: tableNameOf(exchange, resource),
      filter: parseFilterOption(exchange),
      limit: parseTop(exchange),
      from: parseFrom(exchange),
      scope: scopeOf(exchange.identity),
    };
    const { account } = exchange.target;
    const feed = new EntityFeed({ level, serviceUrl: serviceUrl(exchange), account, select });
    const next = await query(storage, request, feed);
    return { status: 200, headers: [...jsonHeaders(level), ...continuationHeaders(next)], body: feed.whole() };
  },
};

function parseFrom({ target: { query: words } }: Exchange): EntityKey | null {
  const [partition, row] = [words.get('NextPartitionKey'), words.get('NextRowKey')];
  if (partition === null || partition === '') return null;
  return {
    partitionKey: parseContinuation('NextPartitionKey', partition),
    rowKey: row === null || row === '' ? '' : parseContinuation('NextRowKey', row),
  };
}

function continuationHeaders(next: EntityKey | null): readonly string[] {
  if (next === null) return [];
  return [
    'x-ms-continuation-NextPartitionKey',
    renderContinuation(next.partitionKey),
    'x-ms-continuation-NextRowKey',
    renderContinuation(next.rowKey),
  ];
}
