import { fileNeeds } from '../../auth/needs.ts';
import { restoreShare as restore } from '../../service/file/restore-share.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { etagHeaders } from '../reply-headers.ts';
import { type Operation, shareNameOf } from './operation.ts';

const NAME = 'x-ms-deleted-share-name';
const VERSION = 'x-ms-deleted-share-version';

/** A share comes back under its own name: others are not taken. */
export const restoreShare: Operation = {
  name: 'Restore Share',
  need: fileNeeds.restoreShare,
  async handle(storage, exchange, resource) {
    const name = shareNameOf(exchange, resource);
    const [deletedName, version] = [requireHeader(exchange, NAME), requireHeader(exchange, VERSION)];
    if (deletedName !== name.share) throw invalidHeader(NAME, deletedName);
    return { status: 201, headers: etagHeaders(exchange, await restore(storage, { name, version })) };
  },
};

function requireHeader(exchange: Exchange, name: string): string {
  const text = exchange.header(name);
  if (text === null || text === '') throw missingHeader(name);
  return text;
}
