/** Who a request speaks for: decided from its Authorization header, its SAS, or neither. */
import { isLoopback } from './client-address.ts';
import type { Account, Identity, ResourceAcl } from './identity.ts';
import { authenticationFailed, bearerRefused, invalidAuthenticationInfo } from './refusals.ts';
import { verifySas } from './sas.ts';
import { type SharedKeyScheme, verifySharedKey } from './shared-key.ts';
import type { SignedRequest } from './signed-request.ts';

export interface AuthenticationContext {
  readonly accounts: ReadonlyMap<string, Account>;
  readonly nowMs: number;
  /** The real time, by which signed dates are judged: clients sign with theirs, even where a test moves the clock. */
  readonly wallNowMs: number;
  /** What the request addresses, decoded: [], [container] or [container, blob]. */
  readonly resource: readonly string[];
  /** The ACL of the resource's container; null where there is no such container. */
  readonly loadAcl: (account: string, resource: readonly string[]) => Promise<ResourceAcl | null>;
}

/** Throws a StorageError for credentials that are wrong; a caller without any is anonymous. */
export async function authenticate(request: SignedRequest, context: AuthenticationContext): Promise<Identity> {
  const authorization = request.header('authorization');
  const hasSas = request.target.query.has('sig');
  if (authorization !== null && hasSas) {
    throw authenticationFailed('The request has both an Authorization header and a shared access signature (sig).');
  }
  const account = context.accounts.get(request.target.account);
  if (account?.loopbackOnly === true) refuseStranger(request, account);
  if (authorization !== null) return authenticateByHeader(request, authorization, account, context.wallNowMs);
  if (hasSas) return verifySas(request, { ...context, account: account ?? refuseUnknownAccount(request) });
  return anonymous(request, account, context);
}

function refuseStranger(request: SignedRequest, account: Account): void {
  if (isLoopback(request.clientAddress)) return;
  throw authenticationFailed(
    `Everybody knows the key of ${account.name}, so it serves only callers on the same machine, and this one is ` +
      `${request.clientAddress}. Configure an account of your own (--account NAME:KEY), or start with ` +
      '--allow-development-account.',
  );
}

function refuseUnknownAccount(request: SignedRequest): never {
  throw authenticationFailed(`There is no account ${request.target.account} here. Accounts are given by --account.`);
}

const SHARED_KEY = /^(SharedKey|SharedKeyLite) +([^ :]+):([^ ]+)$/;

function authenticateByHeader(
  request: SignedRequest,
  authorization: string,
  account: Account | undefined,
  nowMs: number,
): Identity {
  if (/^Bearer\b/i.test(authorization)) {
    throw bearerRefused('Bearer tokens are not supported: use Shared Key or a shared access signature.');
  }
  const match = SHARED_KEY.exec(authorization);
  if (match === null) {
    throw invalidAuthenticationInfo('The Authorization header is not of the form SharedKey ACCOUNT:SIGNATURE.');
  }
  const [, scheme, signer, signature = ''] = match;
  if (account === undefined) refuseUnknownAccount(request);
  if (signer !== account.name) {
    throw authenticationFailed(`The request is signed by ${signer} and addresses the account ${account.name}.`);
  }
  verifySharedKey(request, account, { scheme: scheme as SharedKeyScheme, signature, nowMs });
  return { kind: 'owner', account: account.name };
}

async function anonymous(
  request: SignedRequest,
  account: Account | undefined,
  { resource, loadAcl }: AuthenticationContext,
): Promise<Identity> {
  const mayBePublic = account !== undefined && request.service === 'b' && resource.length > 0;
  const acl = mayBePublic ? await loadAcl(account.name, resource) : null;
  return { kind: 'anonymous', publicAccess: acl?.publicAccess ?? null };
}
