/** The text of a query as tokens, each with its position. White space separates them; there are no comments. */
import { parseNumber } from './convert.ts';
import { QueryRefused } from './query-error.ts';

export type Token = { readonly position: number } & (
  | { readonly kind: 'word'; readonly text: string }
  /** A name in double quotes. */
  | { readonly kind: 'quotedName'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'number'; readonly value: bigint | number }
  | { readonly kind: 'symbol'; readonly text: string }
  | { readonly kind: 'end' }
);

const SPACE = /\s+/y;
const WORD = /[\p{L}_$][\p{L}\p{N}\p{M}_$]*/uy;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SYMBOL = /<>|<=|>=|!=|\|\||[=<>+\-*/%(),.[\];]/y;
const QUOTED: Readonly<Record<string, RegExp>> = {
  "'": /'([^']*(?:''[^']*)*)'(?!')/y,
  '"': /"([^"]*(?:""[^"]*)*)"(?!")/y,
};

export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const { token, end } = readToken(text, at);
    tokens.push(token);
    at = skipSpace(text, end);
  }
  tokens.push({ kind: 'end', position: text.length + 1 });
  return tokens;
}

function skipSpace(text: string, at: number): number {
  return at + (matchAt(SPACE, text, at)?.[0].length ?? 0);
}

function readToken(text: string, at: number): { token: Token; end: number } {
  const position = at + 1;
  const quote = text.charAt(at);
  if (quote === "'" || quote === '"') {
    const match = matchAt(QUOTED[quote] as RegExp, text, at);
    if (match === null) throw new QueryRefused(`The ${quote} that opens here is never closed`, position);
    const inside = (match[1] as string).replaceAll(quote + quote, quote);
    return {
      token: { kind: quote === "'" ? 'string' : 'quotedName', text: inside, position },
      end: at + match[0].length,
    };
  }
  const number = matchAt(NUMBER, text, at);
  if (number !== null) return { token: readNumber(number[0], position), end: at + number[0].length };
  const word = matchAt(WORD, text, at);
  if (word !== null) return { token: { kind: 'word', text: word[0], position }, end: at + word[0].length };
  const symbol = matchAt(SYMBOL, text, at);
  if (symbol !== null) return { token: { kind: 'symbol', text: symbol[0], position }, end: at + symbol[0].length };
  throw new QueryRefused(
    `The character ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) as number))} is not expected`,
    position,
  );
}

function readNumber(text: string, position: number): Token {
  const value = parseNumber(text);
  if (value === null) throw new QueryRefused('The number is too large', position);
  return { kind: 'number', value, position };
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}
