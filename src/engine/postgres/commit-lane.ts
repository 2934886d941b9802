/**
 * The one way by which this node's commits reach the database: a group at a time, each one transaction in one round trip.
 * A commit is judged here against what was accepted before it, so that writers of one key share a group, and by the
 * database against what other nodes did. Whatever becomes of a connection, a group takes effect once or not at all, and
 * nobody is told otherwise: after a lost answer the session's fence shuts the group out, and its mark tells what became
 * of it (session.ts).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, type Database, describeFailure, isContended, isLost } from '../../postgres/database.ts';
import { type Batch, EngineUnavailable, type Outcome } from '../engine.ts';
import { Group } from './group.ts';
import { TABLES } from './keys.ts';
import {
  type Changes,
  foresee,
  NO_CHANGES,
  Pending,
  withChangesOf,
  withFollowers,
  withoutChangesOf,
} from './pending.ts';
import type { Recent } from './recent.ts';
import { beginSession, fenceSession, leaving, type Session } from './session.ts';
import { BEGIN_COMMITTING, COMMIT, checkAndMark, type GroupMark, remove, tune, upsert } from './statements.ts';

/** A group that is not answered by then has lost its connection. */
const ANSWER_LIMIT_MS = 15_000;
/** So long commits wait for a database that went away; after that they, and new ones, are refused until it is back. */
const OUTAGE_LIMIT_MS = 5_000;
const RECONNECT_PAUSE_MS = 200;
const CONTENTION_PAUSE_MS = 2;
const CONTENTION_PAUSE_MAX_MS = 100;
const VERSIONS_PER_SESSION = 2 ** 32;

/** The session's mark could not be set though no check failed: others gave this node up for dead. */
class Fenced extends Error {}

export class CommitLane {
  readonly #database: Database;
  readonly #recent: Recent;
  #connection: Connection | null = null;
  #session: Session | null = null;
  #queue: Pending[] = [];
  #sent: Pending[] = [];
  /** What the accepted commits change, sent or not. */
  #changes: Changes = NO_CHANGES;
  /** The last group that was sent, and the last that is known to be over. */
  #groupCount = 0;
  #finishedGroup = 0;
  #versionCount = 0;
  #renewedAtMs = 0;
  #isRenewing = false;
  #running: Promise<void> | null = null;
  /** Why commits are refused. */
  #refusal: EngineUnavailable | null = null;
  #isDraining = false;
  #isClosing = false;
  /** How often the group under way was taken back because another node's came first. */
  #contentionCount = 0;

  private constructor(database: Database, recent: Recent) {
    this.#database = database;
    this.#recent = recent;
  }

  static async open(database: Database, recent: Recent): Promise<CommitLane> {
    const lane = new CommitLane(database, recent);
    await lane.#connect();
    return lane;
  }

  get session(): Session {
    return this.#session as Session;
  }

  get changes(): Changes {
    return this.#changes;
  }

  /** For whoever reads: whether groups are under way, and otherwise the last one of all. */
  groupsNow(): { session: number } | { lastGroup: number } {
    return this.#changes.size > 0 ? { session: this.session.id } : { lastGroup: this.#finishedGroup };
  }

  commit(batch: Batch): Promise<Outcome> {
    if (this.#isDraining) return Promise.reject(new EngineUnavailable('the engine is closed'));
    if (this.#refusal !== null) return Promise.reject(this.#refusal);
    const foreseen = foresee(this.#changes, this.#recent, batch);
    if (foreseen === 'conflict') return Promise.resolve('conflict');
    const version = this.session.id * VERSIONS_PER_SESSION + ++this.#versionCount;
    const pending = new Pending(batch, { version, isLikely: foreseen === 'likely' });
    this.#queue.push(pending);
    this.#changes = withChangesOf(this.#changes, pending);
    this.#runSoon();
    return pending.outcome;
  }

  /** Resolves once everything accepted so far is over, one way or the other. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#sent, ...this.#queue].map((pending) => pending.outcome));
  }

  /** Keeps the session alive, unless commits have just done so; also brings a lost connection back. */
  renew(afterMs: number): void {
    if (performance.now() - this.#renewedAtMs < afterMs) return;
    this.#isRenewing = true;
    this.#runSoon();
  }

  /** Ends after what was accepted; leaves the session in good order where the database can be reached. */
  async close(): Promise<void> {
    this.#isDraining = true;
    await this.idle();
    this.#isClosing = true;
    await this.#running;
    if (this.#connection === null || this.#connection.isDead) return;
    for (const statement of leaving(this.session)) await this.#connection.query(statement).catch(() => {});
    await this.#connection.close();
  }

  /** At the end of the event loop's turn, so that all commits of this turn share the group. */
  #runSoon(): void {
    this.#running ??= new Promise((resolve) => {
      setImmediate(() => {
        void this.#run().then(() => {
          this.#running = null;
          resolve();
          if (this.#hasWork()) this.#runSoon();
        });
      });
    });
  }

  #hasWork(): boolean {
    return (this.#queue.length > 0 || this.#isRenewing) && !this.#isClosing;
  }

  async #run(): Promise<void> {
    while (this.#hasWork()) {
      const renews = this.#isRenewing;
      this.#isRenewing = false;
      const group = new Group();
      for (let next = this.#queue[0]; next !== undefined && group.takes(next); next = this.#queue[0]) {
        this.#queue.shift();
        group.add(next);
      }
      this.#groupCount++;
      await this.#bringThrough(group, this.#groupCount, { renews });
    }
  }

  /** Sends the group, without those of its commits that lost, until all of it has taken effect or is given up. */
  async #bringThrough(first: Group, number: number, options: { renews: boolean }): Promise<void> {
    let group = first;
    this.#contentionCount = 0;
    this.#sent = [...group.commits, ...group.lost];
    for (const pending of this.#sent) pending.group = number;
    this.#conflict(group.lost);
    while (this.#sent.length > 0 || first.commits.length === 0) {
      try {
        const failed = await this.#send(group, number, options);
        if (failed.size === 0) break;
        this.#conflict(withFollowers(failed, [...group.commits, ...this.#queue]));
        group = Group.of(this.#sent);
        this.#conflict(group.lost);
      } catch (error) {
        if (!(await this.#recover(error, number))) continue;
        break;
      }
    }
    this.#finish(number);
  }

  /**
   * The commits whose checks did not hold; without any, the group has taken effect. Volatile records alone are marked
   * beside the session's row, which they do not renew.
   */
  async #send(group: Group, number: number, { renews }: { renews: boolean }): Promise<Set<Pending>> {
    const connection = await this.#connected();
    const mark: GroupMark = { session: this.session, group: number, durable: group.isDurable || renews };
    const begun = connection.query(BEGIN_COMMITTING);
    const checked = connection.query(checkAndMark(group.checks, mark));
    const written: Promise<unknown>[] = [];
    for (const table of TABLES) {
      const { puts, deletes } = group.writes(table);
      if (puts.length > 0) written.push(connection.query(upsert(table, puts, mark)));
      if (deletes.length > 0) written.push(connection.query(remove(table, deletes, mark)));
    }
    const committed = connection.run(COMMIT);
    for (const result of await Promise.allSettled([begun, checked, ...written, committed])) {
      if (result.status === 'rejected') throw result.reason;
    }
    if ((await committed).command !== 'COMMIT')
      throw new Error('the database rolled a transaction back without giving a reason');
    const rows = await checked;
    const lost = group.failedBy(rows);
    const isMarked = rows.some(([kind, count]) => Number(kind) === 0 && Number(count) === 1);
    if (lost.size === 0 && !isMarked) throw new Fenced('other nodes have declared this node dead');
    if (isMarked && mark.durable) this.#renewedAtMs = performance.now();
    return lost;
  }

  /** After a failure: whether the group has taken effect all the same, or is given up; else it is sent again. */
  async #recover(error: unknown, number: number): Promise<boolean> {
    if (isContended(error)) {
      const pauseMs = Math.min(CONTENTION_PAUSE_MS * 2 ** this.#contentionCount++, CONTENTION_PAUSE_MAX_MS);
      await delay(Math.random() * pauseMs);
      return false;
    }
    if (!(error instanceof Fenced) && !isLost(error)) {
      this.#giveUp(this.#sent, unavailable(error));
      return true;
    }
    this.#connection?.destroy();
    this.#connection = null;
    return (await this.#connect()) >= number || this.#sent.length === 0;
  }

  async #connected(): Promise<Connection> {
    if (this.#connection === null || this.#connection.isDead) await this.#connect();
    return this.#connection as Connection;
  }

  /**
   * Opens the connection, again and again until it succeeds, and shuts out what was sent on the last one. Resolves with
   * the last group that has taken effect.
   */
  async #connect(): Promise<number> {
    const sinceMs = performance.now();
    const isFirst = this.#session === null;
    for (;;) {
      let connection: Connection | null = null;
      try {
        connection = await this.#database.connect(ANSWER_LIMIT_MS);
        await tune(connection);
        const lastGroup = await this.#takeUpSession(connection);
        this.#connection = connection;
        this.#refusal = null;
        return lastGroup;
      } catch (error) {
        connection?.destroy();
        if (isFirst) throw error;
        if (this.#isClosing || performance.now() - sinceMs >= OUTAGE_LIMIT_MS) this.#refuse(error);
        if (this.#isClosing) return this.#groupCount;
        await delay(RECONNECT_PAUSE_MS * (0.5 + Math.random()));
      }
    }
  }

  async #takeUpSession(connection: Connection): Promise<number> {
    if (this.#session === null) {
      this.#session = await beginSession(connection, this.#finishedGroup);
      return this.#finishedGroup;
    }
    const { session, lastGroup } = await fenceSession(connection, this.#session);
    this.#session = session ?? (await beginSession(connection, this.#finishedGroup));
    return lastGroup;
  }

  /** Everything that waits fails, and everything that comes, until the database is back. */
  #refuse(error: unknown): void {
    this.#refusal ??= unavailable(error);
    this.#giveUp([...this.#sent, ...this.#queue], this.#refusal);
  }

  #conflict(lost: readonly Pending[]): void {
    if (lost.length === 0) return;
    this.#drop(lost);
    // Something that this node had seen is no longer so.
    this.#recent.forget();
    for (const pending of lost) pending.settle('conflict');
  }

  #giveUp(pendings: readonly Pending[], error: EngineUnavailable): void {
    this.#drop(pendings);
    for (const pending of pendings) pending.fail(error);
  }

  /** These changes never come: what they hid is seen again. */
  #drop(gone: readonly Pending[]): void {
    const left = new Set(gone);
    this.#sent = this.#sent.filter((pending) => !left.has(pending));
    this.#queue = this.#queue.filter((pending) => !left.has(pending));
    this.#changes = [...this.#sent, ...this.#queue].reduce(withChangesOf, NO_CHANGES);
  }

  #finish(number: number): void {
    const committed = this.#sent;
    this.#sent = [];
    this.#finishedGroup = number;
    this.#changes = withoutChangesOf(this.#changes, committed);
    const moment = this.#recent.nextMoment();
    for (const { batch, version } of committed) {
      for (const { key, value } of batch.puts) this.#recent.note(key, { key, version, value }, moment);
      for (const key of batch.deletes) this.#recent.note(key, null, moment);
    }
    for (const pending of committed) pending.settle('committed');
  }
}

const unavailable = (error: unknown): EngineUnavailable =>
  error instanceof EngineUnavailable ? error : new EngineUnavailable(describeFailure(error), { cause: error });
