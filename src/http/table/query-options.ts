/** The query options of OData that the Table service knows: `$filter`, `$select`, `$top`. All others are refused. */
import { type Filter, parseFilter } from '../../rules/entity-filter.ts';
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';

export const PAGE_COUNT_MAX = 1_000;
const SELECT_COUNT_MAX = 255;

type Asked = Pick<Exchange, 'target'>;

export function parseFilterOption({ target: { query } }: Asked): Filter | null {
  const text = query.get('$filter');
  if (text === null || text.trim() === '') return null;
  const parsed = parseFilter(text);
  if ('filter' in parsed) return parsed.filter;
  throw new StorageError(parsed.unsupported ? 'NotImplemented' : 'InvalidInput', { message: parsed.problem });
}

/** At most so many in the answer. */
export function parseTop({ target: { query } }: Asked): number {
  const text = query.get('$top');
  if (text === null || text === '') return PAGE_COUNT_MAX;
  const top = Number(text);
  if (!/^\d{1,9}$/.test(text) || top < 1 || top > PAGE_COUNT_MAX) {
    throw new StorageError('InvalidInput', {
      message: `$top takes a number from 1 to ${PAGE_COUNT_MAX}, not ${text}.`,
    });
  }
  return top;
}

/** Null: all properties. */
export function parseSelect({ target: { query } }: Asked): readonly string[] | null {
  const text = query.get('$select');
  if (text === null || text.trim() === '') return null;
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('*')) return null;
  if (names.includes('') || names.length > SELECT_COUNT_MAX) throw invalidQuery('$select', text);
  return [...new Set(names)];
}

/** What the caller asks for and would not get is refused, rather than left out of the answer. */
export function refuseOtherOptions({ target: { query } }: Asked, known: readonly string[]): void {
  for (const [name] of query.entries) {
    if (!name.startsWith('$') || name === '$format' || known.includes(name)) continue;
    throw new StorageError('NotImplemented', { message: `The Table service does not offer the query option ${name}.` });
  }
}
