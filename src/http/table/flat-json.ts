/**
 * Reads a JSON object whose members are scalars, one after the other. JSON.parse would lose what matters here: how a
 * number is written (3 is an Int32, 3.0 a Double), and that a name stands there twice. One pass, in time that grows with
 * the text; a member is sliced out of it, so whoever keeps one for long keeps the text.
 */
import type { StorageError } from '../../service/storage-error.ts';
import { invalidInput, quoted } from './invalid-input.ts';

export type ScalarKind = 'string' | 'number' | 'true' | 'false' | 'null';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Between two steps it stands on one member. Throws a StorageError. */
export class FlatJson {
  readonly #text: string;
  #at = 0;
  #isFirst = true;

  name = '';
  kind: ScalarKind = 'null';
  /** What a string says, or how a number is written. */
  value = '';

  constructor(text: string) {
    this.#text = text;
    if (this.#skipSpace() !== OPENING_BRACE) throw invalidInput('The body must be a JSON object.');
    this.#at++;
  }

  /** False behind the last. */
  next(): boolean {
    const unit = this.#skipSpace();
    if (unit === CLOSING_BRACE) return this.#end();
    if (!this.#isFirst) {
      if (unit !== COMMA) throw this.#unexpected('a comma or a closing brace');
      this.#at++;
      this.#skipSpace();
    }
    this.#isFirst = false;
    this.name = this.#readString('the name of a property');
    if (this.#skipSpace() !== COLON) throw this.#unexpected('a colon');
    this.#at++;
    this.#readValue();
    return true;
  }

  #end(): false {
    this.#at++;
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected('nothing more');
    return false;
  }

  #readValue(): void {
    switch (this.#skipSpace()) {
      case QUOTE:
        this.kind = 'string';
        this.value = this.#readString('a string');
        return;
      case 0x74:
        return this.#readWord('true');
      case 0x66:
        return this.#readWord('false');
      case 0x6e:
        return this.#readWord('null');
      case OPENING_BRACE:
      case OPENING_BRACKET:
        throw invalidInput(
          `The property ${quoted(this.name)} is an object or an array, which a property of an entity cannot be.`,
        );
      default:
        this.kind = 'number';
        this.value = this.#readNumber();
    }
  }

  #readWord(word: 'true' | 'false' | 'null'): void {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value');
    this.#at += word.length;
    this.kind = word;
  }

  #readNumber(): string {
    NUMBER.lastIndex = this.#at;
    const number = NUMBER.exec(this.#text)?.[0];
    if (number === undefined) throw this.#unexpected('a value');
    this.#at += number.length;
    return number;
  }

  #readString(what: string): string {
    const text = this.#text;
    if (text.charCodeAt(this.#at) !== QUOTE) throw this.#unexpected(what);
    const start = this.#at + 1;
    let isEscaped = false;
    for (let at = start; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) {
        this.#at = at + 1;
        return isEscaped ? this.#unescape(start, at) : text.slice(start, at);
      }
      if (unit === BACKSLASH) {
        isEscaped = true;
        at++;
      } else if (unit < SPACE) {
        this.#at = at;
        throw this.#unexpected('no control character within a string');
      }
    }
    throw invalidInput('The body is not JSON: it ends within a string.');
  }

  #unescape(start: number, end: number): string {
    try {
      return JSON.parse(this.#text.slice(start - 1, end + 1)) as string;
    } catch {
      throw invalidInput(`The body is not JSON: the string at ${start - 1} has an unknown escape.`);
    }
  }

  /** The code unit behind it, which is NaN at the end. */
  #skipSpace(): number {
    for (; ; this.#at++) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit !== SPACE && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return unit;
    }
  }

  #unexpected(what: string): StorageError {
    return invalidInput(`The body is not JSON: there should be ${what} at ${this.#at}.`);
  }
}
