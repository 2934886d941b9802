/**
 * Records out of bytes that come in pieces of any size. What both formats share: a buffer of what is not yet read, the
 * place of the record in the blob, the mark at the start of the text, and how large a record may be.
 */
import { isUtf8 } from 'node:buffer';
import { RecordError } from './query-error.ts';
import type { Value } from './value.ts';

export const RECORD_BYTES_MAX = 1024 * 1024;

export interface DataRecord {
  readonly value: Value;
  /** As it stands in the blob. */
  readonly text: string;
  /** Where in the blob it ends, what separates it from the next included. */
  readonly endBytes: number;
}

/** What one look at the buffer found; null: not all of the next record is there. */
export interface FoundRecord {
  readonly value: Value;
  readonly text: string;
  /** In the buffer, behind the record and its separator. */
  readonly end: number;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export abstract class RecordReader {
  protected buffer: Buffer = Buffer.alloc(0);
  /** Where in the buffer the next record begins. */
  protected at = 0;
  protected isFinished = false;
  #bufferAtBytes = 0;
  #hasBegun = false;

  /** Where in the blob the last record began that was read, or that could not be. */
  recordAtBytes = 0;

  push(piece: Uint8Array): void {
    const rest = this.buffer.subarray(this.at);
    this.#bufferAtBytes += this.at;
    this.at = 0;
    this.buffer =
      rest.length === 0 ? Buffer.from(piece.buffer, piece.byteOffset, piece.length) : Buffer.concat([rest, piece]);
    this.bufferChanged();
  }

  /** There is no more to push. */
  finish(): void {
    this.isFinished = true;
  }

  /** Null: push more, or, once finished, that was the last. Fails with RecordError. */
  next(): DataRecord | null {
    if (!this.#begin()) return null;
    const found = this.find();
    if (found === null) {
      if (this.buffer.length - this.at > RECORD_BYTES_MAX) throw this.#tooLarge();
      return null;
    }
    if (found.end - this.at > RECORD_BYTES_MAX) throw this.#tooLarge();
    this.at = found.end;
    return { value: found.value, text: found.text, endBytes: this.bytesAt(found.end) };
  }

  protected abstract find(): FoundRecord | null;

  protected bufferChanged(): void {}

  /** A place in the buffer as a place in the blob. */
  protected bytesAt(at: number): number {
    return this.#bufferAtBytes + at;
  }

  /** `afterwards`: where to go on if the bytes are no text. */
  protected decode(from: number, to: number, afterwards: number): string {
    const text = this.buffer.toString('utf8', from, to);
    if (text.includes('\ufffd') && !isUtf8(this.buffer.subarray(from, to))) {
      this.at = afterwards;
      throw new RecordError('ParseError', 'The record is not UTF-8.');
    }
    return text;
  }

  #begin(): boolean {
    if (this.#hasBegun) return true;
    const start = this.buffer.subarray(0, BYTE_ORDER_MARK.length);
    const isMark = start.equals(BYTE_ORDER_MARK);
    if (!isMark && !this.isFinished && start.equals(BYTE_ORDER_MARK.subarray(0, start.length))) return false;
    this.#hasBegun = true;
    if (isMark) this.at = BYTE_ORDER_MARK.length;
    return true;
  }

  #tooLarge(): RecordError {
    return new RecordError('RecordTooLarge', `A record can have up to ${RECORD_BYTES_MAX} bytes.`, { isFatal: true });
  }
}
