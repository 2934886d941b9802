/** `x-ms-encryption-*`: the customer's own key, or the scope that a blob is to be encrypted in. */
import { hash } from 'node:crypto';
import { isLoopback } from '../../auth/client-address.ts';
import type { CustomerKey } from '../../service/extents/customer-key.ts';
import { invalidHeader, missingHeader, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';

const KEY_BYTES = 32;
const KEY = 'x-ms-encryption-key';
const DIGEST = 'x-ms-encryption-key-sha256';
const ALGORITHM = 'x-ms-encryption-algorithm';
const SCOPE = 'x-ms-encryption-scope';

/** An algorithm without a key is what some clients always send, and asks for nothing. */
export function parseCustomerKey(exchange: Exchange): CustomerKey | null {
  const text = exchange.header(KEY);
  const sha256 = exchange.header(DIGEST);
  if (text === null && sha256 === null) return null;
  if (text === null) throw missingHeader(KEY);
  if (sha256 === null) throw missingHeader(DIGEST);
  refuseAlgorithm(exchange);
  if (!exchange.secure && !isLoopback(exchange.clientAddress)) {
    throw new StorageError('InvalidHeaderValue', {
      elements: { HeaderName: KEY },
      message: 'A key may be sent only over HTTPS.',
    });
  }
  const key = Buffer.from(text, 'base64');
  // What a key was given as is not for anybody to read in an answer.
  if (key.length !== KEY_BYTES || key.toString('base64') !== text) throw invalidHeader(KEY, '');
  if (hash('sha256', key, 'base64') !== sha256) throw invalidHeader(DIGEST, sha256);
  return { key, sha256 };
}

/** A read may leave it away: there is only one. */
function refuseAlgorithm(exchange: Exchange): void {
  const algorithm = exchange.header(ALGORITHM);
  const isRead = exchange.method === 'GET' || exchange.method === 'HEAD';
  if (algorithm === null && !isRead) throw missingHeader(ALGORITHM);
  if (algorithm !== null && algorithm !== 'AES256') throw invalidHeader(ALGORITHM, algorithm);
}

const SCOPE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

export function parseEncryptionScope(exchange: Exchange): string | null {
  const text = exchange.header(SCOPE);
  if (text === null || text === '') return null;
  if (!SCOPE_NAME.test(text) || exchange.header(KEY) !== null) throw invalidHeader(SCOPE, text);
  return text;
}
