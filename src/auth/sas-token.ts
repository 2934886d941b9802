/**
 * The fields of a shared access signature as they stand in the query, and the limits that every kind of token can
 * carry: its period, the addresses and the protocol it may be used from.
 * https://learn.microsoft.com/rest/api/storageservices/delegate-access-with-shared-access-signature
 */
import { formatIso7, parseIso8601 } from '../base/http-date.ts';
import { StorageError } from '../service/storage-error.ts';
import { isWithin, parseAddressRange } from './client-address.ts';
import { authenticationFailed } from './refusals.ts';
import type { SignedQuery, SignedRequest } from './signed-request.ts';

/** A field's text; empty where it is absent, since a signature cannot tell the two apart. */
export type SasFields = (name: string) => string;

const SAS_FIELDS: ReadonlySet<string> = new Set(
  (
    'sv sr ss srt sp st se sip spr si tn spk srk epk erk rscc rscd rsce rscl rsct ses sdd sig ' +
    'skoid sktid skt ske sks skv saoid suoid scid sduoid skdutid srh srq snapshot versionid'
  ).split(' '),
);

export const SINCE_ADDRESS_AND_PROTOCOL = '2015-04-05';
export const SINCE_SNAPSHOT_TOKENS = '2018-11-09';
export const SINCE_ENCRYPTION_SCOPE = '2020-12-06';

export function readSasFields(query: SignedQuery): SasFields {
  const values = new Map<string, string>();
  for (const [name, value] of query.entries) {
    if (!SAS_FIELDS.has(name)) continue;
    if (values.has(name)) throw authenticationFailed(`The query parameter ${name} is given more than once.`);
    refuseLineBreak(name, value);
    values.set(name, value);
  }
  return (name) => values.get(name) ?? '';
}

/** The string to sign is made of lines: a value with a line break of its own could pass for several other values. */
export function refuseLineBreak(name: string, value: string): void {
  if (/[\r\n]/.test(value)) throw authenticationFailed(`There is a line break in ${name}.`);
}

export function refuseMissing(field: SasFields, names: readonly string[]): void {
  for (const name of names) {
    if (field(name) === '') throw authenticationFailed(`The token lacks the mandatory field ${name}.`);
  }
}

export function refuseVersion(version: string, sinceVersion: string): void {
  const isDay = version.length === sinceVersion.length && parseIso8601(version) !== null;
  if (!isDay || version < sinceVersion) {
    throw authenticationFailed(`sv=${version}: the version must be ${sinceVersion} or later.`);
  }
}

/** Letters out of `known`, none of them twice. */
export function refuseLetters(field: SasFields, name: string, known: string): void {
  const letters = field(name).split('');
  const wrong = letters.find((letter, index) => !known.includes(letter) || letters.indexOf(letter) !== index);
  if (wrong !== undefined) {
    throw authenticationFailed(`${name}=${field(name)}: '${wrong}' is repeated or is not one of ${known}.`);
  }
}

/** Limits that the token's version does not sign would bind nobody, although its author counts on them. */
export function refuseUnsigned(field: SasFields, name: string, sinceVersion: string): void {
  if (field(name) !== '' && field('sv') < sinceVersion) {
    throw authenticationFailed(`${name} needs a token of version ${sinceVersion} or later (sv=${field('sv')}).`);
  }
}

/** `what` it is that has a period: the token, or the key that signed it. */
export function refusePeriod(
  { start, expiry, what = 'token' }: { start: string; expiry: string; what?: 'token' | 'key' },
  nowMs: number,
): void {
  const startMs = start === '' ? Number.NEGATIVE_INFINITY : parseSasTime('start', start);
  const expiryMs = parseSasTime('expiry', expiry);
  const now = formatIso7(nowMs);
  if (nowMs < startMs)
    throw authenticationFailed(`The ${what} is not valid before ${start}; the current time is ${now}.`);
  if (nowMs >= expiryMs) throw authenticationFailed(`The ${what} expired at ${expiry}; the current time is ${now}.`);
}

export function parseSasTime(what: string, text: string): number {
  const timeMs = parseIso8601(text);
  if (timeMs === null) throw authenticationFailed(`The ${what} time ${text} is not an ISO 8601 time in UTC.`);
  return timeMs;
}

export function refuseSourceAddress(field: SasFields, request: SignedRequest): void {
  const sip = field('sip');
  if (sip === '') return;
  const range = parseAddressRange(sip);
  if (range === null)
    throw authenticationFailed(`sip=${sip} is neither an IPv4 address nor a range of IPv4 addresses.`);
  if (!isWithin(range, request.clientAddress)) throw new StorageError('AuthorizationSourceIPMismatch');
}

export function refuseProtocol(field: SasFields, request: SignedRequest): void {
  const spr = field('spr');
  if (spr === '' || spr === 'https,http') return;
  if (spr !== 'https') throw authenticationFailed(`spr=${spr} is neither https nor https,http.`);
  if (!request.secure) throw new StorageError('AuthorizationProtocolMismatch');
}
