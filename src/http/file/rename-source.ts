/**
 * What a rename moves: `x-ms-file-rename-source`, a URL of something in the share that the request itself addresses. A SAS
 * speaks for what it is sent to and nothing else, so whoever comes with one has another in this URL.
 * https://learn.microsoft.com/rest/api/storageservices/rename-file
 */
import { type AuthenticationContext, authenticate } from '../../auth/authenticate.ts';
import { refuseNeed } from '../../auth/authorize.ts';
import { fileNeeds } from '../../auth/needs.ts';
import { authenticationFailed } from '../../auth/refusals.ts';
import type { SignedRequest } from '../../auth/signed-request.ts';
import type { Path } from '../../service/file/load.ts';
import { invalidHeader, missingHeader, StorageError } from '../../service/storage-error.ts';
import type { AuthorizedExchange, RequestTarget } from '../exchange.ts';
import { type AccountNames, parseRequestTarget } from '../request-target.ts';
import { withoutSecrets } from '../source-url.ts';
import { type FileResource, shareNameOf } from './operation.ts';
import { keepsTrailingDots, parsePath, parseWrittenPath, type WrittenPath } from './path.ts';

export type RenameSourceContext = Omit<AuthenticationContext, 'resource'>;

/**
 * The path of the source, if the caller may take it away from there. Throws InvalidHeaderValue for what is no file or
 * directory of the share.
 */
export async function resolveRenameSource(
  exchange: AuthorizedExchange,
  destination: FileResource,
  context: RenameSourceContext,
): Promise<Path> {
  const target = parseSource(exchange, context.accounts);
  const written = parseWritten(exchange, target);
  const { account, share } = shareNameOf(exchange, destination);
  const path = pathOf(exchange, written);
  if (target.account !== account || written.share !== share || path.length === 0) throw invalidSource(exchange);
  const { kind } = exchange.identity;
  if (kind !== 'owner' && kind !== 'bearer') {
    await refuseCaller(exchange, target, { ...context, resource: [share, written.path.join('/')] });
  }
  return path;
}

// ---- the URL

const HEADER = 'x-ms-file-rename-source';
const URL_CHARACTERS_MAX = 2048;
/** The authority, and what a server would be sent of the rest. */
const HTTP_URL = /^https?:\/\/([^/?#\\@\s]+)(\/[^#]*)$/i;

/** Read as it would be on a request line, where nothing is normalized. */
function parseSource(exchange: AuthorizedExchange, accounts: AccountNames): RequestTarget {
  const text = exchange.header(HEADER);
  if (text === null) throw missingHeader(HEADER);
  const [, host = '', url = ''] = HTTP_URL.exec(text.trim()) ?? [];
  if (host === '' || text.length > URL_CHARACTERS_MAX) throw invalidSource(exchange);
  return orInvalid(exchange, () => parseRequestTarget({ url, host, accounts }));
}

/** A directory's path may end in a slash. */
function parseWritten(exchange: AuthorizedExchange, { resourcePath, query }: RequestTarget): WrittenPath {
  // The share as it was cannot be changed.
  if (query.has('sharesnapshot')) throw invalidSource(exchange);
  const { share, path } = orInvalid(exchange, () => parseWrittenPath(resourcePath));
  return { share, path: path.at(-1) === '' ? path.slice(0, -1) : path };
}

function pathOf(exchange: AuthorizedExchange, { path }: WrittenPath): Path {
  const trailingDots = keepsTrailingDots(exchange, 'x-ms-source-allow-trailing-dot');
  return orInvalid(exchange, () => parsePath(path, { trailingDots }));
}

function orInvalid<T>(exchange: AuthorizedExchange, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof StorageError ? invalidSource(exchange) : error;
  }
}

/** A password, and what follows the path, which may be a signature, are not echoed. */
const invalidSource = (exchange: AuthorizedExchange): StorageError =>
  invalidHeader(HEADER, withoutSecrets(exchange.header(HEADER) ?? ''));

// ---- may the caller take it away?

async function refuseCaller(
  exchange: AuthorizedExchange,
  target: RequestTarget,
  context: AuthenticationContext,
): Promise<void> {
  if (!target.query.has('sig')) {
    throw authenticationFailed(`The request has a shared access signature, but the source (${HEADER}) has none.`);
  }
  const identity = await authenticate(deletionOf(exchange, target), context);
  const { service, version } = exchange;
  const refusal = refuseNeed(identity, fileNeeds.renameSource, { service, version });
  if (refusal !== null) throw refusal;
}

/** The request by which the caller would do away with the source itself. */
function deletionOf(exchange: AuthorizedExchange, target: RequestTarget): SignedRequest {
  const { service, version, clientAddress, secure } = exchange;
  // The user that a token is bound to is the one that the request's own token is bound to.
  const isBound = (target.query.get('sduoid') ?? '') !== '';
  const authorization = isBound ? exchange.header('authorization') : null;
  return {
    service,
    method: 'DELETE',
    target,
    header: (name) => (name === 'authorization' ? authorization : null),
    rawHeaders: authorization === null ? [] : [['authorization', authorization]],
    version,
    clientAddress,
    secure,
  };
}
