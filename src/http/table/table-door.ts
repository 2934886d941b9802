/** The Table service as a door. */
import type { Storage } from '../../service/storage.ts';
import { lookUpTable } from '../../service/table/use-table.ts';
import type { Door } from '../door.ts';
import { privateDoor } from '../private-door.ts';
import type { TableResource } from './operation.ts';
import { findOperation } from './routes.ts';
import { renderTableFault } from './table-fault.ts';

export const tableDoor = (storage: Storage): Door =>
  privateDoor(storage, {
    service: 't',
    route(exchange) {
      const { operation, resource } = findOperation(exchange);
      return {
        operation: operation.name,
        need: operation.need,
        resource: namesOf(resource),
        handle: (authorized) => operation.handle(storage, authorized, resource, { find: findOperation }),
      };
    },
    loadPolicies: async (account, table) => (await lookUpTable(storage, { account, table }))?.policies ?? null,
    renderFault: renderTableFault,
  });

/** A table as such, and its list, are opened by no token for a table. */
function namesOf(resource: TableResource): readonly string[] {
  return 'table' in resource ? [resource.table] : [];
}
