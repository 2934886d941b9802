import { blobNeeds } from '../../auth/needs.ts';
import type { Moment } from '../../rules/moment.ts';
import { parseRange } from '../../rules/range-header.ts';
import { SINCE_PAGE_LISTS_IN_PARTS } from '../../rules/versions.ts';
import { getPageRanges as get, type PageList } from '../../service/blob/get-page-ranges.ts';
import { invalidHeader, invalidQuery } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseMaxResults } from '../list.ts';
import { etagHeaders } from '../reply-headers.ts';
import { XmlWriter } from '../xml.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, parseMomentQuery } from './request-headers.ts';

const RANGES_MAX = 10_000;

export const getPageRanges: Operation = {
  name: 'Get Page Ranges',
  need: blobNeeds.getPageRanges,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const rangeText = exchange.header('x-ms-range') ?? exchange.header('range');
    const list = await get(storage, {
      ...parseBlobRequest(exchange, resource),
      range: rangeText === null ? null : parseRange(rangeText),
      previousSnapshot: parsePrevious(exchange),
      fromBytes: parseOffsetMarker(exchange),
      limit: parseLimit(exchange),
    });
    return {
      status: 200,
      headers: [
        ...etagHeaders(exchange, list.blob),
        'x-ms-blob-content-length',
        String(list.blob.lengthBytes),
        'Content-Type',
        'application/xml',
      ],
      body: render(list),
    };
  },
};

/** By its time, or by its URL. */
function parsePrevious(exchange: Exchange): Moment | null {
  const text = exchange.target.query.get('prevsnapshot');
  if (text !== null) return parseMomentQuery('prevsnapshot', text);
  const url = exchange.header('x-ms-previous-snapshot-url');
  if (url === null || url === '') return null;
  const snapshot = URL.canParse(url) ? new URL(url).searchParams.get('snapshot') : null;
  if (snapshot === null) throw invalidHeader('x-ms-previous-snapshot-url', url);
  return parseMomentQuery('snapshot', snapshot);
}

/** Clients from before lists came in parts get all of it: they would not ask for the rest. */
function parseLimit(exchange: Exchange): number {
  if (exchange.version < SINCE_PAGE_LISTS_IN_PARTS) return Number.POSITIVE_INFINITY;
  return parseMaxResults(exchange, RANGES_MAX);
}

const MARKER_PREFIX = '3!';

function parseOffsetMarker(exchange: Exchange): number {
  const text = exchange.target.query.get('marker');
  if (text === null || text === '') return 0;
  if (!/^3!\d{1,15}$/.test(text)) throw invalidQuery('marker', text);
  return Number(text.slice(MARKER_PREFIX.length));
}

function render({ ranges, nextBytes }: PageList): string {
  const xml = new XmlWriter().open('PageList');
  for (const { kind, offsetBytes, lengthBytes } of ranges) {
    xml
      .open(kind === 'page' ? 'PageRange' : 'ClearRange')
      .leaf('Start', offsetBytes)
      .leaf('End', offsetBytes + lengthBytes - 1)
      .close();
  }
  return xml.leaf('NextMarker', nextBytes === null ? '' : `${MARKER_PREFIX}${nextBytes}`).toString();
}
