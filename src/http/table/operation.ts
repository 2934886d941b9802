/** The shape of one Table operation at the HTTP door: what it needs, and how it is answered. */
import type { Need } from '../../auth/identity.ts';
import type { Storage } from '../../service/storage.ts';
import type { TableName } from '../../service/table/load.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';

export interface Operation {
  /** As in Microsoft's documentation. */
  readonly name: string;
  readonly need: Need;
  handle(storage: Storage, exchange: AuthorizedExchange, resource: TableResource, means: Means): Promise<Reply>;
}

/** What some operations need of the door around them. */
export interface Means {
  /** The operation that a request inside another asks for. */
  readonly find: FindOperation;
}

export type FindOperation = (exchange: Exchange) => {
  readonly operation: Operation;
  readonly resource: TableResource;
};

/** What the path names. */
export type TableResource =
  | { readonly kind: 'service' }
  /** The list of tables. */
  | { readonly kind: 'tables' }
  /** A table in that list: `Tables('name')`. */
  | { readonly kind: 'table'; readonly table: string }
  /** The entities of a table: `name()`, or `name`. */
  | { readonly kind: 'entities'; readonly table: string }
  | { readonly kind: 'entity'; readonly table: string; readonly partitionKey: string; readonly rowKey: string }
  | { readonly kind: 'batch' };

export function tableNameOf(exchange: Exchange, resource: TableResource): TableName {
  if (!('table' in resource)) throw new TypeError('the route is for a table, and none is named');
  return { account: exchange.target.account, table: resource.table };
}
