/** Values that headers of many operations have: typed, or refused. */
import { parseHttpDate } from '../base/http-date.ts';
import { type LeaseId, parseLeaseId } from '../rules/lease.ts';
import { invalidHeader, missingHeader, StorageError } from '../service/storage-error.ts';
import type { Exchange } from './exchange.ts';

/** An empty one is as good as none. */
export function requireHeader(exchange: Pick<Exchange, 'header'>, name: string): string {
  const text = exchange.header(name);
  if (text === null || text === '') throw missingHeader(name);
  return text;
}

const INT64_MAX = 2n ** 63n - 1n;

/** A count of bytes or the like; null where there is none. What is beyond a number's precision is beyond any blob or file. */
export function parseNumberHeader(exchange: Exchange, name: string): number | null {
  const text = exchange.header(name);
  if (text === null) return null;
  if (!/^\d{1,19}$/.test(text) || BigInt(text) > INT64_MAX) throw invalidHeader(name, text);
  return Number(text);
}

/** Absent is false. */
export function parseFlag(exchange: Exchange, name: string): boolean {
  const text = exchange.header(name);
  if (text === null || text.toLowerCase() === 'false') return false;
  if (text.toLowerCase() === 'true') return true;
  throw invalidHeader(name, text);
}

export function parseDateHeader(exchange: Exchange, name: string): number | null {
  const text = exchange.header(name);
  if (text === null) return null;
  const ms = parseHttpDate(text);
  if (ms === null) throw invalidHeader(name, text);
  return ms;
}

export function parseLeaseIdHeader(exchange: Exchange, name: string): LeaseId | null {
  const text = exchange.header(name);
  if (text === null) return null;
  const id = parseLeaseId(text);
  if (id === null) throw invalidHeader(name, text);
  return id;
}

export function parseHash(exchange: Exchange, name: string, sizeBytes: number): Buffer | null {
  const text = exchange.header(name);
  if (text === null || text === '') return null;
  const given = Buffer.from(text, 'base64');
  if (given.length !== sizeBytes || given.toString('base64') !== text) {
    if (name.endsWith('md5')) {
      throw new StorageError('InvalidMd5', { elements: { HeaderName: name, HeaderValue: text } });
    }
    throw invalidHeader(name, text);
  }
  return given;
}
