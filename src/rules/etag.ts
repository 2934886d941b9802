/**
 * ETags: `0x` and 15 upper-case hex digits, the 100-ns ticks from 0001-01-01 to the moment of the write. Of one width,
 * so comparing texts compares moments. Ticks exceed what a number holds exactly, so they are kept in two halves.
 * Where several nodes write to one store, each has a slot of its own, and the last two digits are its number instead of
 * the finest ticks (25.6 µs): no two nodes ever give the same ETag, though they know nothing of each other's.
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

const TWO_DIGITS = THREE_DIGITS.slice(0, 16 ** 2).map((digits) => digits.slice(1));

/**
 * The ETag of a write at this time; the next one after `previous`, whoever gave that, where the clock has not moved past
 * it. `slot`: this node's number among those that write to the store, 0 to 255; null: it writes alone.
 */
export function nextEtag(previous: Etag | null, nowMs: number, slot: number | null): Etag {
  const current = etagAt(nowMs);
  if (slot !== null) return nextOfSlot(previous, current, slot);
  return previous === null || current > previous ? current : successor(previous);
}

function nextOfSlot(previous: Etag | null, current: Etag, slot: number): Etag {
  const digits = TWO_DIGITS[slot];
  if (digits === undefined) throw new RangeError(`slot ${slot}`);
  const ofNow = current.slice(0, -2) + digits;
  if (previous === null || ofNow > previous) return ofNow;
  const head = previous.slice(0, -2);
  const besidePrevious = head + digits;
  return besidePrevious > previous ? besidePrevious : successor(head) + digits;
}

function etagAt(nowMs: number): Etag {
  const ms = Math.floor(nowMs) + EPOCH_SINCE_YEAR_ONE_MS;
  const highMs = Math.floor(ms / LOW_LIMIT);
  const lowTicks = (ms - highMs * LOW_LIMIT) * TICKS_PER_MS;
  const carry = Math.floor(lowTicks / LOW_LIMIT);
  return render(highMs * TICKS_PER_MS + carry, lowTicks - carry * LOW_LIMIT);
}

/** The next number with as many digits. */
function successor(digits: string): string {
  let last = digits.length - 1;
  while (digits.charAt(last) === 'F') last--;
  const digit = HEX.charAt(HEX.indexOf(digits.charAt(last)) + 1);
  return digits.slice(0, last) + digit + '0'.repeat(digits.length - 1 - last);
}

function render(high: number, low: number): Etag {
  const top = Math.floor(high / LOW_LIMIT);
  return `0x${THREE_DIGITS[top]}${sixDigits(high - top * LOW_LIMIT)}${sixDigits(low)}`;
}

function sixDigits(value: number): string {
  return `${THREE_DIGITS[value >> 12]}${THREE_DIGITS[value & 0xfff]}`;
}
