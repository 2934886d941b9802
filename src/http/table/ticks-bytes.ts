/**
 * Times as they stand in answers, written from ticks (rules/edm.ts) without numbers that hold all of them: a page has
 * thousands of times, of which many share their second.
 */
import { formatIso7 } from '../../base/http-date.ts';
import type { JsonBytes } from './json-bytes.ts';

const TICKS_PER_SECOND = 10_000_000;
const FRACTION_DIGITS = 7;
/** Of 2^32 ticks: whole seconds, and what is left. */
const SECONDS_PER_HIGH = 429;
const TICKS_PER_HIGH = 2 ** 32 - SECONDS_PER_HIGH * TICKS_PER_SECOND;
const EPOCH_SINCE_YEAR_ONE_SECONDS = 62_135_596_800;
const ZERO = 0x30;
const POINT = 0x2e;
const ZULU = 0x5a;

/** `2024-05-01T12:34:56` and where its parts end. */
const SECOND_BYTES = 19;
const HOUR_END = 13;
const MINUTE_END = 16;

export class TicksBytes {
  readonly #text = Buffer.alloc(SECOND_BYTES);
  #second = Number.NaN;
  #fraction = 0;

  /** The time that is written next, by the two halves of its ticks. */
  set(high: number, low: number): void {
    const rest = high * TICKS_PER_HIGH + low;
    const restSeconds = Math.floor(rest / TICKS_PER_SECOND);
    const second = high * SECONDS_PER_HIGH + restSeconds;
    this.#fraction = rest - restSeconds * TICKS_PER_SECOND;
    if (second === this.#second) return;
    this.#second = second;
    this.#text.write(formatIso7((second - EPOCH_SINCE_YEAR_ONE_SECONDS) * 1000).slice(0, SECOND_BYTES), 'latin1');
  }

  /** `2024-05-01T12:34:56.1234560Z` */
  writeFull(out: JsonBytes): void {
    out.copy(this.#text, 0, SECOND_BYTES);
    this.#writeFraction(out, FRACTION_DIGITS);
    out.byte(ZULU);
  }

  /** `2024-05-01T12:34:56.123456Z` */
  writeShort(out: JsonBytes): void {
    out.copy(this.#text, 0, SECOND_BYTES);
    let digits = FRACTION_DIGITS;
    for (let left = this.#fraction; digits > 0 && left % 10 === 0; left /= 10) digits--;
    if (digits > 0) this.#writeFraction(out, digits);
    out.byte(ZULU);
  }

  /** `2024-05-01T12%3A34%3A56.1234560Z`, as in an ETag. */
  writeEncoded(out: JsonBytes): void {
    out.copy(this.#text, 0, HOUR_END);
    out.ascii('%3A');
    out.copy(this.#text, HOUR_END + 1, MINUTE_END);
    out.ascii('%3A');
    out.copy(this.#text, MINUTE_END + 1, SECOND_BYTES);
    this.#writeFraction(out, FRACTION_DIGITS);
    out.byte(ZULU);
  }

  /** With the point before it. */
  #writeFraction(out: JsonBytes, digits: number): void {
    out.byte(POINT);
    let unit = TICKS_PER_SECOND;
    for (let digit = 0; digit < digits; digit++) {
      unit /= 10;
      out.byte(ZERO + (Math.floor(this.#fraction / unit) % 10));
    }
  }
}
