/**
 * ETags: `0x` and 15 upper-case hex digits, the 100-ns ticks from 0001-01-01 to the moment of the write. Of one width,
 * so comparing texts compares moments. Ticks exceed what a number holds exactly, so they are kept in two halves.
 */

/** `0x8DC0123456789AB`, without the quotes that it wears in a header. */
export type Etag = string;

const TICKS_PER_MS = 10_000;
const EPOCH_SINCE_YEAR_ONE_MS = 62_135_596_800_000;

/** The low half: six of the hex digits. */
const LOW_LIMIT = 2 ** 24;

const HEX = '0123456789ABCDEF';
/** Three digits at a time: an ETag is given with every write. */
const THREE_DIGITS = Array.from({ length: 16 ** 3 }, (_, value) => value.toString(16).toUpperCase().padStart(3, '0'));

/** The ETag of a write at this time; the one after `previous` where the clock has not moved past that. */
export function nextEtag(previous: Etag | null, nowMs: number): Etag {
  const current = etagAt(nowMs);
  return previous === null || current > previous ? current : successor(previous);
}

function etagAt(nowMs: number): Etag {
  const ms = Math.floor(nowMs) + EPOCH_SINCE_YEAR_ONE_MS;
  const highMs = Math.floor(ms / LOW_LIMIT);
  const lowTicks = (ms - highMs * LOW_LIMIT) * TICKS_PER_MS;
  const carry = Math.floor(lowTicks / LOW_LIMIT);
  return render(highMs * TICKS_PER_MS + carry, lowTicks - carry * LOW_LIMIT);
}

function successor(etag: Etag): Etag {
  let last = etag.length - 1;
  while (etag.charAt(last) === 'F') last--;
  const digit = HEX.charAt(HEX.indexOf(etag.charAt(last)) + 1);
  return etag.slice(0, last) + digit + '0'.repeat(etag.length - 1 - last);
}

function render(high: number, low: number): Etag {
  const top = Math.floor(high / LOW_LIMIT);
  return `0x${THREE_DIGITS[top]}${sixDigits(high - top * LOW_LIMIT)}${sixDigits(low)}`;
}

function sixDigits(value: number): string {
  return `${THREE_DIGITS[value >> 12]}${THREE_DIGITS[value & 0xfff]}`;
}
