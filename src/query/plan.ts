/**
 * A query made ready for data of one format: which rows it wants, and what it gives for each of them or, if it consists
 * of aggregates, for all of them together. Here it is refused if it does not fit the data.
 */
import { type Accumulator, accumulatorFor } from './aggregates.ts';
import { columnName, delimitedColumns, type Header, jsonColumns } from './columns.ts';
import { compile } from './compile.ts';
import { toBoolean } from './convert.ts';
import type { Columns, Evaluator, Surroundings } from './evaluator.ts';
import { QueryRefused } from './query-error.ts';
import type { Aggregate, Query, SelectItem } from './syntax.ts';
import { isAbsent, type Value } from './value.ts';
import type { Work } from './work.ts';

export interface OutputRow {
  readonly names: readonly string[];
  readonly values: readonly Value[];
}

export interface Plan {
  wants(row: Value): boolean;
  /** What a wanted row gives; null: nothing yet. */
  take(row: Value): OutputRow | null;
  /** What there is when all rows were taken. */
  finish(): OutputRow | null;
  /** Of the columns, where all rows have the same. */
  readonly names: readonly string[] | null;
}

export interface PlanOptions {
  readonly isDelimited: boolean;
  readonly header: Header;
  readonly nowMs: number;
  readonly work: Work;
}

export function makePlan(query: Query, options: PlanOptions): Plan {
  if (options.isDelimited && query.tablePath.length > 0) {
    throw new QueryRefused('Delimited text has no paths: the table is BlobStorage', query.position);
  }
  if (!options.isDelimited && query.select.kind === 'split') {
    throw new QueryRefused('sys.split is for delimited text', query.position);
  }
  const columns = options.isDelimited ? delimitedColumns(query, options.header) : jsonColumns(query);
  const wants = compileWhere(query, { ...options, columns, aggregate: refuseAggregate });
  if (query.select.kind === 'items') return { wants, ...planItems(query.select.items, columns, options) };
  return { wants, ...planAll(query, options) };
}

function compileWhere({ where }: Query, surroundings: Surroundings): (row: Value) => boolean {
  if (where === null) return () => true;
  const condition = compile(where, surroundings);
  return (row) => {
    const value = condition(row);
    return !isAbsent(value) && toBoolean(value);
  };
}

function refuseAggregate({ name, position }: Aggregate): never {
  throw new QueryRefused(`${name.toUpperCase()} is not allowed here`, position);
}

type Projection = Omit<Plan, 'wants'>;

function planAll(query: Query, { isDelimited, header }: PlanOptions): Projection {
  const take = isDelimited ? fieldsOf(header ?? []) : (row: Value) => membersOf(row, query.tablePath.length > 0);
  return { take, finish: () => null, names: header };
}

function fieldsOf(header: readonly string[]): (row: Value) => OutputRow {
  const names = [...header];
  return (row) => {
    const values = row as readonly Value[];
    while (names.length < values.length) names.push(`_${names.length + 1}`);
    return { names, values };
  };
}

/** A value that is no object has no members; as an item of an array it is at least itself. */
function membersOf(row: Value, isItem: boolean): OutputRow {
  if (row instanceof Map) return { names: [...row.keys()] as string[], values: [...row.values()] as Value[] };
  const values = Array.isArray(row) ? (row as readonly Value[]) : [row];
  if (!isItem) return { names: [], values: [] };
  return { names: values.map((_, index) => `_${index + 1}`), values };
}

function planItems(items: readonly SelectItem[], columns: Columns, options: PlanOptions): Projection {
  const names = items.map((item, index) => itemName(item, options) ?? `_${index + 1}`);
  const slots: Slot[] = [];
  const plain = { ...options, columns, aggregate: refuseAggregate };
  const evaluators = items.map(({ expression }) =>
    compile(expression, { ...plain, aggregate: (aggregate) => addSlot(slots, aggregate, plain) }),
  );
  if (slots.length === 0) {
    const take = (row: Value): OutputRow => ({ names, values: evaluators.map((evaluator) => evaluator(row)) });
    return { take, finish: () => null, names };
  }
  // Once more, since only now it is known that columns may stand in aggregates and nowhere else.
  for (const { expression } of items) {
    compile(expression, { ...plain, columns: NO_COLUMNS, aggregate: () => () => null });
  }
  return {
    take: (row) => accumulate(slots, row),
    finish: () => ({ names, values: evaluators.map((evaluator) => evaluator(undefined)) }),
    names,
  };
}

function itemName({ expression, alias }: SelectItem, options: PlanOptions): string | null {
  return alias ?? (expression.kind === 'column' ? columnName(expression, options) : null);
}

/** One aggregate of the query, and what it has seen. */
interface Slot {
  readonly operand: Evaluator;
  readonly accumulator: Accumulator;
}

function addSlot(slots: Slot[], { name, operand }: Aggregate, surroundings: Surroundings): Evaluator {
  const accumulator = accumulatorFor(name);
  slots.push({ operand: operand === null ? () => true : compile(operand, surroundings), accumulator });
  return () => accumulator.result();
}

/** A row that fails in one of them counts in none. */
function accumulate(slots: readonly Slot[], row: Value): null {
  const values = slots.map(({ operand }) => operand(row));
  for (const [index, { accumulator }] of slots.entries()) accumulator.add(values[index]);
  return null;
}

const NO_COLUMNS: Columns = { read: refuseColumn, probe: refuseColumn };

function refuseColumn({ position }: { position: number }): never {
  throw new QueryRefused('Next to an aggregate, a column is allowed only inside an aggregate', position);
}
