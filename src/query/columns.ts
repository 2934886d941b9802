/**
 * Which part of a row a column is: a field, by number (`_2`) or by the name in the header, or a member of a JSON value.
 * A name may be qualified with that of the table. Without quotes case does not matter.
 */
import type { Columns, Evaluator } from './evaluator.ts';
import { QueryRefused, RecordError } from './query-error.ts';
import type { Column, PathStep, Query } from './syntax.ts';
import type { JsonObject, Value } from './value.ts';

/** Names by field; null: there is no header; empty: there is nothing at all, not even the header. */
export type Header = readonly string[] | null;

const ORDINAL = /^_([1-9]\d{0,8})$/;

export function delimitedColumns(query: Query, header: Header): Columns {
  const probe = (column: Column): Evaluator => {
    const index = fieldIndex(column, query, header);
    return (row) => (row as readonly Value[])[index];
  };
  return {
    probe,
    read(column) {
      const field = probe(column);
      return (row) => {
        const value = field(row);
        if (value === undefined) throw new RecordError('InvalidColumnOrdinal', 'Invalid column ordinal.');
        return value;
      };
    },
  };
}

export function jsonColumns(query: Query): Columns {
  const read = (column: Column): Evaluator => {
    const getters = withoutTable(column, query).map(stepInto);
    const [only] = getters;
    if (only !== undefined && getters.length === 1) return only;
    return (row) => getters.reduce<Value>((value, getter) => getter(value), row);
  };
  return { read, probe: read };
}

/** What a column is called in the answer; null: by its place. */
export function columnName(column: Column, { isDelimited }: { isDelimited: boolean }): string | null {
  const last = column.path.at(-1);
  if (last?.kind !== 'member' || (isDelimited && !last.isQuoted && ORDINAL.test(last.name))) return null;
  return last.name;
}

function withoutTable({ path }: Column, { tableName }: Query): readonly PathStep[] {
  const [first, second] = path;
  const isQualified = second?.kind === 'member' && first?.kind === 'member' && first.name.toLowerCase() === tableName;
  return isQualified ? path.slice(1) : path;
}

function fieldIndex(column: Column, query: Query, header: Header): number {
  const [step, ...rest] = withoutTable(column, query);
  if (step?.kind !== 'member' || rest.length > 0) {
    throw new QueryRefused('A field of delimited text has no members', column.position);
  }
  const ordinal = ORDINAL.exec(step.name)?.[1];
  const named = header === null || (ordinal !== undefined && !step.isQuoted) ? -1 : findName(header, step);
  if (named !== -1) return named;
  if (ordinal !== undefined) return Number(ordinal) - 1;
  if (header === null) {
    throw new QueryRefused('Without headers, the columns are named _1, _2 and so on', column.position);
  }
  if (header.length === 0) return 0;
  throw new QueryRefused(`There is no column "${step.name}"`, column.position);
}

function findName(header: readonly string[], { name, isQuoted }: PathStep & { kind: 'member' }): number {
  const exact = header.indexOf(name);
  if (exact !== -1 || isQuoted) return exact;
  const lower = name.toLowerCase();
  return header.findIndex((field) => field.toLowerCase() === lower);
}

export function stepInto(step: PathStep): (value: Value) => Value {
  switch (step.kind) {
    case 'member':
      return memberOf(step);
    case 'index':
      return (value) => (Array.isArray(value) ? (value as readonly Value[])[step.index] : undefined);
    case 'each':
      throw new TypeError('[*] is not allowed in the path of a column');
  }
}

function memberOf({ name, isQuoted }: PathStep & { kind: 'member' }): (value: Value) => Value {
  const lower = name.toLowerCase();
  return (value) => {
    if (!(value instanceof Map)) return undefined;
    const members: JsonObject = value;
    const exact = members.get(name);
    if (exact !== undefined || isQuoted) return exact;
    for (const [key, member] of members) if (key.toLowerCase() === lower) return member;
    return undefined;
  };
}
