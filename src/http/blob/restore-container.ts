import { blobNeeds } from '../../auth/needs.ts';
import { restoreContainer as restore } from '../../service/blob/restore-container.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
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

function requireHeader(exchange: Exchange, name: string): string {
  const text = exchange.header(name);
  if (text === null || text === '') throw missingHeader(name);
  return text;
}
