/** The Table service as a door: routes in front, the things of its data that the edge needs beside them. */
import { NEWEST_VERSION } from '../../rules/versions.ts';
import { knownServiceProperties } from '../../service/service-properties.ts';
import type { Storage } from '../../service/storage.ts';
import { lookUpTable } from '../../service/table/use-table.ts';
import type { Door, Route } from '../door.ts';
import type { Exchange } from '../exchange.ts';
import type { TableResource } from './operation.ts';
import { findOperation } from './routes.ts';
import { renderTableFault } from './table-fault.ts';

const SERVICE = 't';

export function tableDoor(storage: Storage): Door {
  return {
    service: SERVICE,

    route(exchange: Exchange): Route {
      const { operation, resource } = findOperation(exchange);
      return {
        operation: operation.name,
        need: operation.need,
        resource: namesOf(resource),
        handle: (authorized) => operation.handle(storage, authorized, resource, { find: findOperation }),
      };
    },

    async loadAcl(account, [table]) {
      if (table === undefined) return null;
      const found = await lookUpTable(storage, { account, table });
      return found === null ? null : { publicAccess: null, policies: found.policies };
    },

    async loadCorsRules(account) {
      return (await knownServiceProperties(storage, account, SERVICE)).cors;
    },

    /** This service keeps no such setting. A client that names no version is served as a new one would be. */
    async loadDefaultVersion() {
      return NEWEST_VERSION;
    },

    renderFault: renderTableFault,
  };
}

/** A table as such, and its list, are opened by no token for a table. */
function namesOf(resource: TableResource): readonly string[] {
  return 'table' in resource ? [resource.table] : [];
}
