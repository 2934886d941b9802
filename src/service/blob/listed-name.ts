/**
 * What a listing shows of one name. The name's records come in the order of their keys: the head of its staged blocks,
 * snapshots, versions, deleted states, and last the blob. Some can be judged only then, and are held back: without a
 * blob, its newest deleted state is the deleted blob, staged blocks are an uncommitted blob, and versions are all there is.
 */
import type { Key } from '../../engine/engine.ts';
import type { Moment } from '../../rules/moment.ts';
import { isGone } from '../../rules/retention.ts';
import type { BlobRecord, StagingRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import {
  type BlobAddress,
  type BlobKeyKind,
  blobKeys,
  type ParsedBlobKey,
  type PastKind,
  parseBlobKey,
  pastRange,
} from '../records/keys.ts';
import type { RangeReader } from '../records/scan.ts';
import type { ListPlace } from './list-place.ts';

export interface Wanted {
  readonly uncommitted: boolean;
  readonly snapshots: boolean;
  readonly versions: boolean;
  /** Also of snapshots and versions, where those are wanted. */
  readonly deleted: boolean;
  /** Names that have versions and no blob, each once. */
  readonly deletedWithVersions: boolean;
}

export type ListedRecord =
  /** `deleted`: the blob as it was when it was deleted. `versionsOnly`: its newest version, where it has no current one. */
  | { readonly kind: 'blob' | 'version' | 'deleted' | 'versionsOnly'; readonly name: string; readonly blob: BlobRecord }
  /** Or a state that was overwritten, and is kept as soft delete keeps it. */
  | { readonly kind: 'snapshot'; readonly name: string; readonly moment: Moment; readonly blob: BlobRecord }
  | { readonly kind: 'uncommitted'; readonly name: string; readonly staging: StagingRecord };

export interface Shown {
  readonly item: ListedRecord;
  /** Where it stands among what is shown of its name. */
  readonly at: ListPlace['at'];
}

interface PastState {
  readonly moment: Moment;
  readonly record: BlobRecord;
}

/** Of a kind that is of no interest but for its newest record, so many are read before the rest is jumped over. */
const UNLISTED_RECORDS_MAX = 16;
/** Read at a time, from the newest on, to find one that is not gone. */
const LOOKUP_RECORDS = 8;

const PAST_KINDS: readonly PastKind[] = ['snapshot', 'version', 'deleted'];

export class ListedName {
  readonly address: BlobAddress;
  readonly #wanted: Wanted;
  readonly #nowMs: number;
  /** Where the listing went on, if in the middle of the name: what stands before it has been shown. */
  readonly #resumedAt: ListPlace['at'];
  /** Of these kinds not every record was looked at. */
  readonly #incomplete = new Set<PastKind>();
  #unlistedCount = 0;
  #staging: Uint8Array | null = null;
  #deleted: PastState | null = null;
  #version: PastState | null = null;
  #isLive = false;

  constructor(
    address: BlobAddress,
    { wanted, nowMs, resumedAt = null }: { wanted: Wanted; nowMs: number; resumedAt?: ListPlace['at'] },
  ) {
    this.address = address;
    this.#wanted = wanted;
    this.#nowMs = nowMs;
    this.#resumedAt = resumedAt;
    if (resumedAt !== null && resumedAt.kind !== 'snapshot') this.#incomplete.add('version');
  }

  get name(): string {
    return this.address.name;
  }

  /** The blob is there, and all is shown. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** The next record of the name; gives what is certain by now. */
  take({ kind, moment }: Pick<ParsedBlobKey, 'kind' | 'moment'>, value: Uint8Array): Shown[] {
    switch (kind) {
      case 'staging':
        if (this.#wanted.uncommitted) this.#staging = value;
        return [];
      case 'snapshot':
        return this.#wanted.snapshots ? this.#takeSnapshot(moment, decodeJson(value)) : [];
      case 'version':
        return this.#isOfInterest(kind) ? this.#takeVersion(moment, decodeJson(value)) : [];
      case 'deleted':
        return this.#wanted.deleted ? this.#takeDeleted(moment, decodeJson(value)) : [];
      case 'blob':
        return this.#takeBlob(decodeJson(value));
    }
  }

  /** Where to go on behind a record of this kind; null: right behind it. */
  jumpBehind(kind: BlobKeyKind): Key | null {
    if (kind === 'staging' || kind === 'blob' || this.#isListed(kind)) return null;
    if (this.#isOfInterest(kind)) {
      if (++this.#unlistedCount <= UNLISTED_RECORDS_MAX) return null;
      this.#incomplete.add(kind);
      this.#unlistedCount = 0;
    }
    const next = PAST_KINDS.slice(PAST_KINDS.indexOf(kind) + 1).find((later) => this.#isOfInterest(later));
    return next === undefined ? blobKeys(this.address).blob : pastRange(this.address, next).from;
  }

  /** All records have come: what is left to show. */
  async end(reader: RangeReader): Promise<Shown[]> {
    if (this.#isLive) return [];
    const { name } = this.address;
    const deleted = await this.#deletedBlob(reader);
    if (deleted !== null) {
      const item = { kind: 'deleted', name, blob: deleted.record } as const;
      return [{ item, at: { kind: 'deleted', moment: deleted.moment } }, ...this.#uncommitted()];
    }
    const version = await this.#versionWithoutBlob(reader);
    if (version === null) return this.#uncommitted();
    const item = { kind: 'versionsOnly', name, blob: version.record } as const;
    return [{ item, at: { kind: 'versionsOnly' } }, ...this.#uncommitted()];
  }

  #takeSnapshot(moment: Moment, record: BlobRecord): Shown[] {
    return this.#isShown(record) ? [this.#snapshot({ kind: 'snapshot', moment }, record)] : [];
  }

  #takeVersion(moment: Moment, record: BlobRecord): Shown[] {
    if (this.#isGone(record)) return [];
    this.#version = { moment, record };
    if (!this.#wanted.versions || !this.#isShown(record)) return [];
    const { name } = this.address;
    return [{ item: { kind: 'version', name, blob: record }, at: { kind: 'version', moment } }];
  }

  /** The one before is a snapshot, whatever comes. */
  #takeDeleted(moment: Moment, record: BlobRecord): Shown[] {
    if (this.#isGone(record)) return [];
    const shown = this.#heldBack();
    this.#deleted = { moment, record };
    return shown;
  }

  #takeBlob(record: BlobRecord): Shown[] {
    if (record.expiresMs !== undefined && record.expiresMs <= this.#nowMs) return [];
    this.#isLive = true;
    return [
      ...this.#heldBack(),
      { item: { kind: 'blob', name: this.address.name, blob: record }, at: { kind: 'blob' } },
    ];
  }

  #heldBack(): Shown[] {
    if (this.#deleted === null || !this.#wanted.snapshots) return [];
    const { moment, record } = this.#deleted;
    return [this.#snapshot({ kind: 'deleted', moment }, record)];
  }

  #snapshot(at: { kind: PastKind; moment: Moment }, blob: BlobRecord): Shown {
    return { item: { kind: 'snapshot', name: this.address.name, moment: at.moment, blob }, at };
  }

  #uncommitted(): Shown[] {
    if (this.#staging === null) return [];
    const staging = decodeJson<StagingRecord>(this.#staging);
    return [{ item: { kind: 'uncommitted', name: this.address.name, staging }, at: { kind: 'blob' } }];
  }

  async #deletedBlob(reader: RangeReader): Promise<PastState | null> {
    const kind = this.#resumedAt?.kind;
    if (!this.#wanted.deleted || kind === 'versionsOnly' || kind === 'blob') return null;
    return this.#incomplete.has('deleted') ? this.#newest(reader, 'deleted') : this.#deleted;
  }

  async #versionWithoutBlob(reader: RangeReader): Promise<PastState | null> {
    if (!this.#wanted.deletedWithVersions || this.#resumedAt?.kind === 'blob') return null;
    return this.#incomplete.has('version') ? this.#newest(reader, 'version') : this.#version;
  }

  async #newest(reader: RangeReader, kind: PastKind): Promise<PastState | null> {
    const { from, to: end } = pastRange(this.address, kind);
    for (let to = end; ; ) {
      const entries = await reader.range({ from, to }, { limit: LOOKUP_RECORDS, reverse: true });
      for (const { key, value } of entries) {
        const record = decodeJson<BlobRecord>(value);
        if (!this.#isGone(record)) return { moment: parseBlobKey(key).moment, record };
      }
      const last = entries.at(-1);
      if (last === undefined || entries.length < LOOKUP_RECORDS) return null;
      to = last.key;
    }
  }

  /** Each of its records is shown, if it can be. */
  #isListed(kind: PastKind): boolean {
    const { snapshots, versions, deleted } = this.#wanted;
    return { snapshot: snapshots, version: versions, deleted: deleted && snapshots }[kind];
  }

  #isOfInterest(kind: PastKind): boolean {
    const { snapshots, versions, deleted, deletedWithVersions } = this.#wanted;
    return { snapshot: snapshots, version: versions || deletedWithVersions, deleted }[kind];
  }

  #isShown(record: BlobRecord): boolean {
    return record.deleted === undefined || (this.#wanted.deleted && !this.#isGone(record));
  }

  #isGone({ deleted }: BlobRecord): boolean {
    return deleted !== undefined && isGone(deleted, this.#nowMs);
  }
}
