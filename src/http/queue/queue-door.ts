/** The Queue service as a door. */
import { lookUpQueue } from '../../service/queue/use-queue.ts';
import type { Storage } from '../../service/storage.ts';
import type { Door } from '../door.ts';
import { renderFault } from '../faults.ts';
import { privateDoor } from '../private-door.ts';
import type { QueueResource } from './operation.ts';
import { findOperation } from './routes.ts';

export const queueDoor = (storage: Storage): Door =>
  privateDoor(storage, {
    service: 'q',
    route(exchange) {
      const { operation, resource } = findOperation(exchange);
      return {
        operation: operation.name,
        need: operation.need,
        resource: namesOf(resource),
        handle: (authorized) => operation.handle(storage, authorized, resource),
      };
    },
    loadPolicies: async (account, queue) => (await lookUpQueue(storage, { account, queue }))?.policies ?? null,
    renderFault,
  });

/** A token is for a queue; its messages are no resources of their own. */
const namesOf = (resource: QueueResource): readonly string[] => (resource.kind === 'service' ? [] : [resource.queue]);
