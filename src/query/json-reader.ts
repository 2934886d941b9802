/**
 * JSON: values one after the other, each a record, with white space or a record separator between them; or one array,
 * whose items then are the records. A record may go over several lines, so its end is where its braces close.
 */
import type { JsonFormat } from './formats.ts';
import { isSpace, parseJsonValue, unexpectedToken } from './json-value.ts';
import { type FoundRecord, RecordReader } from './record-reader.ts';

const code = (character: string): number => character.charCodeAt(0);
const QUOTE = code('"');
const BACKSLASH = code('\\');
const COMMA = code(',');
const [OPEN_BRACE, CLOSE_BRACE] = [code('{'), code('}')];
const [OPEN_BRACKET, CLOSE_BRACKET] = [code('['), code(']')];

export class JsonReader extends RecordReader {
  readonly #separator: Buffer;
  #isInArray = false;
  /** Whether the last thing read was a value, and not what may stand before one. */
  #isBehindValue = false;

  constructor(format: JsonFormat) {
    super();
    this.#separator = Buffer.from(format.recordSeparator);
  }

  protected override find(): FoundRecord | null {
    if (!this.#skipToValue()) return null;
    this.recordAtBytes = this.bytesAt(this.at);
    const end = this.#endOfValue();
    if (end === null) return null;
    this.#isBehindValue = true;
    const text = this.decode(this.at, end, end);
    return { value: parseJsonValue(text, this.bytesAt(this.at)), text, end };
  }

  #skipToValue(): boolean {
    for (; this.at < this.buffer.length; this.at++) {
      const byte = this.buffer[this.at] as number;
      if (!this.#isInArray && this.#isSeparatorAt(this.at)) {
        this.at += this.#separator.length - 1;
        this.#isBehindValue = false;
      } else if (!isSpace(byte) && !this.#passBracketOrComma(byte)) {
        if (this.#isBehindValue && (this.#isInArray || byte !== OPEN_BRACE)) throw this.#unexpected();
        return true;
      }
    }
    if (this.isFinished && this.#isInArray) throw this.#unexpected();
    return false;
  }

  /** The brackets of the array whose items are records, and the commas between them. */
  #passBracketOrComma(byte: number): boolean {
    if (!this.#isInArray) {
      if (byte !== OPEN_BRACKET) return false;
      this.#isInArray = true;
      this.#isBehindValue = false;
      return true;
    }
    if (byte === CLOSE_BRACKET) {
      this.#isInArray = false;
      this.#isBehindValue = true;
      return true;
    }
    if (byte !== COMMA || !this.#isBehindValue) return false;
    this.#isBehindValue = false;
    return true;
  }

  #isSeparatorAt(at: number): boolean {
    return this.buffer.subarray(at, at + this.#separator.length).equals(this.#separator);
  }

  #endOfValue(): number | null {
    const first = this.buffer[this.at] as number;
    if (first === QUOTE) return this.#endOfString(this.at);
    return first === OPEN_BRACE || first === OPEN_BRACKET ? this.#endOfNested() : this.#endOfScalar();
  }

  #endOfNested(): number | null {
    let depth = 0;
    for (let at = this.at; at < this.buffer.length; at++) {
      const byte = this.buffer[at];
      if (byte === QUOTE) {
        const end = this.#endOfString(at);
        if (end === null) return null;
        at = end - 1;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at + 1;
    }
    return this.#endOfAll();
  }

  #endOfString(start: number): number | null {
    for (let at = start + 1; at < this.buffer.length; at++) {
      const byte = this.buffer[at];
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) return at + 1;
    }
    return this.#endOfAll();
  }

  #endOfScalar(): number | null {
    for (let at = this.at + 1; at < this.buffer.length; at++) {
      const byte = this.buffer[at] as number;
      const isDelimiter = byte === COMMA || byte === CLOSE_BRACKET || byte === CLOSE_BRACE || isSpace(byte);
      if (isDelimiter || this.#isSeparatorAt(at)) return at;
    }
    return this.#endOfAll();
  }

  /** What is not closed when there is no more is left to the parser, which says what is wrong with it. */
  #endOfAll(): number | null {
    return this.isFinished ? this.buffer.length : null;
  }

  #unexpected(): Error {
    const byte = this.buffer[this.at];
    const token = byte === undefined ? '' : String.fromCharCode(byte);
    const expecting = this.#isInArray ? "tokens ',', or ']'" : "tokens '{', or '['";
    return unexpectedToken(token, this.bytesAt(this.at), expecting);
  }
}
