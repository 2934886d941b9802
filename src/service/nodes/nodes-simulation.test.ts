/**
 * Several nodes at once on one store: random writes and deletes of a few blobs, slow readers on every node, and passes of
 * whoever leads between them, each held back for random moments, while nodes come, leave, die and lose their session.
 * Every reader gets the bytes of one version, whole; at the end nothing is left over. LARIMAR_SEED replays one seed.
 */
// tier: both
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ClusterNode, MemoryCluster, settle } from '../../../test/harness/memory-cluster.ts';
import { Random, simulationSeeds } from '../../../test/harness/random.ts';
import { blobRequest, blockIdOf } from '../../../test/harness/store.ts';
import { ExtentMissing } from '../../content/content.ts';
import { loadCommittedBlob } from '../blob/load.ts';
import { checkStore } from '../check.ts';
import { UnreadableRecord } from '../records/codec.ts';
import { snapshotReader } from '../records/record-reader.ts';

const KIB = 1024;
const BLOBS = ['a', 'b', 'c'];
const NODE_COUNT = 3;
const IN_FLIGHT_MAX = 8;
const READERS_MAX = 4;
const PASSES_MAX = 30;
const FOREVER = Number.POSITIVE_INFINITY;

interface Block {
  readonly id: string;
  readonly bytes: Buffer;
}

/** What a blob was, at most from when its writing began to when the writing of the next had ended. */
interface Version {
  /** Null: there was none. */
  readonly bytes: Buffer | null;
  readonly blocks: readonly Block[];
  readonly sinceTick: number;
  untilTick: number;
}

interface Blob {
  readonly name: string;
  readonly versions: Version[];
  isBeingWritten: boolean;
}

interface Reader {
  readonly stream: AsyncIterableIterator<Uint8Array>;
  /** It gets one of these: they may have been there while it looked. */
  readonly candidates: readonly Buffer[];
  readonly taken: Uint8Array[];
  /** Its node was given up while it read, or was not back yet when it began. */
  mayFail: boolean;
}

interface Node extends ClusterNode {
  readonly inFlight: Set<Promise<void>>;
  readers: Reader[];
  /** Given up by the engine and not back yet. */
  isForgotten: boolean;
  forgottenCount: number;
}

class Simulation {
  readonly #random: Random;
  readonly #cluster = new MemoryCluster();
  readonly #blobs: Blob[] = BLOBS.map((name) => ({
    name,
    versions: [{ bytes: null, blocks: [], sinceTick: 0, untilTick: FOREVER }],
    isBeingWritten: false,
  }));
  #nodes: Node[] = [];
  #tick = 0;
  #lastByte = 0;
  readonly counts = { whole: 0, failed: 0, freed: 0 };

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  async run(steps: number): Promise<void> {
    while (this.#nodes.length < NODE_COUNT) await this.#join();
    await (this.#nodes[0] as Node).store.createContainer('box');
    for (let step = 0; step < steps; step++) {
      const what = await this.#step();
      for (const { store } of this.#nodes) assert.deepEqual(mattering(store.errors), [], `after step ${step}, ${what}`);
    }
    await this.#end();
  }

  async #step(): Promise<string> {
    this.#tick++;
    const node = this.#random.pick(this.#nodes);
    const isRare = this.#random.chance(0.03);
    const [what, act] = this.#random.pick<readonly [string, () => Promise<void> | void]>([
      ['put', () => this.#write(node, () => this.#put(node))],
      ['put', () => this.#write(node, () => this.#put(node))],
      ['commit blocks', () => this.#write(node, (blob) => this.#commitBlocks(node, blob))],
      ['commit blocks', () => this.#write(node, (blob) => this.#commitBlocks(node, blob))],
      ['delete', () => this.#write(node, () => this.#delete(node))],
      ['open reader', () => this.#start(node, () => this.#openReader(node))],
      ['open reader', () => this.#start(node, () => this.#openReader(node))],
      ['open reader', () => this.#start(node, () => this.#openReader(node))],
      ['go on reading', () => this.#goOnReading(node)],
      ['end reading', () => this.#endReading(node)],
      ['sweep', () => this.#sweep(node)],
      ['sweep', () => this.#sweep(node)],
      ['sweep', () => this.#sweep(node)],
      ['beat', () => this.#start(node, () => this.#beat(node))],
      ['beat', () => this.#start(node, () => this.#beat(node))],
      ['beat', () => this.#start(node, () => this.#beat(node))],
      ['mend', () => this.#mend(node)],
      ...(isRare
        ? ([
            ['wait', () => this.#settled(this.#nodes)],
            ['cut', () => this.#cut(node)],
            ['cut', () => this.#cut(node)],
            ['cut', () => this.#cut(node)],
            ['leave', () => this.#leave(node)],
            ['die', () => this.#die(node)],
            ['forget', () => this.#forget(node)],
            ['forget', () => this.#forget(node)],
          ] as const)
        : []),
    ]);
    await act();
    await this.#turns(30);
    return what;
  }

  async #turns(turnsMax: number): Promise<void> {
    for (let turns = this.#random.below(turnsMax); turns > 0; turns--) await nextTurn();
  }

  // ---- nodes come and go

  async #join(): Promise<void> {
    const joined = await this.#cluster.join(async ({ what }) => {
      if (what === 'freed') this.counts.freed++;
      await this.#turns(2);
    });
    const fresh = { inFlight: new Set<Promise<void>>(), readers: [], isForgotten: false, forgottenCount: 0 };
    this.#nodes.push(Object.assign(joined, fresh));
  }

  async #leave(node: Node): Promise<void> {
    await this.#settled([node]);
    while (node.readers.length > 0) await this.#endReading(node);
    await node.store.close();
    await this.#replace(node);
  }

  /** Its readers die with it, and so does a pass of its own. */
  async #die(node: Node): Promise<void> {
    await this.#settled([node]);
    await this.#cluster.kill(node);
    await this.#replace(node);
  }

  async #replace(node: Node): Promise<void> {
    this.#nodes = this.#nodes.filter((one) => one !== node);
    await this.#join();
  }

  /** It lives on, and so does its pass, though another may lead soon. */
  async #forget(node: Node): Promise<void> {
    node.isForgotten = true;
    node.forgottenCount++;
    for (const reader of node.readers) reader.mayFail = true;
    await this.#cluster.forget(node);
  }

  async #beat(node: Node): Promise<void> {
    const { forgottenCount } = node;
    await node.store.beat();
    if (node.forgottenCount === forgottenCount) node.isForgotten = false;
  }

  /** From now on it neither says nor hears anything: it looks with every beat. */
  #cut({ line }: Node): void {
    line.isCut = true;
  }

  #mend({ line }: Node): void {
    line.isCut = false;
  }

  #sweep({ store }: Node): void {
    store.sweeper.sweep().catch((error: unknown) => store.errors.push(error));
  }

  // ---- what goes on beside everything else

  #start(node: Node, act: () => Promise<void>): void {
    if (node.inFlight.size >= IN_FLIGHT_MAX) return;
    const acting = act().catch((error: unknown) => void node.store.errors.push(error));
    node.inFlight.add(acting);
    void acting.then(() => node.inFlight.delete(acting));
  }

  async #settled(nodes: readonly Node[]): Promise<void> {
    for (const { inFlight } of nodes) await Promise.all(inFlight);
  }

  // ---- writes: of one blob only one at a time, so that its versions are known

  #write(node: Node, plan: (blob: Blob) => Plan): void {
    const blob = this.#random.pick(this.#blobs);
    if (blob.isBeingWritten || node.inFlight.size >= IN_FLIGHT_MAX) return;
    const before = blob.versions.at(-1) as Version;
    const planned = plan(blob);
    const { bytes, blocks } = planned;
    if (bytes === null && before.bytes === null) return;
    blob.isBeingWritten = true;
    blob.versions.push({ bytes, blocks, sinceTick: this.#tick, untilTick: FOREVER });
    this.#start(node, async () => {
      await planned.write(blob.name);
      before.untilTick = this.#tick;
      blob.isBeingWritten = false;
    });
  }

  #put({ store }: Node): Plan {
    const bytes = this.#someBytes();
    return { bytes, blocks: [], write: (name) => store.put('box', name, bytes) };
  }

  #delete({ store }: Node): Plan {
    return { bytes: null, blocks: [], write: (name) => store.delete('box', name) };
  }

  /** Some of the blocks that it has, and some new ones, some of which are staged twice. */
  #commitBlocks({ store }: Node, { versions }: Blob): Plan {
    const kept = (versions.at(-1) as Version).blocks.filter(() => this.#random.chance(0.6)).slice(0, 4);
    const isKept = (id: string): boolean => kept.some((block) => block.id === id);
    const added = Array.from({ length: 1 + this.#random.below(3) }, (_, index) => ({
      id: blockIdOf(10 * this.#random.below(3) + index),
      bytes: this.#someBytes(),
    })).filter(({ id }) => !isKept(id));
    const again = added.filter(() => this.#random.chance(0.3));
    const blocks = [...kept, ...added];
    return {
      bytes: Buffer.concat(blocks.map((block) => block.bytes)),
      blocks,
      async write(name) {
        for (const { id } of again) await store.putBlock('box', name, id, Buffer.alloc(20 * KIB, 'in vain'));
        for (const { id, bytes } of added) await store.putBlock('box', name, id, bytes);
        await store.putBlockList('box', name, [
          ...kept.map(({ id }) => ({ kind: 'committed' as const, id })),
          ...added.map(({ id }) => ({ kind: 'uncommitted' as const, id })),
        ]);
      },
    };
  }

  #someBytes(): Buffer {
    const kind = this.#random.next();
    const lengthBytes = kind < 0.2 ? 1 + this.#random.below(200) : (kind < 0.9 ? 10 : 300) * KIB;
    this.#lastByte++;
    return Buffer.alloc(lengthBytes, `${this.#lastByte} `);
  }

  // ---- reads

  async #openReader(node: Node): Promise<void> {
    if (node.readers.length >= READERS_MAX) return;
    const blob = this.#random.pick(this.#blobs);
    const { isForgotten, forgottenCount } = node;
    const startTick = this.#tick;
    const bytes = await this.#lookUp(node, blob.name);
    const candidates = blob.versions
      .filter(({ sinceTick, untilTick }) => sinceTick <= this.#tick && untilTick >= startTick)
      .map((version) => version.bytes);
    if (bytes === null) {
      assert.ok(candidates.includes(null), `${blob.name} was there all the time`);
      return;
    }
    const wanted = candidates.filter((bytes) => bytes !== null);
    if (bytes instanceof Uint8Array) {
      assertOneOf(wanted, Buffer.from(bytes));
      return;
    }
    const stream = bytes[Symbol.asyncIterator]() as Reader['stream'];
    const mayFail = isForgotten || node.forgottenCount > forgottenCount;
    node.readers.push({ stream, candidates: wanted, taken: [], mayFail });
  }

  /** Get Blob, where it may take long from the snapshot to the pins. */
  async #lookUp({ store }: Node, blob: string): Promise<Uint8Array | AsyncIterable<Uint8Array> | null> {
    const { readers } = store.storage;
    return readers.inSnapshot(async (snapshot) => {
      const { clock, known } = store.storage;
      const at = { nowMs: clock.nowMs(), known };
      const loaded = await loadCommittedBlob(snapshotReader(snapshot), blobRequest('box', blob), at);
      await this.#turns(this.#random.chance(0.3) ? 1_000 : 2);
      if (loaded.blob === null) return null;
      const { content, lengthBytes } = loaded.blob;
      return readers.open(snapshot, content, { offsetBytes: 0, lengthBytes });
    });
  }

  async #goOnReading(node: Node): Promise<void> {
    if (node.readers.length === 0) return;
    const reader = this.#random.pick(node.readers);
    await this.#reading(node, reader, async () => {
      const { done, value } = await reader.stream.next();
      if (done !== true) reader.taken.push(value);
    });
  }

  async #endReading(node: Node): Promise<void> {
    if (node.readers.length === 0) return;
    const reader = this.#random.pick(node.readers);
    await this.#reading(node, reader, async () => {
      for await (const piece of reader.stream) reader.taken.push(piece);
      assertOneOf(reader.candidates, Buffer.concat(reader.taken));
      this.counts.whole++;
      node.readers = node.readers.filter((one) => one !== reader);
    });
  }

  async #reading(node: Node, reader: Reader, read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch (error) {
      if (!reader.mayFail || !(error instanceof ExtentMissing || error instanceof UnreadableRecord)) throw error;
      this.counts.failed++;
      node.readers = node.readers.filter((one) => one !== reader);
    }
  }

  // ---- the end

  async #end(): Promise<void> {
    const { engine, content } = this.#cluster;
    for (const { line } of this.#nodes) line.isCut = false;
    await this.#settled(this.#nodes);
    for (const node of this.#nodes) while (node.readers.length > 0) await this.#endReading(node);
    const [first] = this.#nodes as [Node];
    for (const { name, versions } of this.#blobs) {
      if (versions.at(-1)?.bytes !== null) await first.store.delete('box', name);
    }
    await settle(this.#nodes);
    const check = () => checkStore({ engine, content, afterCrash: false });
    for (let passes = 0; (await check()).awaitingSweep > 0; passes++) {
      assert.ok(passes < PASSES_MAX, 'it is swept');
      for (const { store } of this.#nodes) await store.sweeper.sweep();
    }
    const report = await check();
    assert.deepEqual(report.findings, []);
    assert.equal(report.extents, 0);
    for (const { store } of this.#nodes) {
      await store.close();
      assert.deepEqual(mattering(store.errors), []);
    }
    assert.equal(await this.#cluster.leader(), null);
  }
}

/** A node may be held back for so long that the leader does not wait for it any more: that is no fault. */
const mattering = (errors: readonly unknown[]): unknown[] =>
  errors.filter((error) => !(error instanceof Error && error.message.startsWith('no answer from')));

interface Plan {
  readonly bytes: Buffer | null;
  readonly blocks: readonly Block[];
  write(name: string): Promise<void>;
}

function assertOneOf(candidates: readonly Buffer[], bytes: Buffer): void {
  const index = candidates.findIndex((one) => one.equals(bytes));
  assert.ok(index >= 0, `${bytes.length} bytes that are none of ${candidates.map((one) => one.length).join(', ')}`);
}

const { seeds } = simulationSeeds(1, 2, 3);

for (const seed of seeds) {
  test(`readers on all nodes get their versions, and nothing is left over, seed ${seed}`, async () => {
    const simulation = new Simulation(seed);
    await simulation.run(1_000);
    const { whole, freed } = simulation.counts;
    assert.ok(whole > 20 && freed > 20, `${whole} readers finished, ${freed} extents were freed`);
  });
}
