/** The Queue service as a door: routes in front, the things of its data that the edge needs beside them. */
import { NEWEST_VERSION } from '../../rules/versions.ts';
import { lookUpQueue } from '../../service/queue/use-queue.ts';
import { knownServiceProperties } from '../../service/service-properties.ts';
import type { Storage } from '../../service/storage.ts';
import type { Door, Route } from '../door.ts';
import type { Exchange } from '../exchange.ts';
import { renderFault } from '../faults.ts';
import type { QueueResource } from './operation.ts';
import { findOperation } from './routes.ts';

const SERVICE = 'q';

export function queueDoor(storage: Storage): Door {
  return {
    service: SERVICE,

    route(exchange: Exchange): Route {
      const { operation, resource } = findOperation(exchange);
      return {
        operation: operation.name,
        need: operation.need,
        resource: namesOf(resource),
        handle: (authorized) => operation.handle(storage, authorized, resource),
      };
    },

    async loadAcl(account, [queue]) {
      if (queue === undefined) return null;
      const found = await lookUpQueue(storage, { account, queue });
      return found === null ? null : { publicAccess: null, policies: found.policies };
    },

    async loadCorsRules(account) {
      return (await knownServiceProperties(storage, account, SERVICE)).cors;
    },

    /** This service keeps no such setting. A client that names no version is served as a new one would be. */
    async loadDefaultVersion() {
      return NEWEST_VERSION;
    },

    renderFault,
  };
}

/** A token is for a queue; its messages are no resources of their own. */
const namesOf = (resource: QueueResource): readonly string[] => (resource.kind === 'service' ? [] : [resource.queue]);
