/** What a request's headers say about a security descriptor: as text, as bytes, by its key, or nothing. */
import type { PermissionChoice } from '../../service/file/permissions.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { type PermissionFormat, parseFormat, parsePermission } from './permission-format.ts';

const PERMISSION = 'x-ms-file-permission';
const KEY = 'x-ms-file-permission-key';
const FORMAT = 'x-ms-file-permission-format';

/** Longer ones are created first, and named by their key. */
const PERMISSION_LENGTH_MAX = 8 * 1024;

export function parsePermissionHeaders(exchange: Pick<Exchange, 'header' | 'version'>): PermissionChoice {
  const text = exchange.header(PERMISSION) || null;
  const key = parsePermissionKey(exchange);
  const format = parsePermissionFormat(exchange);
  if (text === null) return key === null ? { kind: 'unsaid' } : { kind: 'key', key };
  if (key !== null || text.length > PERMISSION_LENGTH_MAX) throw invalidHeader(PERMISSION, text.slice(0, 256));
  const word = text.trim().toLowerCase();
  if (word === 'inherit') return { kind: 'inherit' };
  if (word === 'preserve') return { kind: 'unsaid' };
  return { kind: 'descriptor', descriptor: parsePermission(text, format) };
}

export const parsePermissionFormat = (exchange: Pick<Exchange, 'header' | 'version'>): PermissionFormat =>
  parseFormat(exchange.header(FORMAT), exchange.version, (text) => invalidHeader(FORMAT, text));

const KEY_FORM = /^\d{1,20}\*\d{1,20}$/;

export function parsePermissionKey(exchange: Pick<Exchange, 'header'>): string | null {
  const key = exchange.header(KEY) || null;
  if (key !== null && !KEY_FORM.test(key)) throw invalidHeader(KEY, key);
  return key;
}
