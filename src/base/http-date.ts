/**
 * Times as text and back, by arithmetic on the Gregorian calendar and without `Date`, so that pure rules may use them:
 * HTTP dates (RFC 9110 §5.6.7, with its two obsolete forms) and the ISO 8601 forms of Azure Storage. Always UTC.
 */

const MS_PER_DAY = 86_400_000;
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Months and days count from one. */
interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

// Years are counted from 1 March, in eras of 400 years, so that the leap day comes last and every era is alike.
const DAYS_PER_ERA = 146_097;
/** From 1 March of year 0 to 1 January 1970. */
const EPOCH_DAYS = 719_468;

function daysFromCivil({ year, month, day }: CivilDate): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_PER_ERA + dayOfEra - EPOCH_DAYS;
}

function civilFromDays(days: number): CivilDate {
  const shifted = days + EPOCH_DAYS;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const leapDays = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = ((marchMonth + 2) % 12) + 1;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1,
  };
}

function daysInMonth(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && leap ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
}

interface CivilTime extends CivilDate {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** Null for a day or a time of day that does not exist. */
function msFromCivil(time: CivilTime): number | null {
  const { year, month, day, hour, minute, second } = time;
  if (year < 1 || day < 1 || day > daysInMonth(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59) return null;
  return daysFromCivil(time) * MS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000;
}

const digits = (value: number, width: number): string => String(value).padStart(width, '0');

function timeOfDay(secondOfDay: number): string {
  const minuteOfDay = Math.floor(secondOfDay / 60);
  return `${digits(Math.floor(minuteOfDay / 60), 2)}:${digits(minuteOfDay % 60, 2)}:${digits(secondOfDay % 60, 2)}`;
}

/** Answers of one moment mostly carry one time: remembering the last second's text saves nearly all of the work. */
function rememberingLastSecond(format: (days: number, secondOfDay: number) => string): (epochSecond: number) => string {
  let lastSecond = Number.NaN;
  let lastText = '';
  return (epochSecond) => {
    if (epochSecond !== lastSecond) {
      const days = Math.floor(epochSecond / 86_400);
      lastText = format(days, epochSecond - days * 86_400);
      lastSecond = epochSecond;
    }
    return lastText;
  };
}

const httpDateOfSecond = rememberingLastSecond((days, secondOfDay) => {
  const { year, month, day } = civilFromDays(days);
  // 1 January 1970 was a Thursday.
  const weekday = WEEKDAYS[(((days + 4) % 7) + 7) % 7];
  return `${weekday}, ${digits(day, 2)} ${MONTHS[month - 1]} ${digits(year, 4)} ${timeOfDay(secondOfDay)} GMT`;
});

const isoOfSecond = rememberingLastSecond((days, secondOfDay) => {
  const { year, month, day } = civilFromDays(days);
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}T${timeOfDay(secondOfDay)}.`;
});

/** `Mon, 01 Jan 2024 00:00:00 GMT`: the fraction of the second is dropped. */
export function formatHttpDate(ms: number): string {
  return httpDateOfSecond(Math.floor(ms / 1000));
}

/** `2024-01-01T00:00:00.0000000Z`, with the seven fractional digits that Azure Storage prints. */
export function formatIso7(ms: number): string {
  const second = Math.floor(ms / 1000);
  return `${isoOfSecond(second)}${digits(Math.floor(ms - second * 1000), 3)}0000Z`;
}

const RFC_1123 = /^[a-z]{3}, (?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/i;
const RFC_850 = /^[a-z]{6,9}, (?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/i;
const ASCTIME = /^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/i;

/** The time of an HTTP date in any of its three forms; null for any other text. The weekday's name is not compared. */
export function parseHttpDate(text: string): number | null {
  const trimmed = text.trim();
  const groups = (RFC_1123.exec(trimmed) ?? RFC_850.exec(trimmed) ?? ASCTIME.exec(trimmed))?.groups;
  if (groups === undefined) return null;
  const { day = '', month = '', year = '', time = '' } = groups;
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  const monthName = month.charAt(0).toUpperCase() + month.slice(1).toLowerCase();
  return msFromCivil({
    year: year.length === 2 ? yearOfTwoDigits(Number(year)) : Number(year),
    month: MONTHS.indexOf(monthName) + 1,
    day: Number(day),
    hour,
    minute,
    second,
  });
}

/** The pivot of POSIX: nothing stored here is older than 1970, and no clock is at hand to ask for the century. */
function yearOfTwoDigits(year: number): number {
  return year < 70 ? 2000 + year : 1900 + year;
}

const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?(?:Z|(?<sign>[+-])(?<hours>\d\d):(?<minutes>\d\d)))?$/;

/**
 * The time of `YYYY-MM-DD` (midnight), `…Thh:mm`, `…:ss` or `…:ss.fffffff`, a time of day being followed by `Z` or
 * `±hh:mm`; null for any other text. Fractions below a millisecond are dropped.
 */
export function parseIso8601(text: string): number | null {
  const match = ISO_8601.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = match;
  const { sign, hours: offsetHours = '0', minutes: offsetMinutes = '0' } = match.groups ?? {};
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return null;
  const localMs = msFromCivil({
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
  });
  if (localMs === null) return null;
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000;
  const fractionMs = Number(fraction.padEnd(3, '0').slice(0, 3));
  return localMs + fractionMs + (sign === '-' ? offsetMs : -offsetMs);
}
