/**
 * Where a copy reads from: `x-ms-copy-source` as a blob or file of this server that the caller may read, or as something outside.
 * A source here is never asked for over HTTP; it is judged as a read of that URL by the same caller would be.
 * https://learn.microsoft.com/rest/api/storageservices/copy-blob#authorization
 */

import { type AuthenticationContext, authenticate } from '../auth/authenticate.ts';
import { hasPermission, refuseNeed } from '../auth/authorize.ts';
import { isLoopback } from '../auth/client-address.ts';
import { refuseIntent } from '../auth/file-intent.ts';
import type { Identity, Need, ResourceAcl } from '../auth/identity.ts';
import { blobNeeds, fileNeeds } from '../auth/needs.ts';
import type { SignedRequest } from '../auth/signed-request.ts';
import { parseMoment } from '../rules/moment.ts';
import { ROOT_CONTAINER, refuseBlobName, refuseContainerName } from '../rules/names.ts';
import type { BlobName } from '../service/blob/load.ts';
import type { CopySource, InsideSource } from '../service/copy/copy-source.ts';
import { cannotVerify } from '../service/copy/verify-failure.ts';
import type { FileName } from '../service/file/load.ts';
import { invalidHeader, missingHeader, StorageError } from '../service/storage-error.ts';
import { parseAt } from './blob/request-headers.ts';
import { SOURCE_IF_TAGS } from './copy-source-headers.ts';
import type { AuthorizedExchange, RequestTarget } from './exchange.ts';
import { FAULTS } from './faults.ts';
import { keepsTrailingDots, parsePath, parseWrittenPath } from './file/path.ts';
import { type AccountNames, asUtf8, decodePercent, parseRequestTarget } from './request-target.ts';
import { withoutSecrets } from './source-url.ts';

/** The services that have something to copy from. */
export type SourceService = 'b' | 'f';

export interface CopySourceContext extends Omit<AuthenticationContext, 'resource' | 'loadAcl' | 'origin'> {
  /** Whether a URL leads to this server's service, though requests may call it by another name. */
  readonly isOurs: (url: URL, service: SourceService) => boolean;
  /** Where a service listens. */
  readonly origin?: (service: SourceService) => string;
  /** Of the container or share that is the first of these names; null where there is none. */
  readonly loadAcl: (
    account: string,
    resource: readonly string[],
    service: SourceService,
  ) => Promise<ResourceAcl | null>;
}

/** Throws InvalidHeaderValue for what is no source, CannotVerifyCopySource for one that the caller may not read. */
export async function resolveCopySource(exchange: AuthorizedExchange, context: CopySourceContext): Promise<CopySource> {
  const parsed = parseCopySource(exchange, context.accounts);
  const authorization = parseSourceAuthorization(exchange);
  const service = serviceAt(parsed, exchange, context);
  const { url, target } = parsed;
  if (service === null) return { kind: 'outside', url: url.href, authorization };
  if (target === null) throw invalidSource(exchange);
  const opening = { target, authorization, service };
  if (service === 'f') {
    const { names, name } = parseFile(exchange, target);
    await openSource(exchange, { ...opening, names }, context);
    return { kind: 'file', name };
  }
  const named = parseBlob(exchange, target);
  const { container, blob } = named.name;
  const reader = await openSource(exchange, { ...opening, names: [container, blob] }, context);
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

const invalidSource = (exchange: AuthorizedExchange): StorageError =>
  invalidHeader(HEADER, withoutSecrets(exchange.header(HEADER) ?? ''));

const SOURCE_AUTHORIZATION = 'x-ms-copy-source-authorization';

function parseSourceAuthorization(exchange: AuthorizedExchange): string | null {
  const text = exchange.header(SOURCE_AUTHORIZATION);
  if (text === null || text === '') return null;
  if (!/^Bearer +\S+$/i.test(text)) throw invalidHeader(SOURCE_AUTHORIZATION, '');
  return text;
}

// ---- is it here?

const SERVICES: readonly SourceService[] = ['b', 'f'];
/** As they stand in host names: `account.blob.example.org`. */
const SERVICE_LABELS: Readonly<Record<SourceService, string>> = { b: '.blob.', f: '.file.' };

/** The service of this server that the URL leads to; null: it leads elsewhere. */
function serviceAt(
  { url, target }: ParsedSource,
  exchange: AuthorizedExchange,
  { isOurs, accounts }: CopySourceContext,
): SourceService | null {
  const ours = SERVICES.find((service) => isOurs(url, service));
  if (ours !== undefined) return ours;
  if (target === null || !accounts.has(target.account)) return null;
  const known = SERVICES.find((service) => url.hostname === DEVELOPMENT_HOSTS[service]);
  if (known !== undefined) return known;
  const asked: SourceService = exchange.service === 'f' ? 'f' : 'b';
  const ownHost = hostAsked(exchange, url.protocol);
  if (ownHost === url.host) return asked;
  if (!exchange.target.hostStyle || !target.hostStyle) return null;
  // account.blob.example.org beside other.blob.example.org and account.file.example.org
  const [ownDomain, domain] = [domainOf(ownHost), domainOf(url.host)];
  if (ownDomain === domain) return asked;
  const neighbour: SourceService = asked === 'f' ? 'b' : 'f';
  return ownDomain.replace(SERVICE_LABELS[asked], SERVICE_LABELS[neighbour]) === domain ? neighbour : null;
}

/** What a client writes that knows the development account by name only, as `az` does. Nobody else serves it. */
const DEVELOPMENT_HOSTS: Readonly<Record<SourceService, string>> = {
  b: 'devstoreaccount1.blob.core.windows.net',
  f: 'devstoreaccount1.file.core.windows.net',
};

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

// ---- a blob of ours, or a file

function parseBlob(exchange: AuthorizedExchange, target: RequestTarget): Pick<InsideSource, 'name' | 'at'> {
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

/** `names`: as they were written, which is what a token is for. */
function parseFile(
  exchange: AuthorizedExchange,
  { account, resourcePath, query }: RequestTarget,
): { name: FileName; names: readonly string[] } {
  const snapshot = query.get('sharesnapshot');
  const isRead = !query.has('comp') && !query.has('restype');
  const read = unlessUnreadable(() => {
    const { share, path: written } = parseWrittenPath(resourcePath);
    const trailingDots = keepsTrailingDots(exchange, 'x-ms-source-allow-trailing-dot');
    const path = parsePath(written, { trailingDots });
    return { name: { account, share, path, snapshot }, names: [share, written.join('/')] };
  });
  const isMoment = snapshot === null || parseMoment(snapshot) !== null;
  if (read === null || !isRead || !isMoment || read.name.path.length === 0) throw invalidSource(exchange);
  return read;
}

// ---- may the caller read it?

interface SourceToOpen {
  readonly service: SourceService;
  readonly target: RequestTarget;
  readonly authorization: string | null;
  readonly names: readonly string[];
}

const READ_NEEDS: Readonly<Record<SourceService, Need>> = { b: blobNeeds.copySource, f: fileNeeds.getFile };

/** Whose right it is by which the source is read: the caller's own, or what the source's URL and header bring along. */
async function openSource(
  exchange: AuthorizedExchange,
  source: SourceToOpen,
  context: CopySourceContext,
): Promise<Identity> {
  const { identity, version } = exchange;
  const { service, names } = source;
  const asked = { service, version };
  if (speaksFor(exchange, source) && refuseNeed(identity, READ_NEEDS[service], asked) === null) return identity;
  try {
    const read = readOf(exchange, source);
    const reader = await authenticate(read, {
      ...context,
      origin: context.origin?.(service) ?? '',
      loadAcl: (account, resource) => context.loadAcl(account, resource, service),
      resource: names,
    });
    const need = READ_NEEDS[service];
    const refusal = refuseIntent({ ...read, identity: reader }, need) ?? refuseNeed(reader, need, asked);
    if (refusal !== null) throw refusal;
    return reader;
  } catch (error) {
    throw error instanceof StorageError ? asSourceFailure(error) : error;
  }
}

/** A SAS opens what it is sent to, and speaks for nothing else; the roles of a bearer are those in one service. */
function speaksFor({ identity, service }: AuthorizedExchange, source: SourceToOpen): boolean {
  if (identity.kind !== 'owner' && (identity.kind !== 'bearer' || service !== source.service)) return false;
  return identity.account === source.target.account;
}

const INTENT = 'x-ms-file-request-intent';

/** The request by which the caller would read the source itself. */
function readOf(exchange: AuthorizedExchange, { service, target, authorization }: SourceToOpen): SignedRequest {
  const { version, clientAddress, secure } = exchange;
  const headers = new Map<string, string>();
  const intent = exchange.header(INTENT);
  if (authorization !== null) headers.set('authorization', authorization);
  if (intent !== null) headers.set(INTENT, intent);
  return {
    service,
    method: 'GET',
    target,
    header: (name) => headers.get(name) ?? null,
    rawHeaders: [...headers],
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
