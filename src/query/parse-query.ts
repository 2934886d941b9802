/**
 * A whole query: `SELECT … FROM BlobStorage … [WHERE …] [LIMIT …]`. What the format of the data decides (whether columns
 * have names, for one) is judged later, by plan.ts.
 */
import { tokenize } from './lexer.ts';
import { ExpressionParser } from './parse-expression.ts';
import { isNameNext, parseName, parseSteps } from './parse-path.ts';
import { QueryRefused } from './query-error.ts';
import type { PathStep, Query, SelectItem } from './syntax.ts';
import { TokenCursor } from './token-cursor.ts';

/** By the reference; `SELECT *` gives more. */
const ITEM_COUNT_MAX = 49;
/** The second is what clients of Data Lake Storage write. */
const TABLES: ReadonlySet<string> = new Set(['blobstorage', 'datalakestorage']);
const SPLIT_BYTES_MIN = 10 * 1024 * 1024;

export function parseQuery(text: string): Query {
  const cursor = new TokenCursor(tokenize(text));
  const parser = new ExpressionParser(cursor);
  cursor.expectWord('SELECT');
  const select = parseSelect(parser);
  cursor.expectWord('FROM');
  const { position } = cursor;
  const table = parseTable(cursor);
  const where = cursor.acceptWord('WHERE') ? parser.parse() : null;
  const limitCount = cursor.acceptWord('LIMIT') ? parseWhole(cursor, 'a number of rows') : null;
  cursor.acceptSymbol(';');
  if (cursor.token.kind !== 'end') throw cursor.refusal('WHERE, LIMIT or the end');
  const query: Query = { select, ...table, where, limitCount, position, textLength: text.length };
  refuseMoreThanSplit(query);
  return query;
}

function parseSelect(parser: ExpressionParser): Query['select'] {
  const { cursor } = parser;
  if (cursor.acceptSymbol('*')) return { kind: 'all' };
  if (cursor.isWord('SYS') && cursor.isSymbol('.', 1) && cursor.isWord('SPLIT', 2)) return parseSplit(cursor);
  const items = [parseItem(parser)];
  while (cursor.acceptSymbol(',')) {
    if (items.length === ITEM_COUNT_MAX) {
      throw new QueryRefused(`Up to ${ITEM_COUNT_MAX} columns can be selected; SELECT * gives all`, cursor.position);
    }
    items.push(parseItem(parser));
  }
  return { kind: 'items', items };
}

function parseItem(parser: ExpressionParser): SelectItem {
  const expression = parser.parse();
  const hasAlias = parser.cursor.acceptWord('AS') || isNameNext(parser.cursor);
  return { expression, alias: hasAlias ? parseName(parser.cursor).name : null };
}

function parseSplit(cursor: TokenCursor): Query['select'] {
  for (let count = 0; count < 3; count++) cursor.take();
  cursor.expectSymbol('(');
  const { position } = cursor;
  const sizeBytes = parseWhole(cursor, 'a size in bytes');
  if (sizeBytes < SPLIT_BYTES_MIN)
    throw new QueryRefused(`A split must have at least ${SPLIT_BYTES_MIN} bytes`, position);
  cursor.expectSymbol(')');
  return { kind: 'split', sizeBytes };
}

function refuseMoreThanSplit({ select, where, limitCount, tablePath, position }: Query): void {
  if (select.kind !== 'split' || (where === null && limitCount === null && tablePath.length === 0)) return;
  throw new QueryRefused('sys.split is for a whole blob, without a path, WHERE or LIMIT', position);
}

function parseTable(cursor: TokenCursor): { tablePath: readonly PathStep[]; tableName: string } {
  const { token } = cursor;
  const isTable = (token.kind === 'word' || token.kind === 'quotedName') && TABLES.has(token.text.toLowerCase());
  if (!isTable) throw cursor.refusal('BlobStorage');
  cursor.take();
  const steps = parseSteps(cursor, { withEach: true });
  // All records, which the table by itself is as well.
  const tablePath = steps[0]?.kind === 'each' ? steps.slice(1) : steps;
  if (tablePath[0]?.kind === 'index' || tablePath[0]?.kind === 'each') {
    throw new QueryRefused('BlobStorage[*] may be followed by a name', token.position);
  }
  const hasAlias = cursor.acceptWord('AS') || isNameNext(cursor);
  return { tablePath, tableName: (hasAlias ? parseName(cursor).name : token.text).toLowerCase() };
}

function parseWhole(cursor: TokenCursor, wanted: string): number {
  const { token } = cursor;
  if (token.kind !== 'number' || typeof token.value !== 'bigint' || token.value > Number.MAX_SAFE_INTEGER) {
    throw cursor.refusal(wanted);
  }
  cursor.take();
  return Number(token.value);
}
