/**
 * multipart/mixed, as a batch uses it: requests in, answers out. Reading is strict, so that nobody can mean one request
 * and have another one done: lines end with CRLF, headers are not folded, parts are not nested and carry no body, and
 * nothing stands before the first boundary or behind the last. One pass, with limits on the number and size of parts.
 * RFC 2046, section 5.1.
 */
import { STATUS_CODES } from 'node:http';
import { invalidHeader, missingHeader, StorageError } from '../service/storage-error.ts';

export interface RequestPart {
  /** What the client calls the part, to be echoed. */
  readonly contentId: string | null;
  readonly method: string;
  /** As on the part's request line. */
  readonly url: string;
  /** Names as written. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface AnswerPart {
  readonly contentId: string | null;
  readonly status: number;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: string;
}

/** As much as the head of a request that comes by itself may have. */
const PART_BYTES_MAX = 64 * 1024;

// Some clients write a boundary with an equals sign and leave the quotes away.
const BOUNDARY_PARAMETER = /;\s*boundary=(?:"([^"]*)"|([^";\s]*))\s*(?:;|$)/i;
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/** The boundary that the Content-Type of a multipart/mixed body names. */
export function parseBoundary(contentType: string | null): string {
  if (contentType === null) throw missingHeader('Content-Type');
  const [, quoted, plain] = BOUNDARY_PARAMETER.exec(contentType) ?? [];
  const boundary = quoted ?? plain ?? '';
  if (!/^multipart\/mixed\s*;/i.test(contentType) || !BOUNDARY.test(boundary)) {
    throw invalidHeader('Content-Type', contentType);
  }
  return boundary;
}

/** The requests in a body, at least one, in order. */
export function parseRequestParts(
  body: Uint8Array,
  { boundary, partCountMax }: { readonly boundary: string; readonly partCountMax: number },
): RequestPart[] {
  // Latin-1, as Node reads the head of a request: what is made of the bytes beyond ASCII is decided in one place.
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
  const parts = splitParts(text, { boundary, partCountMax }).map(parseRequestPart);
  if (parts.length === 0) throw malformed('There is no part.');
  return parts;
}

function splitParts(
  text: string,
  { boundary, partCountMax }: { readonly boundary: string; readonly partCountMax: number },
): string[][] {
  const parts: string[][] = [];
  let isClosed = false;
  let partBytes = 0;
  for (const line of linesOf(text)) {
    const mark = isClosed ? null : markOf(line, boundary);
    const part = parts.at(-1);
    if (mark === 'end') isClosed = true;
    else if (mark === 'next') {
      if (parts.length === partCountMax) throw malformed(`There are more than ${partCountMax} parts.`);
      parts.push([]);
      partBytes = 0;
    } else if (part === undefined || isClosed) {
      if (line !== '') throw malformed('There is text outside the parts.');
    } else {
      partBytes += line.length + 2;
      if (partBytes > PART_BYTES_MAX) throw malformed(`A part is longer than ${PART_BYTES_MAX} bytes.`);
      part.push(line);
    }
  }
  if (!isClosed) throw malformed('The last boundary is missing.');
  return parts;
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;

function* linesOf(text: string): Generator<string> {
  for (let start = 0; start <= text.length; ) {
    const cut = text.indexOf('\r\n', start);
    const end = cut < 0 ? text.length : cut;
    const line = text.slice(start, end);
    if (CONTROL.test(line)) throw malformed('Lines must end with CR LF and contain no other control characters.');
    yield line;
    start = end + 2;
  }
}

function markOf(line: string, boundary: string): 'next' | 'end' | null {
  if (!line.startsWith('--') || !line.startsWith(boundary, 2)) return null;
  const behind = line.slice(2 + boundary.length);
  if (isBlank(behind)) return 'next';
  return behind.startsWith('--') && isBlank(behind.slice(2)) ? 'end' : null;
}

const isBlank = (text: string): boolean => /^[ \t]*$/.test(text);

const REQUEST_LINE = /^([A-Z]{1,20}) (\/[^ \t]*) HTTP\/1\.[01]$/;

/** A part's own headers, an empty line, and a request that ends with its headers, or with an empty line behind them. */
function parseRequestPart(lines: readonly string[]): RequestPart {
  const cut = lines.indexOf('');
  const contentId = readPartHeaders(parseHeaders(cut < 0 ? lines : lines.slice(0, cut)));
  const [, method, url] = REQUEST_LINE.exec(cut < 0 ? '' : (lines[cut + 1] ?? '')) ?? [];
  if (method === undefined || url === undefined) {
    throw malformed('A part must begin with a line of the form: METHOD /path HTTP/1.1');
  }
  const head = lines.slice(cut + 2);
  const end = head.indexOf('');
  if (end >= 0 && head.slice(end).some((line) => line !== '')) throw malformed('A part must not have a body.');
  return { contentId, method, url, headers: parseHeaders(end < 0 ? head : head.slice(0, end)) };
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function parseHeaders(lines: readonly string[]): (readonly [name: string, value: string])[] {
  return lines.map((line) => {
    const header = parseHeaderLine(line);
    if (header === null) throw malformed('A header must be one line of the form: Name: value');
    return header;
  });
}

/** Null where the line is no header. */
export function parseHeaderLine(line: string): readonly [name: string, value: string] | null {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(colon, 0));
  return HEADER_NAME.test(name) ? [name, trimBlanks(line, colon + 1)] : null;
}

/** Not trim(): a byte of a character beyond ASCII may look like a blank. */
function trimBlanks(line: string, from: number): string {
  let [start, end] = [from, line.length];
  while (start < end && BLANKS.includes(line[start] as string)) start++;
  while (start < end && BLANKS.includes(line[end - 1] as string)) end--;
  return line.slice(start, end);
}

const BLANKS = ' \t';

const CONTENT_ID = /^[\u0020-\u007e]{1,1024}$/;

/** Whether a Content-ID can be echoed. */
export const isContentId = (text: string): boolean => CONTENT_ID.test(text);

/** The Content-ID, of a part that is a request and nothing else. */
function readPartHeaders(headers: readonly (readonly [name: string, value: string])[]): string | null {
  const values = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
  if (values.size !== headers.length) throw malformed('A header of a part is repeated.');
  if (!/^application\/http *(;|$)/i.test(values.get('content-type') ?? '')) {
    throw malformed('The Content-Type of a part must be application/http.');
  }
  if ((values.get('content-transfer-encoding') ?? 'binary').toLowerCase() !== 'binary') {
    throw malformed('The Content-Transfer-Encoding of a part must be binary.');
  }
  const contentId = values.get('content-id') ?? null;
  if (contentId !== null && !isContentId(contentId)) throw malformed('The Content-ID of a part is not valid.');
  return contentId;
}

const malformed = (reason: string): StorageError => new StorageError('InvalidInput', { elements: { Reason: reason } });

/**
 * Each answer with its Content-ID. Behind the headers of one without a body stands a single empty line, as the service
 * writes it: some clients take a second one for a body.
 */
export function renderAnswerParts(answers: readonly AnswerPart[], boundary: string): string {
  return `${answers.map((answer) => renderAnswerPart(answer, boundary)).join('')}--${boundary}--\r\n`;
}

function renderAnswerPart({ contentId, status, headers, body }: AnswerPart, boundary: string): string {
  const length = body === '' ? [] : ['Content-Length', String(Buffer.byteLength(body))];
  return [
    `--${boundary}`,
    'Content-Type: application/http',
    ...(contentId === null ? [] : [`Content-ID: ${contentId}`]),
    '',
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...headerLines([...headers, ...length]),
    '',
    ...(body === '' ? [] : [body]),
    '',
  ].join('\r\n');
}

function headerLines(headers: readonly string[]): string[] {
  const lines: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    lines.push(`${headers[index]}: ${headers[index + 1]}`.replaceAll(CONTROLS, ' '));
  }
  return lines;
}

const CONTROLS = new RegExp(CONTROL, 'g');
