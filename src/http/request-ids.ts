/** Request ids: unique, shaped like a GUID, and cheap: what is random about them is drawn once for each process. */
import { randomBytes } from 'node:crypto';

const PREFIX = randomBytes(10)
  .toString('hex')
  .replace(/^(.{8})(.{4})(.{4})(.{4})$/, '$1-$2-$3-$4-');

let counter = 0;

export const nextRequestId = (): string => PREFIX + (++counter).toString(16).padStart(12, '0');
