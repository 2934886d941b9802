/**
 * Verifies a store at rest: every record can be read, every extent that a record names is there with its length, what
 * several hold is counted right, and nothing is there that no record names. Reads everything once and changes nothing.
 */
import { Readable } from 'node:stream';
import type { Id } from '../base/ids.ts';
import type { ContentStore, PlacedExtent } from '../content/content.ts';
import { type Engine, type Entry, VOLATILE_PREFIX } from '../engine/engine.ts';
import { parseTagKey } from './blob/tag-index.ts';
import type { CopyJob } from './copy/copy-job.ts';
import type { ReferencesRecord } from './extents/references.ts';
import { checkPages } from './pages/check-pages.ts';
import type {
  AppendedBlock,
  AppendedContent,
  BlobRecord,
  PagesContent,
  StagedBlock,
  StagingRecord,
} from './records/blob-record.ts';
import { decodeJson } from './records/codec.ts';
import type { ContainerRecord } from './records/container-record.ts';
import { decodeInline, type ExtentRef, type PlacedRecord } from './records/extent-record.ts';
import type { GarbageRecord } from './records/garbage-record.ts';
import {
  appendedBlockStartOf,
  blobKeys,
  containerNameOf,
  idOf,
  parseBlobKey,
  stagedBlockIdOf,
  tableRange,
} from './records/keys.ts';
import { decodeLayout } from './records/layout.ts';
import { freshSnapshots, scanSteps } from './records/scan.ts';

export interface CheckReport {
  readonly containers: number;
  readonly blobs: number;
  /** Snapshots, versions and deleted states of blobs. */
  readonly pastBlobs: number;
  readonly stagedBlocks: number;
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
  readonly #containerIds = new Set<Id>();
  /** Containers, layouts, stagings and extents that a garbage row names: allowed to be there, and to be half gone. */
  readonly #discarded = new Set<Id>();
  readonly #layouts = new Map<Id, { lengthBytes: number; extents: readonly ExtentRef[] }>();
  /** How many records hold each extent, block list and list of appended blocks; of extents in block lists, how many lists. */
  readonly #holders = new Map<Id, number>();
  /** Extents whose holders are still to be counted anew: their block lists await the sweeper. */
  readonly #uncounted = new Set<Id>();
  readonly #shares: { readonly id: Id; readonly with: Id }[] = [];
  readonly #pageHolders = new Map<Id, Set<number>>();
  readonly #sweptMaps = new Set<Id>();
  readonly #listEnds = new Map<Id, number>();
  #tagCount = 0;
  readonly #liveStagings = new Set<Id>();
  /** Block lists by which garbage is told from what lives on. */
  readonly #neededLayouts = new Set<Id>();
  readonly #placedExtents: PlacedExtent[] = [];
  /** Extents that live records name, with the length they must have. */
  readonly #named = new Map<Id, { readonly lengthBytes: number; readonly mayBeLonger?: true }>();
  #recordCount = 0;
  #counts = {
    containers: 0,
    blobs: 0,
    pastBlobs: 0,
    stagedBlocks: 0,
    extents: 0,
    contentBytes: 0,
    awaitingSweep: 0,
    leftByCrash: 0,
  };

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
    await this.#each('E', (entry) => void decodeJson(entry.value));
    await this.#each('G', (entry) => this.#garbage(decodeJson<GarbageRecord>(entry.value)));
    await this.#each('C', (entry) => this.#container(entry));
    await this.#each('D', (entry) => this.#container(entry));
    await this.#each('L', (entry) => this.#layout(entry));
    await this.#each('B', (entry) => this.#blob(entry));
    await this.#each('J', (entry) => this.#copyJob(decodeJson<CopyJob>(entry.value)));
    await this.#each('K', (entry) => this.#stagedBlock(entry));
    await this.#each('A', (entry) => this.#appendedBlock(entry));
    await this.#each('T', (entry) => this.#tag(entry));
    if (this.#tagCount !== 0) this.#findings.push('the index of tags is not what the tags of the blobs say');
    this.#unnamedLayouts();
    this.#missingLayouts();
    await this.#pages();
    this.#extentsOfLayouts();
    await this.#each('R', (entry) => this.#references(entry));
    this.#unreferenced();
    await this.#each('I', (entry) => this.#extent(entry, decodeInline(entry.value).length));
    await this.#each('X', (entry) => this.#placed(entry));
    for (const id of this.#named.keys()) this.#findings.push(`extent ${id} is named by a record and has none itself`);
    await this.#strays();
    await this.#strangers();
    return { ...this.#counts, findings: this.#findings };
  }

  async #each(table: string, visit: (entry: Entry) => void | Promise<void>): Promise<void> {
    for await (const entries of scanSteps(freshSnapshots(this.#engine), tableRange(table), STEP_RECORDS)) {
      for (const entry of entries) await this.#visit(table, entry, visit);
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

  #garbage(garbage: GarbageRecord): void {
    this.#counts.awaitingSweep++;
    switch (garbage.kind) {
      case 'extent':
        this.#discarded.add(garbage.extent.id);
        return;
      case 'share':
        this.#shares.push(garbage);
        this.#neededLayouts.add(garbage.id).add(garbage.with);
        return;
      case 'epoch':
      case 'cut':
        this.#sweptMaps.add(garbage.id);
        return;
      default:
        this.#discarded.add(garbage.id);
        if ('keeping' in garbage && garbage.keeping !== null) this.#neededLayouts.add(garbage.keeping);
    }
  }

  #container(entry: Entry): void {
    const container = decodeJson<ContainerRecord>(entry.value);
    this.#counts.containers++;
    if (this.#containerIds.has(container.id)) {
      this.#findings.push(`container ${containerNameOf(entry.key)} shares its id with another`);
    }
    this.#containerIds.add(container.id);
  }

  #layout(entry: Entry): void {
    const blocks = decodeLayout(entry.value);
    const lengthBytes = blocks.reduce((sum, block) => sum + block.lengthBytes, 0);
    const id = idOf(entry.key);
    this.#layouts.set(id, { lengthBytes, extents: blocks.map((block) => block.extent) });
    for (const { extent, lengthBytes } of blocks) {
      if (this.#discarded.has(id)) this.#discarded.add(extent.id);
      else this.#named.set(extent.id, { lengthBytes });
    }
  }

  #blob(entry: Entry): void {
    const { name, kind, containerId } = parseBlobKey(entry.key);
    const isDiscarded = this.#discarded.has(containerId);
    if (!isDiscarded && !this.#containerIds.has(containerId)) {
      this.#findings.push(`blob ${name} stands in no container`);
    }
    if (kind === 'staging') {
      this.#liveStagings.add(decodeJson<StagingRecord>(entry.value).id);
      return;
    }
    const blob = decodeJson<BlobRecord>(entry.value);
    if (!isDiscarded && kind === 'blob') this.#counts.blobs++;
    if (!isDiscarded && kind !== 'blob') this.#counts.pastBlobs++;
    if (kind === 'blob') this.#tagCount += 2 * (blob.tags?.length ?? 0);
    this.#blobContent(name, blob);
  }

  #blobContent(name: string, { content, lengthBytes }: BlobRecord): void {
    switch (content.kind) {
      case 'empty':
        if (lengthBytes !== 0) this.#findings.push(`blob ${name} has a length and no content`);
        return;
      case 'inline':
      case 'extent':
        this.#hold(content.id);
        this.#named.set(content.id, { lengthBytes });
        return;
      case 'layout':
        this.#hold(content.id);
        this.#blobLayout(name, this.#layouts.get(content.id), lengthBytes);
        return;
      case 'appended':
        this.#appended(name, content, lengthBytes);
        return;
      case 'pages':
        this.#holdPages(content);
        return;
    }
  }

  /** What there is already of a copy under way is its job's. */
  #copyJob(job: CopyJob): void {
    if (job.kind !== 'fetchBlob') this.#holdPages(job.map);
    else if (job.type === 'AppendBlob') this.#hold(job.partsId);
    else this.#liveStagings.add(job.partsId);
  }

  #holdPages({ id, epoch }: PagesContent): void {
    this.#pageHolders.set(id, (this.#pageHolders.get(id) ?? new Set()).add(epoch));
  }

  #hold(id: Id): void {
    this.#holders.set(id, (this.#holders.get(id) ?? 0) + 1);
  }

  #blobLayout(name: string, layout: { lengthBytes: number } | undefined, lengthBytes: number): void {
    if (layout === undefined) this.#findings.push(`blob ${name} names a block list that is missing`);
    else if (layout.lengthBytes !== lengthBytes) {
      this.#findings.push(`blob ${name} has ${lengthBytes} bytes, its blocks ${layout.lengthBytes}`);
    }
  }

  #appended(name: string, { lists }: AppendedContent, lengthBytes: number): void {
    for (const { id, endBytes } of lists) {
      this.#hold(id);
      this.#listEnds.set(id, Math.max(endBytes, this.#listEnds.get(id) ?? 0));
    }
    const endBytes = lists.at(-1)?.endBytes ?? 0;
    if (endBytes !== lengthBytes) this.#findings.push(`blob ${name} has ${lengthBytes} bytes, its blocks ${endBytes}`);
  }

  /** Whoever appends holds the whole list; once it is gone, others may hold less of it. */
  #appendedBlock(entry: Entry): void {
    const { extent, lengthBytes } = decodeJson<AppendedBlock>(entry.value);
    const listId = idOf(entry.key);
    if (this.#holders.has(listId)) this.#named.set(extent.id, { lengthBytes });
    else if (this.#discarded.has(listId)) this.#discarded.add(extent.id);
    else this.#findings.push(`a block of list ${listId} belongs to no blob`);
    const endBytes = appendedBlockStartOf(entry.key) + lengthBytes;
    if (this.#listEnds.get(listId) === endBytes) this.#listEnds.delete(listId);
  }

  async #tag(entry: Entry): Promise<void> {
    const { account, containerId, blob: name, tag, value } = parseTagKey(entry.key);
    const snapshot = this.#engine.snapshot();
    const [found] = await snapshot.get([blobKeys({ account, containerId, name }).blob]).finally(() => snapshot.close());
    const tags = found ? (decodeJson<BlobRecord>(found.value).tags ?? []) : [];
    const isThere = tags.some(([otherTag, otherValue]) => otherTag === tag && otherValue === value);
    if (isThere) this.#tagCount--;
    else this.#findings.push(`the index says that blob ${name} has the tag ${tag}, and it has not`);
  }

  async #pages(): Promise<void> {
    const { findings, extents, recordCount } = await checkPages({
      reader: freshSnapshots(this.#engine),
      holders: this.#pageHolders,
      sweptMaps: this.#sweptMaps,
    });
    this.#recordCount += recordCount;
    this.#findings.push(...findings);
    for (const [id, { references, endBytes }] of extents) {
      this.#named.set(id, { lengthBytes: endBytes, mayBeLonger: true });
      this.#holders.set(id, (this.#holders.get(id) ?? 0) + references);
    }
  }

  /** An extent has one holder for each block list that names it. Lists that await the sweeper may not be counted yet. */
  #extentsOfLayouts(): void {
    for (const [id, { extents }] of this.#layouts) {
      const isCounted = this.#holders.has(id) && !this.#discarded.has(id);
      const isAwaited = this.#discarded.has(id) || this.#neededLayouts.has(id);
      for (const extentId of new Set(extents.map((extent) => extent.id))) {
        if (isCounted) this.#hold(extentId);
        if (isAwaited) this.#uncounted.add(extentId);
      }
    }
  }

  #references(entry: Entry): void {
    const { count } = decodeJson<ReferencesRecord>(entry.value);
    const id = idOf(entry.key);
    const held = this.#holders.get(id) ?? 0;
    this.#holders.set(id, 1);
    if (held !== count && !this.#uncounted.has(id) && !this.#discarded.has(id)) {
      this.#findings.push(`${id} has ${held} holders, and ${count} are counted`);
    }
  }

  /** What has no row of its own has one holder. */
  #unreferenced(): void {
    for (const [id, held] of this.#holders) {
      if (held > 1 && !this.#uncounted.has(id)) this.#findings.push(`${id} has ${held} holders, and one is counted`);
    }
    for (const id of this.#listEnds.keys()) this.#findings.push(`the blocks of list ${id} do not reach its end`);
  }

  #stagedBlock(entry: Entry): void {
    const { extent, lengthBytes } = decodeJson<StagedBlock>(entry.value);
    const stagingId = idOf(entry.key);
    if (this.#liveStagings.has(stagingId)) {
      this.#counts.stagedBlocks++;
      this.#named.set(extent.id, { lengthBytes });
    } else if (this.#discarded.has(stagingId)) {
      // A commit may have taken it over: then a live block list names it, and it must be there.
      if (!this.#named.has(extent.id)) this.#discarded.add(extent.id);
    } else {
      this.#findings.push(`block ${stagedBlockIdOf(entry.key)} is staged for no blob`);
    }
  }

  #unnamedLayouts(): void {
    for (const id of this.#layouts.keys()) {
      if (!this.#holders.has(id) && !this.#discarded.has(id)) {
        this.#findings.push(`block list ${id} belongs to no blob`);
      }
    }
  }

  #missingLayouts(): void {
    for (const id of this.#neededLayouts) {
      if (!this.#layouts.has(id)) this.#findings.push(`block list ${id} is needed for sweeping and is missing`);
    }
  }

  async #placed(entry: Entry): Promise<void> {
    const { placement, lengthBytes } = decodeJson<PlacedRecord>(entry.value);
    const id = idOf(entry.key);
    const mustBeThere = this.#named.has(id);
    this.#placedExtents.push({ id, placement, lengthBytes });
    this.#extent(entry, lengthBytes);
    const found = await this.#content.verify({ id, placement, lengthBytes });
    if (mustBeThere && found !== 'ok') this.#findings.push(`extent ${id} is ${found} in the content store`);
  }

  #extent(entry: Entry, lengthBytes: number): void {
    const id = idOf(entry.key);
    this.#counts.extents++;
    this.#counts.contentBytes += lengthBytes;
    const expected = this.#named.get(id);
    this.#named.delete(id);
    const isTooShort = expected !== undefined && lengthBytes < expected.lengthBytes;
    if (expected !== undefined && (isTooShort || (lengthBytes > expected.lengthBytes && !expected.mayBeLonger))) {
      this.#findings.push(`extent ${id} has ${lengthBytes} bytes, and is named with ${expected.lengthBytes}`);
    }
    if (expected === undefined && !this.#discarded.has(id)) this.#findings.push(`extent ${id} is named by nothing`);
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

  async #strays(): Promise<void> {
    const strays = await this.#content.strays(Readable.from(this.#placedExtents));
    if (this.#afterCrash) this.#counts.leftByCrash = strays.extentCount;
    else if (strays.extentCount > 0) {
      this.#findings.push(
        `${strays.extentCount} extents (${strays.bytes} bytes) in the content store are named by nothing`,
      );
    }
  }
}

const TABLES = 'ABCDEGHIJKLMNPRTVX'.split('');

const printable = (key: Uint8Array): string =>
  Buffer.from(key)
    .toString('latin1')
    .replaceAll(/[^\x21-\x7e]/g, '.');
