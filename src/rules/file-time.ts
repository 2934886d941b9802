/**
 * Times of files, as Windows counts them and SMB carries them: ticks of 100 ns since 1601. In records they are decimal
 * text, in headers ISO 8601 with seven fractional digits; both are exact.
 */
import { formatIso7, parseIso8601 } from '../base/http-date.ts';

/** Ticks since 1601-01-01, in decimal. */
export type FileTime = string;

const TICKS_PER_MS = 10_000n;
/** 1970-01-01. */
export const UNIX_EPOCH_TICKS = 116_444_736_000_000_000n;

export const fileTimeAt = (ms: number): FileTime => String(BigInt(Math.floor(ms)) * TICKS_PER_MS + UNIX_EPOCH_TICKS);

export function formatFileTime(time: FileTime): string {
  const ticks = BigInt(time) - UNIX_EPOCH_TICKS;
  const fraction = ((ticks % TICKS_PER_MS) + TICKS_PER_MS) % TICKS_PER_MS;
  const ms = Number((ticks - fraction) / TICKS_PER_MS);
  return `${formatIso7(ms).slice(0, -'0000Z'.length)}${String(fraction).padStart(4, '0')}Z`;
}

const ISO = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7}))?(?:Z|\+00:00)$/;

/** The fraction may be shorter or missing. Null for other text, days that do not exist, and times before 1601. */
export function parseFileTime(text: string): FileTime | null {
  const match = ISO.exec(text.trim());
  if (match === null) return null;
  const [, toTheSecond = '', fraction = ''] = match;
  const ms = parseIso8601(`${toTheSecond}Z`);
  if (ms === null) return null;
  const ticks = BigInt(ms) * TICKS_PER_MS + BigInt(fraction.padEnd(7, '0')) + UNIX_EPOCH_TICKS;
  return ticks < 0n ? null : String(ticks);
}
