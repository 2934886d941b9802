import { hash } from 'node:crypto';
import { blobNeeds } from '../../auth/needs.ts';
import { crc64Of } from '../../base/crc64.ts';
import { type BlockListEntry, blockIdLengthBytes, COMMITTED_BLOCK_COUNT_MAX } from '../../rules/block-list.ts';
import { putBlockList as put } from '../../service/blob/put-block-list.ts';
import { refuseHashMismatch } from '../../service/extents/take-body.ts';
import { StorageError } from '../../service/storage-error.ts';
import { readWhole, requireContentLength } from '../body.ts';
import { hashHeaders } from '../reply-headers.ts';
import { parseXml, type XmlNode } from '../xml.ts';
import type { Operation } from './operation.ts';
import { parseBodyHashes, parseKeyedBlobRequest, parseNewBlob } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

/** 50,000 ids of 64 bytes in Base64, in elements, with room for white space. */
const LIST_BYTES_MAX = 12 * 1024 * 1024;

const KINDS: Readonly<Record<string, BlockListEntry['kind']>> = {
  Committed: 'committed',
  Uncommitted: 'uncommitted',
  Latest: 'latest',
};

export const putBlockList: Operation = {
  name: 'Put Block List',
  need: blobNeeds.putBlockList,
  async handle(storage, exchange, resource) {
    requireContentLength(exchange);
    const given = parseBodyHashes(exchange);
    const request = {
      ...parseKeyedBlobRequest(exchange, resource),
      ...parseNewBlob(exchange, { plain: false }),
    };
    const body = await readWhole(exchange, { maxBytes: LIST_BYTES_MAX });
    const hashes = given.md5 === null ? { md5: null, crc64: crc64Of(body) } : { md5: md5Of(body), crc64: null };
    refuseHashMismatch(given, hashes);
    const written = await put(storage, { ...request, entries: parseEntries(parseXml(body)) });
    return {
      status: 201,
      headers: [...writtenHeaders(exchange, written), ...hashHeaders(hashes)],
    };
  },
};

function parseEntries(root: XmlNode): BlockListEntry[] {
  if (root.name !== 'BlockList') throw new StorageError('InvalidXmlDocument');
  if (root.children.length > COMMITTED_BLOCK_COUNT_MAX) throw new StorageError('BlockListTooLong');
  return root.children.map((node) => {
    const kind = KINDS[node.name];
    if (kind === undefined) {
      throw new StorageError('InvalidXmlDocument', {
        elements: { Reason: `The element ${node.name} is not allowed here.` },
      });
    }
    const id = node.text.trim();
    if (blockIdLengthBytes(id) === null) throw new StorageError('InvalidBlockId');
    return { kind, id };
  });
}

const md5Of = (bytes: Uint8Array): Buffer => hash('md5', bytes, 'buffer');
