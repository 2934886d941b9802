/**
 * Find Blobs by Tags, in an account or in one container: one page, from one snapshot, over the index of tags. One term of
 * the query, the narrowest there is, says which rows to walk; the blobs' own tags decide about the rest.
 */
import { compareBytes, prefixEnd } from '../../base/bytes.ts';
import type { Id } from '../../base/ids.ts';
import type { Key, KeyRange, Snapshot } from '../../engine/engine.ts';
import { matchesTagQuery, type TagQuery, type TagTerm } from '../../rules/tag-expression.ts';
import type { Tags } from '../../rules/tags.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import type { ContainerRecord } from '../records/container-record.ts';
import { blobKeys, containerKey, containerRange, ownNameOf } from '../records/keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import { scanSteps } from '../records/scan.ts';
import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { findContainer } from './load.ts';
import { parseTagKey, tagPrefix } from './tag-index.ts';

const STEP_RECORDS = 500;

export interface FindBlobsRequest {
  readonly account: string;
  /** Null: in the whole account. */
  readonly container: string | null;
  readonly query: TagQuery;
  /** Where the page before ended; null: at the beginning. */
  readonly from: Key | null;
  readonly limit: number;
}

export interface FoundBlob {
  readonly container: string;
  readonly blob: string;
  readonly record: BlobRecord;
}

export interface FoundPage {
  readonly blobs: readonly FoundBlob[];
  /** Where the next page begins; null at the end. */
  readonly next: Key | null;
}

export async function findBlobsByTags(storage: Storage, request: FindBlobsRequest): Promise<FoundPage> {
  return storage.readers.inSnapshot(async (snapshot) => {
    const { account, query, limit } = request;
    const scope = await scopeOf(snapshot, request);
    if (scope === null) return { blobs: [], next: null };
    const range = startingAt(request.from, rangeOf(account, scope.containerId, narrowest(query.terms)));
    const names = new ContainerNames(storage, snapshot, account);
    const blobs: FoundBlob[] = [];
    const nowMs = storage.clock.nowMs();
    for await (const rows of scanSteps(snapshot, range, STEP_RECORDS)) {
      const found = await loadMatches(snapshot, { keys: rows.map((row) => row.key), query, nowMs });
      for (const { key, containerId: id, blob, record } of found) {
        const container = await names.of(id);
        if (container === null) continue;
        if (blobs.length === limit) return { blobs, next: key };
        blobs.push({ container, blob, record });
      }
    }
    return { blobs, next: null };
  });
}

/** The container to look in, null for all; no scope where the query names one that is not there. */
async function scopeOf(
  snapshot: Snapshot,
  { account, container, query }: FindBlobsRequest,
): Promise<{ readonly containerId: Id | null } | null> {
  const name = container ?? query.container;
  if (name === null) return { containerId: null };
  const found = await findContainer(snapshotReader(snapshot), { account, container: name });
  if (found === null && container !== null) throw new StorageError('ContainerNotFound');
  const isElsewhere = query.container !== null && query.container !== name;
  return found === null || isElsewhere ? null : { containerId: found.id };
}

const narrowest = (terms: readonly TagTerm[]): TagTerm =>
  terms.reduce((best, term) => (narrownessOf(term) > narrownessOf(best) ? term : best));

/** One value is narrower than a range with two ends, and that than one with a single end. */
function narrownessOf({ min, max }: TagTerm): number {
  if (min === null || max === null) return 0;
  return min.value === max.value ? 2 : 1;
}

/** Values end with 00 and hold no control characters, so 01 stands right behind a value and before all longer ones. */
function rangeOf(account: string, containerId: Id | null, { name, min, max }: TagTerm): KeyRange {
  const prefix = tagPrefix(account, containerId, name);
  const bound = (value: string, behind: boolean): Key =>
    Buffer.concat([prefix, Buffer.from(value), Uint8Array.of(behind ? 1 : 0)]);
  return {
    from: min === null ? prefix : bound(min.value, !min.inclusive),
    to: max === null ? (prefixEnd(prefix) as Key) : bound(max.value, max.inclusive),
  };
}

/** A marker is the caller's word: what lies outside of the query's own rows is not for it to ask for. */
function startingAt(from: Key | null, range: KeyRange): KeyRange {
  if (from === null) return range;
  const isWithin = compareBytes(range.from, from) <= 0 && compareBytes(from, range.to) < 0;
  if (!isWithin) throw new StorageError('InvalidQueryParameterValue', { elements: { QueryParameterName: 'marker' } });
  return { ...range, from };
}

interface Match {
  readonly key: Key;
  readonly containerId: Id;
  readonly blob: string;
  readonly record: BlobRecord;
}

async function loadMatches(
  snapshot: Snapshot,
  { keys, query, nowMs }: { keys: readonly Key[]; query: TagQuery; nowMs: number },
): Promise<Match[]> {
  const rows = keys.map((key) => ({ key, ...parseTagKey(key) }));
  const entries = await snapshot.get(
    rows.map(({ account, containerId, blob }) => blobKeys({ account, containerId, name: blob }).blob),
  );
  return rows.flatMap(({ key, containerId, blob }, index) => {
    const entry = entries[index];
    if (!entry) return [];
    const record = decodeJson<BlobRecord>(entry.value);
    const tags: Tags = record.tags ?? [];
    const isThere = record.expiresMs === undefined || record.expiresMs > nowMs;
    return isThere && matchesTagQuery(query, tags) ? [{ key, containerId, blob, record }] : [];
  });
}

/** The index names containers by their ids. What it says of one that was deleted since counts no more. */
class ContainerNames {
  readonly #storage: Storage;
  readonly #snapshot: Snapshot;
  readonly #account: string;
  readonly #names = new Map<Id, string | null>();
  #hasScanned = false;

  constructor(storage: Storage, snapshot: Snapshot, account: string) {
    this.#storage = storage;
    this.#snapshot = snapshot;
    this.#account = account;
  }

  async of(id: Id): Promise<string | null> {
    const noted = this.#names.get(id);
    if (noted !== undefined) return noted;
    const known = this.#storage.known.containers.nameOf(this.#account, id);
    const name = known !== null && (await this.#isStill(known, id)) ? known : await this.#scanFor(id);
    this.#names.set(id, name);
    return name;
  }

  async #isStill(name: string, id: Id): Promise<boolean> {
    const [entry] = await this.#snapshot.get([containerKey(this.#account, name)]);
    return entry ? decodeJson<ContainerRecord>(entry.value).id === id : false;
  }

  async #scanFor(id: Id): Promise<string | null> {
    if (!this.#hasScanned) {
      this.#hasScanned = true;
      for await (const entries of scanSteps(this.#snapshot, containerRange(this.#account, '', ''), STEP_RECORDS)) {
        for (const { key, value } of entries) {
          const container = ownNameOf(key);
          this.#names.set(decodeJson<ContainerRecord>(value).id, container);
          this.#storage.known.containers.note(this.#account, container, decodeJson<ContainerRecord>(value).id);
        }
      }
    }
    return this.#names.get(id) ?? null;
  }
}
