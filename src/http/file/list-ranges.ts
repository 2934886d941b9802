import { fileNeeds } from '../../auth/needs.ts';
import type { Moment } from '../../rules/moment.ts';
import { formatMoment, parseMoment } from '../../rules/moment.ts';
import { type ByteRange, parseRange } from '../../rules/range-header.ts';
import { listRanges as list } from '../../service/file/list-ranges.ts';
import { invalidQuery } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import { parseMaxResults } from '../list.ts';
import { etagHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseFileRequest } from './request-headers.ts';

type Ranges = Awaited<ReturnType<typeof list>>['ranges'];

export const listRanges: Operation = {
  name: 'List Ranges',
  need: fileNeeds.getFile,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const { range, limit } = parsePart(exchange);
    const { node, ranges } = await list(storage, {
      ...parseFileRequest(exchange, resource),
      range,
      previous: parsePrevious(exchange),
      followsRenames: parseFlag(exchange, 'x-ms-file-support-rename'),
    });
    return {
      status: 200,
      headers: [
        ...etagHeaders(exchange, node),
        'x-ms-content-length',
        String(node.lengthBytes),
        'Content-Type',
        'application/xml',
      ],
      body: await rendered(ranges, limit),
    };
  },
};

function parsePrevious({ target }: Exchange): Moment | null {
  const text = target.query.get('prevsharesnapshot');
  if (text === null) return null;
  const ticks = parseMoment(text);
  if (ticks === null) throw invalidQuery('prevsharesnapshot', text);
  return formatMoment(ticks);
}

/** Lists come in parts. */
const SINCE_PARTS = '2026-10-06';
const MARKER_PREFIX = '3!';

/** What of the list is asked for. `limit`: how many ranges; null: all, and the list does not speak of parts. */
function parsePart(exchange: Exchange): { range: ByteRange | null; limit: number | null } {
  const text = exchange.header('x-ms-range') ?? exchange.header('range');
  const range = text === null ? null : parseRange(text);
  if (exchange.version < SINCE_PARTS) return { range, limit: null };
  const limit = exchange.target.query.has('maxresults')
    ? parseMaxResults(exchange, Number.MAX_SAFE_INTEGER)
    : Number.POSITIVE_INFINITY;
  const fromBytes = parseOffsetMarker(exchange);
  if (fromBytes === 0) return { range, limit };
  const firstOffsetBytes = Math.max(fromBytes, range?.firstOffsetBytes ?? 0);
  return { range: { firstOffsetBytes, lastOffsetBytes: range?.lastOffsetBytes ?? null }, limit };
}

function parseOffsetMarker({ target }: Exchange): number {
  const text = target.query.get('marker');
  if (text === null || text === '') return 0;
  if (!/^3!\d{1,15}$/.test(text)) throw invalidQuery('marker', text);
  return Number(text.slice(MARKER_PREFIX.length));
}

const PIECE_CHARACTERS = 16 * 1024;
const BEGUN = Buffer.alloc(0);

/** A list can be long: a file may have a range in every other page. It is sent as it is read. */
async function rendered(ranges: Ranges, limit: number | null): Promise<AsyncIterable<Uint8Array>> {
  const pieces = render(ranges, limit);
  // Begun at once, so that whoever gives it up before the first piece lets go of the ranges, too.
  await pieces.next();
  return pieces;
}

async function* render(ranges: Ranges, limit: number | null): AsyncGenerator<Uint8Array> {
  try {
    yield BEGUN;
    let text = '<?xml version="1.0" encoding="utf-8"?><Ranges>';
    let count = 0;
    let next = '';
    for await (const { kind, offsetBytes, lengthBytes } of ranges) {
      if (count === limit) {
        next = `${MARKER_PREFIX}${offsetBytes}`;
        break;
      }
      count++;
      const name = kind === 'range' ? 'Range' : 'ClearRange';
      text += `<${name}><Start>${offsetBytes}</Start><End>${offsetBytes + lengthBytes - 1}</End></${name}>`;
      if (text.length < PIECE_CHARACTERS) continue;
      yield Buffer.from(text);
      text = '';
    }
    if (limit !== null) text += next === '' ? '<NextMarker />' : `<NextMarker>${next}</NextMarker>`;
    yield Buffer.from(`${text}</Ranges>`);
  } finally {
    await ranges[Symbol.asyncIterator]().return?.();
  }
}
