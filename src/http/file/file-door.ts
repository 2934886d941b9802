/** The File service as a door. */
import { systemClock } from '../../base/clock.ts';
import { lookUpShare } from '../../service/file/use-share.ts';
import type { Storage } from '../../service/storage.ts';
import { type SourceOptions, sourceResolver } from '../copy-source-resolver.ts';
import type { Door } from '../door.ts';
import { renderFault } from '../faults.ts';
import { privateDoor } from '../private-door.ts';
import { refuseConditions } from './conditions.ts';
import type { Means } from './operation.ts';
import { resolveRenameSource } from './rename-source.ts';
import { targetOfRename } from './rename-target.ts';
import { findOperation } from './routes.ts';

const SERVICE = 'f';

export function fileDoor(storage: Storage, sources: SourceOptions): Door {
  const means: Means = {
    resolveSource: sourceResolver(storage, sources),
    resolveRenameSource: (exchange, destination) =>
      resolveRenameSource(exchange, destination, {
        accounts: sources.accounts,
        bearer: sources.bearer ?? null,
        origin: sources.origin(SERVICE),
        nowMs: storage.clock.nowMs(),
        wallNowMs: systemClock.nowMs(),
        loadAcl: (account, resource) => door.loadAcl(account, resource),
      }),
  };
  const door = privateDoor(storage, {
    service: SERVICE,
    route(exchange) {
      const { operation, resource, names } = findOperation(exchange);
      return {
        operation: operation.name,
        need: operation.need,
        resource: names,
        handle(authorized) {
          refuseConditions(authorized);
          return operation.handle(storage, authorized, resource, means);
        },
      };
    },
    loadPolicies: async (account, share) => (await lookUpShare(storage, { account, share }))?.policies ?? null,
    renderFault,
  });
  return { ...door, locate: targetOfRename };
}
