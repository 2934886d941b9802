/**
 * What a refusal of the Table service looks like: JSON, as its other answers; XML where the operation speaks XML (access
 * policies, service properties).
 */
import { formatIso7 } from '../../base/http-date.ts';
import type { StorageError } from '../../service/storage-error.ts';
import type { Reply } from '../exchange.ts';
import { type FaultContext, faultHead, messageOf, renderFault } from '../faults.ts';
import { jsonHeaders } from './metadata.ts';

export function renderTableFault(error: StorageError, context: FaultContext): Reply {
  const speaksXml = context.target?.query.has('comp') === true;
  if (speaksXml) return renderFault(error, context);
  const { status, headers } = faultHead(error, context);
  if (status === 304 || context.method === 'HEAD') return { status, headers };
  return { status, headers: [...headers, ...jsonHeaders('minimal')], body: renderFaultJson(error, context) };
}

/** `index`: of the failing part of a batch. */
export function renderFaultJson(
  error: StorageError,
  { requestId, nowMs, index }: Pick<FaultContext, 'requestId' | 'nowMs'> & { readonly index?: number },
): string {
  const sentence = `${index === undefined ? '' : `${index}:`}${messageOf(error)}`;
  // Who looks for what is wrong with a signature needs it here too, where there are no elements.
  const { AuthenticationErrorDetail: detail } = error.details.elements ?? {};
  const value = `${sentence}\nRequestId:${requestId}\nTime:${formatIso7(nowMs)}${detail === undefined ? '' : `\n${detail}`}`;
  return JSON.stringify({ 'odata.error': { code: error.code, message: { lang: 'en-US', value } } });
}
