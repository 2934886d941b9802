/**
 * Ids of snapshots and versions: the time of their creation with a resolution of 100 ns, unique and growing for each
 * blob. As text they have seven fractional digits; inside, they are ticks of 100 ns since the Unix epoch; in keys,
 * bytes that sort by time.
 */
import { formatIso7, parseIso8601 } from '../base/http-date.ts';

/** `YYYY-MM-DDTHH:MM:SS.fffffffZ` */
export type Moment = string;

const TICKS_PER_MS = 10_000n;
const MOMENT_BYTES = 8;

export function formatMoment(ticks: bigint): Moment {
  const toTheMs = formatIso7(Number(ticks / TICKS_PER_MS)).slice(0, -'0000Z'.length);
  return `${toTheMs}${String(ticks % TICKS_PER_MS).padStart(4, '0')}Z`;
}

const MOMENT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7}))?Z$/;

/** The fraction may be shorter or missing. Null for other text, days that do not exist, and times before 1970. */
export function parseMoment(text: string): bigint | null {
  const match = MOMENT.exec(text);
  if (match === null) return null;
  const [, toTheSecond = '', fraction = ''] = match;
  const ms = parseIso8601(`${toTheSecond}Z`);
  return ms === null || ms < 0 ? null : BigInt(ms) * TICKS_PER_MS + BigInt(fraction.padEnd(7, '0'));
}

/** Now; or the tick after the previous one, where the clock has not come that far. */
export function nextMoment(previous: bigint | null, nowMs: number): bigint {
  const now = BigInt(Math.floor(nowMs)) * TICKS_PER_MS;
  return previous === null || previous < now ? now : previous + 1n;
}

export function momentBytes(ticks: bigint): Uint8Array {
  const bytes = new Uint8Array(MOMENT_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, ticks);
  return bytes;
}

/** The first eight bytes. */
export function momentFromBytes(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0);
}
