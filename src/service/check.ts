/**
 * Verifies a store at rest: every record can be read, every extent that a record names is there with its length, what
 * several hold is counted right, and nothing is there that no record names. Reads everything once and changes nothing.
 * What is to be found in which order is said here; what must hold about each kind of thing, in check/.
 */
import type { Id } from '../base/ids.ts';
import type { ContentStore } from '../content/content.ts';
import { type Engine, type Entry, VOLATILE_PREFIX } from '../engine/engine.ts';
import { isPending } from '../rules/copy.ts';
import { parseTagKey, tagKeys } from './blob/tag-index.ts';
import { AppendedLists } from './check/appended-lists.ts';
import { Awaited } from './check/awaited.ts';
import { BlockLists } from './check/block-lists.ts';
import { DueRows } from './check/due-rows.ts';
import { Files } from './check/files.ts';
import { Holders } from './check/holders.ts';
import { NamedExtents } from './check/named-extents.ts';
import { PastStates } from './check/past-states.ts';
import { Queues } from './check/queues.ts';
import { Tables } from './check/tables.ts';
import type { CopyJob } from './copy/copy-job.ts';
import type { ReferencesRecord } from './extents/references.ts';
import { checkPages } from './pages/check-pages.ts';
import type { AppendedBlock, BlobRecord, PagesContent, StagedBlock, StagingRecord } from './records/blob-record.ts';
import { decodeJson } from './records/codec.ts';
import type { ContainerRecord } from './records/container-record.ts';
import { decodeInline, type PlacedRecord } from './records/extent-record.ts';
import type { GarbageRecord } from './records/garbage-record.ts';
import {
  appendedBlockStartOf,
  type BlobAddress,
  blobKeys,
  idOf,
  ownNameOf,
  type ParsedBlobKey,
  parseBlobKey,
  parseDeletedContainerKey,
  stagedBlockIdOf,
  tableRange,
} from './records/keys.ts';
import { freshSnapshots, scanSteps } from './records/scan.ts';

export interface CheckReport {
  /** Also deleted ones that can be restored. */
  readonly containers: number;
  readonly blobs: number;
  /** Snapshots, versions and deleted states of blobs. */
  readonly pastBlobs: number;
  readonly stagedBlocks: number;
  readonly tables: number;
  readonly entities: number;
  readonly queues: number;
  readonly messages: number;
  /** Also deleted ones that can be restored. */
  readonly shares: number;
  readonly directories: number;
  readonly files: number;
  /** States of files and directories that only snapshots of their shares see. */
  readonly pastFiles: number;
  readonly extents: number;
  readonly contentBytes: number;
  /** Let go of by committed changes, to be swept when the server runs again: not a fault. */
  readonly awaitingSweep: number;
  /** What a crash left in the content store; the next start of the server gives it back: not a fault either. */
  readonly leftByCrash: number;
  /** What is wrong, a sentence each. */
  readonly findings: readonly string[];
}

const STEP_RECORDS = 500;
/** An entity may have a megabyte. */
const STEP_ENTITIES = 64;
/** Of places, whose texts are looked up together: each may have 64 KiB. */
const STEP_PLACES = 64;

export async function checkStore(
  store: { engine: Engine; content: ContentStore; afterCrash: boolean },
  onProgress: (recordCount: number) => void = () => {},
): Promise<CheckReport> {
  return new Check(store, onProgress).run();
}

class Check {
  readonly #engine: Engine;
  readonly #content: ContentStore;
  readonly #afterCrash: boolean;
  readonly #onProgress: (recordCount: number) => void;
  readonly #findings: string[] = [];
  readonly #awaited = new Awaited();
  readonly #holders = new Holders(this.#findings);
  readonly #extents = new NamedExtents(this.#findings);
  readonly #blockLists = new BlockLists({ holders: this.#holders, extents: this.#extents, findings: this.#findings });
  readonly #lists = new AppendedLists({ holders: this.#holders, extents: this.#extents, findings: this.#findings });
  readonly #pastStates = new PastStates(this.#findings);
  readonly #due = new DueRows(this.#findings);
  readonly #tables = new Tables(this.#findings);
  readonly #queues = new Queues({ findings: this.#findings, awaited: this.#awaited });
  readonly #files = new Files({
    findings: this.#findings,
    awaited: this.#awaited,
    due: this.#due,
    holdPages: (content) => this.#holdPages(content),
    isCopying: (copyId) => this.#pendingCopyIds.has(copyId),
  });
  readonly #containerIds = new Set<Id>();
  readonly #liveStagings = new Set<Id>();
  readonly #pendingCopyIds = new Set<string>();
  readonly #pageHolders = new Map<Id, Set<number>>();
  #recordCount = 0;
  #counts = { containers: 0, blobs: 0, pastBlobs: 0, stagedBlocks: 0, leftByCrash: 0 };

  constructor(
    store: { engine: Engine; content: ContentStore; afterCrash: boolean },
    onProgress: (recordCount: number) => void,
  ) {
    this.#engine = store.engine;
    this.#content = store.content;
    this.#afterCrash = store.afterCrash;
    this.#onProgress = onProgress;
  }

  async run(): Promise<CheckReport> {
    await this.#each('P', (entry) => void decodeJson(entry.value));
    await this.#each('E', (entry) => this.#due.add(entry));
    await this.#each('G', (entry) => this.#awaited.add(decodeJson<GarbageRecord>(entry.value)));
    await this.#each('C', (entry) => this.#container(entry));
    await this.#each('D', (entry) => this.#deletedContainer(entry));
    await this.#each('L', (entry) => this.#blockLists.add(idOf(entry.key), entry.value));
    await this.#each('J', (entry) => this.#copyJob(decodeJson<CopyJob>(entry.value)));
    await this.#each('B', (entry) => this.#blob(entry));
    await this.#each('K', (entry) => this.#stagedBlock(entry));
    await this.#each('A', (entry) => this.#appendedBlock(entry));
    await this.#each('T', (entry) => this.#tag(entry));
    await this.#each('t', (entry) => this.#tables.table(entry, this.#awaited));
    await this.#each('e', (entry) => this.#tables.entity(entry, this.#awaited), STEP_ENTITIES);
    await this.#messages();
    await this.#shares();
    await this.#pages();
    this.#blockLists.end(this.#awaited);
    this.#lists.end(this.#awaited);
    await this.#each('R', (entry) => this.#references(entry));
    this.#holders.end();
    this.#extents.refuseAwaited(this.#awaited.extents);
    await this.#each('I', (entry) => this.#extents.inlineRow(idOf(entry.key), decodeInline(entry.value).length));
    await this.#each('X', (entry) => this.#placed(entry));
    this.#extents.end();
    await this.#strays();
    await this.#strangers();
    const { tableCount: tables, entityCount: entities } = this.#tables;
    const { queueCount: queues, messageCount: messages } = this.#queues;
    const { count: extents, bytes: contentBytes } = this.#extents;
    const awaitingSweep = this.#awaited.count;
    const { shareCount: shares, directoryCount: directories, fileCount: files, pastCount: pastFiles } = this.#files;
    const services = { ...this.#counts, tables, entities, queues, messages, shares, directories, files, pastFiles };
    return { ...services, extents, contentBytes, awaitingSweep, findings: this.#findings };
  }

  async #each(
    table: string,
    visit: (entry: Entry) => void | Promise<void>,
    stepRecords: number = STEP_RECORDS,
    afterStep: () => void | Promise<void> = () => {},
  ): Promise<void> {
    for await (const entries of scanSteps(freshSnapshots(this.#engine), tableRange(table), stepRecords)) {
      for (const entry of entries) await this.#visit(table, entry, visit);
      await afterStep();
      this.#onProgress(this.#recordCount);
    }
  }

  async #visit(table: string, entry: Entry, visit: (entry: Entry) => void | Promise<void>): Promise<void> {
    this.#recordCount++;
    try {
      await visit(entry);
    } catch (error) {
      this.#findings.push(`record ${table} ${printable(entry.key)} cannot be read: ${(error as Error).message}`);
    }
  }

  // ---- containers and blobs

  #container({ key, value }: Entry): void {
    this.#addContainer(ownNameOf(key), decodeJson<ContainerRecord>(value).id);
  }

  #deletedContainer({ key, value }: Entry): void {
    const { name, id } = parseDeletedContainerKey(key);
    const container = decodeJson<ContainerRecord>(value);
    this.#addContainer(name, container.id);
    if (container.id !== id) this.#findings.push(`deleted container ${name} is stored under another id`);
    if (container.deleted === undefined) this.#findings.push(`deleted container ${name} is not marked as deleted`);
    else this.#due.record(key, { dueMs: container.deleted.untilMs, name: `deleted container ${name}` });
  }

  #addContainer(name: string, id: Id): void {
    this.#counts.containers++;
    if (this.#containerIds.has(id)) this.#findings.push(`container ${name} has the same id as another container`);
    if (this.#awaited.containers.has(id)) this.#findings.push(`container ${name} exists, but is to be swept`);
    this.#containerIds.add(id);
  }

  async #blob({ key, value }: Entry): Promise<void> {
    const parsed = parseBlobKey(key);
    const { name, kind, containerId } = parsed;
    // Until the sweeper comes to it, it holds what it held.
    const isDiscarded = this.#awaited.containers.has(containerId);
    if (!isDiscarded && !this.#containerIds.has(containerId)) {
      this.#findings.push(`blob ${name} belongs to no container`);
    }
    if (kind === 'staging') {
      this.#staging(name, decodeJson<StagingRecord>(value), { isDiscarded });
      return;
    }
    const blob = decodeJson<BlobRecord>(value);
    this.#blobContent(name, blob);
    if (kind === 'blob') await this.#tagsOf(parsed, blob);
    if (isDiscarded) return;
    this.#counts[kind === 'blob' ? 'blobs' : 'pastBlobs']++;
    this.#pastStates.take(parsed, blob);
    this.#ending(key, parsed, blob);
    if (isPending(blob.copy) && !this.#pendingCopyIds.has(blob.copy?.id ?? '')) {
      this.#findings.push(`blob ${name} waits for a copy that has no job`);
    }
  }

  #staging(name: string, { id }: StagingRecord, { isDiscarded }: { isDiscarded: boolean }): void {
    this.#liveStagings.add(id);
    if (this.#awaited.stagings.has(id))
      this.#findings.push(`the staged blocks of blob ${name} are in use, but are to be swept`);
    if (!isDiscarded) this.#due.staging(id, name);
  }

  #ending(key: Uint8Array, { name, kind }: ParsedBlobKey, { deleted, expiresMs }: BlobRecord): void {
    if (deleted !== undefined) this.#due.record(key, { dueMs: deleted.untilMs, name: `blob ${name}` });
    else if (kind === 'blob' && expiresMs !== undefined)
      this.#due.record(key, { dueMs: expiresMs, name: `blob ${name}` });
  }

  #blobContent(name: string, { content, lengthBytes, ...blob }: BlobRecord): void {
    const isShared = blob.isShared === true;
    switch (content.kind) {
      case 'empty':
        if (lengthBytes !== 0) this.#findings.push(`blob ${name} has a length but no content`);
        return;
      case 'inline':
      case 'extent':
        this.#holders.add(content.id, { isShared });
        this.#extents.name({ id: content.id, inline: content.kind === 'inline' }, { lengthBytes });
        return;
      case 'layout':
        this.#blockLists.hold(content.id, { name, lengthBytes, isShared });
        return;
      case 'appended':
        this.#lists.hold(content, { name, lengthBytes, isShared });
        return;
      case 'pages':
        this.#holdPages(content);
        return;
    }
  }

  /** Every record holds an epoch of its own. */
  #holdPages({ id, epoch }: PagesContent): void {
    const epochs = this.#pageHolders.get(id) ?? new Set();
    if (epochs.has(epoch)) this.#findings.push(`epoch ${epoch} of page map ${id} is held by two records`);
    this.#pageHolders.set(id, epochs.add(epoch));
  }

  /** What there is already of a copy under way is its job's; of an incremental one, the blob's. */
  #copyJob(job: CopyJob): void {
    this.#pendingCopyIds.add(job.copyId);
    if (job.kind === 'followSnapshot') return;
    if (job.kind !== 'fetchBlob') this.#holdPages(job.map);
    else if (job.type === 'AppendBlob') this.#lists.holdParts(job.partsId);
    else this.#liveStagings.add(job.partsId);
  }

  // ---- the index of tags, both ways

  async #tagsOf(address: BlobAddress, { tags = [] }: BlobRecord): Promise<void> {
    for (const tag of tags) {
      const rows = await this.#get(tagKeys(address, tag));
      if (rows.includes(null)) this.#findings.push(`tag ${tag[0]} of blob ${address.name} is missing from the index`);
    }
  }

  async #tag({ key }: Entry): Promise<void> {
    const { blob: name, tag, value, ...rest } = parseTagKey(key);
    const address = { ...rest, name };
    const [found] = await this.#get([blobKeys(address).blob]);
    const tags = found ? (decodeJson<BlobRecord>(found.value).tags ?? []) : [];
    const isThere = tags.some(([otherTag, otherValue]) => otherTag === tag && otherValue === value);
    const isInPlace = tagKeys(address, [tag, value]).some((right) => Buffer.from(key).equals(right));
    if (!isThere || !isInPlace)
      this.#findings.push(`the index lists tag ${tag} for blob ${name}, which does not have it`);
  }

  // ---- queues

  async #messages(): Promise<void> {
    const queues = this.#queues;
    await this.#each('q', (entry) => queues.queue(entry));
    await this.#each('n', (entry) => queues.count(entry));
    await this.#each('m', (entry) => queues.text(entry));
    const lookUp = (): Promise<void> => queues.lookUpTexts((keys) => this.#get(keys));
    await this.#each('v', (entry) => queues.place(entry), STEP_PLACES, lookUp);
    queues.end();
  }

  // ---- shares

  async #shares(): Promise<void> {
    const files = this.#files;
    const lookUp = (): Promise<void> => files.lookUp((keys) => this.#get(keys));
    await this.#each('s', (entry) => files.share(entry));
    await this.#each('o', (entry) => files.deletedShare(entry));
    await this.#each('p', (entry) => files.snapshot(entry));
    files.snapshotsEnd();
    await this.#each('a', (entry) => files.permission(entry));
    await this.#each('u', (entry) => files.usage(entry));
    await this.#each('i', (entry) => files.place(entry), STEP_RECORDS, lookUp);
    await this.#each('f', (entry) => files.node(entry), STEP_RECORDS, lookUp);
    await this.#each('h', (entry) => files.pastNode(entry), STEP_RECORDS, lookUp);
    await this.#each('j', (entry) => files.ended(entry), STEP_RECORDS, lookUp);
    files.end();
  }

  // ---- blocks, pages and who holds them

  #stagedBlock({ key, value }: Entry): void {
    const { extent, lengthBytes } = decodeJson<StagedBlock>(value);
    const stagingId = idOf(key);
    const keeping = this.#awaited.stagings.get(stagingId);
    if (this.#liveStagings.has(stagingId)) {
      this.#counts.stagedBlocks++;
      this.#extents.name(extent, { lengthBytes });
    } else if (keeping === undefined) {
      this.#findings.push(`staged block ${stagedBlockIdOf(key)} belongs to no blob`);
    } else if (this.#blockLists.has(keeping, extent.id)) return;
    else this.#extents.discard(extent.id);
    this.#holders.add(extent.id, { isShared: false });
  }

  #appendedBlock({ key, value }: Entry): void {
    this.#lists.row(idOf(key), appendedBlockStartOf(key), decodeJson<AppendedBlock>(value), this.#awaited);
  }

  async #pages(): Promise<void> {
    const { findings, extents, recordCount } = await checkPages({
      reader: freshSnapshots(this.#engine),
      holders: this.#pageHolders,
      sweptMaps: this.#awaited.maps,
    });
    this.#recordCount += recordCount;
    this.#findings.push(...findings);
    for (const { extent, references, endBytes } of extents.values()) {
      this.#extents.name(extent, { lengthBytes: endBytes, mayBeLonger: true });
      this.#holders.add(extent.id, { isShared: true, count: references });
    }
  }

  #references({ key, value }: Entry): void {
    this.#holders.compare(idOf(key), decodeJson<ReferencesRecord>(value).count);
  }

  // ---- extents

  async #placed({ key, value }: Entry): Promise<void> {
    const { placement, lengthBytes } = decodeJson<PlacedRecord>(value);
    await this.#extents.placedRow({ id: idOf(key), placement, lengthBytes }, this.#content);
  }

  async #strays(): Promise<void> {
    const strays = await this.#extents.strays(this.#content);
    if (this.#afterCrash) this.#counts.leftByCrash = strays.extentCount;
    else if (strays.extentCount > 0) {
      this.#findings.push(
        `the content store has extents that no record refers to: ${strays.extentCount} (${strays.bytes} bytes)`,
      );
    }
  }

  /** Between the tables there is nothing. */
  async #strangers(): Promise<void> {
    let from: Uint8Array = Uint8Array.of(0);
    const ranges = [...TABLES.map(tableRange), { from: Uint8Array.of(VOLATILE_PREFIX), to: Uint8Array.of(0xff) }];
    for (const table of ranges) {
      const snapshot = this.#engine.snapshot();
      const [stranger] = await snapshot.range({ from, to: table.from }, { limit: 1 }).finally(() => snapshot.close());
      if (stranger !== undefined) this.#findings.push(`record ${printable(stranger.key)} belongs to no table`);
      from = table.to;
    }
  }

  #get(keys: readonly Uint8Array[]): Promise<(Entry | null)[]> {
    const snapshot = this.#engine.snapshot();
    return snapshot.get(keys).finally(() => snapshot.close());
  }
}

/** In the order of their bytes. */
const TABLES = 'ABCDEGHIJKLMNPRTVXaefhijmnopqstuv'.split('');

const printable = (key: Uint8Array): string =>
  Buffer.from(key)
    .toString('latin1')
    .replaceAll(/[^\x21-\x7e]/g, '.');
