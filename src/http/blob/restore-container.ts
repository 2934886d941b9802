import { blobNeeds } from '../../auth/needs.ts';
import { restoreContainer as restore } from '../../service/blob/restore-container.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import { requireHeader } from '../header-values.ts';
import { containerNameOf, type Operation } from './operation.ts';

const NAME = 'x-ms-deleted-container-name';
const VERSION = 'x-ms-deleted-container-version';

/** A container comes back under its own name: others are not taken. */
export const restoreContainer: Operation = {
  name: 'Restore Container',
  need: blobNeeds.restoreContainer,
  async handle(storage, exchange, resource) {
    const name = containerNameOf(exchange, resource);
    const [deletedName, version] = [requireHeader(exchange, NAME), requireHeader(exchange, VERSION)];
    if (deletedName !== name.container) throw invalidHeader(NAME, deletedName);
    await restore(storage, { name, version });
    return { status: 201, headers: [] };
  },
};
