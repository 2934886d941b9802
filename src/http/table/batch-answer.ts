/**
 * The answer to an entity group transaction: multipart/mixed in multipart/mixed, as the service writes it, with one part
 * for each change, or the one refusal. Clients take it apart line by line and by the names of the boundaries, so the form
 * is kept to the letter. The answer to a query stands in the batch by itself.
 */
import { STATUS_CODES } from 'node:http';
import type { StorageError } from '../../service/storage-error.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { faultHead } from '../faults.ts';
import { jsonHeaders, PLAIN_HEADERS } from './metadata.ts';
import { renderFaultJson } from './table-fault.ts';

/** The answer to one request of a batch. */
export interface BatchReply extends Reply {
  readonly contentId: string | null;
}

export function renderChangeSetAnswer({ requestId }: Exchange, replies: readonly BatchReply[]): Reply {
  const boundary = `changesetresponse_${requestId}`;
  const parts = replies.map((reply) => `--${boundary}\r\n${renderPart(reply)}`).join('');
  return inBatch(requestId, `Content-Type: multipart/mixed; boundary=${boundary}\r\n\r\n${parts}--${boundary}--\r\n`);
}

export const renderQueryAnswer = ({ requestId }: Exchange, reply: BatchReply): Reply =>
  inBatch(requestId, renderPart(reply));

function inBatch(requestId: string, part: string): Reply {
  const boundary = `batchresponse_${requestId}`;
  return {
    status: 202,
    headers: ['Content-Type', `multipart/mixed; boundary=${boundary}`, ...PLAIN_HEADERS],
    body: `--${boundary}\r\n${part}--${boundary}--\r\n`,
  };
}

const PART_HEADERS = 'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n';

function renderPart({ contentId, status, headers, body = '' }: BatchReply): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  if (contentId !== null) head += `Content-ID: ${contentId}\r\n`;
  for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${PART_HEADERS}${head}DataServiceVersion: 3.0;\r\n\r\n${textOf(body)}\r\n`;
}

function textOf(body: NonNullable<Reply['body']>): string {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  throw new TypeError('the answer to a part is no stream');
}

/** `index`: of the change that is refused; null where it is not one of them. */
export function renderRefusal(
  error: StorageError,
  { index, ...context }: { readonly requestId: string; readonly nowMs: number; readonly index: number | null },
): Reply {
  const { status, headers } = faultHead(error, {});
  const body = renderFaultJson(error, index === null ? context : { ...context, index });
  return { status, headers: [...headers, ...jsonHeaders('minimal')], body };
}
