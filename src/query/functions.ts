/**
 * The functions that are called by name, each with how many operands it takes and how it is made ready to run. Whatever
 * is asked of null, or of what is missing, gives null.
 * https://learn.microsoft.com/azure/storage/blobs/query-acceleration-sql-reference#string-functions
 */
import { areEqual } from './compare.ts';
import { toCount, toText, toTimestamp } from './convert.ts';
import { addDateParts, type DatePart, dateDifference, type ExtractPart, extractPart } from './date-parts.ts';
import type { Evaluator } from './evaluator.ts';
import { RecordError } from './query-error.ts';
import { characterCount, substring, type TrimSide, trim } from './text-functions.ts';
import { Timestamp } from './timestamp.ts';
import { formatTimestamp, parseTimestampPattern, type TimestampPattern } from './timestamp-format.ts';
import { isAbsent, type Value } from './value.ts';
import type { Work } from './work.ts';

export interface CallSurroundings {
  readonly work: Work;
  readonly nowMs: number;
}

export interface SqlFunction {
  readonly operandCountMin: number;
  readonly operandCountMax: number;
  prepare(operands: readonly Evaluator[], surroundings: CallSurroundings): Evaluator;
}

type Present = Exclude<Value, null | undefined>;

/** A function of values that are all there. */
const strict = (
  operandCountMin: number,
  operandCountMax: number,
  call: (values: readonly Present[], surroundings: CallSurroundings) => Value,
): SqlFunction => ({
  operandCountMin,
  operandCountMax,
  prepare: (operands, surroundings) => (row) => {
    const values: Present[] = [];
    for (const operand of operands) {
      const value = operand(row);
      if (isAbsent(value)) return null;
      values.push(value);
    }
    return call(values, surroundings);
  },
});

const at = (values: readonly Present[], index: number): Present => values[index] as Present;

/** A text operand, paid for. */
function textAt(values: readonly Present[], index: number, { work }: CallSurroundings): string {
  const text = toText(at(values, index));
  work.spend(text.length);
  return text;
}

const charLength = strict(1, 1, (values, surroundings) => BigInt(characterCount(textAt(values, 0, surroundings))));

const coalesce: SqlFunction = {
  operandCountMin: 1,
  operandCountMax: Number.MAX_SAFE_INTEGER,
  prepare: (operands) => (row) => {
    for (const operand of operands) {
      const value = operand(row);
      if (!isAbsent(value)) return value;
    }
    return null;
  },
};

const nullIf: SqlFunction = {
  operandCountMin: 2,
  operandCountMax: 2,
  prepare:
    ([first, second]) =>
    (row) => {
      const value = (first as Evaluator)(row);
      return areEqual(value, (second as Evaluator)(row)) === true ? null : value;
    },
};

const utcNow: SqlFunction = {
  operandCountMin: 0,
  operandCountMax: 0,
  prepare: (_operands, { nowMs }) => {
    const now = new Timestamp(nowMs);
    return () => now;
  },
};

const toStringFunction: SqlFunction = {
  operandCountMin: 1,
  operandCountMax: 2,
  prepare: (operands, surroundings) => {
    const patternOf = rememberingPattern();
    const call = strict(1, 2, (values) => {
      const timestamp = toTimestamp(at(values, 0));
      return values.length === 1 ? timestamp.toString() : formatTimestamp(patternOf(toText(at(values, 1))), timestamp);
    });
    return call.prepare(operands, surroundings);
  },
};

const PATTERN_LENGTH_MAX = 1000;

/** A pattern is nearly always a literal. */
function rememberingPattern(): (text: string) => TimestampPattern {
  let lastText: string | null = null;
  let last: TimestampPattern = [];
  return (text) => {
    if (text === lastText) return last;
    const pattern = text.length > PATTERN_LENGTH_MAX ? null : parseTimestampPattern(text);
    if (pattern === null) throw new RecordError('InvalidArgument', 'The format of TO_STRING is not valid.');
    [lastText, last] = [text, pattern];
    return pattern;
  };
}

export const FUNCTIONS: ReadonlyMap<string, SqlFunction> = new Map([
  ['char_length', charLength],
  ['character_length', charLength],
  ['lower', strict(1, 1, (values, surroundings) => textAt(values, 0, surroundings).toLowerCase())],
  ['upper', strict(1, 1, (values, surroundings) => textAt(values, 0, surroundings).toUpperCase())],
  [
    'substring',
    strict(2, 3, (values, surroundings) => {
      const count = values.length === 2 ? Number.MAX_SAFE_INTEGER : Math.max(0, toCount(at(values, 2)));
      return substring(textAt(values, 0, surroundings), toCount(at(values, 1)), count);
    }),
  ],
  [
    'trim',
    strict(3, 3, (values, surroundings) =>
      trim(textAt(values, 1, surroundings), at(values, 0) as TrimSide, textAt(values, 2, surroundings)),
    ),
  ],
  ['coalesce', coalesce],
  ['nullif', nullIf],
  ['utcnow', utcNow],
  ['to_timestamp', strict(1, 1, (values) => toTimestamp(at(values, 0)))],
  ['to_string', toStringFunction],
  [
    'date_add',
    strict(3, 3, (values) =>
      addDateParts(at(values, 0) as DatePart, toCount(at(values, 1)), toTimestamp(at(values, 2))),
    ),
  ],
  [
    'date_diff',
    strict(3, 3, (values) =>
      dateDifference(at(values, 0) as DatePart, toTimestamp(at(values, 1)), toTimestamp(at(values, 2))),
    ),
  ],
  ['extract', strict(2, 2, (values) => extractPart(at(values, 0) as ExtractPart, toTimestamp(at(values, 1))))],
]);
