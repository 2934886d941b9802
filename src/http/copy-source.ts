/**
 * Where a copy reads from: `x-ms-copy-source` as a blob of this server that the caller may read, or as something outside.
 * A source here is never asked for over HTTP; it is judged as a read of that URL by the same caller would be.
 * https://learn.microsoft.com/rest/api/storageservices/copy-blob#authorization
 */
import { type AuthenticationContext, authenticate } from '../auth/authenticate.ts';
import { hasPermission, refuseNeed } from '../auth/authorize.ts';
import { isLoopback } from '../auth/client-address.ts';
import type { Identity } from '../auth/identity.ts';
import { blobNeeds } from '../auth/needs.ts';
import type { SignedRequest } from '../auth/signed-request.ts';
import { ROOT_CONTAINER, refuseBlobName, refuseContainerName } from '../rules/names.ts';
import type { BlobName } from '../service/blob/load.ts';
import type { CopySource, InsideSource } from '../service/copy/copy-source.ts';
import { cannotVerify } from '../service/copy/verify-failure.ts';
import { invalidHeader, missingHeader, StorageError } from '../service/storage-error.ts';
import { parseAt } from './blob/request-headers.ts';
import { SOURCE_IF_TAGS } from './copy-source-headers.ts';
import type { AuthorizedExchange, RequestTarget } from './exchange.ts';
import { FAULTS } from './faults.ts';
import { type AccountNames, asUtf8, decodePercent, parseRequestTarget } from './request-target.ts';

export interface CopySourceContext extends Omit<AuthenticationContext, 'resource'> {
  /** Whether a URL leads to this server's Blob service, though requests may call it by another name. */
  readonly isOurs: (url: URL) => boolean;
}

/** Throws InvalidHeaderValue for what is no source, CannotVerifyCopySource for one that the caller may not read. */
export async function resolveCopySource(exchange: AuthorizedExchange, context: CopySourceContext): Promise<CopySource> {
  const { url, target } = parseCopySource(exchange, context.accounts);
  const authorization = parseSourceAuthorization(exchange);
  if (!leadsHere({ url, target }, exchange, context)) return { kind: 'outside', url: url.href, authorization };
  if (target === null) throw invalidSource(exchange);
  const named = parseInside(exchange, target);
  const reader = await openSource(exchange, { target, authorization, name: named.name }, context);
  const mayReadTags = hasPermission(reader, 't');
  if (!mayReadTags && (exchange.header(SOURCE_IF_TAGS) ?? '') !== '') {
    throw asSourceFailure(new StorageError('AuthorizationPermissionMismatch'));
  }
  return { kind: 'inside', ...named, mayReadTags };
}

// ---- the URL

const HEADER = 'x-ms-copy-source';
const URL_CHARACTERS_MAX = 2048;
/** The scheme and authority, what a server is sent of the rest, and the fragment, which it is not. */
const HTTP_URL = /^(https?:\/\/[^/?#\\@\s]+)([/?][^#]*)?(?:#.*)?$/is;

interface ParsedSource {
  readonly url: URL;
  /** The same as this server would read it on a request line, where nothing is normalized; null: it could not. */
  readonly target: RequestTarget | null;
}

function parseCopySource(exchange: AuthorizedExchange, accounts: AccountNames): ParsedSource {
  const text = exchange.header(HEADER);
  if (text === null) throw missingHeader(HEADER);
  const [, start = '', rest = '/'] = HTTP_URL.exec(text.trim()) ?? [];
  if (start === '' || text.length > URL_CHARACTERS_MAX) throw invalidSource(exchange);
  const pathAndQuery = rest.startsWith('/') ? rest : `/${rest}`;
  const url = unlessUnreadable(() => new URL(asUtf8(start + rest)));
  if (url === null) throw invalidSource(exchange);
  return { url, target: unlessUnreadable(() => parseRequestTarget({ url: pathAndQuery, host: url.host, accounts })) };
}

function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** A password, and what follows the path, which may be a signature, are not echoed. */
const invalidSource = (exchange: AuthorizedExchange): StorageError =>
  invalidHeader(HEADER, (exchange.header(HEADER) ?? '').replace(/\?.*$/s, '').replace(/\/\/.*@/s, '//'));

const SOURCE_AUTHORIZATION = 'x-ms-copy-source-authorization';

function parseSourceAuthorization(exchange: AuthorizedExchange): string | null {
  const text = exchange.header(SOURCE_AUTHORIZATION);
  if (text === null || text === '') return null;
  if (!/^Bearer +\S+$/i.test(text)) throw invalidHeader(SOURCE_AUTHORIZATION, '');
  return text;
}

// ---- is it here?

function leadsHere(
  { url, target }: ParsedSource,
  exchange: AuthorizedExchange,
  { isOurs, accounts }: CopySourceContext,
): boolean {
  if (isOurs(url)) return true;
  if (target === null || !accounts.has(target.account)) return false;
  const ownHost = hostAsked(exchange, url.protocol);
  if (ownHost === url.host || url.hostname === DEVELOPMENT_HOST) return true;
  // account.blob.example.org beside other.blob.example.org
  return exchange.target.hostStyle && target.hostStyle && domainOf(ownHost) === domainOf(url.host);
}

/** What a client writes that knows the development account by name only, as `az` does. Nobody else serves it. */
const DEVELOPMENT_HOST = 'devstoreaccount1.blob.core.windows.net';

/** The host that the request itself was sent to, written as a URL of this protocol writes it. */
function hostAsked({ origin }: AuthorizedExchange, protocol: string): string {
  return unlessUnreadable(() => new URL(`${protocol}//${origin.slice(origin.indexOf('//') + 2)}`))?.host ?? '';
}

const domainOf = (host: string): string => host.slice(host.indexOf('.'));

/** For `isOurs`: URLs by which a program on this machine reaches one of these ports. */
export const onLoopback =
  (isOwnPort: (port: number) => boolean) =>
  ({ protocol, hostname, port }: URL): boolean =>
    (/^(?:.+\.)?localhost$/.test(hostname) || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))) &&
    isOwnPort(Number(port) || (protocol === 'https:' ? 443 : 80));

// ---- a blob of ours

function parseInside(exchange: AuthorizedExchange, target: RequestTarget): Pick<InsideSource, 'name' | 'at'> {
  const { account, resourcePath, query } = target;
  const name = { account, ...splitPath(resourcePath) };
  const isBlob = (refuseContainerName(name.container) ?? refuseBlobName(name.blob, name)) === null;
  const isRead = !query.has('comp') && !query.has('restype');
  const read = isBlob && isRead ? unlessUnreadable(() => ({ name, at: parseAt({ target }) })) : null;
  if (read === null) throw invalidSource(exchange);
  return read;
}

function splitPath(path: string): Pick<BlobName, 'container' | 'blob'> {
  const cut = path.indexOf('/');
  if (cut === -1) return { container: ROOT_CONTAINER, blob: decodePercent(path) };
  return { container: decodePercent(path.slice(0, cut)), blob: decodePercent(path.slice(cut + 1)) };
}

// ---- may the caller read it?

interface SourceToOpen {
  readonly target: RequestTarget;
  readonly authorization: string | null;
  readonly name: BlobName;
}

/** Whose right it is by which the source is read: the caller's own, or what the source's URL and header bring along. */
async function openSource(
  exchange: AuthorizedExchange,
  source: SourceToOpen,
  context: CopySourceContext,
): Promise<Identity> {
  const { identity, version } = exchange;
  // A SAS opens what it is sent to, and speaks for nothing else.
  const isPrincipal = identity.kind === 'owner' || identity.kind === 'bearer';
  const asked = { service: 'b', version } as const;
  if (
    isPrincipal &&
    identity.account === source.name.account &&
    refuseNeed(identity, blobNeeds.copySource, asked) === null
  ) {
    return identity;
  }
  try {
    const resource = [source.name.container, source.name.blob];
    const reader = await authenticate(readOf(exchange, source), { ...context, resource });
    const refusal = refuseNeed(reader, blobNeeds.copySource, asked);
    if (refusal !== null) throw refusal;
    return reader;
  } catch (error) {
    throw error instanceof StorageError ? asSourceFailure(error) : error;
  }
}

/** The request by which the caller would read the source itself. */
function readOf(
  { version, clientAddress, secure }: AuthorizedExchange,
  { target, authorization }: SourceToOpen,
): SignedRequest {
  return {
    service: 'b',
    method: 'GET',
    target,
    header: (name) => (name === 'authorization' ? authorization : null),
    rawHeaders: authorization === null ? [] : [['authorization', authorization]],
    version,
    clientAddress,
    secure,
  };
}

/** The refusal of a read of the source, as the refusal of the copy. */
export function asSourceFailure({ code, details }: StorageError): StorageError {
  const { status, message } = FAULTS[code];
  const answer = { status: details.status ?? status, code, sentence: details.message ?? message };
  return cannotVerify({ ...answer, elements: details.elements ?? {} });
}
