/**
 * The volatile records by which nodes know of each other. Each lives as long as the node that wrote it last, so no node
 * ever writes another's: whoever has something to say says it in a record of its own.
 */
import type { Id } from '../../base/ids.ts';

/** A node that is alive. */
export interface NodeRecord {
  /** To the last ask that it has seen (census.ts). */
  readonly answer: Answer | null;
}

export interface Answer {
  readonly ask: Id;
  /** What its readers hold; `many`: more than it says. */
  readonly pinned: readonly Id[] | 'many';
}

/** A task that one node at a time does. */
export interface ClaimRecord {
  readonly holder: Id;
  /** New whenever a claim is taken: by it a holder knows that it has held it without a break. */
  readonly term: Id;
  /** What the holder asks of all others. */
  readonly ask: Id | null;
}
