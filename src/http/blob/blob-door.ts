/** The Blob service as a door: routes in front, the two things of its data that the edge needs beside them. */
import { systemClock } from '../../base/clock.ts';
import { findContainer } from '../../service/blob/load.ts';
import { snapshotReader } from '../../service/records/record-reader.ts';
import { knownServiceProperties } from '../../service/service-properties.ts';
import type { Storage } from '../../service/storage.ts';
import { type CopySourceContext, resolveCopySource } from '../copy-source.ts';
import type { Door, Route } from '../door.ts';
import type { AuthorizedExchange, Exchange } from '../exchange.ts';
import { renderFault } from '../faults.ts';
import type { BlobResource } from './operation.ts';
import { findOperation } from './routes.ts';

const SERVICE = 'b';

/** By which the sources of copies are found and authorized. */
export interface SourceOptions extends Pick<CopySourceContext, 'accounts' | 'bearer' | 'isOurs'> {
  /** Where the server listens, once it does. */
  readonly origin: () => string;
}

export function blobDoor(storage: Storage, sources: SourceOptions): Door {
  const resolveSource = (exchange: AuthorizedExchange) =>
    resolveCopySource(exchange, {
      ...sources,
      origin: sources.origin(),
      nowMs: storage.clock.nowMs(),
      wallNowMs: systemClock.nowMs(),
      loadAcl: (account, resource) => door.loadAcl(account, resource),
    });
  const door: Door = {
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
  return door;
}

function namesOf(resource: BlobResource): readonly string[] {
  if (resource.kind === 'service') return [];
  return resource.kind === 'container' ? [resource.container] : [resource.container, resource.blob];
}
