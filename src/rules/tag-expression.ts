/**
 * The two expressions over blob index tags: the condition in `x-ms-if-tags` and the query in Find Blobs by Tags
 * (`where`). Names stand bare or in double quotes, values in single quotes; values compare by code units, and a
 * comparison with a tag that the blob lacks is false. A query is kept as one pair of bounds per name, which an index
 * can walk.
 * https://learn.microsoft.com/rest/api/storageservices/find-blobs-by-tags
 */
import type { Tags } from './tags.ts';

type Operator = '=' | '<>' | '<' | '<=' | '>' | '>=';

type Comparison = { readonly name: string; readonly operator: Operator; readonly value: string };

export type TagExpression =
  | Comparison
  | { readonly any: readonly TagExpression[] }
  | { readonly all: readonly TagExpression[] };

/** ANDs and ORs of a condition. */
export const TAG_OPERATION_COUNT_MAX = 10;
/** Far more than that many operations can need; a limit, because the parser goes down once for each. */
const PARENTHESIS_COUNT_MAX = 100;

// ---- tokens

type Token =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'name'; readonly text: string }
  | { readonly kind: 'operator'; readonly text: Operator }
  | { readonly kind: 'and' | 'or' | '(' | ')' | '@container' };

const TOKEN =
  /\s*(?:'(?<value>[^']*(?:''[^']*)*)'|"(?<quoted>[^"]+)"|(?<operator><>|<=|>=|[<>=])|(?<word>@?\w+)|(?<parenthesis>[()]))\s*/y;

function tokenize(text: string): Token[] | null {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN);
  while (pattern.lastIndex < text.length) {
    const groups = pattern.exec(text)?.groups;
    const token = groups === undefined ? null : tokenFrom(groups);
    if (token === null) return null;
    tokens.push(token);
  }
  return tokens;
}

function tokenFrom(groups: { readonly [group: string]: string | undefined }): Token | null {
  const { value, quoted, operator, word, parenthesis } = groups;
  if (value !== undefined) return { kind: 'value', text: value.replaceAll("''", "'") };
  if (quoted !== undefined) return { kind: 'name', text: quoted };
  if (operator !== undefined) return { kind: 'operator', text: operator as Operator };
  if (word === undefined) return { kind: parenthesis as '(' | ')' };
  const keyword = word.toLowerCase();
  if (keyword === 'and' || keyword === 'or' || keyword === '@container') return { kind: keyword };
  return word.startsWith('@') ? null : { kind: 'name', text: word };
}

class Tokens {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get atEnd(): boolean {
    return this.#next === this.#tokens.length;
  }

  /** The next token, if it is of this kind; and only then is it passed. */
  take<Kind extends Token['kind']>(kind: Kind): Extract<Token, { kind: Kind }> | null {
    const token = this.#tokens[this.#next];
    if (token?.kind !== kind) return null;
    this.#next += 1;
    return token as Extract<Token, { kind: Kind }>;
  }
}

function parseComparison(tokens: Tokens): Comparison | null {
  const name = tokens.take('name');
  const right = name === null ? null : parseRightSide(tokens);
  return name === null || right === null ? null : { name: name.text, ...right };
}

function parseRightSide(tokens: Tokens): { readonly operator: Operator; readonly value: string } | null {
  const operator = tokens.take('operator');
  const value = operator === null ? null : tokens.take('value');
  return operator === null || value === null ? null : { operator: operator.text, value: value.text };
}

// ---- conditions

export function parseTagCondition(text: string): TagExpression | null {
  const tokens = tokenize(text);
  if (tokens === null) return null;
  const count = (...kinds: Token['kind'][]) => tokens.filter(({ kind }) => kinds.includes(kind)).length;
  if (count('and', 'or') > TAG_OPERATION_COUNT_MAX || count('(') > PARENTHESIS_COUNT_MAX) return null;
  const left = new Tokens(tokens);
  const expression = parseAny(left);
  return left.atEnd ? expression : null;
}

/** AND binds tighter than OR. */
function parseAny(tokens: Tokens): TagExpression | null {
  const parts = parseJoined(tokens, 'or', parseAll);
  return parts === null ? null : (onlyOne(parts) ?? { any: parts });
}

function parseAll(tokens: Tokens): TagExpression | null {
  const parts = parseJoined(tokens, 'and', parseOperand);
  return parts === null ? null : (onlyOne(parts) ?? { all: parts });
}

function parseOperand(tokens: Tokens): TagExpression | null {
  if (tokens.take('(') === null) return parseComparison(tokens);
  const inner = parseAny(tokens);
  return tokens.take(')') === null ? null : inner;
}

function parseJoined<Part>(
  tokens: Tokens,
  by: 'and' | 'or',
  parsePart: (tokens: Tokens) => Part | null,
): Part[] | null {
  const parts: Part[] = [];
  do {
    const part = parsePart(tokens);
    if (part === null) return null;
    parts.push(part);
  } while (tokens.take(by) !== null);
  return parts;
}

function onlyOne<Part>(parts: readonly Part[]): Part | undefined {
  return parts.length === 1 ? parts[0] : undefined;
}

export function meetsTagCondition(expression: TagExpression, tags: Tags): boolean {
  if ('any' in expression) return expression.any.some((part) => meetsTagCondition(part, tags));
  if ('all' in expression) return expression.all.every((part) => meetsTagCondition(part, tags));
  const value = valueOf(tags, expression.name);
  return value !== undefined && compares(value, expression);
}

function valueOf(tags: Tags, name: string): string | undefined {
  return tags.find(([tagName]) => tagName === name)?.[1];
}

function compares(found: string, { operator, value }: Comparison): boolean {
  switch (operator) {
    case '=':
      return found === value;
    case '<>':
      return found !== value;
    case '<':
      return found < value;
    case '<=':
      return found <= value;
    case '>':
      return found > value;
    case '>=':
      return found >= value;
  }
}

// ---- queries

export type TagBound = { readonly value: string; readonly inclusive: boolean };

/** Null: no bound on this side. Bounds may contradict each other, and then no value lies between them. */
export type TagTerm = { readonly name: string; readonly min: TagBound | null; readonly max: TagBound | null };

/** At least one term, each with its own name. `container` null: in all of them. */
export type TagQuery = { readonly container: string | null; readonly terms: readonly TagTerm[] };

export function parseTagQuery(text: string): TagQuery | null {
  const tokens = tokenize(text);
  if (tokens === null) return null;
  const left = new Tokens(tokens);
  const parts = parseJoined(left, 'and', parseQueryPart);
  if (parts === null || !left.atEnd) return null;
  const containers = parts.flatMap((part) => ('container' in part ? [part.container] : []));
  const terms = parts.flatMap((part) => ('container' in part ? [] : [part]));
  if (containers.length > 1 || terms.length === 0) return null;
  return { container: containers[0] ?? null, terms: oneTermPerName(terms) };
}

function parseQueryPart(tokens: Tokens): TagTerm | { readonly container: string } | null {
  if (tokens.take('@container') !== null) {
    const right = parseRightSide(tokens);
    return right?.operator === '=' ? { container: right.value } : null;
  }
  const comparison = parseComparison(tokens);
  return comparison === null ? null : termFrom(comparison);
}

function termFrom({ name, operator, value }: Comparison): TagTerm | null {
  const bound = { value, inclusive: operator.endsWith('=') };
  switch (operator) {
    case '=':
      return { name, min: bound, max: bound };
    case '<>':
      return null;
    case '<':
    case '<=':
      return { name, min: null, max: bound };
    case '>':
    case '>=':
      return { name, min: bound, max: null };
  }
}

function oneTermPerName(terms: readonly TagTerm[]): TagTerm[] {
  const byName = new Map<string, TagTerm>();
  for (const term of terms) {
    const { min, max } = byName.get(term.name) ?? { min: null, max: null };
    byName.set(term.name, {
      name: term.name,
      min: narrower(min, term.min, (a, b) => a > b),
      max: narrower(max, term.max, (a, b) => a < b),
    });
  }
  return [...byName.values()];
}

function narrower(
  a: TagBound | null,
  b: TagBound | null,
  isFurtherIn: (a: string, b: string) => boolean,
): TagBound | null {
  if (a === null || b === null) return a ?? b;
  if (a.value === b.value) return { value: a.value, inclusive: a.inclusive && b.inclusive };
  return isFurtherIn(a.value, b.value) ? a : b;
}

/** The container is for the caller to compare. */
export function matchesTagQuery(query: TagQuery, tags: Tags): boolean {
  return query.terms.every((term) => {
    const value = valueOf(tags, term.name);
    return value !== undefined && liesWithin(term, value);
  });
}

function liesWithin({ min, max }: TagTerm, value: string): boolean {
  if (min !== null && (value < min.value || (value === min.value && !min.inclusive))) return false;
  return max === null || value < max.value || (value === max.value && max.inclusive);
}

/** Of the tags of a blob that matches, those that the query names. */
export function matchedTags(query: TagQuery, tags: Tags): Tags {
  return tags.filter(([name]) => query.terms.some((term) => term.name === name));
}
