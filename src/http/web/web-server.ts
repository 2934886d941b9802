/**
 * The web door: static websites. Anybody may read the container `$web` of an account whose website is switched on, as
 * pages, with GET and HEAD; nobody is asked who they are, and nothing else can be reached from here.
 */
import { refuseStranger } from '../../auth/authenticate.ts';
import type { Account, Identity } from '../../auth/identity.ts';
import { refuseBlobName } from '../../rules/names.ts';
import { documentsAt, WEB_CONTAINER, type WebDocument } from '../../rules/website.ts';
import { knownServiceProperties } from '../../service/service-properties.ts';
import type { Storage } from '../../service/storage.ts';
import { StorageError } from '../../service/storage-error.ts';
import { refuseMalformedHead } from '../answer.ts';
import { getBlob } from '../blob/get-blob.ts';
import { getBlobProperties } from '../blob/get-blob-properties.ts';
import type { Means } from '../blob/operation.ts';
import type { AuthorizedExchange, Reply } from '../exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { decodePercent, parseQuery, parseRequestTarget } from '../request-target.ts';
import { type HttpServer, LIMITS, type ListenOptions, openServerOf } from '../server.ts';
import { CONTENT_NOT_FOUND, type Page, renderFaultPage, renderPage, WEBSITE_NOT_ENABLED } from './pages.ts';

const SERVICE = 'b';

export interface WebServerOptions extends ListenOptions {
  readonly storage: Storage;
  readonly accounts: ReadonlyMap<string, Account>;
}

export const openWebServer = (options: WebServerOptions): Promise<HttpServer> =>
  openServerOf(
    { service: SERVICE, answer: (exchange) => answer(exchange, options), renderFault: renderFaultPage },
    options,
  );

async function answer(exchange: HttpExchange, { storage, accounts, clock }: WebServerOptions): Promise<Reply> {
  exchange.operation = 'Get Web Content';
  refuseMalformedHead(exchange, LIMITS.urlCharactersMax);
  const { url } = exchange.request as { url: string };
  exchange.target = parseRequestTarget({ url, host: exchange.header('host'), accounts });
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
    throw new StorageError('UnsupportedHttpVerb', { headers: { Allow: 'GET, HEAD' } });
  }
  const show = (page: Page): Reply => {
    exchange.errorCode = page.code;
    return renderPage(page, { requestId: exchange.requestId, nowMs: clock.nowMs() });
  };
  const account = accounts.get(exchange.target.account);
  if (account === undefined) return show(WEBSITE_NOT_ENABLED);
  if (account.loopbackOnly) refuseStranger(exchange, account);
  const { staticWebsite } = await knownServiceProperties(storage, account.name, SERVICE);
  if (!staticWebsite.enabled) return show(WEBSITE_NOT_ENABLED);
  if (isAccountAlone(exchange)) return moveBehindSlash(exchange);
  for (const document of documentsAt(decodePercent(exchange.target.resourcePath), staticWebsite)) {
    const reply = await read(storage, exchange, document);
    if (reply !== null) return reply;
  }
  return show(CONTENT_NOT_FOUND);
}

const isAccountAlone = ({ target }: HttpExchange): boolean => !target.hostStyle && !target.rawPath.includes('/', 1);

/** Without the slash, what a page names beside it would be looked for beside the account. */
function moveBehindSlash({ target, request }: HttpExchange): Reply {
  const mark = (request.url as string).indexOf('?');
  const query = mark < 0 ? '' : (request.url as string).slice(mark);
  return { status: 301, headers: ['Location', `${target.rawPath}/${query}`] };
}

/** Null where there is no such blob. */
async function read(storage: Storage, exchange: HttpExchange, { name, status }: WebDocument): Promise<Reply | null> {
  if (refuseBlobName(name, { container: WEB_CONTAINER }) !== null) return null;
  // What the client knows and asks a part of is the page it asked for, and not the one that says there is none.
  const headers = status === 200 ? conditionsAndRange(exchange) : NONE;
  const operation = exchange.method === 'HEAD' ? getBlobProperties : getBlob;
  const resource = { kind: 'blob', container: WEB_CONTAINER, blob: name } as const;
  try {
    const reply = await operation.handle(storage, asReader(exchange, headers), resource, NO_MEANS);
    return { ...reply, status: status === 404 ? 404 : reply.status, headers: webHeaders(reply.headers, status) };
  } catch (error) {
    if (error instanceof StorageError && ABSENT.has(error.code)) return null;
    throw error;
  }
}

const ABSENT: ReadonlySet<string> = new Set(['BlobNotFound', 'ContainerNotFound', 'ResourceNotFound']);

const NONE: ReadonlySet<string> = new Set();
const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];
const CONDITIONS_ONLY: ReadonlySet<string> = new Set(CONDITIONS);
const CONDITIONS_AND_RANGE: ReadonlySet<string> = new Set([...CONDITIONS, 'range']);

/** A range on a condition of its own (If-Range) may always be answered with the whole. */
const conditionsAndRange = (exchange: HttpExchange): ReadonlySet<string> =>
  exchange.header('if-range') === null ? CONDITIONS_AND_RANGE : CONDITIONS_ONLY;

const READER: Identity = { kind: 'anonymous', publicAccess: 'blob' };
const NO_QUERY = parseQuery('');

/** The request as the Blob service's reads know it: of its query nothing counts, and of its headers only these. */
function asReader(exchange: HttpExchange, counting: ReadonlySet<string>): AuthorizedExchange {
  const { service, method, target, version, requestId, clientAddress, secure, origin } = exchange;
  return {
    service,
    method,
    target: { ...target, query: NO_QUERY },
    header: (name) => (counting.has(name) ? exchange.header(name) : null),
    rawHeaders: [],
    headersWithPrefix: () => [],
    version,
    requestId,
    clientAddress,
    secure,
    origin,
    body: () => exchange.body(),
    wholeBody: () => exchange.wholeBody(),
    contentLengthBytes: exchange.contentLengthBytes,
    identity: READER,
  };
}

const refuseMeans = (): never => {
  throw new TypeError('a page has no parts and no source');
};

const NO_MEANS: Means = { openPart: refuseMeans, resolveSource: refuseMeans };

const CONTENT_HEADERS = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-disposition',
  'content-md5',
  'cache-control',
];
const OF_MISSING: ReadonlySet<string> = new Set(CONTENT_HEADERS);
const OF_PAGE: ReadonlySet<string> = new Set([
  ...CONTENT_HEADERS,
  'etag',
  'last-modified',
  'accept-ranges',
  'content-range',
]);

/** What the web knows. Metadata, leases and the like are between the owner and the Blob service. */
function webHeaders(headers: readonly string[], status: WebDocument['status']): string[] {
  const known = status === 200 ? OF_PAGE : OF_MISSING;
  return headers.filter((_, index) => known.has((headers[index - (index % 2)] as string).toLowerCase()));
}
