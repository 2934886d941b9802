/** A page of a query as a test looks at it: gathered, where the server writes entities out as it sees them. */
import type { EntityKey } from '../../src/rules/edm.ts';
import { parseEntityKey } from '../../src/service/records/table-keys.ts';
import type { TableRecord } from '../../src/service/records/table-record.ts';
import type { Storage } from '../../src/service/storage.ts';
import type { StoredEntity } from '../../src/service/table/load.ts';
import { type QueryEntitiesRequest, type QueryLimits, queryEntities } from '../../src/service/table/query-entities.ts';

export interface EntityPage {
  readonly table: TableRecord;
  readonly entities: readonly StoredEntity[];
  readonly next: EntityKey | null;
}

export async function queryPage(
  storage: Storage,
  request: QueryEntitiesRequest,
  limits?: QueryLimits,
): Promise<EntityPage> {
  const entities: StoredEntity[] = [];
  let table: TableRecord | null = null;
  const sink = {
    begin: (found: TableRecord) => {
      table = found;
    },
    take: (key: Uint8Array, value: Uint8Array) => {
      entities.push({ ...parseEntityKey(key), value: Buffer.from(value) });
    },
  };
  const next = await queryEntities(storage, request, sink, limits);
  if (table === null) throw new TypeError('the page was not begun');
  return { table, entities, next };
}
