/** Service properties: the settings that an account's user keeps per service, changed part by part. */
import { transact } from '../engine/transact.ts';
import type { ServiceLetter } from '../rules/acl.ts';
import type { CorsRule } from '../rules/cors.ts';
import { decodeJson, encodeJson } from './records/codec.ts';
import { servicePropertiesKey } from './records/keys.ts';
import type { Storage } from './storage.ts';

export interface RetentionPolicy {
  readonly enabled: boolean;
  readonly days?: number;
}

export interface Logging {
  readonly version: string;
  readonly delete: boolean;
  readonly read: boolean;
  readonly write: boolean;
  readonly retention: RetentionPolicy;
}

export interface Metrics {
  readonly version: string;
  readonly enabled: boolean;
  readonly includeApis?: boolean;
  readonly retention: RetentionPolicy;
}

export interface ServiceProperties {
  readonly logging: Logging;
  readonly hourMetrics: Metrics;
  readonly minuteMetrics: Metrics;
  readonly cors: readonly CorsRule[];
  readonly defaultServiceVersion: string | null;
}

const NO_RETENTION: RetentionPolicy = { enabled: false };

export const DEFAULT_PROPERTIES: ServiceProperties = {
  logging: { version: '1.0', delete: false, read: false, write: false, retention: NO_RETENTION },
  hourMetrics: { version: '1.0', enabled: false, retention: NO_RETENTION },
  minuteMetrics: { version: '1.0', enabled: false, retention: NO_RETENTION },
  cors: [],
  defaultServiceVersion: null,
};

export async function getServiceProperties(
  storage: Storage,
  account: string,
  service: ServiceLetter,
): Promise<ServiceProperties> {
  const snapshot = storage.engine.snapshot();
  const [entry] = await snapshot.get([servicePropertiesKey(account, service)]).finally(() => snapshot.close());
  return entry ? decodeJson<ServiceProperties>(entry.value) : DEFAULT_PROPERTIES;
}

/** For what every request asks: as they are, or were a few seconds ago. */
export const knownServiceProperties = (
  storage: Storage,
  account: string,
  service: ServiceLetter,
): Promise<ServiceProperties> =>
  storage.known.properties(account, service, () => getServiceProperties(storage, account, service));

/** Parts not given stay as they are. */
export async function setServiceProperties(
  storage: Storage,
  account: string,
  service: ServiceLetter,
  change: Partial<ServiceProperties>,
): Promise<void> {
  const key = servicePropertiesKey(account, service);
  await transact(storage.engine, async (tx) => {
    const value = await tx.get(key);
    const before = value === null ? DEFAULT_PROPERTIES : decodeJson<ServiceProperties>(value);
    tx.put(key, encodeJson({ ...before, ...change }));
  });
  storage.known.forgetProperties();
}
