/**
 * Puts the services' common ground on an engine and a content store, clears up after a crash, and joins the other nodes
 * that work on the same store, if it is one that nodes share. Whatever happens by itself, by a timer, is started here.
 */

import type { Clock } from '../base/clock.ts';
import { IdSource } from '../base/ids.ts';
import type { ContentStore, PlacedExtent } from '../content/content.ts';
import type { Engine } from '../engine/engine.ts';
import type { Signals } from '../signals/signals.ts';
import { Copies } from './copy/copies.ts';
import { NOTHING_OUTSIDE } from './copy/nothing-outside.ts';
import type { Outside } from './copy/outside.ts';
import { CountShards } from './count-shards.ts';
import { doWhatIsDue } from './do-what-is-due.ts';
import { Extents } from './extents/extents.ts';
import { Readers } from './extents/readers.ts';
import { Sweeper } from './extents/sweeper.ts';
import { FileChanges } from './file/opens/changes.ts';
import { OpenTable } from './file/opens/open-table.ts';
import { Known } from './known.ts';
import { Census, SETTLING_BEATS } from './nodes/census.ts';
import { type Chore, Chores } from './nodes/chores.ts';
import { Duties, GARBAGE_TOPIC } from './nodes/duties.ts';
import { Nodes, SWEEP } from './nodes/nodes.ts';
import { Soon } from './nodes/soon.ts';
import { PageHolds } from './pages/page-holds.ts';
import { ExpiryWalk } from './queue/expiry-walk.ts';
import { Dispenser } from './queue/get-messages.ts';
import { decodeJson } from './records/codec.ts';
import type { PlacedRecord } from './records/extent-record.ts';
import { idOf, tableRange } from './records/keys.ts';
import { freshSnapshots, scanSteps } from './records/scan.ts';
import { type AccountSettings, DEFAULT_SETTINGS, EtagSource, type Storage } from './storage.ts';

const STEP_RECORDS = 1_000;
const MINUTE_MS = 60 * 1000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const BEAT_MS = 3_000;
/** Garbage made elsewhere is told to the leader at most so often. */
const GARBAGE_PAUSE_MS = 200;
/**
 * What nodes write and have not published yet is younger than this. A store may count from the beginning of a write, and
 * a long body over a slow line takes its time,
 */
const RECOVERY_SPARES_MS = DAY_MS;
/** but after this long it is not published any more. */
const PUBLISH_LIMIT_MS = DAY_MS / 2;
const FIRST_RECOVERY_AFTER_MS = 10 * MINUTE_MS;

export interface StorageOptions {
  readonly engine: Engine;
  readonly content: ContentStore;
  readonly signals: Signals;
  readonly clock: Clock;
  /** This node's number among those that share the store, for its ETags; null: there are no others. */
  readonly slot: () => number | null;
  /** Other processes may work on the same engine and content at the same time. */
  readonly isShared: boolean;
  /** What went wrong in work that nobody waits for. */
  readonly onError: (error: unknown) => void;
  readonly settings?: (account: string) => AccountSettings;
  /** Absent: copies come from this store alone. */
  readonly outside?: Outside;
  /** How often a node looks by itself; null: never, somebody calls `beat`. */
  readonly beatMs?: number | null;
}

export interface OpenStorage {
  readonly storage: Storage;
  readonly sweeper: Sweeper;
  readonly nodes: Nodes;
  /** What the node does every few seconds, done now. */
  readonly beat: () => Promise<void>;
  /** Waits for the work under way, then leaves. Engine, content and signals stay open. */
  readonly close: () => Promise<void>;
}

export async function openStorage(options: StorageOptions): Promise<OpenStorage> {
  const { engine, content, signals, clock, isShared, onError } = options;
  if (!isShared) await content.recover(placedExtents(engine));
  const ids = new IdSource();
  ids.startAfter(await newestId(engine));
  const readers = new Readers({ engine, content });
  const nodes = new Nodes({ engine, signals, ids });
  const census = new Census({ nodes, readers, ids, settlingBeats: isShared ? SETTLING_BEATS : 0, onError });
  const tellLeader = new Soon(() => void signals.send(GARBAGE_TOPIC, ''), GARBAGE_PAUSE_MS);
  const extents = new Extents({
    content,
    ids,
    clock,
    publishLimitMs: isShared ? PUBLISH_LIMIT_MS : Number.POSITIVE_INFINITY,
    onGarbage: () => (nodes.seemsToLead(SWEEP) ? sweeper.wake() : tellLeader.call()),
  });
  const sweeper: Sweeper = new Sweeper({ engine, content, extents, nodes, census, onError });
  const copies = new Copies({ storage: () => storage, nodes, signals, onError });
  const opens = new OpenTable({ storage: () => storage, owner: nodes.id, signals, onError });
  const fileChanges = new FileChanges({ signals, owner: nodes.id });
  const storage: Storage = {
    engine,
    extents,
    readers,
    holds: new PageHolds({ engine, ids, onError }),
    outside: options.outside ?? NOTHING_OUTSIDE,
    copies,
    dispenser: new Dispenser(() => storage),
    counting: new CountShards(),
    opens,
    fileChanges,
    clock,
    ids,
    etags: new EtagSource(options.slot),
    known: new Known(),
    settings: options.settings ?? (() => DEFAULT_SETTINGS),
  };
  const chores = new Chores({ clock, chores: choresOf(storage, content, { isShared }), onError });
  const duties = new Duties({ nodes, census, sweeper, chores, signals, isShared, onError });
  await duties.start();
  await copies.start();
  await opens.start();
  await fileChanges.start();
  const beat = async (): Promise<void> => {
    await duties.beat();
    await copies.look();
    await opens.look();
    fileChanges.look();
  };
  const beats = beatEvery(options.beatMs === undefined ? BEAT_MS : options.beatMs, { beat, onError });
  const close = async (): Promise<void> => {
    await Promise.all([duties.finish(), copies.close(), opens.stop()]);
    beats.stop();
    fileChanges.stop();
    tellLeader.stop();
    // Where that fails, closing the engine does the same.
    await duties.leave().catch(onError);
  };
  return { storage, sweeper, nodes, beat, close };
}

const choresOf = (storage: Storage, content: ContentStore, { isShared }: { isShared: boolean }): readonly Chore[] => [
  { firstAfterMs: 0, everyMs: HOUR_MS, run: () => doWhatIsDue(storage) },
  new ExpiryWalk(storage),
  ...(isShared ? [recoveryOf(storage.engine, content)] : []),
];

/** A store that is this process's alone is recovered when it is opened; a shared one by the leader, beside all writers. */
const recoveryOf = (engine: Engine, content: ContentStore): Chore => ({
  firstAfterMs: FIRST_RECOVERY_AFTER_MS,
  everyMs: DAY_MS,
  run: (signal) => content.recover(placedExtents(engine, signal), { spareYoungerThanMs: RECOVERY_SPARES_MS }),
});

/** Of failures that follow each other only the first is reported: an engine may be away for long. */
function beatEvery(
  beatMs: number | null,
  { beat, onError }: { beat: () => Promise<void>; onError: (error: unknown) => void },
): { stop(): void } {
  if (beatMs === null) return { stop() {} };
  let isStopped = false;
  let hasFailed = false;
  const beatOnce = async (): Promise<void> => {
    try {
      await beat();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed && !isStopped) onError(error);
      hasFailed = true;
    }
  };
  const timer = setInterval(() => void beatOnce(), beatMs).unref();
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

/** Every extent in the content store that a record makes live. */
export async function* placedExtents(engine: Engine, signal?: AbortSignal): AsyncGenerator<PlacedExtent> {
  for await (const entries of scanSteps(freshSnapshots(engine), tableRange('X'), STEP_RECORDS)) {
    signal?.throwIfAborted();
    for (const { key, value } of entries) yield { id: idOf(key), ...decodeJson<PlacedRecord>(value) };
  }
}

/**
 * Ids grow across restarts, though the clock may have been set back: garbage is swept in their order. Those of several
 * nodes are unique, but in order only as far as the clocks agree; that order is a convenience, nothing rests on it.
 */
async function newestId(engine: Engine): Promise<string> {
  const snapshot = engine.snapshot();
  try {
    const newest = await Promise.all(
      ['G', 'I', 'J', 'K', 'L', 'X'].map((table) => snapshot.range(tableRange(table), { limit: 1, reverse: true })),
    );
    return newest.reduce((latest, [entry]) => (entry && idOf(entry.key) > latest ? idOf(entry.key) : latest), '');
  } finally {
    snapshot.close();
  }
}
