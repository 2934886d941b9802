import { fileNeeds } from '../../auth/needs.ts';
import { restoreShare as restore } from '../../service/file/restore-share.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import { requireHeader } from '../header-values.ts';
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
