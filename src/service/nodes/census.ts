/**
 * What readers hold, on all nodes: the leader asks, every node waits until its readers have pinned what they will read and
 * then says what is pinned. A reader that begins after its node saw the ask looks at a later state than the one the
 * leader gathered its garbage from, and so does one on a node that joins later: neither can come to know that garbage.
 *
 * A node that the engine gave up for dead is not waited for. If it lives after all, its readers may find bytes gone and
 * fail; they never get wrong ones, since no placement is used twice.
 */
import type { Id, IdSource } from '../../base/ids.ts';
import type { Readers } from '../extents/readers.ts';
import type { Answer } from './node-record.ts';
import { type Nodes, SWEEP } from './nodes.ts';

/** More pins than these are not told one by one. */
const PINNED_COUNT_MAX = 10_000;
/** Beats after which the leader goes on without sweeping: a minute or more. Look-ups take milliseconds. */
const WAITED_BEATS_MAX = 20;

/**
 * A database that crashes may forget all nodes, and all claims with them. The nodes are back after their next beat, so a
 * new leader gives everyone the time for one. Theirs are as far apart as its own.
 */
export const SETTLING_BEATS = 3;

/** What must not be given back, as of a moment after the garbage was gathered. */
export interface Pins {
  has(id: Id): boolean;
  readonly nodesAsked: number;
}

/** Why the leader looks at the answers again. */
type Cause = 'word' | 'beat' | 'closing';

export class Census {
  readonly #nodes: Nodes;
  readonly #readers: Readers;
  readonly #ids: IdSource;
  readonly #settlingBeats: number;
  readonly #onError: (error: unknown) => void;
  #hear: ((cause: Cause) => void) | null = null;
  #closing = false;
  #answered: Id | null = null;
  #answering: Promise<void> | null = null;
  #isAskedAgain = false;

  constructor(options: {
    nodes: Nodes;
    readers: Readers;
    ids: IdSource;
    /** 0 where there can be no other nodes. */
    settlingBeats: number;
    onError: (error: unknown) => void;
  }) {
    this.#nodes = options.nodes;
    this.#readers = options.readers;
    this.#ids = options.ids;
    this.#settlingBeats = options.settlingBeats;
    this.#onError = options.onError;
  }

  /** For the leader, one at a time. Null: there is no telling now, as it does not lead (yet) or somebody is silent. */
  async take(): Promise<Pins | null> {
    // After the garbage was gathered: whoever joins later than this cannot know of it.
    const others = await this.#nodes.othersOfLeader(SWEEP);
    if (others === null || !this.#nodes.hasLedFor(SWEEP, this.#settlingBeats)) return null;
    const answers = others.length === 0 ? [] : await this.#ask(others.map(({ id }) => id));
    if (answers === null) return null;
    await this.#readers.settled();
    return this.#pinsOf(answers);
  }

  /** There may be new answers; or time has passed. */
  lookAgain(cause: 'word' | 'beat'): void {
    this.#hear?.(cause);
  }

  /** Ends a census under way; later ones end at once. */
  close(): void {
    this.#closing = true;
    this.#hear?.('closing');
  }

  /** For every node: answers the leader, if that has asked something new. */
  async answer(): Promise<void> {
    this.#isAskedAgain = true;
    this.#answering ??= this.#answerAll();
    return this.#answering;
  }

  async #answerAll(): Promise<void> {
    try {
      while (this.#isAskedAgain) {
        this.#isAskedAgain = false;
        await this.#answerOne();
      }
    } finally {
      this.#answering = null;
    }
  }

  async #answerOne(): Promise<void> {
    const ask = await this.#nodes.askedBy(SWEEP);
    if (ask === null || ask === this.#answered) return;
    await this.#readers.settled();
    await this.#nodes.answer({ ask, pinned: this.#readers.pinned(PINNED_COUNT_MAX) ?? 'many' });
    this.#answered = ask;
  }

  /** The answers of all these nodes but those that died meanwhile. */
  async #ask(nodeIds: readonly Id[]): Promise<Answer[] | null> {
    const ask = this.#ids.next();
    if (!(await this.#nodes.ask(SWEEP, ask))) return null;
    const waitedFor = new Set(nodeIds);
    const answers: Answer[] = [];
    for (let beats = 0; ; ) {
      // Before the look: an answer that just misses it is heard of.
      const cause = this.#nextCause();
      const others = await this.#nodes.othersOfLeader(SWEEP, ask);
      if (others === null) return null;
      for (const id of waitedFor) {
        const other = others.find((one) => one.id === id);
        if (other !== undefined && other.answer?.ask !== ask) continue;
        waitedFor.delete(id);
        if (other?.answer) answers.push(other.answer);
      }
      if (waitedFor.size === 0) return answers;
      const heard = await cause;
      if (heard === 'beat') beats++;
      if (heard === 'closing') return null;
      if (beats >= WAITED_BEATS_MAX) {
        const nodes = `node${waitedFor.size === 1 ? '' : 's'} ${[...waitedFor].join(', ')}`;
        this.#onError(new Error(`no answer from ${nodes}: sweeping is paused`));
        return null;
      }
    }
  }

  #nextCause(): Promise<Cause> {
    return new Promise((resolve) => {
      this.#hear = resolve;
      if (this.#closing) resolve('closing');
    });
  }

  #pinsOf(answers: readonly Answer[]): Pins {
    const elsewhere = new Set<Id>();
    let isAnything = false;
    for (const { pinned } of answers) {
      if (pinned === 'many') isAnything = true;
      else for (const id of pinned) elsewhere.add(id);
    }
    return {
      has: (id) => isAnything || elsewhere.has(id) || this.#readers.isPinned(id),
      nodesAsked: answers.length,
    };
  }
}
