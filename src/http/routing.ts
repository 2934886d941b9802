/** How doors tell operations apart, as far as it is the same at all of them: closed lists by `METHOD comp`. */
import type { ErrorCode } from '../rules/error-code.ts';
import { invalidQuery, StorageError } from '../service/storage-error.ts';
import type { Exchange } from './exchange.ts';

export const compOf = (exchange: Exchange): string => (exchange.target.query.get('comp') ?? '').toLowerCase();

const VERBS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH', 'MERGE']);

/** Why a request found nothing in its list. `wrongMethod`: for what is there, under another method. */
export function unknownOperation(
  exchange: Exchange,
  operations: Readonly<Record<string, unknown>>,
  wrongMethod: ErrorCode = 'UnsupportedHttpVerb',
): StorageError {
  if (!VERBS.has(exchange.method)) return new StorageError('InvalidHttpVerb');
  const comp = compOf(exchange);
  const isKnownComp = Object.keys(operations).some((route) => route.endsWith(` ${comp}`));
  return isKnownComp ? new StorageError(wrongMethod) : invalidQuery('comp', comp);
}

/** Every operation takes one; none is cut short by it. */
export function refuseTimeout({ target }: Exchange): void {
  const text = target.query.get('timeout');
  if (text !== null && !/^\d{1,9}$/.test(text)) throw invalidQuery('timeout', text, 'Not a number of seconds.');
}
