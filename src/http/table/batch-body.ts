/**
 * The body of an entity group transaction: a batch that holds one change set, with its own boundary inside, or one query.
 * Each request in it is a part: headers of the part, an empty line, and an HTTP request with its head and body. Clients
 * differ in line ends, in where Content-ID stands and in whether a URL is absolute; what cannot be read is refused whole.
 * https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions
 */
import { StorageError } from '../../service/storage-error.ts';
import { isContentId, parseBoundary, parseHeaderLine } from '../multipart.ts';
import { malformedBatch, readHead, splitParts } from './batch-parts.ts';

/** Names in lower case, in the order sent. */
export type PartHeaders = readonly (readonly [name: string, value: string])[];

/** A request inside a batch. */
export interface BatchRequest {
  /** What the client calls it, to be echoed. */
  readonly contentId: string | null;
  readonly method: string;
  /** As on its request line. */
  readonly url: string;
  readonly headers: PartHeaders;
  readonly body: Uint8Array;
}

export type BatchBody =
  /** Of a change set that is too long, one more than is allowed. */
  | { readonly kind: 'changes'; readonly requests: readonly BatchRequest[] }
  | { readonly kind: 'query'; readonly request: BatchRequest };

export function parseBatchBody(
  body: Buffer,
  { boundary, changeCountMax }: { readonly boundary: string; readonly changeCountMax: number },
): BatchBody {
  const parts = splitParts(body, { boundary, partCountMax: 1, mayEndOpen: true });
  const [part] = parts;
  if (part === undefined) throw malformedBatch('There is no part.');
  if (parts.length > 1) throw malformedBatch('A batch must contain one change set or one query, and nothing else.');
  const { lines, endBytes } = readHead(part, 0);
  const headers = parseHeaders(lines, 0);
  if (!isMultipart(headers)) return { kind: 'query', request: parseRequest(part, headers, endBytes) };
  const changes = splitParts(part.subarray(endBytes), {
    boundary: changeSetBoundary(headers),
    partCountMax: changeCountMax,
    mayEndOpen: false,
  });
  return { kind: 'changes', requests: changes.map(parseChangePart) };
}

const isMultipart = (headers: PartHeaders): boolean => /^multipart\//i.test(valueOf(headers, 'content-type') ?? '');

function changeSetBoundary(headers: PartHeaders): string {
  try {
    return parseBoundary(valueOf(headers, 'content-type'));
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw malformedBatch('The Content-Type of the change set must be multipart/mixed, with a boundary.');
  }
}

function parseChangePart(part: Buffer): BatchRequest {
  const { lines, endBytes } = readHead(part, 0);
  const headers = parseHeaders(lines, 0);
  if (isMultipart(headers)) throw malformedBatch('A change set must not contain another change set.');
  return parseRequest(part, headers, endBytes);
}

function parseRequest(part: Buffer, ofPart: PartHeaders, fromBytes: number): BatchRequest {
  refusePartHeaders(ofPart);
  const { lines, endBytes } = readHead(part, fromBytes);
  const { method, url } = parseRequestLine(lines[0] ?? '');
  const headers = parseHeaders(lines, 1);
  const contentId = readContentId(valueOf(headers, 'content-id') ?? valueOf(ofPart, 'content-id'));
  const body = part.subarray(endBytes);
  return { contentId, method, url, headers, body: cutBody(body, valueOf(headers, 'content-length')) };
}

const METHOD = /^[A-Z]{1,20}$/;

/** A blank in a URL stands for itself: the documentation writes one between the keys of an entity. */
function parseRequestLine(line: string): { readonly method: string; readonly url: string } {
  const [first, last] = [line.indexOf(' '), line.lastIndexOf(' ')];
  const method = line.slice(0, Math.max(first, 0));
  const url = line.slice(first + 1, Math.max(last, first)).trim();
  const version = line.slice(last + 1);
  if (!METHOD.test(method) || url === '' || (version !== 'HTTP/1.1' && version !== 'HTTP/1.0')) {
    throw malformedBatch('A request in a batch must begin with a line of the form: METHOD url HTTP/1.1');
  }
  return { method, url };
}

function parseHeaders(lines: readonly string[], fromIndex: number): PartHeaders {
  const headers: [name: string, value: string][] = [];
  for (let index = fromIndex; index < lines.length; index++) {
    const header = parseHeaderLine(lines[index] as string);
    if (header === null) throw malformedBatch('A header must be one line of the form: Name: value');
    headers.push([header[0].toLowerCase(), header[1]]);
  }
  return headers;
}

/** The first of several. */
function valueOf(headers: PartHeaders, name: string): string | null {
  for (const header of headers) if (header[0] === name) return header[1];
  return null;
}

function refusePartHeaders(headers: PartHeaders): void {
  if (!/^application\/http\s*(?:;|$)/i.test(valueOf(headers, 'content-type') ?? '')) {
    throw malformedBatch('The Content-Type of a request in a batch must be application/http.');
  }
  const encoding = valueOf(headers, 'content-transfer-encoding') ?? 'binary';
  if (!/^(?:binary|8bit|7bit)$/i.test(encoding)) {
    throw malformedBatch('The Content-Transfer-Encoding of a request in a batch must be binary.');
  }
}

function readContentId(text: string | null): string | null {
  if (text === null || text === '') return null;
  if (!isContentId(text)) throw malformedBatch('A Content-ID is not valid.');
  return text;
}

/** All up to the boundary, or as much of it as Content-Length says; what is left then may only be line breaks. */
function cutBody(body: Buffer, contentLength: string | null): Uint8Array {
  if (contentLength === null) return body;
  const lengthBytes = /^\d{1,10}$/.test(contentLength) ? Number(contentLength) : Number.POSITIVE_INFINITY;
  const isWhole =
    lengthBytes <= body.length && body.subarray(lengthBytes).every((byte) => byte === 0x0d || byte === 0x0a);
  if (!isWhole) throw malformedBatch('A Content-Length in a batch is not the length of the body that follows.');
  return body.subarray(0, lengthBytes);
}
