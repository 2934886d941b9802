/**
 * Random changes to a share's tree, with snapshots taken and deleted in any order and sweeps between and beside them, some of
 * which are cut off. Every snapshot is compared with a model that is nothing but maps, and after each sweep what is stored
 * with what snapshots see: no row less, and none more. LARIMAR_SEED replays one seed.
 */
// tier: both
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TestShare } from '../../../test/harness/file-store.ts';
import { Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { Random, simulationSeeds } from '../../../test/harness/random.ts';
import { byTier } from '../../../test/harness/tier.ts';
import { EngineUnavailable } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Moment } from '../../rules/moment.ts';
import { checkStore } from '../check.ts';
import { decodeJson } from '../records/codec.ts';
import { nodePlaceOf, parseEndedNodeKey, parsePastNodeKey, placedIdOf } from '../records/file-keys.ts';
import type { NodePlace, NodeRecord } from '../records/node-record.ts';
import { parseMapRow } from '../records/page-keys.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { ShareSnapshotRecord } from '../records/share-record.ts';
import { StorageError } from '../storage-error.ts';
import { deleteShare } from './delete-share.ts';
import { changeNode, moveNode, removeNode } from './keep-past.ts';
import { type Found, type FoundNode, findNode, refuseMissing } from './load.ts';
import { changeUsage } from './usage.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const DEPTH_MAX = 3;
/** Nothing, a part of a page, what rides in a commit, and what goes to the content store. */
const LENGTHS = [0, 100, 5_000, 20_000];
const SNAPSHOT_COUNT_MAX = 6;

const PATHS: readonly string[] = pathsBelow('', DEPTH_MAX);

function pathsBelow(parent: string, depth: number): string[] {
  if (depth === 0) return [];
  return NAMES.flatMap((name) => {
    const path = parent === '' ? name : `${parent}/${name}`;
    return [path, ...pathsBelow(path, depth - 1)];
  });
}

/** `stamp`: of the last change, in the metadata. Of a file also its bytes; null for a directory. */
interface Thing {
  readonly stamp: string;
  readonly bytes: Buffer | null;
}

type Model = ReadonlyMap<string, Thing>;

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const depthOf = (path: string): number => path.split('/').length;
const isBelow = (path: string, above: string): boolean => path.startsWith(`${above}/`);

class Simulation {
  readonly #random: Random;
  readonly #share: TestShare;
  readonly #hooks: Hooks;
  readonly #isSweepFailing: boolean;
  #live: Model = new Map();
  #snapshots: { readonly moment: Moment; readonly model: Model }[] = [];
  #stamp = 0;

  constructor(
    random: Random,
    { share, hooks, isSweepFailing }: { share: TestShare; hooks: Hooks; isSweepFailing: boolean },
  ) {
    this.#random = random;
    this.#share = share;
    this.#hooks = hooks;
    this.#isSweepFailing = isSweepFailing;
  }

  async run(steps: number): Promise<void> {
    let what = 'the start';
    let step = 0;
    try {
      for (; step < steps; step++) {
        what = await this.#step();
        if (step % 10 === 0) await this.#compare();
      }
      what = 'the end';
      await this.#end();
      assert.deepEqual(
        this.#share.store.errors.filter((error) => !(error instanceof EngineUnavailable)),
        [],
      );
    } catch (error) {
      throw new Error(`LARIMAR_SEED=${this.#random.seed}, step ${step} (${what})`, { cause: error });
    }
  }

  async #step(): Promise<string> {
    const turn = this.#random.next();
    if (turn < 0.7) return this.#change();
    if (turn < 0.8) return this.#snapshot();
    if (turn < 0.9) return this.#deleteSnapshot();
    if (turn < 0.95) return this.#sweepAlone();
    return this.#sweepBeside();
  }

  async #change(): Promise<string> {
    const free = PATHS.filter((path) => !this.#live.has(path) && this.#isDirectory(parentOf(path)));
    const taken = [...this.#live.keys()];
    const files = taken.filter((path) => !this.#isDirectory(path));
    const turn = this.#random.next();
    if (taken.length === 0 || (turn < 0.3 && free.length > 0)) return this.#add(this.#random.pick(free));
    if (turn < 0.5 && files.length > 0) return this.#write(this.#random.pick(files));
    if (turn < 0.6) return this.#restamp(this.#random.chance(0.1) ? '' : this.#random.pick(taken));
    if (turn < 0.7 && files.length > 0) return this.#replace(this.#random.pick(files));
    const path = this.#random.pick(taken);
    return turn < 0.85 && free.length > 0 ? this.#move(path, this.#random.pick(free)) : this.#remove(path);
  }

  #isDirectory(path: string): boolean {
    return path === '' || this.#live.get(path)?.bytes === null;
  }

  #nextStamp(): { text: string; metadata: readonly (readonly [string, string])[] } {
    const text = String(++this.#stamp);
    return { text, metadata: [['stamp', text]] };
  }

  #set(path: string, thing: Thing): void {
    this.#live = new Map([...this.#live, [path, thing]]);
  }

  async #add(path: string): Promise<string> {
    const { text, metadata } = this.#nextStamp();
    const bytes = this.#random.chance(0.4) ? null : this.#random.bytes(this.#random.pick(LENGTHS));
    if (bytes === null) await this.#share.createDirectory(path, { metadata });
    else await this.#share.createFile(path, bytes, { metadata });
    this.#set(path, { stamp: text, bytes });
    return `add ${path}`;
  }

  async #replace(path: string): Promise<string> {
    const { text, metadata } = this.#nextStamp();
    const bytes = this.#random.bytes(this.#random.pick(LENGTHS));
    await this.#share.createFile(path, bytes, { metadata });
    this.#set(path, { stamp: text, bytes });
    return `replace ${path}`;
  }

  async #write(path: string): Promise<string> {
    const thing = this.#live.get(path) as Thing;
    const before = thing.bytes as Buffer;
    if (before.length === 0) return `nothing to write to in ${path}`;
    const offsetBytes = this.#random.below(before.length);
    const piece = this.#random.bytes(1 + this.#random.below(before.length - offsetBytes));
    await this.#share.write(path, offsetBytes, piece);
    const bytes = Buffer.from(before);
    bytes.set(piece, offsetBytes);
    this.#set(path, { ...thing, bytes });
    return `write ${path}`;
  }

  async #restamp(path: string): Promise<string> {
    const { text, metadata } = this.#nextStamp();
    await this.#at(path, async (tx, found) => {
      await changeNode<NodeRecord>(tx, found, (node) => ({ ...node, metadata }));
    });
    this.#set(path, { bytes: this.#live.get(path)?.bytes ?? null, stamp: text });
    return `restamp ${path}`;
  }

  /** What is below goes with it. */
  async #move(path: string, to: string): Promise<string> {
    if (path === '' || isBelow(to, path)) return `no move of ${path}`;
    const below = [...this.#live.keys()].filter((each) => isBelow(each, path));
    if (below.some((each) => depthOf(to + each.slice(path.length)) > DEPTH_MAX)) return `${to} is too deep for ${path}`;
    await this.#at(path, async (tx, from) => {
      const { place, name } = await this.#find(tx, to);
      await moveNode<NodeRecord>(tx, { from, to: place }, (node) => ({ ...node, name }));
    });
    const moved = [...this.#live].flatMap(([each, thing]): [string, Thing][] => {
      const after = each === path || isBelow(each, path) ? to + each.slice(path.length) : each;
      return [[after, thing]];
    });
    this.#live = new Map(moved);
    return `move ${path} to ${to}`;
  }

  async #remove(path: string): Promise<string> {
    const isEmpty = ![...this.#live.keys()].some((each) => isBelow(each, path));
    if (path === '' || !isEmpty) return `${path} is not empty`;
    const { storage } = this.#share.store;
    await storage.counting.use((shard) =>
      this.#at(path, async (tx, found) => {
        if (found.node.kind === 'file') await changeUsage(tx, shard, found, -found.node.lengthBytes);
        await removeNode(tx, storage, found);
      }),
    );
    this.#live = new Map([...this.#live].filter(([each]) => each !== path));
    return `remove ${path}`;
  }

  async #at(path: string, act: (tx: Transaction, found: FoundNode) => Promise<void>): Promise<void> {
    await transact(this.#share.store.engine, async (tx) => {
      const found = await this.#find(tx, path);
      refuseMissing(found);
      await act(tx, found);
    });
  }

  #find(tx: Transaction, path: string): Promise<Found> {
    return findNode(tx, this.#share.nameOf(path), this.#share.store.storage.known);
  }

  async #snapshot(): Promise<string> {
    if (this.#snapshots.length === SNAPSHOT_COUNT_MAX) return 'enough snapshots';
    this.#snapshots.push({ moment: await this.#share.snapshot(), model: this.#live });
    return 'snapshot';
  }

  async #deleteSnapshot(): Promise<string> {
    if (this.#snapshots.length === 0) return 'no snapshot';
    const index = this.#random.below(this.#snapshots.length);
    const [snapshot] = this.#snapshots.splice(index, 1);
    await this.#share.deleteSnapshot(snapshot?.moment as Moment);
    return `delete snapshot ${index}`;
  }

  async #sweepAlone(): Promise<string> {
    if (this.#isSweepFailing) await this.#sweepCutOff();
    await this.#share.store.sweep();
    await this.#compareRows();
    await this.#check();
    return 'sweep';
  }

  /** Every pass fails at one of its commits, before it took effect or after, until one gets through. */
  async #sweepCutOff(): Promise<void> {
    for (let isCutOff = true; isCutOff; ) {
      isCutOff = false;
      let left = this.#random.below(8);
      const at = this.#random.pick(['commit', 'committed']);
      this.#hooks.before = ({ what }) => {
        if (what !== at || left-- !== 0) return;
        isCutOff = true;
        throw new EngineUnavailable('cut off');
      };
      await this.#share.store.sweeper.sweep().catch((error: unknown) => {
        if (!(error instanceof EngineUnavailable)) throw error;
      });
      this.#hooks.clear();
      if (this.#random.chance(0.2)) await this.#check();
    }
  }

  /** Half swept or not, a store is never without what it needs. */
  async #check(): Promise<void> {
    const { engine, content } = this.#share.store;
    assert.deepEqual((await checkStore({ engine, content, afterCrash: false })).findings, []);
  }

  /** Whatever is done while a sweep is under way, it takes nothing that somebody sees. */
  async #sweepBeside(): Promise<string> {
    const delays = new Random(this.#random.below(2 ** 31));
    this.#hooks.before = async () => {
      if (delays.chance(0.3)) await nextTurn();
    };
    const sweep = this.#share.store.sweep();
    const steps: string[] = [];
    for (let count = this.#random.below(6); count >= 0; count--) {
      const turn = this.#random.next();
      if (turn < 0.4) steps.push(await this.#change());
      else if (turn < 0.7) steps.push(await this.#snapshot());
      else steps.push(await this.#deleteSnapshot());
    }
    await sweep;
    this.#hooks.clear();
    await this.#compare();
    return `sweep beside ${steps.join(', ')}`;
  }

  async #compare(): Promise<void> {
    await this.#compareOne(null, this.#live);
    for (const { moment, model } of this.#snapshots) await this.#compareOne(moment, model);
  }

  async #compareOne(snapshot: Moment | null, model: Model): Promise<void> {
    const { engine, storage } = this.#share.store;
    for (const path of ['', ...PATHS]) {
      const view = engine.snapshot();
      const found = await findNode(snapshotReader(view), this.#share.nameOf(path, snapshot), storage.known)
        .then(({ node }) => node)
        .catch((error: unknown) => {
          assert.ok(error instanceof StorageError && error.code === 'ParentNotFound', String(error));
          return null;
        })
        .finally(() => view.close());
      const wanted = model.get(path);
      const where = `${path} in ${snapshot ?? 'the share'}`;
      if (path !== '') assert.equal(found?.kind, wanted && (wanted.bytes === null ? 'directory' : 'file'), where);
      assert.equal(found?.metadata[0]?.[1], wanted?.stamp, where);
      if (wanted?.bytes) assert.ok((await this.#share.read(path, snapshot)).equals(wanted.bytes), where);
    }
  }

  /** After a sweep: nothing is kept that nobody sees, and whatever is kept is whole. */
  async #compareRows(): Promise<void> {
    const rows = await this.#share.store.entries();
    const table = (letter: string) => rows.filter(({ key }) => key[0] === letter.charCodeAt(0));
    assert.deepEqual(table('G'), []);
    const kept = table('p').map(({ value }) => decodeJson<ShareSnapshotRecord>(value).epoch);
    const past = table('h').map(({ key, value }) => ({
      ...parsePastNodeKey(key),
      node: decodeJson<NodeRecord>(value),
    }));
    for (const { epoch, name, node } of past) {
      assert.ok(
        kept.some((each) => node.since <= each && each <= epoch),
        `${name} from ${node.since} to ${epoch} is kept for nobody: ${kept.join()}`,
      );
    }
    const ended = table('j').map(({ key }) => parseEndedNodeKey(key));
    assert.deepEqual(
      ended.map((each) => textOf(each, each.since, each.epoch)).sort(),
      past.map((each) => textOf(each, each.node.since, each.epoch)).sort(),
    );
    const current = table('f').map(({ key, value }) => ({
      place: nodePlaceOf(key),
      node: decodeJson<NodeRecord>(value),
    }));
    assert.deepEqual(
      table('i').map(({ key, value }) => textOf(decodeJson<NodePlace>(value), placedIdOf(key))),
      current
        .filter(({ node }) => node.name !== '')
        .sort((one, other) => (one.node.id < other.node.id ? -1 : 1))
        .map(({ place, node }) => textOf(place, node.id)),
    );
    const held = [...past, ...current].flatMap(({ node }) =>
      node.kind === 'file' && node.content.kind === 'pages' ? [`${node.content.id} ${node.content.epoch}`] : [],
    );
    const maps = table('V').map(({ key }) => parseMapRow(key));
    assert.deepEqual(
      maps.flatMap((row) => (row.kind === 'epoch' ? [`${row.mapId} ${row.epoch}`] : [])).sort(),
      held.sort(),
    );
  }

  async #end(): Promise<void> {
    await this.#compare();
    while (this.#snapshots.length > 0) {
      await this.#deleteSnapshot();
      await this.#sweepAlone();
      await this.#compare();
    }
    await this.#sweepAlone();
    const { store, name } = this.#share;
    assert.ok((await store.records()).every((key) => !'hjp'.includes(key[0] as string)));
    await this.#snapshot();
    await this.#change();
    const request = { name, leaseId: null, snapshot: null };
    await deleteShare(store.storage, { ...request, deleteSnapshots: 'include' });
    if (this.#isSweepFailing) await this.#sweepCutOff();
    await store.sweep();
    assert.deepEqual(await store.records(), []);
    const strays = await store.content.strays(NOTHING);
    assert.equal(strays.extentCount, 0);
  }
}

const textOf = ({ parentId, name }: NodePlace, ...rest: readonly (string | number)[]): string =>
  [parentId, name, ...rest].join(' ');

const NOTHING = (async function* (): AsyncGenerator<never> {})();

const { seeds } = simulationSeeds(1);

for (const seed of seeds) {
  for (const isSweepFailing of [false, true]) {
    test(`snapshots of a share${isSweepFailing ? ', whose sweeps are cut off,' : ''} see what the model says, seed ${seed}`, async (t) => {
      const hooks = new Hooks();
      const share = await TestShare.create({ engine: hookEngine(openMemoryEngine(), hooks) });
      t.after(() => share.store.close());
      await new Simulation(new Random(seed), { share, hooks, isSweepFailing }).run(byTier({ quick: 75, system: 150 }));
    });
  }
}
