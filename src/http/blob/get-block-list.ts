import { blobNeeds } from '../../auth/needs.ts';
import { NO_CONDITIONS } from '../../rules/conditions.ts';
import { type BlockList, getBlockList as get, type NamedBlock } from '../../service/blob/get-block-list.ts';
import { invalidQuery } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { etagHeaders } from '../reply-headers.ts';
import { XmlWriter } from '../xml.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest } from './request-headers.ts';

type ListType = 'committed' | 'uncommitted' | 'all';

export const getBlockList: Operation = {
  name: 'Get Block List',
  need: (exchange) =>
    // What is staged is not public, even where the blob is.
    parseListType(exchange) === 'committed' ? blobNeeds.getBlockList : { ...blobNeeds.getBlockList, anonymous: null },
  takesPast: true,
  async handle(storage, exchange, resource) {
    const type = parseListType(exchange);
    const request = parseBlobRequest(exchange, resource);
    const conditions = { ...NO_CONDITIONS, ifTags: request.conditions.ifTags ?? null };
    const list = await get(storage, { ...request, conditions, type });
    return {
      status: 200,
      headers: [
        ...(list.blob === null ? [] : etagHeaders(exchange, list.blob)),
        'x-ms-blob-content-length',
        String(list.blob?.lengthBytes ?? 0),
        'Content-Type',
        'application/xml',
      ],
      body: render(list, type),
    };
  },
};

function parseListType(exchange: Exchange): ListType {
  const text = exchange.target.query.get('blocklisttype');
  if (text === null || text === '') return 'committed';
  const type = text.toLowerCase();
  if (type === 'committed' || type === 'uncommitted' || type === 'all') return type;
  throw invalidQuery('blocklisttype', text);
}

function render(list: BlockList, type: ListType): string {
  const xml = new XmlWriter().open('BlockList');
  if (type !== 'uncommitted') renderBlocks(xml, 'CommittedBlocks', list.committed);
  if (type !== 'committed') renderBlocks(xml, 'UncommittedBlocks', list.uncommitted);
  return xml.toString();
}

function renderBlocks(xml: XmlWriter, name: string, blocks: readonly NamedBlock[]): void {
  xml.open(name);
  for (const block of blocks) {
    xml.open('Block').leaf('Name', block.blockId).leaf('Size', block.lengthBytes).close();
  }
  xml.close();
}
