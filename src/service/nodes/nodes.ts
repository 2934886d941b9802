/**
 * The nodes that work on one store, as far as they must know of each other: who is alive, and who does what only one may
 * do at a time. Both are volatile records, which the engine removes when their node dies (engine.ts), so that nothing
 * here measures time: `beat` is called every few seconds.
 */
import type { Id, IdSource } from '../../base/ids.ts';
import type { Engine, Entry, Snapshot } from '../../engine/engine.ts';
import { type Transaction, transact } from '../../engine/transact.ts';
import type { Signals } from '../../signals/signals.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import { claimKey, nodeIdOf, nodeKey, nodeRange } from '../records/keys.ts';
import type { Answer, ClaimRecord, NodeRecord } from './node-record.ts';

/** What one node does for all: giving back what changes let go of, and whatever else is done now and then. */
export const SWEEP = 'sweep';

/** The topic on which nodes speak to each other, and what they say: the leader asks, a node has answered or leaves. */
export const NODES_TOPIC = 'nodes';
type Word = 'ask' | 'answer' | 'left';

/** More than there can be (an engine gives out 256 slots). */
const NODE_COUNT_MAX = 1_000;

export interface OtherNode extends NodeRecord {
  readonly id: Id;
}

interface HeldClaim {
  readonly term: Id;
  /** How many beats this node had done when it got the claim. */
  readonly sinceBeat: number;
}

export class Nodes {
  readonly id: Id;
  readonly #engine: Engine;
  readonly #signals: Signals;
  readonly #ids: IdSource;
  #answer: Answer | null = null;
  #beatCount = 0;
  /** The claims that this node held when it last looked. */
  readonly #claims = new Map<string, HeldClaim>();
  #hasLeft = false;
  /** The last of the writes, which follow each other: none may come behind the leaving. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(options: { engine: Engine; signals: Signals; ids: IdSource }) {
    this.id = options.ids.next();
    this.#ids = options.ids;
    this.#engine = options.engine;
    this.#signals = options.signals;
  }

  /**
   * Joins, the first time. Afterwards the record is put again whether or not it is still there: it may have gone with a
   * session that the engine lost, or be about to.
   */
  async beat(): Promise<void> {
    await this.#inTurn(() => this.#putRecord());
    this.#beatCount++;
  }

  async answer(answer: Answer): Promise<void> {
    await this.#inTurn(async () => {
      this.#answer = answer;
      await this.#putRecord();
    });
    this.#say('answer');
  }

  #say(word: Word): void {
    void this.#signals.send(NODES_TOPIC, word);
  }

  async others(): Promise<OtherNode[]> {
    return this.#inSnapshot((snapshot) => this.#othersIn(snapshot));
  }

  /**
   * The others, if at the very moment of looking this node leads, without a break since `lead` said so; or, while an ask
   * is under way, since then. Null otherwise.
   */
  async othersOfLeader(task: string, ask?: Id): Promise<OtherNode[] | null> {
    return this.#inSnapshot(async (snapshot) => {
      const [claim, others] = await Promise.all([claimIn(snapshot, task), this.#othersIn(snapshot)]);
      return this.#isOwn(task, claim) && (ask === undefined || claim?.ask === ask) ? others : null;
    });
  }

  /** Whether this node has the claim on the task; takes it if nobody has. It is free again when the node leaves or dies. */
  async lead(task: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const taken: ClaimRecord = { holder: this.id, term: this.#ids.next(), ask: null };
      const claim = await transact(this.#engine, async (tx) => {
        const found = await loadClaim(tx, task);
        if (found !== null || this.#hasLeft) return found;
        putClaim(tx, task, taken);
        return taken;
      });
      if (claim?.holder !== this.id) this.#claims.delete(task);
      else if (!this.#isOwn(task, claim)) {
        this.#claims.set(task, { term: claim.term, sinceBeat: this.#beatCount });
      }
      return this.#claims.has(task);
    });
  }

  /** What `lead` found last: enough to spare work in vain, and no more. */
  seemsToLead(task: string): boolean {
    return this.#claims.has(task);
  }

  /** Whether by that it has led for so many beats of its own. */
  hasLedFor(task: string, beatCount: number): boolean {
    const held = this.#claims.get(task);
    return held !== undefined && this.#beatCount - held.sinceBeat >= beatCount;
  }

  /**
   * Whether this node has had the claim ever since `lead` said so, as a part of the transaction: what that writes is not
   * written by a node that lost the claim meanwhile, however long it was paused.
   */
  async stillLeads(tx: Transaction, task: string): Promise<boolean> {
    return this.#isOwn(task, await loadClaim(tx, task));
  }

  /** Asks all others something; false: somebody else leads, and this node's ask must not stand in the way of theirs. */
  async ask(task: string, ask: Id): Promise<boolean> {
    const isAsked = await this.#inTurn(() =>
      transact(this.#engine, async (tx) => {
        const held = this.#claims.get(task);
        if (held === undefined || !(await this.stillLeads(tx, task))) return false;
        putClaim(tx, task, { holder: this.id, term: held.term, ask });
        return true;
      }),
    );
    if (isAsked) this.#say('ask');
    return isAsked;
  }

  /** What the leader asks of this node; null as well if that is this node itself. */
  async askedBy(task: string): Promise<Id | null> {
    const claim = await this.#inSnapshot((snapshot) => claimIn(snapshot, task));
    return claim === null || claim.holder === this.id ? null : claim.ask;
  }

  /** Gives up everything that this node holds, and says goodbye. Whatever is called later does nothing. */
  async leave(): Promise<void> {
    await this.#inTurn(async () => {
      this.#hasLeft = true;
      await transact(this.#engine, async (tx) => {
        tx.delete(nodeKey(this.id));
        for (const task of this.#claims.keys()) {
          if ((await loadClaim(tx, task))?.holder === this.id) tx.delete(claimKey(task));
        }
      });
      this.#claims.clear();
    });
    await this.#signals.send(NODES_TOPIC, 'left' satisfies Word);
  }

  async #putRecord(): Promise<void> {
    if (this.#hasLeft) return;
    const record: NodeRecord = { answer: this.#answer };
    await transact(this.#engine, async (tx) => tx.put(nodeKey(this.id), encodeJson(record)));
  }

  #isOwn(task: string, claim: ClaimRecord | null): boolean {
    return claim !== null && claim.term === this.#claims.get(task)?.term;
  }

  #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const turn = this.#lastWrite.then(write);
    this.#lastWrite = turn.catch(() => {});
    return turn;
  }

  async #inSnapshot<T>(look: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const snapshot = this.#engine.snapshot();
    return look(snapshot).finally(() => snapshot.close());
  }

  async #othersIn(snapshot: Snapshot): Promise<OtherNode[]> {
    const entries = await snapshot.range(nodeRange(), { limit: NODE_COUNT_MAX });
    return entries.map(nodeOf).filter(({ id }) => id !== this.id);
  }
}

const nodeOf = ({ key, value }: Entry): OtherNode => ({ id: nodeIdOf(key), ...decodeJson<NodeRecord>(value) });

async function claimIn(snapshot: Snapshot, task: string): Promise<ClaimRecord | null> {
  const [entry] = await snapshot.get([claimKey(task)]);
  return entry ? decodeJson<ClaimRecord>(entry.value) : null;
}

async function loadClaim(tx: Transaction, task: string): Promise<ClaimRecord | null> {
  const value = await tx.get(claimKey(task));
  return value === null ? null : decodeJson<ClaimRecord>(value);
}

function putClaim(tx: Transaction, task: string, claim: ClaimRecord): void {
  tx.put(claimKey(task), encodeJson(claim));
}
