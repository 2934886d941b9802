/** Where the parser stands in the tokens of a query, and what it says when it finds something else than it needs. */
import type { Token } from './lexer.ts';
import { QueryRefused } from './query-error.ts';

const SHOWN_LENGTH_MAX = 40;

export class TokenCursor {
  readonly #tokens: readonly Token[];
  #at = 0;

  /** The last token is the end. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get token(): Token {
    return this.#tokens[this.#at] as Token;
  }

  get position(): number {
    return this.token.position;
  }

  take(): Token {
    const { token } = this;
    if (token.kind !== 'end') this.#at++;
    return token;
  }

  /** Whether the word stands here, or so many tokens further on. */
  isWord(word: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === 'word' && token.text.toUpperCase() === word;
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === 'symbol' && token.text === symbol;
  }

  acceptWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.#at++;
    return true;
  }

  acceptSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.#at++;
    return true;
  }

  /** The first of these symbols that stands here. */
  acceptOneOf<T extends string>(symbols: readonly T[]): T | null {
    return symbols.find((symbol) => this.acceptSymbol(symbol)) ?? null;
  }

  expectWord(word: string): void {
    if (!this.acceptWord(word)) throw this.refusal(word);
  }

  expectSymbol(symbol: string): void {
    if (!this.acceptSymbol(symbol)) throw this.refusal(`"${symbol}"`);
  }

  refusal(wanted: string): QueryRefused {
    return new QueryRefused(`Expected ${wanted}, found ${shown(this.token)}`, this.position);
  }
}

function shown(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'the end';
    case 'number':
      return String(token.value);
    case 'string':
      return `'${shortened(token.text)}'`;
    default:
      return `"${shortened(token.text)}"`;
  }
}

const shortened = (text: string): string =>
  text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
