/**
 * The File service knows no conditions: the last writer wins. Whoever wants a write to depend on one is told so; a read
 * is answered in full, as a browser that has the file in its cache expects at worst.
 */
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';

const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];

export function refuseConditions(exchange: Pick<Exchange, 'method' | 'header'>): void {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return;
  // An empty header is no condition: some clients send one where they have no ETag.
  if (CONDITIONS.some((name) => exchange.header(name))) throw new StorageError('ConditionHeadersNotSupported');
}
