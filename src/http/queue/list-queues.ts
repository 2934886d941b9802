import { queueNeeds } from '../../auth/needs.ts';
import { listQueues as list } from '../../service/queue/list-queues.ts';
import { StorageError } from '../../service/storage-error.ts';
import { endListing, openListing, parseInclude, parseMarker, parseMaxResults } from '../list.ts';
import { renderMetadata } from '../metadata.ts';
import type { Operation } from './operation.ts';

const INCLUDE: ReadonlySet<string> = new Set(['metadata']);

export const listQueues: Operation = {
  name: 'List Queues',
  need: queueNeeds.listQueues,
  async handle(storage, exchange) {
    const { query, account } = exchange.target;
    const include = parseInclude(exchange, INCLUDE);
    const page = await list(storage, {
      account,
      prefix: query.get('prefix') ?? '',
      from: parseMarker(exchange, () => new StorageError('InvalidMarker')),
      limit: parseMaxResults(exchange),
    });
    const xml = openListing(exchange).open('Queues');
    for (const { name, queue } of page.queues) {
      xml.open('Queue').leaf('Name', name);
      if (include.has('metadata')) renderMetadata(xml, queue.metadata);
      xml.close();
    }
    return endListing(xml, page.next);
  },
};
