/**
 * What a blob's writes and deletes leave behind: random sequences over accounts that keep versions and deleted states,
 * or have ceased to, compared after every step with a model that is nothing but lists of bytes. `check` looks at what
 * no request can see: who holds what, and that nothing is left over. LARIMAR_SEED replays one seed.
 */
// tier: both
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random, simulationSeeds } from '../../../test/harness/random.ts';
import { ACCOUNT, blobRequest, blockIdOf, bodyOf, gather, NEW_BLOB, TestStore } from '../../../test/harness/store.ts';
import type { BlockListEntry } from '../../rules/block-list.ts';
import type { Tags } from '../../rules/tags.ts';
import { checkStore } from '../check.ts';
import { doWhatIsDue } from '../do-what-is-due.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import { decodeJson } from '../records/codec.ts';
import { parseBlobKey } from '../records/keys.ts';
import { setServiceProperties } from '../service-properties.ts';
import { DEFAULT_SETTINGS } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { appendBlock } from './append-block.ts';
import { deleteBlob } from './delete-blob.ts';
import { getBlob } from './get-blob.ts';
import type { BlobAt } from './load.ts';
import { putBlob, putEmptyBlob } from './put-blob.ts';
import { putBlockList } from './put-block-list.ts';
import { setBlobExpiry } from './set-blob-expiry.ts';
import { setBlobMetadata } from './set-blob-metadata.ts';
import { setBlobTags } from './set-blob-tags.ts';
import { snapshotBlob } from './snapshot-blob.ts';
import { STAGING_LIFE_MS } from './staging.ts';

const KIB = 1024;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
const CONTAINER = 'container';
const BLOBS = ['a', 'a/b'];
const BLOCK_COUNT = 5;
const READERS_MAX = 4;

interface Block {
  readonly id: string;
  readonly bytes: Buffer;
}

interface Base {
  readonly kind: 'block' | 'append';
  readonly bytes: Buffer;
  readonly blocks: readonly Block[];
  /** It was written while the account kept versions. */
  readonly isVersion: boolean;
  readonly endsMs: number;
}

/** Everything of one name that can be read, oldest first. */
interface Name {
  base: Base | null;
  snapshots: Buffer[];
  versions: Buffer[];
  staged: Map<string, { readonly bytes: Buffer; readonly atMs: number }>;
}

interface Reader {
  readonly stream: AsyncIterableIterator<Uint8Array>;
  readonly expected: Buffer;
}

class Simulation {
  readonly #random: Random;
  readonly #names = new Map<string, Name>(
    BLOBS.map((blob) => [blob, { base: null, snapshots: [], versions: [], staged: new Map() }]),
  );
  #keepsVersions = false;
  #store!: TestStore;
  #readers: Reader[] = [];
  #sweeping: Promise<void> = Promise.resolve();
  #nextNumber = 0;

  private constructor(random: Random) {
    this.#random = random;
  }

  static async run({ seed, steps }: { seed: number; steps: number }): Promise<void> {
    const simulation = new Simulation(new Random(seed));
    const settings = () => ({ ...DEFAULT_SETTINGS, keepsVersions: simulation.#keepsVersions });
    simulation.#store = await TestStore.open({ settings });
    await simulation.#store.createContainer(CONTAINER);
    for (let step = 0; step < steps; step++) {
      const what = await simulation.#step();
      try {
        await simulation.#compare();
        if (step % 10 === 0) await simulation.#check();
      } catch (error) {
        throw new Error(`seed ${seed}, after step ${step} (${what})`, { cause: error });
      }
    }
    await simulation.#end();
  }

  async #step(): Promise<string> {
    const blob = this.#random.chance(0.7) ? 'a' : this.#random.pick(BLOBS);
    const name = this.#names.get(blob) as Name;
    const [what, act] = this.#random.pick<readonly [string, () => Promise<void>]>([
      ['put', () => this.#put(blob, name)],
      ['create append blob', () => this.#createAppendBlob(blob, name)],
      ['append', () => this.#append(blob, name)],
      ['append', () => this.#append(blob, name)],
      ['append', () => this.#append(blob, name)],
      ['put block', () => this.#putBlock(blob, name)],
      ['put block', () => this.#putBlock(blob, name)],
      ['put block', () => this.#putBlock(blob, name)],
      ['put block list', () => this.#putBlockList(blob, name)],
      ['put block list', () => this.#putBlockList(blob, name)],
      ['put block list', () => this.#putBlockList(blob, name)],
      ['put block list', () => this.#putBlockList(blob, name)],
      ['set metadata', () => this.#setMetadata(blob, name)],
      ['set tags', () => this.#setTags(blob, name)],
      ['set expiry', () => this.#setExpiry(blob, name)],
      ['snapshot', () => this.#snapshot(blob, name)],
      ['snapshot', () => this.#snapshot(blob, name)],
      ['delete', () => this.#delete(blob, name)],
      ['delete snapshot', () => this.#deleteSnapshot(blob, name)],
      ['delete version', () => this.#deleteVersion(blob, name)],
      ['open reader', () => this.#openReader(blob)],
      ['end reading', () => this.#endReading()],
      ['sweep', () => this.#sweep()],
      ['sweep beside what follows', () => this.#sweepBeside()],
      ['let time pass', () => this.#letTimePass()],
      ...(this.#random.chance(0.5) ? ([['change settings', () => this.#changeSettings()]] as const) : []),
      ...(this.#random.chance(0.3) ? ([['restart', () => this.#restart()]] as const) : []),
    ]);
    await act();
    return `${what} ${blob}`;
  }

  // ---- writes

  async #put(blob: string, name: Name): Promise<void> {
    const bytes = this.#someBytes();
    const rest = { ...NEW_BLOB, tags: this.#someTags(), mayOverwrite: true };
    await putBlob(this.#storage, { ...blobRequest(CONTAINER, blob), ...rest, body: bodyOf(bytes) });
    this.#replace(name, { kind: 'block', bytes, blocks: [] });
  }

  async #createAppendBlob(blob: string, name: Name): Promise<void> {
    const empty = { type: 'AppendBlob', lengthBytes: 0, sequenceNumber: '0', mayOverwrite: true } as const;
    const rest = { ...NEW_BLOB, tags: this.#someTags(), ...empty };
    await putEmptyBlob(this.#storage, { ...blobRequest(CONTAINER, blob), ...rest });
    this.#replace(name, { kind: 'append', bytes: Buffer.alloc(0), blocks: [] });
  }

  async #append(blob: string, name: Name): Promise<void> {
    const block = this.#someBytes();
    const conditions = { positionBytes: null, sizeMaxBytes: null };
    const request = { ...blobRequest(CONTAINER, blob), body: bodyOf(block), ...conditions };
    const outcome = await codeOf(appendBlock(this.#storage, request));
    const { base } = name;
    if (base?.kind === 'append') {
      assert.equal(outcome, 'ok');
      name.base = { ...base, bytes: Buffer.concat([base.bytes, block]) };
    } else assert.equal(outcome, base === null ? 'BlobNotFound' : 'InvalidBlobType');
  }

  async #putBlock(blob: string, name: Name): Promise<void> {
    const id = blockIdOf(this.#random.below(BLOCK_COUNT));
    const bytes = this.#someBytes();
    const outcome = await codeOf(this.#store.putBlock(CONTAINER, blob, id, bytes));
    assert.equal(outcome, name.base?.kind === 'append' ? 'InvalidBlobType' : 'ok');
    if (outcome === 'ok') name.staged.set(id, { bytes, atMs: this.#nowMs });
  }

  async #putBlockList(blob: string, name: Name): Promise<void> {
    const entries = this.#someEntries(name);
    const request = { ...blobRequest(CONTAINER, blob), ...NEW_BLOB, tags: this.#someTags(), entries };
    const outcome = await codeOf(putBlockList(this.#storage, request));
    assert.equal(outcome, name.base?.kind === 'append' ? 'InvalidBlobType' : 'ok');
    if (outcome !== 'ok') return;
    const blocks = entries.map(({ kind, id }): Block => {
      const staged = kind === 'committed' ? undefined : name.staged.get(id);
      const committed = name.base?.blocks.find((block) => block.id === id);
      return { id, bytes: (staged ?? committed)?.bytes as Buffer };
    });
    const bytes = Buffer.concat(blocks.map((block) => block.bytes));
    this.#replace(name, { kind: 'block', bytes, blocks });
  }

  async #setMetadata(blob: string, name: Name): Promise<void> {
    const metadata = [['number', String(this.#nextNumber++)]] as const;
    const outcome = await codeOf(setBlobMetadata(this.#storage, { ...blobRequest(CONTAINER, blob), metadata }));
    assert.equal(outcome, name.base === null ? 'BlobNotFound' : 'ok');
    const { base } = name;
    if (base === null || !this.#keepsVersions) return;
    name.versions.push(base.bytes);
    name.base = { ...base, isVersion: true };
  }

  async #setTags(blob: string, name: Name): Promise<void> {
    const tags = this.#someTags() ?? [];
    const outcome = await codeOf(setBlobTags(this.#storage, { ...blobRequest(CONTAINER, blob), tags }));
    assert.equal(outcome, name.base === null ? 'BlobNotFound' : 'ok');
  }

  async #setExpiry(blob: string, name: Name): Promise<void> {
    const seconds = 1 + this.#random.below(2 * DAY_SECONDS);
    const expiry = { option: 'RelativeToNow', time: String(seconds * 1000) } as const;
    const outcome = await codeOf(setBlobExpiry(this.#storage, { ...blobRequest(CONTAINER, blob), ...expiry }));
    assert.equal(outcome, name.base === null ? 'BlobNotFound' : 'ok');
    if (name.base !== null) name.base = { ...name.base, endsMs: this.#nowMs + seconds * 1000 };
  }

  async #snapshot(blob: string, name: Name): Promise<void> {
    const metadata = this.#random.chance(0.5) ? [['of', 'its own'] as const] : [];
    const outcome = await codeOf(snapshotBlob(this.#storage, { ...blobRequest(CONTAINER, blob), metadata }));
    assert.equal(outcome, name.base === null ? 'BlobNotFound' : 'ok');
    if (name.base !== null) name.snapshots.push(name.base.bytes);
  }

  /** What every operation does that puts another state in the place of the blob's. */
  #replace(name: Name, base: Omit<Base, 'isVersion' | 'endsMs'>): void {
    this.#keepOld(name);
    name.base = { ...base, isVersion: this.#keepsVersions, endsMs: Infinity };
    name.staged = new Map();
  }

  #keepOld({ base, versions }: Name): void {
    if (base !== null && (this.#keepsVersions || base.isVersion)) versions.push(base.bytes);
  }

  // ---- deletes

  async #delete(blob: string, name: Name): Promise<void> {
    const deleteSnapshots = this.#random.pick([null, 'include', 'only'] as const);
    const outcome = await codeOf(deleteBlob(this.#storage, { ...blobRequest(CONTAINER, blob), deleteSnapshots }));
    const isThere = name.base !== null || name.staged.size > 0;
    if (!isThere) assert.equal(outcome, 'BlobNotFound');
    else if (name.snapshots.length > 0 && deleteSnapshots === null) assert.equal(outcome, 'SnapshotsPresent');
    else assert.equal(outcome, 'ok');
    if (outcome !== 'ok') return;
    name.snapshots = [];
    if (deleteSnapshots === 'only') return;
    this.#keepOld(name);
    name.base = null;
    name.staged = new Map();
  }

  async #deleteSnapshot(blob: string, name: Name): Promise<void> {
    await this.#deletePast(blob, 'snapshot', name.snapshots);
  }

  async #deleteVersion(blob: string, name: Name): Promise<void> {
    await this.#deletePast(blob, 'version', name.versions);
  }

  async #deletePast(blob: string, kind: BlobAt['kind'], states: Buffer[]): Promise<void> {
    if (states.length === 0) return;
    const index = this.#random.below(states.length);
    const at = (await this.#pastOf(blob, kind))[index] as BlobAt;
    await deleteBlob(this.#storage, { ...blobRequest(CONTAINER, blob), at, deleteSnapshots: null });
    states.splice(index, 1);
  }

  // ---- readers, sweeps, time

  async #openReader(blob: string): Promise<void> {
    const name = this.#names.get(blob) as Name;
    if (this.#readers.length >= READERS_MAX || name.base === null) return;
    const { bytes } = await this.#store.open(CONTAINER, blob);
    if (bytes instanceof Uint8Array) return;
    const stream = bytes[Symbol.asyncIterator]() as AsyncIterableIterator<Uint8Array>;
    this.#readers.push({ stream, expected: name.base.bytes });
  }

  async #endReading(): Promise<void> {
    const reader = this.#readers.shift();
    if (reader === undefined) return;
    assert.ok((await gather(reader.stream)).equals(reader.expected), 'a reader got its state, whole');
  }

  async #sweep(): Promise<void> {
    await this.#sweeping;
    await this.#store.sweeper.sweep();
  }

  async #sweepBeside(): Promise<void> {
    await this.#sweeping;
    this.#sweeping = this.#store.sweeper.sweep();
    // Met by whoever waits for it; until then it must not count as unhandled.
    this.#sweeping.catch(() => {});
  }

  async #letTimePass(): Promise<void> {
    await this.#pass(this.#random.below(this.#random.chance(0.5) ? HOUR_SECONDS : 3 * DAY_SECONDS));
  }

  async #pass(seconds: number): Promise<void> {
    this.#store.clock.advance({ seconds });
    await doWhatIsDue(this.#storage);
    for (const name of this.#names.values()) {
      const lastMs = Math.max(...[...name.staged.values()].map(({ atMs }) => atMs));
      if (this.#nowMs >= lastMs + STAGING_LIFE_MS) name.staged = new Map();
      if (name.base === null || name.base.endsMs > this.#nowMs) continue;
      this.#keepOld(name);
      name.base = null;
      name.snapshots = [];
    }
  }

  async #changeSettings(): Promise<void> {
    this.#keepsVersions = this.#random.chance(0.5);
    const deleteRetention = this.#random.pick([{ enabled: false }, { enabled: true, days: 2 }]);
    await setServiceProperties(this.#storage, ACCOUNT, 'b', { deleteRetention });
  }

  async #restart(): Promise<void> {
    await this.#sweeping;
    for (const reader of this.#readers) await reader.stream.return?.();
    this.#readers = [];
    await this.#store.reopen();
  }

  // ---- what is random about them

  #someBytes(): Buffer {
    const lengthBytes = this.#random.chance(0.7) ? 1 + this.#random.below(50) : 9 * KIB + this.#random.below(9 * KIB);
    return Buffer.alloc(lengthBytes, `${this.#nextNumber++} `);
  }

  #someTags(): Tags | null {
    return this.#random.chance(0.5) ? [['colour', this.#random.pick(['red', 'green'])]] : null;
  }

  /** Of blocks that are there, each by one way. */
  #someEntries({ base, staged }: Name): BlockListEntry[] {
    const committed = (base?.blocks ?? []).map(({ id }) => id);
    const ids = [...new Set([...committed, ...staged.keys()])].filter(() => this.#random.chance(0.7));
    return ids.map((id): BlockListEntry => {
      const kinds: BlockListEntry['kind'][] = ['latest'];
      if (committed.includes(id)) kinds.push('committed');
      if (staged.has(id)) kinds.push('uncommitted');
      return { kind: this.#random.pick(kinds), id };
    });
  }

  // ---- the comparison

  async #compare(): Promise<void> {
    for (const [blob, { base, snapshots, versions }] of this.#names) {
      if (base === null) assert.equal(await codeOf(this.#store.read(CONTAINER, blob)), 'BlobNotFound');
      else assert.ok((await this.#store.read(CONTAINER, blob)).equals(base.bytes), `the bytes of ${blob}`);
      await this.#comparePast(blob, 'snapshot', snapshots);
      await this.#comparePast(blob, 'version', versions);
    }
    assert.deepEqual(this.#store.errors, []);
  }

  async #comparePast(blob: string, kind: BlobAt['kind'], expected: readonly Buffer[]): Promise<void> {
    const found: Buffer[] = [];
    for (const at of await this.#pastOf(blob, kind)) {
      const { bytes } = await getBlob(this.#storage, { ...blobRequest(CONTAINER, blob), at, range: null });
      found.push(await gather(bytes));
    }
    assert.deepEqual(asText(found), asText(expected), `the ${kind}s of ${blob}`);
  }

  /** Those that are there for everybody, oldest first. */
  async #pastOf(blob: string, kind: BlobAt['kind']): Promise<BlobAt[]> {
    return (await this.#store.entries()).flatMap(({ key, value }) => {
      if (key[0] !== 'B'.charCodeAt(0)) return [];
      const parsed = parseBlobKey(key);
      const isWanted = parsed.name === blob && parsed.kind === kind;
      return isWanted && decodeJson<BlobRecord>(value).deleted === undefined ? [{ kind, moment: parsed.moment }] : [];
    });
  }

  async #check(): Promise<void> {
    await this.#sweep();
    const { engine, content } = this.#store;
    const { findings } = await checkStore({ engine, content, afterCrash: false });
    assert.deepEqual(findings, []);
  }

  /** Everything is let go of, and nothing is left. */
  async #end(): Promise<void> {
    while (this.#readers.length > 0) await this.#endReading();
    await this.#sweeping;
    await this.#store.sweep();
    await this.#check();
    if (this.#random.chance(0.5)) await this.#store.deleteContainer(CONTAINER);
    else await this.#deleteAll();
    await this.#store.sweep();
    await this.#pass(STAGING_LIFE_MS / 1000);
    await this.#store.sweep();
    await this.#check();
    const left = (await this.#store.records()).filter((key) => !key.startsWith('P') && !key.startsWith('C'));
    assert.deepEqual(left, []);
    await this.#store.close();
  }

  /** One by one, as a client would. */
  async #deleteAll(): Promise<void> {
    this.#keepsVersions = false;
    for (const [blob, name] of this.#names) {
      const request = { ...blobRequest(CONTAINER, blob), deleteSnapshots: 'include' } as const;
      if (name.base !== null || name.staged.size > 0) await deleteBlob(this.#storage, request);
      // Snapshots without their blob, which a version may leave behind.
      for (const kind of ['snapshot', 'version'] as const) {
        for (const at of await this.#pastOf(blob, kind))
          await deleteBlob(this.#storage, { ...request, at, deleteSnapshots: null });
      }
      Object.assign(name, { base: null, snapshots: [], versions: [], staged: new Map() });
    }
  }

  get #storage() {
    return this.#store.storage;
  }

  get #nowMs(): number {
    return this.#store.clock.nowMs();
  }
}

const asText = (states: readonly Buffer[]): string[] =>
  states.map((bytes) => `${bytes.length} ${bytes.toString('latin1', 0, 50)}`);

async function codeOf(operation: Promise<unknown>): Promise<string> {
  try {
    await operation;
    return 'ok';
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
}

const { seeds } = simulationSeeds(1, 2, 3, 4);

for (const seed of seeds) {
  test(`nothing is lost and nothing is left, whatever the account keeps, seed ${seed}`, async () => {
    await Simulation.run({ seed, steps: 400 });
  });
}
