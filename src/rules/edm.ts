/**
 * The property types of the Table service, in OData's words, and what is the same for all who handle their values: times
 * are ticks of 100 ns since the year 1, the same that an ETag counts; GUIDs are text in lower case.
 * https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
 */
import { formatIso7, parseIso8601 } from '../base/http-date.ts';

export type EdmValue =
  | { readonly type: 'Edm.String'; readonly value: string }
  | { readonly type: 'Edm.Boolean'; readonly value: boolean }
  | { readonly type: 'Edm.Int32'; readonly value: number }
  | { readonly type: 'Edm.Int64'; readonly value: bigint }
  | { readonly type: 'Edm.Double'; readonly value: number }
  /** Ticks. */
  | { readonly type: 'Edm.DateTime'; readonly value: bigint }
  /** `c9da6455-213d-42c9-9a79-3e9149a57833` */
  | { readonly type: 'Edm.Guid'; readonly value: string }
  | { readonly type: 'Edm.Binary'; readonly value: Uint8Array };

export type EdmType = EdmValue['type'];

/** An entity's own properties: all but PartitionKey, RowKey and Timestamp. */
export type Properties = readonly (readonly [name: string, value: EdmValue])[];

export interface EntityKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

const TICKS_PER_MS = 10_000n;
const EPOCH_SINCE_YEAR_ONE_MS = 62_135_596_800_000n;

/** `2024-05-01T12:34:56.1234567Z`, always with seven digits. */
export function formatTicks(ticks: bigint): string {
  const ms = Number(ticks / TICKS_PER_MS - EPOCH_SINCE_YEAR_ONE_MS);
  return `${formatIso7(ms).slice(0, -'0000Z'.length)}${String(ticks % TICKS_PER_MS).padStart(4, '0')}Z`;
}

/** The same with as many digits as it needs: `2024-05-01T12:34:56Z`. */
export const formatTicksShort = (ticks: bigint): string => formatTicks(ticks).replace(/\.?0*Z$/, 'Z');

/** The Table service begins with the year 1601. */
const TICKS_MIN = 504_911_232_000_000_000n;
/** The last tick of 9999-12-31. */
const TICKS_MAX = 3_155_378_975_999_999_999n;

const TIME = /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d)(?:(:\d\d)(?:\.(\d{1,7})\d*)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Ticks of a time in ISO 8601: midnight where it is a day alone, UTC where it names no zone, without what is finer than a
 * tick. `outOfRange` for years that no table can hold.
 */
export function parseTicks(text: string): bigint | 'malformed' | 'outOfRange' {
  const match = TIME.exec(text);
  if (match === null) return 'malformed';
  const [, day = '', minute = 'T00:00', second = ':00', fraction = '', zone = 'Z'] = match;
  const ms = parseIso8601(`${day}${minute}${second}${zone}`);
  if (ms === null) return 'malformed';
  const ticks = (BigInt(ms) + EPOCH_SINCE_YEAR_ONE_MS) * TICKS_PER_MS + BigInt(fraction.padEnd(7, '0'));
  return ticks < TICKS_MIN || ticks > TICKS_MAX ? 'outOfRange' : ticks;
}

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** In lower case; null for what is none. */
export const parseGuid = (text: string): string | null => (GUID.test(text) ? text.toLowerCase() : null);

export const INT32_MIN = -(2 ** 31);
export const INT32_MAX = 2 ** 31 - 1;
export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;
