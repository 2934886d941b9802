/** Every operation of the simulation of blobs, with random arguments: on the store, and on the model what it should do. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { BlockListEntry } from '../../src/rules/block-list.ts';
import { NO_CONDITIONS } from '../../src/rules/conditions.ts';
import type { Moment } from '../../src/rules/moment.ts';
import type { BlobType } from '../../src/rules/precedence.ts';
import type { Tags } from '../../src/rules/tags.ts';
import { NEWEST_VERSION } from '../../src/rules/versions.ts';
import { appendBlock } from '../../src/service/blob/append-block.ts';
import { deleteBlob } from '../../src/service/blob/delete-blob.ts';
import { getBlobProperties } from '../../src/service/blob/get-blob.ts';
import type { BlobAt } from '../../src/service/blob/load.ts';
import { putBlob, putEmptyBlob } from '../../src/service/blob/put-blob.ts';
import { putBlock } from '../../src/service/blob/put-block.ts';
import { putBlockList } from '../../src/service/blob/put-block-list.ts';
import { putPage } from '../../src/service/blob/put-page.ts';
import { restoreContainer } from '../../src/service/blob/restore-container.ts';
import { sealAppendBlob } from '../../src/service/blob/seal-append-blob.ts';
import { setBlobExpiry } from '../../src/service/blob/set-blob-expiry.ts';
import { setBlobMetadata } from '../../src/service/blob/set-blob-metadata.ts';
import { setBlobProperties } from '../../src/service/blob/set-blob-properties.ts';
import { setBlobTags } from '../../src/service/blob/set-blob-tags.ts';
import { snapshotBlob } from '../../src/service/blob/snapshot-blob.ts';
import { undeleteBlob } from '../../src/service/blob/undelete-blob.ts';
import { getContainer } from '../../src/service/blob/use-container.ts';
import { copyBlob } from '../../src/service/copy/copy-blob.ts';
import { doWhatIsDue } from '../../src/service/do-what-is-due.ts';
import { setServiceProperties } from '../../src/service/service-properties.ts';
import { ACCOUNT, blockIdOf, bodyOf, NEW_BLOB } from '../harness/store.ts';
import {
  after,
  isGone,
  isOver,
  type ModelBlock,
  ModelContainer,
  type ModelName,
  type ModelState,
  newestOf,
} from './blob-model.ts';
import { isKeyedName, outcomeOf, TAG_NAME, TAG_VALUES, type Target, type World } from './blob-world.ts';

const KIB = 1024;
const PAGE_BYTES = 512;
const CHUNK_BYTES = 256 * KIB;
const PAGE_BLOB_BYTES_MAX = 2 * CHUNK_BYTES + 64 * KIB;
const BLOCK_COUNT = 6;
const DAY_MS = 86_400_000;
const NO_SEQUENCE = { le: null, lt: null, eq: null };
const NO_DEMANDS = { conditions: NO_CONDITIONS, ifTags: null, range: null, md5: null, crc64: null };

interface Written {
  readonly versionId?: Moment;
}

export class BlobActions {
  readonly #world: World;
  #nextByte = 0;

  constructor(world: World) {
    this.#world = world;
  }

  // ---- whole blobs

  put(at: Target): Promise<void> {
    const { bytes, turn, tags } = { bytes: this.#someBytes(), turn: this.#someTurn(), tags: this.#someTags() };
    const fields = { ...NEW_BLOB, metadata: [['turn', turn] as const], tags, mayOverwrite: true };
    return this.#change(at, {
      act: () => putBlob(this.#storage, { ...this.#request(at), ...fields, body: bodyOf(bytes) }),
      apply: (name, written) => this.#replace(name, at, { type: 'BlockBlob', bytes, turn, tags, ...given(written) }),
    });
  }

  createEmpty(at: Target, type: 'AppendBlob' | 'PageBlob'): Promise<void> {
    const lengthBytes = type === 'PageBlob' ? this.#someLength() : 0;
    const [turn, tags] = [this.#someTurn(), this.#someTags()];
    const fields = { ...NEW_BLOB, metadata: [['turn', turn] as const], tags, mayOverwrite: true };
    const kind = { type, lengthBytes, sequenceNumber: '0' };
    return this.#change(at, {
      act: () => putEmptyBlob(this.#storage, { ...this.#request(at), ...fields, ...kind }),
      apply: (name, written) =>
        this.#replace(name, at, { type, bytes: Buffer.alloc(lengthBytes), turn, tags, ...given(written) }),
    });
  }

  putBlock(at: Target): Promise<void> {
    const id = blockIdOf(this.#random.below(BLOCK_COUNT));
    const bytes = this.#someBytes({ empty: false });
    return this.#change(at, {
      expect: ({ base }) => refuseType(base, 'BlockBlob'),
      act: () => putBlock(this.#storage, { ...this.#request(at), blockId: id, body: bodyOf(bytes) }),
      apply: ({ staged }) => void staged.set(id, { bytes, stagedMs: this.#nowMs }),
    });
  }

  putBlockList(at: Target): Promise<void> {
    const known = this.#world.find(at);
    const blob = {
      staged: known?.liveStaged(this.#nowMs) ?? new Map(),
      blocks: known?.live(this.#nowMs)?.blocks ?? [],
    };
    const entries = this.#someEntries(blob);
    const blocks = entries.map((entry) => resolve(entry, blob));
    const isRefused = blocks.includes(null) || hasIdOfTwoKinds(entries);
    const turn = this.#someTurn();
    const fields = { ...NEW_BLOB, metadata: [['turn', turn] as const] };
    return this.#change(at, {
      expect: ({ base }) => refuseType(base, 'BlockBlob') ?? (isRefused ? 'InvalidBlockList' : null),
      act: () => putBlockList(this.#storage, { ...this.#request(at), ...fields, entries }),
      apply: (name, written) => {
        const found = blocks as ModelBlock[];
        const bytes = Buffer.concat(found.map((block) => block.bytes));
        this.#replace(name, at, { type: 'BlockBlob', bytes, blocks: found, turn, tags: [], ...given(written) });
      },
    });
  }

  // ---- changes in place

  append(at: Target): Promise<void> {
    const bytes = this.#someBytes({ empty: false });
    const where = { positionBytes: null, sizeMaxBytes: null };
    return this.#change(at, {
      expect: ({ base }) =>
        refuseAbsent(base) ?? refuseType(base, 'AppendBlob') ?? (base?.isSealed === true ? 'BlobIsSealed' : null),
      act: () => appendBlock(this.#storage, { ...this.#request(at), ...where, body: bodyOf(bytes) }),
      apply: (name) => {
        const { bytes: before, blockCount } = name.base as ModelState;
        this.#alter(name, { bytes: Buffer.concat([before, bytes]), blockCount: blockCount + 1 });
      },
    });
  }

  seal(at: Target): Promise<void> {
    return this.#change(at, {
      expect: ({ base }) => refuseAbsent(base) ?? refuseType(base, 'AppendBlob'),
      act: () => sealAppendBlob(this.#storage, { ...this.#request(at), positionBytes: null }),
      apply: (name) => this.#alter(name, { isSealed: true }),
    });
  }

  putPages(at: Target): Promise<void> {
    const range = this.#someRange(at);
    const bytes = this.#random.chance(0.25) ? null : this.#filled(range.lengthBytes);
    const body = bytes === null ? null : bodyOf(bytes);
    return this.#change(at, {
      expect: ({ base }) =>
        refuseAbsent(base) ??
        refuseType(base, 'PageBlob') ??
        (range.offsetBytes + range.lengthBytes > (base?.bytes.length ?? 0) ? 'InvalidPageRange' : null),
      act: () => putPage(this.#storage, { ...this.#request(at), range, body, sequence: NO_SEQUENCE }),
      apply: (name) => {
        const changed = Buffer.from((name.base as ModelState).bytes);
        if (bytes === null) changed.fill(0, range.offsetBytes, range.offsetBytes + range.lengthBytes);
        else bytes.copy(changed, range.offsetBytes);
        this.#alter(name, { bytes: changed });
      },
    });
  }

  resize(at: Target): Promise<void> {
    const lengthBytes = this.#someLength();
    return this.#change(at, {
      expect: ({ base }) => refuseAbsent(base) ?? refuseType(base, 'PageBlob'),
      act: () => setBlobProperties(this.#storage, { ...this.#request(at), headers: {}, lengthBytes, sequence: null }),
      apply: (name) => {
        const resized = Buffer.alloc(lengthBytes);
        (name.base as ModelState).bytes.copy(resized);
        this.#alter(name, { bytes: resized });
      },
    });
  }

  setMetadata(at: Target): Promise<void> {
    const turn = this.#someTurn();
    return this.#change(at, {
      expect: ({ base }) => refuseAbsent(base),
      act: () => setBlobMetadata(this.#storage, { ...this.#request(at), metadata: [['turn', turn]] }),
      apply: (name, { versionId }) => {
        const { keeping } = this.#world;
        const changed = { ...(name.base as ModelState), turn, changedMs: this.#nowMs };
        if (keeping.keepsVersions) name.replace({ ...changed, versionId: versionId ?? null }, keeping, this.#nowMs);
        else name.base = changed;
      },
    });
  }

  setTags(at: Target): Promise<void> {
    const tags = this.#someTags();
    const past = this.#random.chance(0.3) ? this.#somePast(at) : null;
    return this.#change(at, {
      expect: (name) => (past === null ? refuseAbsent(name.base) : refusePast(name, past)),
      act: () => setBlobTags(this.#storage, { ...this.#request(at), at: past, tags }),
      apply: (name) => {
        if (past === null) {
          name.base = { ...(name.base as ModelState), tags };
          return;
        }
        const known = name.past[past.kind].get(past.moment) as { state: ModelState; deletedUntilMs: null };
        name.past[past.kind].set(past.moment, { ...known, state: { ...known.state, tags } });
      },
    });
  }

  setExpiry(at: Target): Promise<void> {
    const lifeMs = this.#random.pick([1, 60_000, 3_600_000, 2 * DAY_MS]);
    const asked = this.#random.chance(0.2)
      ? ({ option: 'NeverExpire', time: null } as const)
      : ({ option: 'RelativeToNow', time: String(lifeMs) } as const);
    return this.#change(at, {
      expect: ({ base }) => refuseAbsent(base),
      act: () => setBlobExpiry(this.#storage, { ...this.#request(at), ...asked }),
      apply: (name) => this.#alter(name, { expiresMs: asked.time === null ? null : this.#nowMs + lifeMs }),
    });
  }

  // ---- snapshots, deletes and what comes back

  snapshot(at: Target): Promise<void> {
    return this.#change(at, {
      expect: ({ base }) => refuseAbsent(base),
      act: () => snapshotBlob(this.#storage, { ...this.#request(at), metadata: [] }),
      apply: (name, { snapshot }) => {
        assert.equal(snapshot, after(newestOf(name.past.snapshot), this.#nowMs), 'the moment of the snapshot');
        const state = { ...(name.base as ModelState), versionId: null, expiresMs: null };
        name.past.snapshot.set(snapshot, { state, deletedUntilMs: null });
        name.base = { ...(name.base as ModelState), hasOthers: true };
      },
    });
  }

  delete(at: Target): Promise<void> {
    const deleteSnapshots = this.#random.pick([null, 'include', 'only'] as const);
    const { keeping } = this.#world;
    return this.#change(at, {
      expect: (name) => {
        if (name.base === null && name.staged.size === 0) return 'BlobNotFound';
        return deleteSnapshots === null && snapshotsOf(name).length > 0 ? 'SnapshotsPresent' : null;
      },
      act: () => deleteBlob(this.#storage, { ...this.#request(at), deleteSnapshots }),
      apply: (name) => {
        if (snapshotsOf(name).length > 0) name.deleteSnapshots(keeping, this.#nowMs);
        if (deleteSnapshots === 'only') return;
        name.staged = new Map();
        if (name.base !== null) name.remove(keeping, this.#nowMs);
      },
    });
  }

  async deletePast(at: Target): Promise<void> {
    const past = this.#somePast(at);
    if (past === null) return;
    await this.#change(at, {
      expect: (name) => refusePast(name, past),
      act: () => deleteBlob(this.#storage, { ...this.#request(at), at: past, deleteSnapshots: null }),
      apply: (name) => name.deletePast(past.kind, past.moment, this.#world.keeping, this.#nowMs),
    });
  }

  /** What soft delete keeps, for good. Nothing else is cleared away by it. */
  async deletePermanently(at: Target): Promise<void> {
    const name = this.#world.find(at);
    if (name === null) return;
    const kept = (['snapshot', 'version', 'deleted'] as const).flatMap((kind) =>
      [...name.past[kind]]
        .filter(([, past]) => past.deletedUntilMs !== null && !isGone(past, this.#nowMs))
        .map(([moment]) => ({ kind, moment })),
    );
    if (kept.length === 0) return;
    const { kind, moment } = this.#random.pick(kept);
    // One of the snapshots, live or deleted, may have the same moment as a state that was overwritten.
    const other = kind === 'deleted' ? name.past.snapshot.get(moment) : undefined;
    if (other !== undefined && !isGone(other, this.#nowMs)) return;
    const past: BlobAt = { kind: kind === 'version' ? 'version' : 'snapshot', moment };
    const request = { ...this.#request(at), at: past, deleteSnapshots: null, isPermanent: true };
    const { code } = await outcomeOf(deleteBlob(this.#storage, request));
    assert.equal(code, 'ok');
    name.past[kind].delete(moment);
    this.#world.containers.get(at.container)?.settle();
  }

  undelete(at: Target): Promise<void> {
    const { container, blob } = at;
    return this.#change(at, {
      expect: (name) => (name.clone().undelete(this.#nowMs) ? null : 'BlobNotFound'),
      act: () => undeleteBlob(this.#storage, { account: ACCOUNT, container, blob }),
      apply: (name) => void name.undelete(this.#nowMs),
    });
  }

  // ---- copies inside the server

  async copy(at: Target): Promise<void> {
    const from = this.#world.someTarget(this.#world.find(at)?.live(this.#nowMs)?.type ?? null);
    const sourceName = this.#world.find(from);
    const past = this.#random.chance(0.4) ? this.#somePast(from) : null;
    const source = past === null ? sourceName?.live(this.#nowMs) : sourceName?.past[past.kind].get(past.moment)?.state;
    const base = sourceName?.base ?? null;
    // A blob that has ended goes with the copy that takes its place, and its snapshots with it.
    const isEnding = base !== null && isOver(base, this.#nowMs);
    if (!source || isKeyedName(at.blob) || source.isKeyed || (isEnding && from.blob === at.blob)) return;
    if (past !== null && sourceName?.past[past.kind].get(past.moment)?.deletedUntilMs !== null) return;
    await this.#change(at, {
      expect: ({ base }) => refuseType(base, source.type),
      act: () => this.#copyFrom(at, from, past),
      apply: (name, written) => {
        name.staged = new Map();
        const { keeping } = this.#world;
        const state = { ...source, tags: [], expiresMs: null, changedMs: this.#nowMs, ...given(written) };
        name.replace(state, keeping, this.#nowMs);
      },
    });
  }

  async #copyFrom(at: Target, from: Target, past: BlobAt | null): Promise<Written> {
    const name = { account: ACCOUNT, container: from.container, blob: from.blob };
    const copied = await copyBlob(this.#storage, {
      ...this.#world.request(at),
      ...NEW_BLOB,
      key: null,
      mayOverwrite: true,
      source: { kind: 'inside', name, at: past, mayReadTags: true },
      demands: NO_DEMANDS,
      shownSource: 'inside',
      seals: null,
    });
    for (let { copy } = copied; copy.status !== 'success'; ) {
      assert.equal(copy.status, 'pending');
      await delay(1);
      ({ copy = copied.copy } = (await getBlobProperties(this.#storage, this.#request(at))).blob);
    }
    return copied;
  }

  // ---- containers and settings

  async createContainer(container: string): Promise<void> {
    const { containers, store } = this.#world;
    const { code } = await outcomeOf(store.createContainer(container));
    assert.equal(code, containers.has(container) ? 'ContainerAlreadyExists' : 'ok');
    if (code === 'ok') containers.set(container, new ModelContainer(container, await this.#containerId(container)));
  }

  async deleteContainer(container: string): Promise<void> {
    const { containers, deletedContainers, store, settings } = this.#world;
    const { code } = await outcomeOf(store.deleteContainer(container));
    const deleted = containers.get(container);
    assert.equal(code, deleted === undefined ? 'ContainerNotFound' : 'ok');
    containers.delete(container);
    if (deleted === undefined || settings.containerRetentionDays === null) return;
    deleted.deletedUntilMs = this.#nowMs + settings.containerRetentionDays * DAY_MS;
    deletedContainers.set(deleted.id, deleted);
  }

  async restoreContainer(): Promise<void> {
    const { containers, deletedContainers } = this.#world;
    if (deletedContainers.size === 0) return;
    const container = this.#random.pick([...deletedContainers.values()]);
    const request = { name: { account: ACCOUNT, container: container.name }, version: container.id };
    const { code } = await outcomeOf(restoreContainer(this.#storage, request));
    const isOver = this.#nowMs >= (container.deletedUntilMs as number);
    assert.equal(code, containers.has(container.name) ? 'ContainerAlreadyExists' : isOver ? 'ContainerNotFound' : 'ok');
    if (code !== 'ok') return;
    deletedContainers.delete(container.id);
    container.deletedUntilMs = null;
    containers.set(container.name, container);
  }

  async setRetention(): Promise<void> {
    const days = this.#random.pick([null, 1, 3]);
    await setServiceProperties(this.#storage, ACCOUNT, 'b', {
      deleteRetention: { enabled: days !== null, allowPermanentDelete: true, ...(days === null ? {} : { days }) },
    });
    this.#world.retentionDays = days;
  }

  async doWhatIsDue(): Promise<void> {
    const { keeping, deletedContainers, containers } = this.#world;
    await doWhatIsDue(this.#storage);
    for (const name of this.#world.names()) name.doWhatIsDue(keeping, this.#nowMs);
    for (const [id, { deletedUntilMs }] of deletedContainers) {
      if (this.#nowMs >= (deletedUntilMs as number)) deletedContainers.delete(id);
    }
    for (const container of [...containers.values(), ...deletedContainers.values()]) container.settle();
  }

  async #containerId(container: string): Promise<string> {
    const name = { account: ACCOUNT, container };
    const request = { name, conditions: NO_CONDITIONS, leaseId: null, version: NEWEST_VERSION };
    return (await getContainer(this.#storage, request)).container.id;
  }

  // ---- both sides of one change

  async #change<T>(
    { container, blob }: Target,
    {
      expect = () => null,
      act,
      apply,
    }: {
      /** The code of the refusal, by the state that the operation finds. */
      expect?: (name: ModelName) => string | null;
      act: () => Promise<T>;
      apply: (name: ModelName, result: T) => void;
    },
  ): Promise<void> {
    const model = this.#world.containers.get(container);
    const name = model?.of(blob).clone();
    name?.clearEnded(this.#world.keeping, this.#nowMs);
    const expected = name === undefined ? 'ContainerNotFound' : (expect(name) ?? 'ok');
    const outcome = await outcomeOf(act());
    assert.equal(outcome.code, expected);
    if ('result' in outcome && name !== undefined) {
      apply(name, outcome.result);
      model?.names.set(blob, name);
    }
    model?.settle();
  }

  #replace(name: ModelName, { blob }: Target, state: Partial<ModelState> & Pick<ModelState, 'type' | 'bytes'>): void {
    name.staged = new Map();
    const whole = {
      blocks: [],
      blockCount: 0,
      turn: '',
      tags: [],
      isSealed: false,
      isKeyed: isKeyedName(blob),
      versionId: null,
      expiresMs: null,
      changedMs: this.#nowMs,
      ...state,
    };
    name.replace(whole, this.#world.keeping, this.#nowMs);
    if (whole.versionId === null) return;
    assert.ok(whole.versionId > (newestOf(name.past.version) ?? ''), 'a new version is newer than all before it');
  }

  #alter(name: ModelName, change: Partial<ModelState>): void {
    name.base = { ...(name.base as ModelState), ...change, changedMs: this.#nowMs };
  }

  // ---- what is random about them

  #someBytes({ empty = true } = {}): Buffer {
    const kind = this.#random.next();
    if (empty && kind < 0.05) return Buffer.alloc(0);
    const lengthBytes =
      kind < 0.5
        ? 1 + this.#random.below(200)
        : kind < 0.92
          ? 17 * KIB + this.#random.below(40 * KIB)
          : 300 * KIB + this.#random.below(300 * KIB);
    return this.#filled(lengthBytes);
  }

  #filled(lengthBytes: number): Buffer {
    this.#nextByte++;
    return Buffer.alloc(lengthBytes, `${this.#nextByte} `);
  }

  #someTurn(): string {
    return String(this.#random.below(1_000_000));
  }

  #someTags(): Tags {
    return this.#random.chance(0.4) ? [[TAG_NAME, this.#random.pick(TAG_VALUES)]] : [];
  }

  #someLength(): number {
    return PAGE_BYTES * this.#random.below(PAGE_BLOB_BYTES_MAX / PAGE_BYTES);
  }

  /** Mostly within the blob; often over the boundary of two chunks. */
  #someRange(at: Target): { offsetBytes: number; lengthBytes: number } {
    const blobPages = (this.#world.find(at)?.base?.bytes.length ?? 0) / PAGE_BYTES;
    const pageCount = 1 + this.#random.below(this.#random.chance(0.3) ? 2 * (CHUNK_BYTES / PAGE_BYTES) : 32);
    const wanted = this.#random.chance(0.3) ? CHUNK_BYTES / PAGE_BYTES - 8 : this.#random.below(blobPages + 1);
    const from = this.#random.chance(0.95) ? Math.max(0, Math.min(wanted, blobPages - pageCount)) : wanted;
    const fitting = this.#random.chance(0.95) ? Math.min(pageCount, Math.max(blobPages, 1)) : pageCount;
    return { offsetBytes: from * PAGE_BYTES, lengthBytes: fitting * PAGE_BYTES };
  }

  /** Mostly of blocks that are there, in any mix. */
  #someEntries(blob: Blocks): BlockListEntry[] {
    const staged = [...blob.staged.keys()];
    const committed = blob.blocks.map((block) => block.id);
    const entries = Array.from({ length: this.#random.below(9) }, (): BlockListEntry => {
      const kind = this.#random.pick(['committed', 'uncommitted', 'latest'] as const);
      const there = kind === 'committed' ? committed : kind === 'uncommitted' ? staged : [...staged, ...committed];
      const id = there.length > 0 && this.#random.chance(0.97) ? this.#random.pick(there) : blockIdOf(BLOCK_COUNT);
      return { kind, id };
    });
    const isThere = (entry: BlockListEntry): boolean => resolve(entry, blob) !== null;
    return this.#random.chance(0.8) ? onceOfEachKind(entries.filter(isThere)) : entries;
  }

  /** A snapshot or version, live or deleted; also the current version. */
  #somePast(at: Target): BlobAt | null {
    const name = this.#world.find(at);
    if (name === null) return null;
    const all: BlobAt[] = (['snapshot', 'version'] as const).flatMap((kind) =>
      [...name.past[kind].keys()].map((moment) => ({ kind, moment })),
    );
    return all.length === 0 ? null : this.#random.pick(all);
  }

  get #random() {
    return this.#world.random;
  }

  get #storage() {
    return this.#world.store.storage;
  }

  get #nowMs(): number {
    return this.#world.nowMs;
  }

  #request(at: Target) {
    return this.#world.request(at);
  }
}

interface Blocks {
  readonly staged: ReadonlyMap<string, { readonly bytes: Buffer }>;
  readonly blocks: readonly ModelBlock[];
}

const given = ({ versionId = null as never }: Written): { versionId: Moment | null } => ({ versionId });

/** Those that a delete of the blob looks for. */
function snapshotsOf(name: ModelName): unknown[] {
  const { base } = name;
  return base !== null && (base.hasOthers || base.versionId !== null) ? name.livePast('snapshot') : [];
}

const refuseAbsent = (base: ModelState | null): string | null => (base === null ? 'BlobNotFound' : null);

const refuseType = (base: ModelState | null, type: BlobType): string | null =>
  base !== null && base.type !== type ? 'InvalidBlobType' : null;

const refusePast = (name: ModelName, { kind, moment }: BlobAt): string | null =>
  name.past[kind].get(moment)?.deletedUntilMs === null ? null : 'BlobNotFound';

function resolve({ kind, id }: BlockListEntry, { staged, blocks }: Blocks): ModelBlock | null {
  const uncommitted = staged.get(id);
  // Where a list has a block twice, both are the same.
  const committed = blocks.find((block) => block.id === id);
  if (uncommitted !== undefined && kind !== 'committed') return { id, bytes: uncommitted.bytes };
  return (kind === 'uncommitted' ? undefined : committed) ?? null;
}

const hasIdOfTwoKinds = (entries: readonly BlockListEntry[]): boolean =>
  entries.some((one) => entries.some((other) => other.id === one.id && other.kind !== one.kind));

const onceOfEachKind = (entries: readonly BlockListEntry[]): BlockListEntry[] =>
  entries.filter((entry) => entries.find((first) => first.id === entry.id)?.kind === entry.kind);
