/** What looks like a function: aggregates, functions with a grammar of their own (TRIM, EXTRACT, CAST), CASE, the rest. */
import type { CastTarget } from './convert.ts';
import { DATE_PARTS, EXTRACT_PARTS } from './date-parts.ts';
import { FUNCTIONS } from './functions.ts';
import type { ExpressionParser } from './parse-expression.ts';
import { QueryRefused } from './query-error.ts';
import { AGGREGATES, type AggregateName, type Expression } from './syntax.ts';
import type { TokenCursor } from './token-cursor.ts';

/** At `NAME (`. */
export function parseCall(parser: ExpressionParser): Expression {
  const { cursor } = parser;
  const token = cursor.take();
  const name = token.kind === 'word' ? token.text.toLowerCase() : '';
  cursor.expectSymbol('(');
  const aggregate = aggregateNamed(name);
  if (aggregate !== null) return parseAggregate(parser, aggregate, token.position);
  if (name === 'trim') return parseTrim(parser, token.position);
  const called = FUNCTIONS.get(name);
  if (called === undefined) throw new QueryRefused(`There is no function ${name.toUpperCase()}`, token.position);
  const operands = parseOperands(parser, name);
  if (operands.length < called.operandCountMin || operands.length > called.operandCountMax) {
    throw new QueryRefused(`${name.toUpperCase()} is not called with ${operands.length} operands`, token.position);
  }
  return parser.built({ kind: 'call', name, operands, position: token.position }, operands);
}

function parseOperands(parser: ExpressionParser, name: string): Expression[] {
  const { cursor } = parser;
  if (name === 'extract') {
    const part = parseWordOf(cursor, EXTRACT_PARTS);
    cursor.expectWord('FROM');
    return [part, ...parser.parseList()];
  }
  if (name === 'date_add' || name === 'date_diff') {
    const part = parseWordOf(cursor, DATE_PARTS);
    cursor.expectSymbol(',');
    return [part, ...parser.parseList()];
  }
  return cursor.acceptSymbol(')') ? [] : parser.parseList();
}

/** One of these words, bare or as a string. */
function parseWordOf(cursor: TokenCursor, words: readonly string[]): Expression {
  const { token } = cursor;
  const word = token.kind === 'word' || token.kind === 'string' ? token.text.toLowerCase() : '';
  if (!words.includes(word)) throw cursor.refusal(`one of ${words.join(', ')}`);
  cursor.take();
  return { kind: 'literal', value: word };
}

function aggregateNamed(name: string): AggregateName | null {
  if (name === 'average') return 'avg';
  return AGGREGATES.find((aggregate) => aggregate === name) ?? null;
}

function parseAggregate(parser: ExpressionParser, name: AggregateName, position: number): Expression {
  const { cursor } = parser;
  if (name === 'count' && cursor.acceptSymbol('*')) {
    cursor.expectSymbol(')');
    return { kind: 'aggregate', name, operand: null, position };
  }
  const operand = parser.parse();
  cursor.expectSymbol(')');
  return parser.built({ kind: 'aggregate', name, operand, position }, [operand]);
}

const SIDES = ['LEADING', 'TRAILING', 'BOTH'] as const;

/** `text`, or `[LEADING|TRAILING|BOTH] [characters] FROM text`: as a call of trim with side, text and characters. */
function parseTrim(parser: ExpressionParser, position: number): Expression {
  const { cursor } = parser;
  // A side is followed by something; a column of that name by the end.
  const side = SIDES.find((word) => cursor.isWord(word) && !cursor.isSymbol(')', 1));
  if (side !== undefined) cursor.take();
  const before = cursor.isWord('FROM') ? null : parser.parse();
  const text = cursor.acceptWord('FROM') ? parser.parse() : before;
  if (text === null) throw cursor.refusal('a text to trim');
  cursor.expectSymbol(')');
  const characters: Expression = before === null || before === text ? { kind: 'literal', value: ' ' } : before;
  const operands = [{ kind: 'literal', value: (side ?? 'BOTH').toLowerCase() } as const, text, characters];
  return parser.built({ kind: 'call', name: 'trim', operands, position }, operands);
}

/** Behind CASE. */
export function parseCase(parser: ExpressionParser): Expression {
  const { cursor } = parser;
  const subject = cursor.isWord('WHEN') ? null : parser.parse();
  const branches: { when: Expression; result: Expression }[] = [];
  while (cursor.acceptWord('WHEN')) {
    const when = parser.parse();
    cursor.expectWord('THEN');
    branches.push({ when, result: parser.parse() });
  }
  if (branches.length === 0) throw cursor.refusal('WHEN');
  const otherwise = cursor.acceptWord('ELSE') ? parser.parse() : null;
  cursor.expectWord('END');
  const children = branches.flatMap(({ when, result }) => [when, result]);
  for (const child of [subject, otherwise]) if (child !== null) children.push(child);
  return parser.built({ kind: 'case', subject, branches, otherwise }, children);
}

/** Behind CAST. */
export function parseCast(parser: ExpressionParser): Expression {
  const { cursor } = parser;
  cursor.expectSymbol('(');
  const operand = parser.parse();
  cursor.expectWord('AS');
  const target = parseCastTarget(cursor);
  cursor.expectSymbol(')');
  return parser.built({ kind: 'cast', operand, target }, [operand]);
}

const CAST_TYPES: ReadonlyMap<string, CastTarget['type']> = new Map([
  ['INT', 'int'],
  ['INTEGER', 'int'],
  ['BIGINT', 'int'],
  ['FLOAT', 'float'],
  ['DOUBLE', 'float'],
  ['REAL', 'float'],
  ['NUMERIC', 'decimal'],
  ['DECIMAL', 'decimal'],
  ['STRING', 'string'],
  ['CHAR', 'string'],
  ['VARCHAR', 'string'],
  ['TIMESTAMP', 'timestamp'],
  ['BOOL', 'boolean'],
  ['BOOLEAN', 'boolean'],
]);

const SCALE_MAX = 38;

function parseCastTarget(cursor: TokenCursor): CastTarget {
  const { token } = cursor;
  const type = token.kind === 'word' ? CAST_TYPES.get(token.text.toUpperCase()) : undefined;
  if (type === undefined) throw cursor.refusal('a type (INT, FLOAT, DECIMAL, STRING, TIMESTAMP or BOOLEAN)');
  cursor.take();
  if (type === 'string') return { type, lengthMax: parseSizes(cursor, 1)[0] ?? null };
  if (type !== 'decimal') return { type };
  const [precision = null, scale] = parseSizes(cursor, 2);
  // T-SQL: digits behind the point are none where only the precision is given.
  return { type, scale: scale ?? (precision === null ? null : 0) };
}

/** `(10, 2)`, or nothing. */
function parseSizes(cursor: TokenCursor, countMax: number): number[] {
  const sizes: number[] = [];
  if (!cursor.acceptSymbol('(')) return sizes;
  do {
    const { token } = cursor;
    const limit = countMax === 1 ? Number.MAX_SAFE_INTEGER : SCALE_MAX;
    if (token.kind !== 'number' || typeof token.value !== 'bigint' || token.value > limit)
      throw cursor.refusal('a size');
    cursor.take();
    sizes.push(Number(token.value));
  } while (sizes.length < countMax && cursor.acceptSymbol(','));
  cursor.expectSymbol(')');
  return sizes;
}
