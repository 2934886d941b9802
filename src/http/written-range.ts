/** What Put Page and Put Range, and their forms From URL, share: what is to be done with which bytes. */
import { parseRange, type Slice } from '../rules/range-header.ts';
import type { SourceDemands } from '../service/copy/copy-source.ts';
import { invalidHeader, missingHeader } from '../service/storage-error.ts';
import type { Exchange } from './exchange.ts';

type Asked = Pick<Exchange, 'header'>;

export function parseWrite(exchange: Asked, name: 'x-ms-page-write' | 'x-ms-write'): 'update' | 'clear' {
  const text = exchange.header(name);
  if (text === null) throw missingHeader(name);
  const write = text.toLowerCase();
  if (write !== 'update' && write !== 'clear') throw invalidHeader(name, text);
  return write;
}

/** Both ends are named; whether that can be written is for the blob or the file to say. */
export function requireRange(exchange: Asked): Slice {
  const name = exchange.header('x-ms-range') === null ? 'Range' : 'x-ms-range';
  const text = exchange.header('x-ms-range') ?? exchange.header('range');
  if (text === null) throw missingHeader('x-ms-range');
  const range = parseRange(text);
  if (range === null || range.lastOffsetBytes === null) throw invalidHeader(name, text);
  const { firstOffsetBytes, lastOffsetBytes } = range;
  return { offsetBytes: firstOffsetBytes, lengthBytes: lastOffsetBytes - firstOffsetBytes + 1 };
}

const SOURCE_RANGE = 'x-ms-source-range';

/** The source's range names both its ends, too, and is as long as the one that is written. */
export function refuseOtherLength(exchange: Asked, { range: sourceRange }: SourceDemands, range: Slice): void {
  if (sourceRange === null) throw missingHeader(SOURCE_RANGE);
  const { firstOffsetBytes, lastOffsetBytes } = sourceRange;
  if (lastOffsetBytes === null || lastOffsetBytes - firstOffsetBytes + 1 !== range.lengthBytes) {
    throw invalidHeader(SOURCE_RANGE, exchange.header(SOURCE_RANGE) ?? '');
  }
}
