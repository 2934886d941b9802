/** Reading the records that blob and container operations start from, in a transaction or in a snapshot. */
import type { Id } from '../../base/ids.ts';
import type { Snapshot } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import type { Conditions } from '../../rules/conditions.ts';
import type { LeaseId } from '../../rules/lease.ts';
import type { BlobState, Refusal } from '../../rules/precedence.ts';
import type { ApiVersion } from '../../rules/versions.ts';
import type { Known } from '../known.ts';
import type { BlobRecord, StagingRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { blobKeys, containerKey } from '../records/keys.ts';
import type { RangeReader } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { endStaging, hasExpired } from './staging.ts';

export interface ContainerName {
  readonly account: string;
  readonly container: string;
}

export interface BlobName extends ContainerName {
  readonly blob: string;
}

/** What every operation on a blob is asked with. */
export interface BlobRequest {
  readonly name: BlobName;
  readonly conditions: Conditions;
  readonly leaseId: LeaseId | null;
  readonly version: ApiVersion;
}

/** What is common to a transaction and a snapshot. */
export interface RecordReader extends RangeReader {
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | null)[]>;
}

export const snapshotReader = (snapshot: Snapshot): RecordReader => ({
  getMany: async (keys) => (await snapshot.get(keys)).map((entry) => entry?.value ?? null),
  range: (range, options) => snapshot.range(range, options),
});

export async function findContainer(reader: RecordReader, name: ContainerName): Promise<ContainerRecord | null> {
  const [value] = await reader.getMany([containerKey(name.account, name.container)]);
  return value ? decodeJson<ContainerRecord>(value) : null;
}

export interface LoadedBlob {
  readonly containerExists: boolean;
  readonly keys: { readonly blob: Uint8Array; readonly staging: Uint8Array };
  readonly blob: BlobRecord | null;
  readonly staging: StagingRecord | null;
  /** A staging whose week is over: to everybody there is none, and the next write clears it away. */
  readonly expired: StagingRecord | null;
  /** The two as the rules see them. */
  readonly state: BlobState | null;
}

const NOTHING = { blob: null, staging: null, expired: null, state: null } as const;

/** Keys in a container that is not there; whoever asks for them is refused before using them. */
const NO_CONTAINER_ID: Id = '0'.repeat(24);

interface Located {
  readonly containerExists: boolean;
  readonly keys: LoadedBlob['keys'];
  /** Of the blob and, if it was asked for, its staging head. */
  readonly values: readonly (Uint8Array | null)[];
}

/** The container and what it holds under the blob's name, in one round trip where the container's id is known. */
async function locate(
  reader: RecordReader,
  { account, container, blob: name }: BlobName,
  { known, withStaging }: { known: Known; withStaging: boolean },
): Promise<Located> {
  const wanted = ({ blob, staging }: LoadedBlob['keys']): Uint8Array[] => (withStaging ? [blob, staging] : [blob]);
  const guessedId = known.containerId(account, container) ?? NO_CONTAINER_ID;
  const guessed = blobKeys({ account, containerId: guessedId, name });
  const isGuess = guessedId !== NO_CONTAINER_ID;
  const [found, ...values] = await reader.getMany([
    containerKey(account, container),
    ...(isGuess ? wanted(guessed) : []),
  ]);
  const id = found ? decodeJson<ContainerRecord>(found).id : null;
  if (id === null) return { containerExists: false, keys: guessed, values: [] };
  if (id === guessedId) return { containerExists: true, keys: guessed, values };
  known.noteContainerId(account, container, id);
  const keys = blobKeys({ account, containerId: id, name });
  return { containerExists: true, keys, values: await reader.getMany(wanted(keys)) };
}

/** The blob alone, for reads to which staged blocks are nothing. */
export async function loadCommittedBlob(reader: RecordReader, name: BlobName, known: Known): Promise<LoadedBlob> {
  const { containerExists, keys, values } = await locate(reader, name, { known, withStaging: false });
  const blob = values[0] ? decodeJson<BlobRecord>(values[0]) : null;
  return { ...NOTHING, containerExists, keys, blob, state: stateOf(blob, null) };
}

export async function loadBlob(
  reader: RecordReader,
  name: BlobName,
  { nowMs, known }: { nowMs: number; known: Known },
): Promise<LoadedBlob> {
  const { containerExists, keys, values } = await locate(reader, name, { known, withStaging: true });
  const blob = values[0] ? decodeJson<BlobRecord>(values[0]) : null;
  const found = values[1] ? decodeJson<StagingRecord>(values[1]) : null;
  const expired = found !== null && (await hasExpired(reader, found, nowMs)) ? found : null;
  const staging = expired === null ? found : null;
  return { containerExists, keys, blob, staging, expired, state: stateOf(blob, staging) };
}

/** The same, for an operation that will write. */
export async function loadBlobToWrite(
  tx: Transaction,
  storage: Storage,
  name: BlobName,
  nowMs: number,
): Promise<LoadedBlob> {
  const loaded = await loadBlob(tx, name, { nowMs, known: storage.known });
  if (loaded.expired !== null) {
    endStaging(tx, storage.extents, { headKey: loaded.keys.staging, staging: loaded.expired });
  }
  return loaded;
}

function stateOf(blob: BlobRecord | null, staging: StagingRecord | null): BlobState | null {
  if (blob !== null) {
    const { type, etag, lastModifiedMs, lease } = blob;
    return { type, etag, lastModifiedMs, lease, committed: true };
  }
  if (staging === null) return null;
  return { type: 'BlockBlob', etag: '', lastModifiedMs: 0, lease: staging.lease, committed: false };
}

/** The part of every blob rule's question that comes from the request and the records. */
export const situation = (loaded: LoadedBlob, request: BlobRequest, nowMs: number) => ({
  containerExists: loaded.containerExists,
  blob: loaded.state,
  conditions: request.conditions,
  leaseId: request.leaseId,
  version: request.version,
  nowMs,
});

export function refuse(refusal: Refusal | null): void {
  if (refusal !== null) throw new StorageError(refusal.code, { notModified: refusal.notModified });
}
