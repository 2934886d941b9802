/**
 * One JSON value from its text. Integers keep all their digits, and a comma may stand behind the last member, as the
 * service has it. Written here because JSON.parse rounds integers, and bounds neither depth nor what `__proto__` does.
 */
import { RecordError } from './query-error.ts';
import type { Value } from './value.ts';

const DEPTH_MAX = 200;
const INTEGER_DIGITS_MAX = 40;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;

/** `offsetBytes`: where the text stands in the blob, for what is said of an error in it. */
export function parseJsonValue(text: string, offsetBytes: number): Value {
  return new JsonParser(text, offsetBytes).parse();
}

/** A fatal error in the words of the service. */
export function unexpectedToken(token: string, offsetBytes: number, expecting: string): RecordError {
  const what = token === '' ? 'Unexpected end' : `Unexpected token '${token}'`;
  return new RecordError('ParseError', `${what} at [byte: ${offsetBytes}]. Expecting ${expecting}.`, { isFatal: true });
}

/** Space, tab, line feed and carriage return. */
export const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

class JsonParser {
  readonly #text: string;
  readonly #offsetBytes: number;
  #at = 0;

  constructor(text: string, offsetBytes: number) {
    this.#text = text;
    this.#offsetBytes = offsetBytes;
  }

  parse(): Value {
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected('the end of the record');
    return value;
  }

  #value(depth: number): Value {
    this.#skipSpace();
    if (depth > DEPTH_MAX) throw new RecordError('ParseError', 'JSON is nested too deeply.', { isFatal: true });
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): Value {
    const members = new Map<string, Value>();
    this.#at++;
    while (!this.#accept('}')) {
      if (this.#text[this.#at] !== '"') throw this.#unexpected(`tokens '"', or '}'`);
      const name = this.#string();
      if (!this.#accept(':')) throw this.#unexpected("token ':'");
      members.set(name, this.#value(depth + 1));
      if (this.#accept(',')) continue;
      if (this.#accept('}')) break;
      throw this.#unexpected("tokens ',', or '}'");
    }
    return members;
  }

  #array(depth: number): Value {
    const items: Value[] = [];
    this.#at++;
    while (!this.#accept(']')) {
      items.push(this.#value(depth + 1));
      if (this.#accept(',')) continue;
      if (this.#accept(']')) break;
      throw this.#unexpected("tokens ',', or ']'");
    }
    return items;
  }

  #string(): string {
    const from = this.#at + 1;
    let end = this.#text.indexOf('"', from);
    while (end !== -1 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    if (end === -1) {
      this.#at = this.#text.length;
      throw this.#unexpected(`token '"'`);
    }
    const inside = this.#text.slice(from, end);
    const text = inside.includes('\\') ? this.#unescape(inside) : inside;
    this.#at = end + 1;
    return text;
  }

  #isEscaped(at: number): boolean {
    let from = at;
    while (this.#text[from - 1] === '\\') from--;
    return (at - from) % 2 === 1;
  }

  #unescape(inside: string): string {
    try {
      return JSON.parse(`"${inside}"`) as string;
    } catch (error) {
      if (error instanceof SyntaxError) throw this.#unexpected('a string');
      throw error;
    }
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value');
    this.#at += word.length;
    return value;
  }

  #number(): Value {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (match === null) throw this.#unexpected('a value');
    const [digits, fraction, exponent] = match;
    const isInteger = fraction === undefined && exponent === undefined && digits.length <= INTEGER_DIGITS_MAX;
    const value = isInteger ? BigInt(digits) : Number(digits);
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
      throw this.#unexpected('a number that is not too large');
    }
    this.#at += digits.length;
    return value;
  }

  #accept(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    this.#skipSpace();
    return true;
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #unexpected(expecting: string): RecordError {
    const token = this.#at < this.#text.length ? String.fromCodePoint(this.#text.codePointAt(this.#at) as number) : '';
    return unexpectedToken(token, this.#offsetBytes + Buffer.byteLength(this.#text.slice(0, this.#at)), expecting);
  }
}
