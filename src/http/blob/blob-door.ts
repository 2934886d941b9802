/** The Blob service as a door: routes in front, the two things of its data that the edge needs beside them. */
import { findContainer } from '../../service/blob/load.ts';
import { snapshotReader } from '../../service/records/record-reader.ts';
import { knownServiceProperties } from '../../service/service-properties.ts';
import type { Storage } from '../../service/storage.ts';
import { type SourceOptions, sourceResolver } from '../copy-source-resolver.ts';
import type { Door, Route } from '../door.ts';
import type { Exchange } from '../exchange.ts';
import { renderFault } from '../faults.ts';
import type { BlobResource } from './operation.ts';
import { findOperation } from './routes.ts';

const SERVICE = 'b';

export function blobDoor(storage: Storage, sources: SourceOptions): Door {
  const resolveSource = sourceResolver(storage, sources);
  return {
    service: SERVICE,

    route(exchange: Exchange): Route {
      const { operation, resource } = findOperation(exchange);
      return {
        operation: operation.name,
        need: typeof operation.need === 'function' ? operation.need(exchange) : operation.need,
        resource: namesOf(resource),
        handle: (authorized, openPart) => operation.handle(storage, authorized, resource, { openPart, resolveSource }),
      };
    },

    async loadAcl(account, [container]) {
      if (container === undefined) return null;
      return storage.readers.inSnapshot((snapshot) => findContainer(snapshotReader(snapshot), { account, container }));
    },

    async loadCorsRules(account) {
      return (await knownServiceProperties(storage, account, SERVICE)).cors;
    },

    async loadDefaultVersion(account) {
      return (await knownServiceProperties(storage, account, SERVICE)).defaultServiceVersion;
    },

    renderFault,
  };
}

function namesOf(resource: BlobResource): readonly string[] {
  if (resource.kind === 'service') return [];
  return resource.kind === 'container' ? [resource.container] : [resource.container, resource.blob];
}
