/**
 * TO_STRING: a timestamp by a pattern, such as `MMMM d, y`. Letters of the reference's table are replaced, text between
 * apostrophes and everything that is no letter stands as it is.
 * https://learn.microsoft.com/azure/storage/blobs/query-acceleration-sql-reference#to_string-function
 */
import { offsetText, type Timestamp } from './timestamp.ts';

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

type Render = (timestamp: Timestamp) => string;
export type TimestampPattern = readonly Render[];

const PIECE = /'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+/g;

/** Null for a pattern with letters that mean nothing, or with an open apostrophe. */
export function parseTimestampPattern(pattern: string): TimestampPattern | null {
  const renders: Render[] = [];
  let readTo = 0;
  for (const match of pattern.matchAll(PIECE)) {
    if (match.index !== readTo) return null;
    readTo += match[0].length;
    const render = renderPiece(match[0], match[1]);
    if (render === null) return null;
    renders.push(render);
  }
  return readTo === pattern.length ? renders : null;
}

export const formatTimestamp = (pattern: TimestampPattern, timestamp: Timestamp): string =>
  pattern.map((render) => render(timestamp)).join('');

function renderPiece(piece: string, quoted: string | undefined): Render | null {
  if (quoted !== undefined) {
    const text = quoted === '' ? "'" : quoted.replaceAll("''", "'");
    return () => text;
  }
  if (!/^[A-Za-z]/.test(piece)) return () => piece;
  return LETTERS[piece] ?? null;
}

const padded = (value: number, width: number): string => String(value).padStart(width, '0');
const twelveHours = (hour: number): number => (hour % 12 === 0 ? 12 : hour % 12);
const monthName = (timestamp: Timestamp): string => MONTHS[timestamp.civil().month - 1] as string;

const number =
  (read: (timestamp: Timestamp) => number, width = 1): Render =>
  (timestamp) =>
    padded(read(timestamp), width);

const fraction =
  (digits: number): Render =>
  (timestamp) =>
    padded(timestamp.civil().ms, 3).padEnd(digits, '0').slice(0, digits);

/** `zulu`: no offset is written as Z. */
const offset =
  (separator: string | null, { zulu }: { zulu: boolean }): Render =>
  ({ offsetMinutes }) => {
    if (zulu && offsetMinutes === 0) return 'Z';
    if (separator !== null) return offsetText(offsetMinutes, separator);
    return offsetMinutes % 60 === 0 ? offsetText(offsetMinutes, '').slice(0, 3) : offsetText(offsetMinutes, '');
  };

const LETTERS: Readonly<Record<string, Render>> = {
  y: number((t) => t.civil().year, 4),
  yy: number((t) => t.civil().year % 100, 2),
  yyyy: number((t) => t.civil().year, 4),
  M: number((t) => t.civil().month),
  MM: number((t) => t.civil().month, 2),
  MMM: (t) => monthName(t).slice(0, 3),
  MMMM: monthName,
  d: number((t) => t.civil().day),
  dd: number((t) => t.civil().day, 2),
  a: (t) => (t.civil().hour < 12 ? 'AM' : 'PM'),
  h: number((t) => twelveHours(t.civil().hour)),
  hh: number((t) => twelveHours(t.civil().hour), 2),
  H: number((t) => t.civil().hour),
  HH: number((t) => t.civil().hour, 2),
  m: number((t) => t.civil().minute),
  mm: number((t) => t.civil().minute, 2),
  s: number((t) => t.civil().second),
  ss: number((t) => t.civil().second, 2),
  S: fraction(1),
  SS: fraction(2),
  SSS: fraction(3),
  X: offset(null, { zulu: true }),
  XX: offset('', { zulu: true }),
  XXXX: offset('', { zulu: true }),
  XXX: offset(':', { zulu: true }),
  XXXXX: offset(':', { zulu: true }),
  x: offset(null, { zulu: false }),
  xx: offset('', { zulu: false }),
  xxxx: offset('', { zulu: false }),
  xxx: offset(':', { zulu: false }),
  xxxxx: offset(':', { zulu: false }),
};
