import { queueNeeds } from '../../auth/needs.ts';
import { listQueues as list } from '../../service/queue/list-queues.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parseInclude, parseMarker, parseMaxResults, renderMarker, serviceEndpoint } from '../list.ts';
import { renderMetadata } from '../metadata.ts';
import { XmlWriter } from '../xml.ts';
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
    const xml = new XmlWriter()
      .open('EnumerationResults', { ServiceEndpoint: serviceEndpoint(exchange) })
      .leafIf('Prefix', query.get('prefix'))
      .leafIf('Marker', query.get('marker'))
      .leafIf('MaxResults', query.get('maxresults'))
      .open('Queues');
    for (const { name, queue } of page.queues) {
      xml.open('Queue').leaf('Name', name);
      if (include.has('metadata')) renderMetadata(xml, queue.metadata);
      xml.close();
    }
    xml.close().leaf('NextMarker', renderMarker(page.next));
    return { status: 200, headers: ['Content-Type', 'application/xml'], body: xml.toString() };
  },
};
