/**
 * Shared Key and Shared Key Lite: the string that a request's signature is made of, and the verdict on it.
 * https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
 *
 * Clients disagree on details that leave the signed content the same (the order of header names, white space, the path
 * of a secondary), so there are several strings to try. The first is the service's own and nearly always matches.
 */
import { formatHttpDate, parseHttpDate } from '../base/http-date.ts';
import { SINCE_EMPTY_CONTENT_LENGTH_SIGNED, SINCE_EMPTY_HEADERS_SIGNED } from '../rules/versions.ts';
import { StorageError } from '../service/storage-error.ts';
import { compareByteOrder, compareIcuOrder, compareServiceOrder } from './header-order.ts';
import type { Account } from './identity.ts';
import { authenticationFailed, signatureMismatch } from './refusals.ts';
import { signatureMatches } from './signature.ts';
import type { SignedRequest } from './signed-request.ts';

export type SharedKeyScheme = 'SharedKey' | 'SharedKeyLite';

const DATE_SKEW_MAX_MS = 15 * 60 * 1000;
/** Until then Shared Key was what is called Shared Key Lite since. */
const SINCE_FULL_STRING = '2009-09-19';

/** Throws unless a key of the account made the signature, over a date close to now. */
export function verifySharedKey(
  request: SignedRequest,
  account: Account,
  { scheme, signature, nowMs }: { scheme: SharedKeyScheme; signature: string; nowMs: number },
): void {
  const headers = collectHeaders(request);
  refuseSkewedDate(headers, nowMs);
  let usual: string | null = null;
  for (const stringToSign of stringsToSign(request, scheme, headers)) {
    if (signatureMatches(account, stringToSign, signature)) return;
    usual ??= stringToSign;
  }
  throw signatureMismatch(usual ?? '');
}

const STANDARD_HEADERS = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
] as const;
type StandardHeader = (typeof STANDARD_HEADERS)[number];
const standardHeaders: ReadonlySet<string> = new Set(STANDARD_HEADERS);
const isStandardHeader = (name: string): name is StandardHeader => standardHeaders.has(name);

interface SignedHeaders {
  readonly standard: ReadonlyMap<StandardHeader, string>;
  /** The `x-ms-` headers; the values of a repeated one are joined. */
  readonly extension: ReadonlyMap<string, string>;
}

function collectHeaders(request: SignedRequest): SignedHeaders {
  const standard = new Map<StandardHeader, string>();
  const extension = new Map<string, string>();
  for (const [name, value] of request.rawHeaders) {
    if (name.startsWith('x-ms-')) {
      const earlier = extension.get(name);
      extension.set(name, earlier === undefined ? value : `${earlier},${value}`);
    } else if (isStandardHeader(name)) {
      if (standard.has(name)) throw repeatedHeader(name, value);
      standard.set(name, value);
    }
  }
  return { standard, extension };
}

const repeatedHeader = (name: string, value: string): StorageError =>
  new StorageError('InvalidHeaderValue', {
    elements: { HeaderName: name, HeaderValue: value, Reason: 'The header is sent more than once.' },
  });

function refuseSkewedDate({ standard, extension }: SignedHeaders, nowMs: number): void {
  const text = extension.get('x-ms-date') ?? standard.get('date');
  if (text === undefined) throw authenticationFailed('A signed request needs an x-ms-date or Date header.');
  const dateMs = parseHttpDate(text);
  if (dateMs === null) throw authenticationFailed(`The request's date is not an RFC 1123 date: ${text}`);
  if (Math.abs(nowMs - dateMs) > DATE_SKEW_MAX_MS) {
    const now = formatHttpDate(nowMs);
    throw authenticationFailed(`The request's date ${text} is more than 15 minutes away from the server's, ${now}.`);
  }
}

/** Every string that counts as signed, the likeliest first, each made only when the ones before did not match. */
export function* stringsToSign(
  request: SignedRequest,
  scheme: SharedKeyScheme,
  headers: SignedHeaders = collectHeaders(request),
): Generator<string> {
  if (request.service === 't') return yield* tableStringsToSign(request, headers, scheme);
  const lite = scheme === 'SharedKeyLite' || request.version < SINCE_FULL_STRING;
  const head = lite ? liteHead(request, headers) : fullHead(request, headers);
  for (const path of signedPaths(request)) {
    const resource = lite ? liteResource(request, path) : fullResource(request, path);
    for (const extension of canonicalizedHeaders(request, headers)) yield head + extension + resource;
  }
}

function* tableStringsToSign(
  request: SignedRequest,
  headers: SignedHeaders,
  scheme: SharedKeyScheme,
): Generator<string> {
  const { standard, extension } = headers;
  const date = extension.get('x-ms-date') ?? standard.get('date') ?? '';
  const head =
    scheme === 'SharedKeyLite'
      ? `${date}\n`
      : `${request.method}\n${standard.get('content-md5') ?? ''}\n${standard.get('content-type') ?? ''}\n${date}\n`;
  for (const path of signedPaths(request)) yield head + liteResource(request, path);
}

function fullHead(request: SignedRequest, headers: SignedHeaders): string {
  let head = `${request.method}\n`;
  for (const name of STANDARD_HEADERS) head += `${standardLine(request, headers, name)}\n`;
  return head;
}

const liteHead = (request: SignedRequest, headers: SignedHeaders): string =>
  `${request.method}\n${headers.standard.get('content-md5') ?? ''}\n` +
  `${headers.standard.get('content-type') ?? ''}\n${standardLine(request, headers, 'date')}\n`;

function standardLine(request: SignedRequest, { standard, extension }: SignedHeaders, name: StandardHeader): string {
  const value = standard.get(name) ?? '';
  if (name === 'date' && extension.has('x-ms-date')) return '';
  if (name === 'content-length' && value === '0' && request.version >= SINCE_EMPTY_CONTENT_LENGTH_SIGNED) return '';
  return value;
}

function* canonicalizedHeaders(request: SignedRequest, { extension }: SignedHeaders): Generator<string> {
  const signsEmpty = request.version >= SINCE_EMPTY_HEADERS_SIGNED;
  const signed = [...extension].filter(([, value]) => signsEmpty || value !== '');
  const tried = new Set<string>();
  for (const compareNames of [compareServiceOrder, compareByteOrder, compareIcuOrder]) {
    signed.sort(([a], [b]) => compareNames(a, b));
    // SDKs sign white space as they send it, although it is documented to be folded.
    for (const spacing of [asSent, foldWhiteSpace]) {
      let lines = '';
      for (const [name, value] of signed) lines += `${name}:${spacing(value)}\n`;
      if (tried.has(lines)) continue;
      tried.add(lines);
      yield lines;
    }
  }
}

const asSent = (value: string): string => value.trimStart();

/** Runs of white space become one space, except inside quoted strings. */
const foldWhiteSpace = (value: string): string =>
  value.trimStart().replaceAll(/"[^"]*"|\s+/g, (run) => (run.startsWith('"') ? run : ' '));

/** A path-style secondary is signed by its own path (SDKs) or by the primary's (the documentation). */
function* signedPaths({ target }: SignedRequest): Generator<string> {
  yield target.rawPath === '' ? '/' : target.rawPath;
  if (target.secondary && !target.hostStyle) {
    yield `/${target.account}${target.rawPath.slice(`/${target.account}-secondary`.length)}`;
  }
}

/** Account, path and every query parameter, sorted by name; the values of one name are sorted and joined. */
function fullResource({ target }: SignedRequest, path: string): string {
  let resource = `/${target.account}${path}`;
  const valuesOf = new Map<string, string[]>();
  for (const [name, value] of target.query.entries) {
    const values = valuesOf.get(name);
    if (values === undefined) valuesOf.set(name, [value]);
    else values.push(value);
  }
  for (const name of [...valuesOf.keys()].sort(compareByteOrder)) {
    resource += `\n${name}:${valuesOf.get(name)?.sort(compareByteOrder).join(',')}`;
  }
  return resource;
}

function liteResource({ target }: SignedRequest, path: string): string {
  const comp = target.query.get('comp');
  return `/${target.account}${path}${comp === null ? '' : `?comp=${comp}`}`;
}
