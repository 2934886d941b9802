/** Reading the records that blob and container operations start from, in a transaction or in a snapshot. */
import type { Id } from '../../base/ids.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { Conditions } from '../../rules/conditions.ts';
import type { LeaseId } from '../../rules/lease.ts';
import type { Moment } from '../../rules/moment.ts';
import type { BlobState, Refusal } from '../../rules/precedence.ts';
import type { ApiVersion } from '../../rules/versions.ts';
import type { CustomerKey } from '../extents/customer-key.ts';
import type { Known } from '../known.ts';
import type { BlobRecord, StagingRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { type BlobAddress, blobKeys, containerKey, pastKey, servicePropertiesKey } from '../records/keys.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { ServiceProperties } from '../service-properties.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { endExpired } from './end-expired.ts';
import { endStaging, hasExpired } from './staging.ts';

export interface ContainerName {
  readonly account: string;
  readonly container: string;
}

export interface BlobName extends ContainerName {
  readonly blob: string;
}

/** A snapshot or a version of a blob, by its id. */
export interface BlobAt {
  readonly kind: 'snapshot' | 'version';
  readonly moment: Moment;
}

/** What every operation on a blob is asked with. */
export interface BlobRequest {
  readonly name: BlobName;
  /** Null or absent: the blob itself. */
  readonly at?: BlobAt | null;
  readonly conditions: Conditions;
  readonly leaseId: LeaseId | null;
  readonly version: ApiVersion;
  /** Null: none was sent; absent: the operation asks for none. */
  readonly key?: CustomerKey | null;
}

export async function findContainer(reader: RecordReader, name: ContainerName): Promise<ContainerRecord | null> {
  const [value] = await reader.getMany([containerKey(name.account, name.container)]);
  return value ? decodeJson<ContainerRecord>(value) : null;
}

export interface LoadedBlob {
  readonly container: ContainerRecord | null;
  readonly containerKey: Uint8Array;
  readonly address: BlobAddress;
  /** Where `blob` stands, or would: the blob itself, or the snapshot or version that was asked for. */
  readonly keys: { readonly blob: Uint8Array; readonly staging: Uint8Array };
  readonly blob: BlobRecord | null;
  readonly staging: StagingRecord | null;
  /** A staging whose week is over: to everybody there is none, and the next write clears it away. */
  readonly expired: StagingRecord | null;
  /** The two as the rules see them. */
  readonly state: BlobState | null;
}

/** Keys in a container that is not there; whoever asks for them is refused before using them. */
const NO_CONTAINER_ID: Id = '0'.repeat(24);

interface Located extends Pick<LoadedBlob, 'container' | 'containerKey' | 'address' | 'keys'> {
  readonly values: readonly (Uint8Array | null)[];
}

/** The keys to look up in the container: those of the blob, and what stands beside it. */
type Wanted = (keys: LoadedBlob['keys'], address: BlobAddress) => Uint8Array[];

/** The container and what it holds under the blob's name, in one round trip where the container's id is known. */
async function locate(
  reader: RecordReader,
  { account, container, blob: name }: BlobName,
  { known, wanted }: { known: Known; wanted: Wanted },
): Promise<Located> {
  const guessedId = known.containers.idOf(account, container) ?? NO_CONTAINER_ID;
  const guessed = { account, containerId: guessedId, name };
  const isGuess = guessedId !== NO_CONTAINER_ID;
  const key = containerKey(account, container);
  const keys = blobKeys(guessed);
  const [found, ...values] = await reader.getMany(isGuess ? [key, ...wanted(keys, guessed)] : [key]);
  const record = found ? decodeJson<ContainerRecord>(found) : null;
  if (record === null || record.id === guessedId) {
    return { container: record, containerKey: key, address: guessed, keys, values: record === null ? [] : values };
  }
  known.containers.note(account, container, record.id);
  const address = { account, containerId: record.id, name };
  const foundKeys = blobKeys(address);
  const foundValues = await reader.getMany(wanted(foundKeys, address));
  return { container: record, containerKey: key, address, keys: foundKeys, values: foundValues };
}

/** The blob, or the snapshot or version asked for, alone: for reads to which staged blocks are nothing. */
export async function loadCommittedBlob(
  reader: RecordReader,
  { name, at = null }: { name: BlobName; at?: BlobAt | null },
  { nowMs, known }: { nowMs: number; known: Known },
): Promise<LoadedBlob> {
  if (at !== null) return loadPastBlob(reader, { name, at }, { nowMs, known });
  const { container, containerKey, address, keys, values } = await locate(reader, name, { known, wanted: BLOB_ALONE });
  const blob = liveRecord(values[0] ?? null, nowMs);
  return { container, containerKey, address, keys, blob, staging: null, expired: null, state: stateOf(blob, null) };
}

const BLOB_ALONE: Wanted = ({ blob }) => [blob];

/** The current version may be asked for by its id. */
async function loadPastBlob(
  reader: RecordReader,
  { name, at }: { name: BlobName; at: BlobAt },
  { nowMs, known }: { nowMs: number; known: Known },
): Promise<LoadedBlob> {
  const wanted: Wanted = ({ blob }, address) => [blob, pastKey(address, at.kind, at.moment)];
  const { values, ...located } = await locate(reader, name, { known, wanted });
  const [base = null, past = null] = values.map((value) => liveRecord(value, nowMs));
  const rest = { ...located, staging: null, expired: null };
  if (at.kind === 'version' && base?.versionId === at.moment)
    return { ...rest, blob: base, state: stateOf(base, null) };
  const keys = { ...located.keys, blob: pastKey(located.address, at.kind, at.moment) };
  return { ...rest, keys, blob: past, state: pastStateOf(past) };
}

export interface LoadedToWrite extends LoadedBlob {
  /** For how many days the account keeps what is deleted or overwritten; null: not at all. */
  readonly retentionDays: number | null;
}

export async function loadBlob(
  reader: RecordReader,
  name: BlobName,
  { nowMs, known }: { nowMs: number; known: Known },
): Promise<LoadedToWrite & { readonly ended: BlobRecord | null }> {
  const wanted: Wanted = ({ blob, staging }) => [blob, staging, servicePropertiesKey(name.account, 'b')];
  const { container, containerKey, address, keys, values } = await locate(reader, name, { known, wanted });
  const [blobValue, stagingValue, properties] = values;
  const blob = liveRecord(blobValue ?? null, nowMs);
  const found = stagingValue ? decodeJson<StagingRecord>(stagingValue) : null;
  const expired = found !== null && (await hasExpired(reader, found, nowMs)) ? found : null;
  const staging = expired === null ? found : null;
  return {
    container,
    containerKey,
    address,
    keys,
    blob,
    staging,
    expired,
    state: stateOf(blob, staging),
    retentionDays: retentionDaysOf(properties ?? null),
    ended: blobValue && blob === null ? decodeJson<BlobRecord>(blobValue) : null,
  };
}

/** The same, for an operation that will write. What has ended by itself is cleared away first. */
export async function loadBlobToWrite(
  tx: Transaction,
  storage: Storage,
  name: BlobName,
  nowMs: number,
): Promise<LoadedToWrite> {
  const loaded = await loadBlob(tx, name, { nowMs, known: storage.known });
  if (loaded.expired !== null) {
    endStaging(tx, storage.extents, { headKey: loaded.keys.staging, staging: loaded.expired });
  }
  if (loaded.ended !== null) await endExpired(tx, storage, { ...loaded, blob: loaded.ended }, nowMs);
  return loaded;
}

/** A deleted state, or a blob whose time has come, is there to nobody who does not ask for such. */
function liveRecord(value: Uint8Array | null, nowMs: number): BlobRecord | null {
  const record = value === null ? null : decodeJson<BlobRecord>(value);
  if (record === null || record.deleted !== undefined) return null;
  return record.expiresMs !== undefined && record.expiresMs <= nowMs ? null : record;
}

/** `properties`: the record of the account's service properties, null where there is none. */
export function retentionDaysOf(properties: Uint8Array | null): number | null {
  const { deleteRetention } = properties === null ? {} : decodeJson<Partial<ServiceProperties>>(properties);
  return deleteRetention?.enabled === true ? (deleteRetention.days ?? null) : null;
}

function stateOf(blob: BlobRecord | null, staging: StagingRecord | null): BlobState | null {
  if (blob !== null) {
    const { type, etag, lastModifiedMs, lease, tags, copy, immutability, encryption } = blob;
    return { type, etag, lastModifiedMs, lease, tags, copy, immutability, encryption, tier: blob, committed: true };
  }
  if (staging === null) return null;
  return { type: 'BlockBlob', etag: '', lastModifiedMs: 0, lease: staging.lease, committed: false };
}

function pastStateOf(blob: BlobRecord | null): BlobState | null {
  const state = stateOf(blob, null);
  return state === null ? null : { ...state, isPast: true };
}

/** The part of every blob rule's question that comes from the request and the records. */
export const situation = (loaded: LoadedBlob, request: BlobRequest, nowMs: number) => ({
  containerExists: loaded.container !== null,
  blob: loaded.state,
  conditions: request.conditions,
  leaseId: request.leaseId,
  version: request.version,
  keySha256: request.key === undefined ? undefined : (request.key?.sha256 ?? null),
  nowMs,
});

export function refuse(refusal: Refusal | null): void {
  if (refusal !== null) throw new StorageError(refusal.code, { notModified: refusal.notModified });
}
