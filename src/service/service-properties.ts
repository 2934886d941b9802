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

/** Soft delete of blobs. */
export interface DeleteRetention extends RetentionPolicy {
  readonly allowPermanentDelete?: boolean;
}

/** What the web door serves of the container `$web`. Paths are from its root on. */
export interface StaticWebsite {
  readonly enabled: boolean;
  /** The name of the page that stands for its directory. */
  readonly indexDocument?: string;
  /** One page for all directories, and for whatever is not there. */
  readonly defaultIndexDocumentPath?: string;
  readonly errorDocument404Path?: string;
}

export const SMB_SETTINGS = {
  versions: ['SMB2.1', 'SMB3.0', 'SMB3.1.1'],
  authenticationMethods: ['NTLMv2', 'Kerberos'],
  kerberosTicketEncryption: ['RC4-HMAC', 'AES-256'],
  channelEncryption: ['AES-128-CCM', 'AES-128-GCM', 'AES-256-GCM'],
} as const;

type SmbList = keyof typeof SMB_SETTINGS;

/** What SMB clients may use. A list that is absent or empty allows everything; a switch that is absent is off. */
export type SmbSettings = { readonly [List in SmbList]?: readonly string[] } & {
  readonly multichannel?: boolean;
  readonly encryptionRequired?: boolean;
};

export interface NfsSettings {
  readonly encryptionRequired?: boolean;
}

export interface ServiceProperties {
  readonly logging: Logging;
  readonly hourMetrics: Metrics;
  readonly minuteMetrics: Metrics;
  readonly cors: readonly CorsRule[];
  readonly defaultServiceVersion: string | null;
  readonly deleteRetention: DeleteRetention;
  readonly staticWebsite: StaticWebsite;
  /** Soft delete of shares. */
  readonly shareDeleteRetention: RetentionPolicy;
  readonly smb: SmbSettings;
  readonly nfs: NfsSettings;
}

const NO_RETENTION: RetentionPolicy = { enabled: false };

export const DEFAULT_PROPERTIES: ServiceProperties = {
  logging: { version: '1.0', delete: false, read: false, write: false, retention: NO_RETENTION },
  hourMetrics: { version: '1.0', enabled: false, retention: NO_RETENTION },
  minuteMetrics: { version: '1.0', enabled: false, retention: NO_RETENTION },
  cors: [],
  defaultServiceVersion: null,
  deleteRetention: NO_RETENTION,
  staticWebsite: { enabled: false },
  shareDeleteRetention: NO_RETENTION,
  smb: {},
  nfs: {},
};

/** Records of earlier releases lack the newer parts. */
const decode = (value: Uint8Array): ServiceProperties => ({
  ...DEFAULT_PROPERTIES,
  ...decodeJson<Partial<ServiceProperties>>(value),
});

export async function getServiceProperties(
  storage: Storage,
  account: string,
  service: ServiceLetter,
): Promise<ServiceProperties> {
  const snapshot = storage.engine.snapshot();
  const [entry] = await snapshot.get([servicePropertiesKey(account, service)]).finally(() => snapshot.close());
  return entry ? decode(entry.value) : DEFAULT_PROPERTIES;
}

/** For what every request asks: as they are, or were a few seconds ago. */
export const knownServiceProperties = (
  storage: Storage,
  account: string,
  service: ServiceLetter,
): Promise<ServiceProperties> =>
  storage.known.properties(account, service, () => getServiceProperties(storage, account, service));

/** Parts not given stay as they are; of the protocols, so does every single setting. */
export async function setServiceProperties(
  storage: Storage,
  account: string,
  service: ServiceLetter,
  change: Partial<ServiceProperties>,
): Promise<void> {
  const key = servicePropertiesKey(account, service);
  await transact(storage.engine, async (tx) => {
    const value = await tx.get(key);
    const before = value === null ? DEFAULT_PROPERTIES : decode(value);
    const smb = { ...before.smb, ...change.smb };
    const nfs = { ...before.nfs, ...change.nfs };
    tx.put(key, encodeJson({ ...before, ...change, smb, nfs }));
  });
  storage.known.forgetProperties();
}

/**
 * For how many days deleted shares are kept; null: not at all. `properties`: the record of the account's File service, null
 * where there is none.
 */
export function shareRetentionDaysOf(properties: Uint8Array | null): number | null {
  const { shareDeleteRetention } = properties === null ? DEFAULT_PROPERTIES : decode(properties);
  return shareDeleteRetention.enabled ? (shareDeleteRetention.days ?? null) : null;
}
