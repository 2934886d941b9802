/**
 * The text of a `$filter` as words: names, literals and parentheses, read one by one from the left. What can be none of
 * these is a `broken` word, with a sentence about it.
 */
import { type EdmValue, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, parseGuid, parseTicks } from './edm.ts';

/** `text` is as written, `position` counts from one. */
export type Word = { readonly text: string; readonly position: number } & (
  | { readonly kind: '(' | ')' | 'end' }
  /** `isCalled`: followed by a parenthesis. */
  | { readonly kind: 'name'; readonly isCalled: boolean }
  | { readonly kind: 'literal'; readonly literal: EdmValue }
  | { readonly kind: 'broken'; readonly problem: string }
);

export class FilterWords {
  readonly #text: string;
  #word: Word;

  constructor(text: string) {
    this.#text = text;
    this.#word = readWord(text, skipSpace(text, 0));
  }

  /** The word that is next. */
  get next(): Word {
    return this.#word;
  }

  take(): Word {
    const word = this.#word;
    this.#word = readWord(this.#text, skipSpace(this.#text, word.position - 1 + word.text.length));
    return word;
  }

  /** Whether it was this name; only then is it taken. */
  takeName(name: string): boolean {
    const isIt = this.#word.kind === 'name' && this.#word.text === name;
    if (isIt) this.take();
    return isIt;
  }
}

const SPACE = /\s*/y;
/** An identifier of C#, as names of properties are. */
const NAME = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}]*/uy;
/** With all that stands close to it, so that `12abc` is one wrong word and not two good ones. */
const NUMBER = /-?(?:\d[\d.]*(?:[eE][+-]?\d+)?[\p{L}\p{N}_.]*|(?:INF|Infinity)(?![\p{L}\p{N}_]))/uy;

const skipSpace = (text: string, at: number): number => at + textAt(SPACE, text, at).length;

function readWord(text: string, at: number): Word {
  const position = at + 1;
  const first = text.charAt(at);
  if (first === '') return { kind: 'end', text: '', position };
  if (first === '(' || first === ')') return { kind: first, text: first, position };
  if (first === "'") return readQuoted(text, at, '');
  const number = textAt(NUMBER, text, at);
  if (number !== '') return readNumber(number, position);
  const name = textAt(NAME, text, at);
  if (name === '') return readStray(text, at);
  return text.charAt(at + name.length) === "'" ? readQuoted(text, at, name) : readName(text, at, name);
}

function readName(text: string, at: number, name: string): Word {
  const word = { text: name, position: at + 1 };
  if (name === 'true' || name === 'false') {
    return { kind: 'literal', literal: { type: 'Edm.Boolean', value: name === 'true' }, ...word };
  }
  if (name === 'NaN') return { kind: 'literal', literal: { type: 'Edm.Double', value: Number.NaN }, ...word };
  return { kind: 'name', isCalled: text.charAt(skipSpace(text, at + name.length)) === '(', ...word };
}

function readStray(text: string, at: number): Word {
  const stray = String.fromCodePoint(text.codePointAt(at) as number);
  const hint = '=<>!'.includes(stray) ? ' Comparisons are written eq, ne, gt, ge, lt or le.' : '';
  return broken(stray, at + 1, `is not expected.${hint}`);
}

const broken = (text: string, position: number, problem: string): Word => ({
  kind: 'broken',
  text,
  position,
  problem: `${shown(text)} at position ${position} of the filter ${problem}`,
});

const SHOWN_LENGTH_MAX = 40;

/** A word in a sentence to the caller. */
export const shown = (text: string): string =>
  text === '' ? 'the end' : text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;

// ---- numbers

const INTEGER = /^-?\d+$/;
const LONG = /^-?\d+[lL]$/;
const DOUBLE = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[dD]?$/;
const INFINITY = /^-?(?:INF|Infinity)$/;

function readNumber(text: string, position: number): Word {
  const literal = parseNumber(text);
  if (typeof literal === 'string') return broken(text, position, literal);
  return { kind: 'literal', literal, text, position };
}

/** Or what is wrong with it. */
function parseNumber(text: string): EdmValue | string {
  if (INTEGER.test(text)) return smallestKind(BigInt(text));
  if (LONG.test(text)) {
    const value = BigInt(text.slice(0, -1));
    return isInt64(value) ? { type: 'Edm.Int64', value } : 'does not fit into an Edm.Int64.';
  }
  if (INFINITY.test(text)) return { type: 'Edm.Double', value: text.startsWith('-') ? -Infinity : Infinity };
  return DOUBLE.test(text) ? toDouble(Number(text.replace(/d$/i, ''))) : 'is not a number.';
}

function smallestKind(value: bigint): EdmValue | string {
  if (value >= INT32_MIN && value <= INT32_MAX) return { type: 'Edm.Int32', value: Number(value) };
  return isInt64(value) ? { type: 'Edm.Int64', value } : toDouble(Number(value));
}

const isInt64 = (value: bigint): boolean => value >= INT64_MIN && value <= INT64_MAX;

const toDouble = (value: number): EdmValue | string =>
  Number.isFinite(value) ? { type: 'Edm.Double', value } : 'does not fit into an Edm.Double.';

// ---- literals in quotes

/** `'text'`, or with a prefix that says its kind: `guid'…'`. */
function readQuoted(text: string, at: number, prefix: string): Word {
  const position = at + 1;
  const start = at + prefix.length + 1;
  const end = closingQuote(text, start);
  if (end < 0) return broken(text.slice(at), position, 'opens with a quote that is never closed.');
  const written = text.slice(at, end + 1);
  const literal = parseQuoted(prefix, text.slice(start, end).replaceAll("''", "'"));
  if (typeof literal === 'string') return broken(written, position, literal);
  return { kind: 'literal', literal, text: written, position };
}

/** A doubled quote is one of the text. */
function closingQuote(text: string, start: number): number {
  let at = text.indexOf("'", start);
  while (at >= 0 && text.charAt(at + 1) === "'") at = text.indexOf("'", at + 2);
  return at;
}

/** Or what is wrong with it. */
function parseQuoted(prefix: string, text: string): EdmValue | string {
  switch (prefix) {
    case '':
      return { type: 'Edm.String', value: text };
    case 'datetime':
      return parseTime(text);
    case 'guid': {
      const value = parseGuid(text);
      if (value === null) return "is not a GUID, which has the form guid'c9da6455-213d-42c9-9a79-3e9149a57833'.";
      return { type: 'Edm.Guid', value };
    }
    case 'X':
    case 'binary':
      return parseHex(text);
    default:
      return 'is not a literal: only datetime, guid, X or binary may come directly before a quote.';
  }
}

const BEFORE_ALL_TICKS = 0n;
const BEHIND_ALL_TICKS = INT64_MAX;

function parseTime(text: string): EdmValue | string {
  const ticks = parseTicks(text);
  if (ticks === 'malformed') return "is not a time, which has the form datetime'2024-05-01T12:34:56Z'.";
  if (ticks !== 'outOfRange') return { type: 'Edm.DateTime', value: ticks };
  // No entity has such a time, so where it lies is all that counts. Programs write the year 1 or 9999 for "always".
  return { type: 'Edm.DateTime', value: text < '5' ? BEFORE_ALL_TICKS : BEHIND_ALL_TICKS };
}

function parseHex(text: string): EdmValue | string {
  if (!/^[0-9a-f]*$/i.test(text) || text.length % 2 !== 0) {
    return "is not a binary, which has two hexadecimal digits for each byte: X'0AFF'.";
  }
  const value = Uint8Array.from({ length: text.length / 2 }, (_, at) =>
    Number.parseInt(text.slice(at * 2, at * 2 + 2), 16),
  );
  return { type: 'Edm.Binary', value };
}

function textAt(form: RegExp, text: string, at: number): string {
  form.lastIndex = at;
  return form.exec(text)?.[0] ?? '';
}
