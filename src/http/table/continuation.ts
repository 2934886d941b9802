/**
 * Where a page ended, as clients carry it to the next request: `1!LENGTH!BASE64`, the form of the service, with `-` for `=`
 * and `_` for `/`. A key may be empty, and may hold what no header can.
 */
import { invalidQuery } from '../../service/storage-error.ts';

/** One more than any key has: a page may go on just behind the longest one. */
const KEY_UNITS_MAX = 513;
const TOKEN = /^1!(\d{1,4})!([A-Za-z0-9+_]*-{0,2})$/;

export function renderContinuation(key: string): string {
  const text = Buffer.from(key, 'utf8').toString('base64').replaceAll('=', '-').replaceAll('/', '_');
  return `1!${text.length}!${text}`;
}

/** A plus sign that came as a space is one again: not every client encodes what it was given. */
export function parseContinuation(name: string, token: string): string {
  const [, length, text = ''] = TOKEN.exec(token.replaceAll(' ', '+')) ?? [];
  if (length === undefined || Number(length) !== text.length) throw noToken(name, token);
  const key = Buffer.from(text.replaceAll('-', '=').replaceAll('_', '/'), 'base64').toString('utf8');
  if (key.length > KEY_UNITS_MAX || key.includes('\0')) throw noToken(name, token);
  return key;
}

const noToken = (name: string, token: string): Error =>
  invalidQuery(name, token, 'Not a continuation token of this service.');
