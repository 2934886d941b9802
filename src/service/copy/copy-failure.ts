/**
 * Why a copy cannot go on, or could not for a while: whether to try again, and what `x-ms-copy-status-description` says,
 * which is a status, a code and a sentence in quotes.
 * https://learn.microsoft.com/rest/api/storageservices/list-blobs#copy-errors-in-copy-status-description
 */
import { SourceRefused, SourceUnreachable, type UnreachableReason } from './outside.ts';

const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const PASSING_REASONS: ReadonlySet<UnreachableReason> = new Set<UnreachableReason>([
  'connection',
  'timeout',
  'brokeOff',
]);

export const isOfSource = (error: unknown): boolean =>
  error instanceof SourceRefused || error instanceof SourceUnreachable;

/** Whether the same request may get through later. What is no failure of the source is ours, and passes too. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SourceRefused) return PASSING_STATUSES.has(error.status);
  return !(error instanceof SourceUnreachable) || PASSING_REASONS.has(error.reason);
}

/** Of what a source answers without a code of its own. */
const STANDARD_CODES: Readonly<Record<number, string>> = {
  304: 'NotModified',
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  416: 'RequestedRangeNotSatisfiable',
};

export function describeFailure(error: unknown): string {
  const sentence = 'The source could not be read.';
  if (error instanceof SourceRefused) {
    const code = error.code ?? STANDARD_CODES[error.status] ?? 'SourceRefused';
    return `${error.status} ${code} "${sentence}"`;
  }
  return `502 BadGateway "${sentence}"`;
}

export function describeRetry(error: unknown): string {
  return isOfSource(error)
    ? '502 BadGateway "The source could not be read and will be tried again."'
    : '500 InternalServerError "The copy failed and will be tried again."';
}

export const TOOK_TOO_LONG = '500 OperationCancelled "The copy took longer than two weeks."';
