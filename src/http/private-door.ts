/**
 * The door of a service in which nothing is public and which keeps no default version: queues, tables. Routes in front, the
 * things of its data that the edge needs beside them.
 */
import type { ServiceLetter } from '../auth/identity.ts';
import type { AccessPolicy } from '../rules/acl.ts';
import { NEWEST_VERSION } from '../rules/versions.ts';
import { knownServiceProperties } from '../service/service-properties.ts';
import type { Storage } from '../service/storage.ts';
import type { Door, Route } from './door.ts';
import type { Exchange } from './exchange.ts';

export interface PrivateService {
  readonly service: ServiceLetter;
  readonly route: (exchange: Exchange) => Route;
  /** Of what a token can be for, by its name; null where there is no such thing. */
  readonly loadPolicies: (account: string, name: string) => Promise<readonly AccessPolicy[] | null>;
  readonly renderFault: Door['renderFault'];
}

export function privateDoor(storage: Storage, of: PrivateService): Door {
  return {
    service: of.service,
    route: of.route,

    async loadAcl(account, [name]) {
      const policies = name === undefined ? null : await of.loadPolicies(account, name);
      return policies === null ? null : { publicAccess: null, policies };
    },

    async loadCorsRules(account) {
      return (await knownServiceProperties(storage, account, of.service)).cors;
    },

    /** A client that names no version is served as a new one would be. */
    async loadDefaultVersion() {
      return NEWEST_VERSION;
    },

    renderFault: of.renderFault,
  };
}
