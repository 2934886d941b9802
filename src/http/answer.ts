/**
 * From a request to its Reply, one step after the other: is it well-formed, which account and version, a preflight or an
 * operation, who asks, may they, and then the operation itself. Every refusal on the way is thrown.
 */
import { authenticate } from '../auth/authenticate.ts';
import { refuseNeed } from '../auth/authorize.ts';
import type { BearerTokens } from '../auth/bearer.ts';
import { refuseIntent } from '../auth/file-intent.ts';
import type { Account, Identity, ResourceAcl } from '../auth/identity.ts';
import { IssuerUnavailable } from '../auth/issuer-keys.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { ContentUnavailable } from '../content/content.ts';
import { EngineUnavailable } from '../engine/engine.ts';
import { effectiveVersion, KNOWN_VERSIONS, NEWEST_VERSION, OLDEST_VERSION } from '../rules/versions.ts';
import { invalidHeader, missingHeader, StorageError } from '../service/storage-error.ts';
import { answerPreflight } from './cors.ts';
import type { Door, Part, PartRequest, Route } from './door.ts';
import type { Exchange, Reply } from './exchange.ts';
import type { HttpExchange } from './http-exchange.ts';
import { parseRequestTarget } from './request-target.ts';
import { refuseTimeout } from './routing.ts';

export interface AnswerContext {
  readonly door: Door;
  readonly accounts: ReadonlyMap<string, Account>;
  /** Absent or null: bearer tokens are not accepted. */
  readonly bearer?: BearerTokens | null;
  /** Where the server listens, once it does. */
  readonly origin?: () => string;
  readonly clock: Clock;
  readonly urlCharactersMax: number;
  readonly loadAcl: (account: string, resource: readonly string[]) => Promise<ResourceAcl | null>;
  readonly openPart: (outer: Exchange, request: PartRequest) => Part;
}

export async function answer(exchange: HttpExchange, context: AnswerContext): Promise<Reply> {
  const { door, accounts } = context;
  exchange.clientRequestId = readClientRequestId(exchange);
  refuseMalformedHead(exchange, context.urlCharactersMax);
  const url = exchange.request.url as string;
  const target = parseRequestTarget({ url, host: exchange.header('host'), accounts });
  exchange.target = door.locate?.(exchange, target, accounts) ?? target;
  const { account } = exchange.target;
  if (accounts.has(account)) exchange.corsRules = await door.loadCorsRules(account);
  if (exchange.method === 'OPTIONS') {
    exchange.operation = 'Preflight Request';
    return answerPreflight(exchange.corsRules, exchange);
  }
  exchange.version = namedVersion(exchange) ?? (await defaultVersion(exchange, context));
  refuseTimeout(exchange);
  const route = door.route(exchange);
  exchange.operation = route.operation;
  await admit(exchange, route, context);
  return route.handle(exchange, (request) => context.openPart(exchange, request));
}

/** What a caller is told of an error: a refusal as it is; of what broke here only whether it may help to try again. */
export function asRefusal(error: unknown, onBroken: () => void): StorageError {
  if (error instanceof StorageError) return error;
  onBroken();
  if (UNAVAILABLE.some((kind) => error instanceof kind)) {
    return new StorageError('ServerBusy', { headers: { 'Retry-After': '1' } });
  }
  return new StorageError('InternalError');
}

const UNAVAILABLE = [EngineUnavailable, ContentUnavailable, IssuerUnavailable];

const CLIENT_REQUEST_ID = /^[\u0020-\u007e]{1,1024}$/;

export function readClientRequestId(exchange: Exchange): string | null {
  const text = exchange.header('x-ms-client-request-id');
  if (text === null || text === '') return null;
  if (!CLIENT_REQUEST_ID.test(text)) throw invalidHeader('x-ms-client-request-id', text);
  return text;
}

export function refuseMalformedHead(exchange: HttpExchange, urlCharactersMax: number): void {
  const { headers, rawHeaders, url, httpVersion } = exchange.request;
  refuseLongUrl(url as string, urlCharactersMax);
  if (headers.host === undefined && httpVersion === '1.1') throw missingHeader('Host');
  // Node joins or drops repeated headers, so fewer names than lines mean that some name came twice.
  if (Object.keys(headers).length * 2 !== rawHeaders.length) refuseRepeatedHeaders(exchange);
}

export function refuseLongUrl(url: string, urlCharactersMax: number): void {
  if (url.length > urlCharactersMax) {
    throw new StorageError('InvalidUri', { message: 'The requested URI is too long.' });
  }
}

/** Headers with one value, which two parties on the way could read differently if there were two. */
const SINGLE_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-range',
  'content-type',
  'date',
  'expect',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'origin',
  'range',
  'transfer-encoding',
]);

/** Of which not even the sender's own value is echoed. */
const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'x-ms-copy-source',
  'x-ms-copy-source-authorization',
  'x-ms-encryption-key',
  'x-ms-file-rename-source',
]);

export function refuseRepeatedHeaders(exchange: Exchange): void {
  const seen = new Set<string>();
  for (const [name, value] of exchange.rawHeaders) {
    const isSingle = SINGLE_HEADERS.has(name) || (name.startsWith('x-ms-') && !name.startsWith('x-ms-meta-'));
    if (isSingle && seen.has(name)) throw invalidHeader(name, SECRET_HEADERS.has(name) ? '' : value);
    seen.add(name);
  }
}

/** The version a request asks for: in a SAS by `api-version`, else by header, else by the SAS itself; null: none. */
function namedVersion(exchange: HttpExchange): string | null {
  const { query } = exchange.target;
  const header = exchange.header('x-ms-version');
  const signed = query.get('sv');
  const asked = signed === null ? null : query.get('api-version');
  if (asked !== null) return readVersion(asked, 'api-version');
  if (header !== null) return readVersion(header, 'x-ms-version');
  // Whether `sv` is well-formed is for the check of the signature to say.
  return signed === null ? null : (effectiveVersion(signed, NEWEST_VERSION) ?? NEWEST_VERSION);
}

const KNOWN: ReadonlySet<string> = new Set(KNOWN_VERSIONS);

function readVersion(text: string, where: string): string {
  if (KNOWN.has(text)) return text;
  const version = effectiveVersion(text, NEWEST_VERSION);
  if (version === null) throw invalidHeader(where, text);
  return version;
}

/** What a caller without credentials is served as, where neither it nor the account says. */
const ANONYMOUS_VERSION = '2009-09-19';

async function defaultVersion(exchange: HttpExchange, { door, accounts }: AnswerContext): Promise<string> {
  const { account } = exchange.target;
  const configured = accounts.has(account) ? await door.loadDefaultVersion(account) : null;
  return configured ?? (exchange.header('authorization') === null ? ANONYMOUS_VERSION : OLDEST_VERSION);
}

/** Who asks, and whether they may: the one place where either is decided. */
export async function admit(
  exchange: Exchange & { identity: Identity },
  route: Route,
  context: AnswerContext,
): Promise<void> {
  exchange.identity = await authenticate(exchange, {
    accounts: context.accounts,
    nowMs: context.clock.nowMs(),
    wallNowMs: systemClock.nowMs(),
    resource: route.resource,
    loadAcl: context.loadAcl,
    bearer: context.bearer ?? null,
    origin: context.origin?.() ?? '',
  });
  const { service, version } = exchange;
  const asked = { service, version, challenge: context.bearer?.challenge };
  const refusal = refuseIntent(exchange, route.need) ?? refuseNeed(exchange.identity, route.need, asked);
  if (refusal !== null) throw refusal;
  if (exchange.target.secondary && exchange.method !== 'GET' && exchange.method !== 'HEAD') {
    throw new StorageError('InsufficientAccountPermissions', { message: 'Write operations are not allowed.' });
  }
}
