/**
 * What a node does by itself, every few seconds, and when another node says a word: it shows that it lives, tells the
 * leader what its readers hold, and leads when nobody else does.
 */
import type { Signals } from '../../signals/signals.ts';
import type { Sweeper } from '../extents/sweeper.ts';
import type { Census } from './census.ts';
import type { Chores } from './chores.ts';
import { NODES_TOPIC, type Nodes, SWEEP } from './nodes.ts';

/** Garbage was made on a node that does not lead. */
export const GARBAGE_TOPIC = 'garbage';

export class Duties {
  readonly #nodes: Nodes;
  readonly #census: Census;
  readonly #sweeper: Sweeper;
  readonly #chores: Chores;
  readonly #signals: Signals;
  readonly #isShared: boolean;
  readonly #onError: (error: unknown) => void;
  #unlisten: (() => void)[] = [];
  #hasLed = false;
  #hasLeft = false;

  constructor(options: {
    nodes: Nodes;
    census: Census;
    sweeper: Sweeper;
    chores: Chores;
    signals: Signals;
    isShared: boolean;
    onError: (error: unknown) => void;
  }) {
    this.#nodes = options.nodes;
    this.#census = options.census;
    this.#sweeper = options.sweeper;
    this.#chores = options.chores;
    this.#signals = options.signals;
    this.#isShared = options.isShared;
    this.#onError = options.onError;
  }

  /** Once it has resolved, this node is asked before anything that its readers may hold is given back. */
  async start(): Promise<void> {
    this.#unlisten = [
      await this.#signals.listen(NODES_TOPIC, (word) => this.#heard(word)),
      await this.#signals.listen(GARBAGE_TOPIC, () => {
        if (this.#nodes.seemsToLead(SWEEP)) this.#sweeper.wake();
      }),
    ];
    await this.#nodes.beat();
    await this.#lead();
  }

  /** Words may be lost, so all that they could have told is looked for with every beat as well. */
  async beat(): Promise<void> {
    this.#census.lookAgain('beat');
    await this.#nodes.beat();
    await Promise.all([this.#census.answer(), this.#lead()]);
  }

  /** Ends the work that it does as the leader. Until it leaves it answers another's asks. */
  async finish(): Promise<void> {
    await Promise.all([this.#chores.stop(), this.#sweeper.close()]);
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    for (const unlisten of this.#unlisten) unlisten();
    await this.#nodes.leave();
  }

  /** A word that it does not know may stand for any that was lost. */
  #heard(word: string): void {
    if (word !== 'ask') this.#census.lookAgain('word');
    if (word !== 'answer' && word !== 'left') this.#census.answer().catch(this.#report);
    if (word !== 'answer' && word !== 'ask') this.#lead().catch(this.#report);
  }

  readonly #report = (error: unknown): void => {
    if (!this.#hasLeft) this.#onError(error);
  };

  async #lead(): Promise<void> {
    const leads = await this.#nodes.lead(SWEEP);
    // Of garbage made by this process the sweeper knows; of another's, it may not have heard.
    if (leads && (this.#isShared || !this.#hasLed)) this.#sweeper.wake();
    this.#hasLed = leads;
    this.#chores.look({ leads });
  }
}
