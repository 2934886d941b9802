/** Query words that the listings of all services share, and how their answers begin and end. */

import { formatHttpDate } from '../base/http-date.ts';
import { type Deleted, remainingDays } from '../rules/retention.ts';
import { invalidQuery, outOfRangeQuery, type StorageError } from '../service/storage-error.ts';
import type { Exchange, Reply } from './exchange.ts';
import { XmlWriter } from './xml.ts';

const RESULTS_MAX = 5_000;

export function parseMaxResults(exchange: Exchange, resultsMax: number = RESULTS_MAX): number {
  const text = exchange.target.query.get('maxresults');
  if (text === null) return resultsMax;
  if (!/^-?\d{1,10}$/.test(text)) throw invalidQuery('maxresults', text, 'Not a number.');
  const asked = Number(text);
  if (asked < 1) throw outOfRangeQuery('maxresults', text, { min: 1, max: resultsMax });
  return Math.min(asked, resultsMax);
}

export function parseInclude(exchange: Exchange, known: ReadonlySet<string>): ReadonlySet<string> {
  const text = exchange.target.query.get('include') ?? '';
  const words = text
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '');
  if (!words.every((word) => known.has(word))) throw invalidQuery('include', text);
  return new Set(words);
}

/** A marker is the name to go on with, wrapped so that nobody builds on it and no character gets lost. */
const MARKER_PREFIX = '1!';

export const renderMarker = (next: string | null): string =>
  next === null ? '' : MARKER_PREFIX + Buffer.from(next).toString('base64url');

/** `refusal`: of one that we did not give. */
export function parseMarker(
  exchange: Exchange,
  refusal: (text: string) => StorageError = (text) => invalidQuery('marker', text),
): string {
  const text = exchange.target.query.get('marker');
  if (text === null || text === '') return '';
  const name = Buffer.from(text.slice(MARKER_PREFIX.length), 'base64url').toString();
  if (!text.startsWith(MARKER_PREFIX) || renderMarker(name) !== text) throw refusal(text);
  return name;
}

/** The same for a walk over an index, which goes on with a key. */
const KEY_MARKER_PREFIX = '2!';

export const renderKeyMarker = (next: Uint8Array | null): string =>
  next === null ? '' : KEY_MARKER_PREFIX + Buffer.from(next).toString('base64url');

export function parseKeyMarker(exchange: Exchange): Uint8Array | null {
  const text = exchange.target.query.get('marker');
  if (text === null || text === '') return null;
  const key = Buffer.from(text.slice(KEY_MARKER_PREFIX.length), 'base64url');
  if (!text.startsWith(KEY_MARKER_PREFIX) || renderKeyMarker(key) !== text) throw invalidQuery('marker', text);
  return key;
}

/** The account's URL, as the client addressed it. */
export function serviceEndpoint(exchange: Exchange): string {
  const { hostStyle, account } = exchange.target;
  return hostStyle ? `${exchange.origin}/` : `${exchange.origin}/${account}/`;
}

/** An answer up to its first entry: what was asked for is repeated. */
export function openListing(exchange: Exchange, of: Readonly<Record<string, string>> = {}): XmlWriter {
  const { query } = exchange.target;
  return new XmlWriter()
    .open('EnumerationResults', { ServiceEndpoint: serviceEndpoint(exchange), ...of })
    .leafIf('Prefix', query.get('prefix'))
    .leafIf('Marker', query.get('marker'))
    .leafIf('MaxResults', query.get('maxresults'));
}

/** Of something that can be had back. */
export const renderDeleted = (xml: XmlWriter, deleted: Deleted, nowMs: number): XmlWriter =>
  xml.leaf('DeletedTime', formatHttpDate(deleted.atMs)).leaf('RemainingRetentionDays', remainingDays(deleted, nowMs));

/** Behind the last entry. */
export const endListing = (xml: XmlWriter, next: string | null): Reply => ({
  status: 200,
  headers: ['Content-Type', 'application/xml'],
  body: xml.close().leaf('NextMarker', renderMarker(next)).toString(),
});
