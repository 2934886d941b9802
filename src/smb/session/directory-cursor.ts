/**
 * How far a client has come with listing a directory through an open of it. Where to go on is a name and nothing that was
 * read before: what is removed or added meanwhile is missing or there as it should be. `.` and `..` come first.
 */
import type { NamePattern } from '../../rules/name-pattern.ts';

const DOTS = ['.', '..'] as const;
export type Dots = (typeof DOTS)[number];

export class DirectoryCursor {
  pattern: NamePattern;
  /** The folded name to go on from; null: the first. */
  from: string | null = null;
  /** Nothing is left. */
  isOver = false;
  /** Something was told since it began. */
  hasTold = false;
  #dots: readonly Dots[];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(pattern: NamePattern) {
    this.pattern = pattern;
    this.#dots = dotsOf(pattern);
  }

  /** From the beginning, with this pattern. */
  restart(pattern: NamePattern): void {
    this.pattern = pattern;
    this.from = null;
    this.isOver = false;
    this.hasTold = false;
    this.#dots = dotsOf(pattern);
  }

  /** Those that are still to be told. */
  get dots(): readonly Dots[] {
    return this.#dots;
  }

  passDots(): void {
    this.#dots = this.#dots.slice(1);
  }

  /** One request after the other: each goes on where the one before has ended. */
  inTurn<T>(body: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(body);
    this.#turn = result.catch(() => {});
    return result;
  }
}

/** To wildcards both look the same. */
const dotsOf = ({ isName, matches }: NamePattern): Dots[] => DOTS.filter((dots) => matches(isName ? dots : '.'));
