/** Names and paths: a column, a member of it (`warehouses[0].longitude`), the rows of a table (`[*].warehouses[*]`). */
import { QueryRefused } from './query-error.ts';
import type { PathStep } from './syntax.ts';
import type { TokenCursor } from './token-cursor.ts';

const STEPS_MAX = 100;

/** Words that name a column only in double quotes. */
const RESERVED: ReadonlySet<string> = new Set([
  'AND',
  'AS',
  'BETWEEN',
  'CASE',
  'CAST',
  'ELSE',
  'END',
  'FALSE',
  'FROM',
  'IN',
  'IS',
  'LIKE',
  'LIMIT',
  'NOT',
  'NULL',
  'OR',
  'SELECT',
  'THEN',
  'TRUE',
  'WHEN',
  'WHERE',
]);

export function parseName(cursor: TokenCursor): PathStep & { kind: 'member' } {
  const { token } = cursor;
  const isName = token.kind === 'quotedName' || (token.kind === 'word' && !RESERVED.has(token.text.toUpperCase()));
  if (!isName) throw cursor.refusal('a value or the name of a column');
  cursor.take();
  return { kind: 'member', name: token.text, isQuoted: token.kind === 'quotedName' };
}

export const isNameNext = ({ token }: TokenCursor): boolean =>
  token.kind === 'quotedName' || (token.kind === 'word' && !RESERVED.has(token.text.toUpperCase()));

export function parsePath(cursor: TokenCursor): PathStep[] {
  return [parseName(cursor), ...parseSteps(cursor, { withEach: false })];
}

/** `.name`, `["name"]`, `[2]` and, in the descriptor of a table, `[*]`; perhaps none. */
export function parseSteps(cursor: TokenCursor, { withEach }: { withEach: boolean }): PathStep[] {
  const steps: PathStep[] = [];
  for (;;) {
    if (steps.length > STEPS_MAX) throw new QueryRefused('The path has too many steps', cursor.position);
    if (cursor.acceptSymbol('.')) steps.push(parseMember(cursor));
    else if (cursor.acceptSymbol('[')) steps.push(parseBracket(cursor, withEach));
    else return steps;
  }
}

/** Behind a dot every word is a name. */
function parseMember(cursor: TokenCursor): PathStep {
  const { token } = cursor;
  if (token.kind !== 'word' && token.kind !== 'quotedName') throw cursor.refusal('a name');
  cursor.take();
  return { kind: 'member', name: token.text, isQuoted: token.kind === 'quotedName' };
}

function parseBracket(cursor: TokenCursor, withEach: boolean): PathStep {
  const step = parseInBracket(cursor, withEach);
  cursor.expectSymbol(']');
  return step;
}

function parseInBracket(cursor: TokenCursor, withEach: boolean): PathStep {
  if (withEach && cursor.acceptSymbol('*')) return { kind: 'each' };
  const { token } = cursor;
  if (token.kind === 'quotedName' || token.kind === 'string') {
    cursor.take();
    return { kind: 'member', name: token.text, isQuoted: true };
  }
  if (token.kind !== 'number' || typeof token.value !== 'bigint' || token.value > Number.MAX_SAFE_INTEGER) {
    throw cursor.refusal(withEach ? '* or an index' : 'an index');
  }
  cursor.take();
  return { kind: 'index', index: Number(token.value) };
}
