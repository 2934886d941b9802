/**
 * Random operations on the trees of a few shares, by several clients at once, some of them through opens as SMB clients have
 * them, each held back for random moments, with
 * snapshots that are taken and deleted, sweeps that are cut off or go on beside, restarts and a clock that moves between
 * them. What all clients of a round have seen, and what reads give behind it, of the shares and of every snapshot, is what one
 * order of their operations makes of the model; no ETag is ever given twice; and a check finds nothing wrong. At the end
 * everything is deleted, and nothing is left.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../src/base/clock.ts';
import type { EntryKind } from '../../src/rules/file-attributes.ts';
import type { Moment } from '../../src/rules/moment.ts';
import { checkStore } from '../../src/service/check.ts';
import type { Call } from '../harness/hooked-store.ts';
import { Random } from '../harness/random.ts';
import { Gate, type TestStore } from '../harness/store.ts';
import { inSomeOrder } from './action.ts';
import type { Action } from './file-action.ts';
import {
  createDirectoryAction,
  createFileAction,
  deleteAction,
  leaseAction,
  listAction,
  putRangeAction,
  readAction,
  renameAction,
  resizeAction,
  setDirectoryMetadataAction,
  setMetadataAction,
  type Target,
} from './file-actions.ts';
import { isStored, type StoredShares, storedShares } from './file-comparison.ts';
import { everything, FileModel, type ModelShare, meet, type Path } from './file-model.ts';
import {
  closeOpenAction,
  type OpenedFile,
  openAction,
  resizeOpenAction,
  writeOpenAction,
  zeroOpenAction,
} from './file-open-actions.ts';
import { createShareAction, deleteShareAction, deleteSnapshotAction, snapshotAction } from './file-share-actions.ts';
import { type Doing, heldBack, RESTART_SECONDS, SimulatedNodes, type SimulationOptions, spread } from './nodes.ts';
import { type Place, runSteps } from './place.ts';
import { frozen } from './queue-comparison.ts';

const SHARES = ['alpha', 'beta'];
/** Some are one to Windows. */
const NAMES = ['a', 'A', 'b', 'cc', 'CC', 'ä', '😀'];
const DEPTH_MAX = 3;
const ACTORS_MAX = 4;
const SNAPSHOT_COUNT_MAX = 3;
const NODE_COUNT_MAX = 10;
const UNKNOWN_MOMENT: Moment = '2001-01-01T00:00:00.0000000Z';

export async function simulateFiles({ seed, steps, place, nodeCount }: SimulationOptions): Promise<void> {
  const simulation = await FileSimulation.open(new Random(seed), place, nodeCount);
  await runSteps(simulation, { seed, steps });
}

/** What most of a round goes to. */
type Near = Readonly<Record<EntryKind, Path>>;

/** Commits of the servers, and extents that they give back, which can be made to wait. */
class Freeing {
  /** While the store is looked through, whatever goes on beside waits here. */
  #pause: Gate | null = null;
  /** Extents that are being given back at the moment: those calls got through before the pause. */
  #count = 0;

  async onCall({ what }: Call, cut: () => void): Promise<void> {
    if (what !== 'commit' && what !== 'committed' && what !== 'free' && what !== 'freed') return;
    if (what === 'freed') this.#count--;
    await this.#pause?.passed;
    cut();
    if (what === 'free') this.#count++;
  }

  async pauseDuring(look: () => Promise<void>): Promise<void> {
    this.#pause = new Gate();
    while (this.#count > 0) await nextTurn();
    try {
      await look();
    } finally {
      this.#pause.open();
      this.#pause = null;
    }
  }
}

class FileSimulation {
  readonly #random: Random;
  readonly #clock: ManualClock;
  readonly #nodes: SimulatedNodes;
  readonly #freeing: Freeing;
  readonly #doings: readonly Doing[];
  #model = new FileModel();
  /** Every ETag that was ever given. */
  readonly #given = new Set<string>();
  doing = '';

  private constructor(
    random: Random,
    clock: ManualClock,
    { nodes, freeing }: { nodes: SimulatedNodes; freeing: Freeing },
  ) {
    this.#random = random;
    this.#clock = clock;
    this.#nodes = nodes;
    this.#freeing = freeing;
    this.#doings = this.#weighted();
  }

  static async open(random: Random, place: Place, nodeCount: number): Promise<FileSimulation> {
    const clock = new ManualClock();
    const freeing = new Freeing();
    const nodes = await SimulatedNodes.open({
      random,
      place,
      nodeCount,
      clock,
      whileDown: () => clock.advance({ seconds: RESTART_SECONDS }),
      onCall: (call, cut) => freeing.onCall(call, cut),
    });
    return new FileSimulation(random, clock, { nodes, freeing });
  }

  async step(): Promise<void> {
    const [what, act] = this.#random.pick(this.#doings);
    this.doing = what;
    await act();
    await this.#compare();
  }

  #weighted(): readonly Doing[] {
    const nodes = this.#nodes;
    return spread([
      [30, 'a round', () => this.#round()],
      [6, 'a round through opens', () => this.#roundThroughOpens()],
      [3, 'let time pass', async () => this.#clock.advance({ seconds: this.#random.pick([0.001, 1, 3_600]) })],
      [2, 'sweep', () => nodes.waitFor(() => nodes.sweep())],
      [2, 'sweep beside what follows', () => nodes.goOnBeside(() => nodes.sweep())],
      // Nodes that answer each other are not cut off in the midst of it: nodes-simulation.test.ts has their deaths.
      ...(nodes.all.length === 1
        ? [[2, 'sweep and be cut off', () => nodes.cutOff(() => nodes.sweep())] as const]
        : []),
      [1, 'restart', () => nodes.restart()],
    ]);
  }

  // ---- rounds

  /** Some operations from one starting line, most of them on the same few names. */
  async #round(): Promise<void> {
    const share = this.#random.pick(SHARES);
    const near = { file: this.#somePath(share, 'file'), directory: this.#somePath(share, 'directory') };
    const count = 1 + this.#random.below(ACTORS_MAX);
    const actions = Array.from({ length: count }, () =>
      this.#someAction(this.#random.chance(0.9) ? share : this.#random.pick(SHARES), near),
    );
    await this.#actTogether(actions.map((action) => [action, this.#nodes.some()]));
  }

  async #actTogether(actions: readonly (readonly [Action, TestStore])[]): Promise<void> {
    const all = actions.map(([action]) => action);
    this.doing = all.map(({ what }) => what).join(' | ');
    await Promise.all(actions.map(([action, node]) => this.#heldBack(action, node)));
    this.#refuseOldEtags(all);
    this.#explain(all, await this.#stored());
  }

  #explain(actions: readonly Action[], stored: StoredShares): void {
    this.#model = inSomeOrder(this.#model, actions, {
      explain: (action: Action, model: FileModel) => action.explain(model),
      isStored: (model) => isStored(model, stored),
    });
  }

  /** A file is opened by SMB clients, and written through their opens while requests come in that these do not shut out. */
  async #roundThroughOpens(): Promise<void> {
    const share = this.#random.pick(SHARES);
    const target = this.#fileToOpen(share);
    if (target === null) return this.#round();
    const opens: (readonly [OpenedFile, TestStore])[] = [];
    for (let count = 1 + this.#random.below(2); count > 0; count--) {
      const node = this.#nodes.some();
      const now = { ...target, model: this.#model };
      await this.#actTogether([[openAction(now, (opened) => opens.push([opened, node])), node]]);
    }
    for (let count = this.#random.below(3); count > 0 && opens.length > 0; count--) {
      await this.#actTogether(
        Array.from({ length: 1 + this.#random.below(ACTORS_MAX) }, () => this.#someActionBeside(opens)),
      );
    }
    for (const [opened, node] of opens) await this.#actTogether([[closeOpenAction(opened), node]]);
  }

  /** One that is there, or a name in a directory that is; null: there is no such share, or what has the name is a directory. */
  #fileToOpen(share: string): Target | null {
    const { root } = this.#model.find(share) ?? {};
    if (root === undefined) return null;
    const target = (path: Path): Target => ({ random: this.#random, model: this.#model, share, path });
    if (this.#random.chance(0.7)) {
      const files = [...everything(root)].filter(([, node]) => node.kind === 'file');
      return files.length === 0 ? null : target(this.#random.pick(files)[0]);
    }
    const free = this.#newIn(target(this.#somePath(share, 'directory')));
    const met = meet(root, free.path);
    return 'node' in met && met.node?.kind !== 'directory' ? free : null;
  }

  #someActionBeside(opens: readonly (readonly [OpenedFile, TestStore])[]): readonly [Action, TestStore] {
    const random = this.#random;
    const [opened, node] = random.pick(opens);
    const target = { ...opened.target, model: this.#model };
    opened.target = target;
    const dice = random.next();
    if (dice < 0.45) return [writeOpenAction(opened), node];
    if (dice < 0.55) return [resizeOpenAction(opened), node];
    if (dice < 0.62) return [zeroOpenAction(opened), node];
    const other = this.#nodes.some();
    if (dice < 0.75) return [putRangeAction(target), other];
    if (dice < 0.8) return [resizeAction(target), other];
    if (dice < 0.85) return [setMetadataAction(target), other];
    const found = this.#model.find(target.share);
    if (dice < 0.93) return [readAction(target, this.#someMoment(found)), other];
    return [this.#someSnapshotAction(target.share, found), other];
  }

  #someAction(share: string, near: Near): Action {
    const random = this.#random;
    const found = this.#model.find(share);
    const dice = random.next();
    if (found === null && dice < 0.8) return createShareAction(share);
    const at = (kind: EntryKind): Target => ({
      random,
      model: this.#model,
      share,
      path: this.#pathNear(share, kind, near),
    });
    const anywhere: Target = random.chance(0.7) ? at('file') : at('directory');
    const leaf = found === null ? null : this.#leafTooMany(found);
    if (leaf !== null && random.chance(0.4)) return deleteAction({ ...anywhere, path: leaf });
    if (dice < 0.1) return createFileAction(random.chance(0.5) ? at('file') : this.#newIn(at('directory')));
    if (dice < 0.16) return createDirectoryAction(this.#newIn(at('directory')));
    if (dice < 0.36) return putRangeAction(at('file'));
    if (dice < 0.42) return resizeAction(at('file'));
    if (dice < 0.46) return setMetadataAction(at('file'));
    if (dice < 0.49) return setDirectoryMetadataAction(at('directory'));
    if (dice < 0.55) return leaseAction(at('file'));
    if (dice < 0.67) return renameAction(anywhere, this.#newIn(random.chance(0.7) ? at('directory') : at('file')).path);
    if (dice < 0.72) return deleteAction(anywhere);
    if (dice < 0.82) return readAction(at('file'), this.#someMoment(found));
    if (dice < 0.88) return listAction(at('directory'), this.#someMoment(found));
    if (dice < 0.985) return this.#someSnapshotAction(share, found);
    return random.chance(0.5)
      ? createShareAction(share)
      : deleteShareAction(share, { includesSnapshots: random.chance(0.5) });
  }

  /** Something to delete where there is much: every comparison reads all of it. */
  #leafTooMany({ root }: ModelShare): Path | null {
    const all = [...everything(root)];
    const leaves = all.filter(([, node]) => node.kind === 'file' || node.entries.size === 0);
    return all.length <= NODE_COUNT_MAX ? null : this.#random.pick(leaves)[0];
  }

  #someSnapshotAction(share: string, found: ModelShare | null): Action {
    const moments = [...(found?.snapshots.keys() ?? [])];
    const isFull = moments.length >= SNAPSHOT_COUNT_MAX;
    if (!isFull && this.#random.chance(0.5)) return snapshotAction(share);
    return deleteSnapshotAction(share, moments.length === 0 ? UNKNOWN_MOMENT : this.#random.pick(moments));
  }

  #someMoment(found: ModelShare | null): Moment | null {
    const moments = [...(found?.snapshots.keys() ?? [])];
    if (moments.length === 0 || this.#random.chance(0.4)) return this.#random.chance(0.05) ? UNKNOWN_MOMENT : null;
    return this.#random.pick(moments);
  }

  #pathNear(share: string, kind: EntryKind, near: Near): Path {
    if (this.#random.chance(0.6)) return near[kind];
    return this.#somePath(share, kind);
  }

  /** Of something of this kind, if there is any; sometimes any other. */
  #somePath(share: string, kind: EntryKind): Path {
    const random = this.#random;
    const found = this.#model.find(share);
    if (found === null || random.chance(0.08)) {
      return Array.from({ length: random.below(DEPTH_MAX + 1) }, () => random.pick(NAMES));
    }
    const known = [...everything(found.root)].filter(([, node]) => node.kind === kind).map(([path]) => path);
    if (kind === 'directory') known.push([]);
    return known.length === 0 ? [random.pick(NAMES)] : random.pick(known);
  }

  /** A name in the directory, which may be taken. */
  #newIn(target: Target): Target {
    const { path } = target;
    if (path.length >= DEPTH_MAX || this.#random.chance(0.1)) return target;
    return { ...target, path: [...path, this.#random.pick(NAMES)] };
  }

  async #heldBack(action: Action, { storage }: TestStore): Promise<void> {
    const own = new Random(this.#random.below(2 ** 31));
    await action.run({ ...storage, engine: heldBack(storage.engine, own) });
  }

  #refuseOldEtags(actions: readonly Action[]): void {
    for (const etag of actions.map((action) => action.given())) {
      if (etag === null) continue;
      assert.ok(!this.#given.has(etag), `the ETag ${etag} was given before`);
      this.#given.add(etag);
    }
  }

  // ---- what holds after every step

  #stored(): Promise<StoredShares> {
    return storedShares(this.#nodes.some().storage);
  }

  async #compare(): Promise<void> {
    assert.ok(isStored(this.#model, await this.#stored()), 'the store holds what the model holds');
    this.#nodes.assertNoErrors();
    await this.#check();
  }

  async #check(): Promise<void> {
    const { engine, content } = this.#nodes.parts;
    await this.#freeing.pauseDuring(async () => {
      const { findings } = await checkStore({ engine: await frozen(engine), content, afterCrash: true });
      assert.deepEqual(findings, []);
    });
  }

  /** Everything is deleted, and nothing is left. */
  async end(): Promise<void> {
    await this.#nodes.restart();
    await this.#compare();
    for (const name of this.#model.shares.keys()) {
      const action = deleteShareAction(name, { includesSnapshots: true });
      await this.#heldBack(action, this.#nodes.some());
      this.#explain([action], await this.#stored());
    }
    await this.#nodes.assertEmpty();
    const { extentCount } = await this.#nodes.parts.content.strays((async function* () {})());
    assert.equal(extentCount, 0, 'extents are left');
    await this.#nodes.close();
  }
}
