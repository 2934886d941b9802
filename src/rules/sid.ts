/**
 * Security identifiers: who an entry of a security descriptor is about. As text `S-1-5-32-544`, or two letters for those
 * that are the same everywhere; as bytes, the form of MS-DTYP 2.4.2.2.
 */

/** `S-1-…`, never two letters. */
export type Sid = string;

const ALIASES: readonly (readonly [alias: string, sid: Sid])[] = [
  ['WD', 'S-1-1-0'],
  ['CO', 'S-1-3-0'],
  ['CG', 'S-1-3-1'],
  ['OW', 'S-1-3-4'],
  ['NU', 'S-1-5-2'],
  ['IU', 'S-1-5-4'],
  ['SU', 'S-1-5-6'],
  ['AN', 'S-1-5-7'],
  ['PS', 'S-1-5-10'],
  ['AU', 'S-1-5-11'],
  ['RC', 'S-1-5-12'],
  ['SY', 'S-1-5-18'],
  ['LS', 'S-1-5-19'],
  ['NS', 'S-1-5-20'],
  ['WR', 'S-1-5-33'],
  ['UD', 'S-1-5-84-0-0-0-0-0'],
  ['BA', 'S-1-5-32-544'],
  ['BU', 'S-1-5-32-545'],
  ['BG', 'S-1-5-32-546'],
  ['PU', 'S-1-5-32-547'],
  ['AO', 'S-1-5-32-548'],
  ['SO', 'S-1-5-32-549'],
  ['PO', 'S-1-5-32-550'],
  ['BO', 'S-1-5-32-551'],
  ['RE', 'S-1-5-32-552'],
  ['RU', 'S-1-5-32-554'],
  ['RD', 'S-1-5-32-555'],
  ['NO', 'S-1-5-32-556'],
  ['MU', 'S-1-5-32-558'],
  ['LU', 'S-1-5-32-559'],
  ['IS', 'S-1-5-32-568'],
  ['CY', 'S-1-5-32-569'],
  ['ER', 'S-1-5-32-573'],
  ['CD', 'S-1-5-32-574'],
  ['RA', 'S-1-5-32-575'],
  ['ES', 'S-1-5-32-576'],
  ['MS', 'S-1-5-32-577'],
  ['HA', 'S-1-5-32-578'],
  ['AA', 'S-1-5-32-579'],
  ['RM', 'S-1-5-32-580'],
  ['AC', 'S-1-15-2-1'],
  ['LW', 'S-1-16-4096'],
  ['ME', 'S-1-16-8192'],
  ['MP', 'S-1-16-8448'],
  ['HI', 'S-1-16-12288'],
  ['SI', 'S-1-16-16384'],
  ['AS', 'S-1-18-1'],
  ['SS', 'S-1-18-2'],
];

const SID_OF: ReadonlyMap<string, Sid> = new Map(ALIASES);
const ALIAS_OF: ReadonlyMap<Sid, string> = new Map(ALIASES.map(([alias, sid]) => [sid, alias]));

export const CREATOR_OWNER: Sid = 'S-1-3-0';
export const CREATOR_GROUP: Sid = 'S-1-3-1';
export const LOCAL_SYSTEM: Sid = 'S-1-5-18';
export const ADMINISTRATORS: Sid = 'S-1-5-32-544';

const SUB_AUTHORITY_COUNT_MAX = 15;
const UINT32_MAX = 0xffff_ffff;

/** Two letters or `S-1-…`, in capitals. Null: neither, or two letters that mean another in every domain. */
export function parseSid(text: string): Sid | null {
  const known = SID_OF.get(text);
  if (known !== undefined) return known;
  const match = /^S-1-(\d{1,10}|0X[0-9A-F]{12})((?:-\d{1,10})*)$/.exec(text);
  if (match === null) return null;
  const authority = Number((match[1] as string).toLowerCase());
  const subAuthorities = (match[2] as string).split('-').slice(1).map(Number);
  if (subAuthorities.length > SUB_AUTHORITY_COUNT_MAX) return null;
  if (subAuthorities.some((part) => part > UINT32_MAX)) return null;
  return formatParts(authority, subAuthorities);
}

export const formatSid = (sid: Sid): string => ALIAS_OF.get(sid) ?? sid;

/** An authority beyond 32 bits is written in hexadecimal. */
function formatParts(authority: number, subAuthorities: readonly number[]): Sid {
  const first = authority > UINT32_MAX ? `0x${authority.toString(16).padStart(12, '0')}` : String(authority);
  return ['S-1', first, ...subAuthorities].join('-');
}

const SID_REVISION = 1;
const HEAD_BYTES = 8;

function partsOf(sid: Sid): { authority: number; subAuthorities: number[] } {
  const [authority = 0, ...subAuthorities] = sid.split('-').slice(2).map(Number);
  return { authority, subAuthorities };
}

export const sidBytes = (sid: Sid): number => HEAD_BYTES + 4 * partsOf(sid).subAuthorities.length;

export function encodeSid(sid: Sid, into: DataView, at: number): void {
  const { authority, subAuthorities } = partsOf(sid);
  into.setUint8(at, SID_REVISION);
  into.setUint8(at + 1, subAuthorities.length);
  into.setUint16(at + 2, Math.floor(authority / 2 ** 32));
  into.setUint32(at + 4, authority % 2 ** 32);
  for (const [index, part] of subAuthorities.entries()) into.setUint32(at + HEAD_BYTES + 4 * index, part, true);
}

/** Null: there is no whole identifier before `end`. */
export function decodeSid(bytes: DataView, at: number, end: number = bytes.byteLength): Sid | null {
  if (at + HEAD_BYTES > end || bytes.getUint8(at) !== SID_REVISION) return null;
  const count = bytes.getUint8(at + 1);
  if (count > SUB_AUTHORITY_COUNT_MAX || at + HEAD_BYTES + 4 * count > end) return null;
  const authority = bytes.getUint16(at + 2) * 2 ** 32 + bytes.getUint32(at + 4);
  const subAuthorities = Array.from({ length: count }, (_, index) =>
    bytes.getUint32(at + HEAD_BYTES + 4 * index, true),
  );
  return formatParts(authority, subAuthorities);
}
