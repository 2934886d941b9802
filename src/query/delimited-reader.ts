/**
 * Delimited text: fields between separators, quoted or not. A line without quotes and escapes is split at once; any other
 * is read byte by byte. Where a line feed separates records, a carriage return before it belongs to it.
 */
import type { DelimitedFormat } from './formats.ts';
import { RecordError } from './query-error.ts';
import { type FoundRecord, RecordReader } from './record-reader.ts';

const CARRIAGE_RETURN = 0x0d;

/** A part of the buffer. */
type Piece = readonly [from: number, to: number];

interface ReadField {
  /** Together they are its text. */
  readonly pieces: readonly Piece[];
  readonly end: number;
  readonly endsRecord: boolean;
}

export class DelimitedReader extends RecordReader {
  readonly #format: DelimitedFormat;
  readonly #recordSeparator: Buffer;
  readonly #columnSeparator: Buffer;
  readonly #quote: Buffer | null;
  readonly #escape: Buffer | null;
  readonly #dropsReturn: boolean;
  /** Where in the buffer the next quote or escape is, as far as is known. */
  #specialAt = -1;

  constructor(format: DelimitedFormat) {
    super();
    this.#format = format;
    this.#recordSeparator = Buffer.from(format.recordSeparator);
    this.#columnSeparator = Buffer.from(format.columnSeparator);
    this.#quote = format.fieldQuote === null ? null : Buffer.from(format.fieldQuote);
    // A quote that escapes itself is the doubling that is understood anyway.
    this.#escape = format.escape === null || format.escape === format.fieldQuote ? null : Buffer.from(format.escape);
    this.#dropsReturn = format.recordSeparator === '\n';
  }

  protected override bufferChanged(): void {
    this.#specialAt = -1;
  }

  protected override find(): FoundRecord | null {
    this.recordAtBytes = this.bytesAt(this.at);
    if (this.at >= this.buffer.length) return null;
    const found = this.buffer.indexOf(needleOf(this.#recordSeparator), this.at);
    const end = found === -1 ? this.buffer.length : found;
    if (this.#nextSpecial() < end) return this.#findWithQuotes();
    if (found === -1 && !this.isFinished) return null;
    const afterwards = found === -1 ? end : end + this.#recordSeparator.length;
    const text = this.decode(this.at, this.#withoutReturn(this.at, end), afterwards);
    return { value: text.split(this.#format.columnSeparator), text, end: afterwards };
  }

  #nextSpecial(): number {
    if (this.#specialAt < this.at) {
      this.#specialAt = Math.min(this.#indexOf(this.#quote), this.#indexOf(this.#escape));
    }
    return this.#specialAt;
  }

  #indexOf(bytes: Buffer | null): number {
    const found = bytes === null ? -1 : this.buffer.indexOf(needleOf(bytes), this.at);
    return found === -1 ? this.buffer.length : found;
  }

  #withoutReturn(from: number, end: number): number {
    return this.#dropsReturn && end > from && this.buffer[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
  }

  #findWithQuotes(): FoundRecord | null {
    const fields: string[] = [];
    for (let at = this.at; ; ) {
      const field = this.#readField(at);
      if (field === null) return null;
      fields.push(field.pieces.map(([from, to]) => this.buffer.toString('utf8', from, to)).join(''));
      if (field.endsRecord) {
        return { value: fields, text: this.decode(this.at, field.end, field.end), end: field.end };
      }
      at = field.end;
    }
  }

  /** From its first byte to behind the separator; null: it is not all there. */
  #readField(start: number): ReadField | null {
    const pieces: Piece[] = [];
    let at = start;
    if (this.#isAt(this.#quote, start)) {
      const closed = this.#readQuoted(start, pieces);
      if (closed === null) return null;
      at = closed;
    }
    for (let from = at; ; at++) {
      if (at >= this.buffer.length) {
        if (!this.isFinished) return null;
        const end = this.buffer.length;
        pieces.push([from, this.#withoutReturn(from, end)]);
        return { pieces, end, endsRecord: true };
      }
      if (this.#isAt(this.#recordSeparator, at)) {
        pieces.push([from, this.#withoutReturn(from, at)]);
        return { pieces, end: at + this.#recordSeparator.length, endsRecord: true };
      }
      if (this.#isAt(this.#columnSeparator, at)) {
        pieces.push([from, at]);
        return { pieces, end: at + this.#columnSeparator.length, endsRecord: false };
      }
      if (this.#isAt(this.#escape, at)) {
        pieces.push([from, at]);
        from = at + (this.#escape as Buffer).length;
        // One more is passed over by the loop, whatever it is; what is left of a longer character cannot be a separator.
        at = from;
      }
    }
  }

  /** From the quote that opens to behind the one that closes. */
  #readQuoted(start: number, pieces: Piece[]): number | null {
    const quote = this.#quote as Buffer;
    for (let at = start + quote.length, from = at; ; at++) {
      if (at >= this.buffer.length) {
        if (!this.isFinished) return null;
        throw new RecordError('ParseError', 'A quoted field is never closed.', { isFatal: true });
      }
      if (this.#isAt(this.#escape, at)) {
        pieces.push([from, at]);
        from = at + (this.#escape as Buffer).length;
        at = from;
      } else if (this.#isAt(quote, at)) {
        const behind = at + quote.length;
        // Whether the quote is doubled shows only in what follows.
        if (behind + quote.length > this.buffer.length && !this.isFinished) return null;
        pieces.push([from, at]);
        if (!this.#isAt(quote, behind)) return behind;
        from = behind;
        at = behind + quote.length - 1;
      }
    }
  }

  #isAt(bytes: Buffer | null, at: number): boolean {
    if (bytes === null || this.buffer[at] !== bytes[0]) return false;
    for (let index = 1; index < bytes.length; index++) if (this.buffer[at + index] !== bytes[index]) return false;
    return true;
  }
}

/** A single byte is found much faster as a number. */
const needleOf = (bytes: Buffer): Buffer | number => (bytes.length === 1 ? (bytes[0] as number) : bytes);
