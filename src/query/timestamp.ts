/**
 * TIMESTAMP: a moment, with the offset from UTC that it was written in. Reads the ISO 8601 forms of the W3C note, from
 * the year alone to fractions of a second, also with the bare `T` at the end that the SQL reference shows.
 * https://www.w3.org/TR/NOTE-datetime
 */

const MS_PER_MINUTE = 60_000;
/** What `Date` can tell, less a day for the offset. */
const MS_MAX = 8_639_999_913_600_000;

export interface CivilTime {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly ms: number;
}

export class Timestamp {
  readonly epochMs: number;
  readonly offsetMinutes: number;

  constructor(epochMs: number, offsetMinutes = 0) {
    this.epochMs = epochMs;
    this.offsetMinutes = offsetMinutes;
  }

  /** What calendar and clock show where it was written. */
  civil(): CivilTime {
    const local = new Date(this.epochMs + this.offsetMinutes * MS_PER_MINUTE);
    return {
      year: local.getUTCFullYear(),
      month: local.getUTCMonth() + 1,
      day: local.getUTCDate(),
      hour: local.getUTCHours(),
      minute: local.getUTCMinutes(),
      second: local.getUTCSeconds(),
      ms: local.getUTCMilliseconds(),
    };
  }

  /** `2017-01-02T03:04:05.006Z`, with the offset in place of the Z where there is one. */
  toString(): string {
    const local = new Date(this.epochMs + this.offsetMinutes * MS_PER_MINUTE).toISOString();
    return this.offsetMinutes === 0 ? local : local.replace('Z', offsetText(this.offsetMinutes, ':'));
  }
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `+05:30` */
export function offsetText(offsetMinutes: number, separator: string): string {
  const minutes = Math.abs(offsetMinutes);
  return `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${separator}${two(minutes % 60)}`;
}

/** Null where that is beyond what the calendar of the machine reaches. */
export function timestampAt(epochMs: number, offsetMinutes: number): Timestamp | null {
  return Math.abs(epochMs) <= MS_MAX ? new Timestamp(epochMs, offsetMinutes) : null;
}

/** A day beyond its month's end is the month's last day. */
export function timestampOf(civil: CivilTime, offsetMinutes: number): Timestamp | null {
  const day = Math.min(civil.day, daysInMonth(civil.year, civil.month));
  const local = new Date(0);
  local.setUTCFullYear(civil.year, civil.month - 1, day);
  local.setUTCHours(civil.hour, civil.minute, civil.second, civil.ms);
  return timestampAt(local.getTime() - offsetMinutes * MS_PER_MINUTE, offsetMinutes);
}

export function daysInMonth(year: number, month: number): number {
  const end = new Date(0);
  end.setUTCFullYear(year, month, 0);
  return end.getUTCDate();
}

const TEXT_LENGTH_MAX = 64;
const ISO_8601 =
  /^(\d{4})(?:T|-(\d\d)(?:T|-(\d\d)(?:[T ](?:(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?)?)?)?$/i;

/** Null for any other text, and for a day or hour that does not exist. Without an offset it is UTC. */
export function parseTimestamp(text: string): Timestamp | null {
  if (text.length > TEXT_LENGTH_MAX) return null;
  const match = ISO_8601.exec(text.trim());
  if (match === null) return null;
  const [, year, month = '1', day = '1', hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match;
  const civil: CivilTime = {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    ms: Number(fraction.slice(0, 3).padEnd(3, '0')),
  };
  const offsetMinutes = parseOffset(zone);
  return exists(civil) && offsetMinutes !== null ? timestampOf(civil, offsetMinutes) : null;
}

function exists({ year, month, day, hour, minute, second }: CivilTime): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return false;
  return hour <= 23 && minute <= 59 && second <= 59;
}

function parseOffset(zone: string): number | null {
  if (zone.toUpperCase() === 'Z') return 0;
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  const hours = Number(digits.slice(0, 2));
  const minutes = Number(digits.slice(2));
  if (hours > 23 || minutes > 59) return null;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
