/**
 * DATE_ADD, DATE_DIFF and EXTRACT: years and months go by the calendar of the place where the timestamp was written,
 * all smaller parts by the clock. A difference counts whole parts only.
 */
import { RecordError } from './query-error.ts';
import { type Timestamp, timestampAt, timestampOf } from './timestamp.ts';

export type DatePart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second';
export type ExtractPart = DatePart | 'timezone_hour' | 'timezone_minute';

export const DATE_PARTS: readonly DatePart[] = ['year', 'month', 'day', 'hour', 'minute', 'second'];
export const EXTRACT_PARTS: readonly ExtractPart[] = [...DATE_PARTS, 'timezone_hour', 'timezone_minute'];

const MS_PER_DAY = 86_400_000;
const MS_OF_PART: Readonly<Record<Exclude<DatePart, 'year' | 'month'>, number>> = {
  day: MS_PER_DAY,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
};

export function addDateParts(part: DatePart, quantity: number, timestamp: Timestamp): Timestamp {
  const moved =
    part === 'year' || part === 'month' ? addMonths(part, quantity, timestamp) : addMs(part, quantity, timestamp);
  return withinReach(moved);
}

/** T-SQL's addition of days, and parts of days, to a date. */
export function addDays(timestamp: Timestamp, days: number): Timestamp {
  return withinReach(timestampAt(Math.round(timestamp.epochMs + days * MS_PER_DAY), timestamp.offsetMinutes));
}

export function dateDifference(part: DatePart, from: Timestamp, to: Timestamp): bigint {
  if (part === 'year' || part === 'month') {
    const months = wholeMonths(from, to);
    return BigInt(part === 'month' ? months : Math.trunc(months / 12));
  }
  return BigInt(Math.trunc((to.epochMs - from.epochMs) / MS_OF_PART[part]));
}

export function extractPart(part: ExtractPart, timestamp: Timestamp): bigint {
  if (part === 'timezone_hour') return BigInt(Math.trunc(timestamp.offsetMinutes / 60));
  if (part === 'timezone_minute') return BigInt(timestamp.offsetMinutes % 60);
  return BigInt(timestamp.civil()[part]);
}

function addMonths(part: 'year' | 'month', quantity: number, timestamp: Timestamp): Timestamp | null {
  const civil = timestamp.civil();
  const months = civil.year * 12 + civil.month - 1 + Math.trunc(quantity) * (part === 'year' ? 12 : 1);
  const year = Math.floor(months / 12);
  return timestampOf({ ...civil, year, month: months - year * 12 + 1 }, timestamp.offsetMinutes);
}

function addMs(part: keyof typeof MS_OF_PART, quantity: number, timestamp: Timestamp): Timestamp | null {
  return timestampAt(timestamp.epochMs + Math.trunc(quantity) * MS_OF_PART[part], timestamp.offsetMinutes);
}

function withinReach(timestamp: Timestamp | null): Timestamp {
  const year = timestamp?.civil().year ?? 0;
  if (timestamp === null || year < 1 || year > 9999) {
    throw new RecordError('ArithmeticOverflow', 'The timestamp is not in the years 1 to 9999.');
  }
  return timestamp;
}

/** As many months as can be added to the earlier one without passing the later one; negative if `to` is earlier. */
function wholeMonths(from: Timestamp, to: Timestamp): number {
  if (to.epochMs < from.epochMs) return -wholeMonths(to, from);
  const a = from.civil();
  const b = timestampAtOffset(to, from.offsetMinutes).civil();
  const months = (b.year - a.year) * 12 + b.month - a.month;
  const reached = addMonths('month', months, from);
  return reached !== null && reached.epochMs <= to.epochMs ? months : months - 1;
}

const timestampAtOffset = (timestamp: Timestamp, offsetMinutes: number): Timestamp =>
  timestampAt(timestamp.epochMs, offsetMinutes) ?? timestamp;
