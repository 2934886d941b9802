/** What an expression becomes before it runs: a function from a row to a value, with what it may use besides the row. */
import type { Aggregate, Column } from './syntax.ts';
import type { Value } from './value.ts';
import type { Work } from './work.ts';

/** A row is what its reader made of it: the fields of a line of text, or a value of JSON. */
export type Evaluator = (row: Value) => Value;

export interface Columns {
  /** Fails for a row that is too short; a member that JSON does not have is missing. */
  read(column: Column): Evaluator;
  /** Never fails: for IS NULL and IS MISSING. */
  probe(column: Column): Evaluator;
}

export interface Surroundings {
  readonly columns: Columns;
  /** Refuses where no aggregate may stand. */
  aggregate(aggregate: Aggregate): Evaluator;
  readonly work: Work;
  readonly nowMs: number;
}
