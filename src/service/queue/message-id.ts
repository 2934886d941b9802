import { randomUUID } from 'node:crypto';
import type { IdSource } from '../../base/ids.ts';

/**
 * A GUID (UUID version 8, RFC 9562) that grows with time: messages that follow each other stand next to each other in the
 * store, where those with random ids would each touch a page of their own.
 */
export function nextMessageId(ids: IdSource): string {
  const id = ids.next();
  // Eight hex digits, from a supply that is drawn for many at once.
  const random = randomUUID().slice(0, 8);
  const variant = '89ab'[random.charCodeAt(1) & 3];
  return `${id.slice(0, 8)}-${id.slice(8, 12)}-8${id.slice(12, 15)}-${variant}${id.slice(15, 18)}-${id.slice(18)}${random.slice(2)}`;
}
