/** Who a request speaks for: decided from its Authorization header, its SAS, or neither. */
import { grantOf } from '../rules/roles.ts';
import { type BearerContext, isBearer, verifyBearer } from './bearer.ts';
import { isLoopback } from './client-address.ts';
import type { Account, Identity, ResourceAcl } from './identity.ts';
import { authenticationFailed, invalidAuthenticationInfo } from './refusals.ts';
import { verifySas } from './sas.ts';
import { type SharedKeyScheme, verifySharedKey } from './shared-key.ts';
import type { SignedRequest } from './signed-request.ts';
import { deriveDelegationKey } from './user-delegation-key.ts';

export interface AuthenticationContext extends BearerContext {
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
  const { query } = request.target;
  const hasSas = query.has('sig');
  // A SAS may be bound to a user, who then shows a bearer token beside it.
  const isBound = (query.get('sduoid') ?? '') !== '' && isBearer(authorization ?? '');
  if (authorization !== null && hasSas && !isBound) {
    throw authenticationFailed('The request has both an Authorization header and a shared access signature (sig).');
  }
  const account = context.accounts.get(request.target.account);
  if (account?.loopbackOnly === true) refuseStranger(request, account);
  if (hasSas) return verifySas(request, { ...context, account: account ?? refuseUnknownAccount(request) });
  if (authorization === null) return anonymous(request, account, context);
  if (isBearer(authorization)) return authenticateByToken(request, account ?? refuseUnknownAccount(request), context);
  return authenticateByKey(request, authorization, account, context.wallNowMs);
}

/** Of an account whose key is public, who is on another machine. */
export function refuseStranger(request: Pick<SignedRequest, 'clientAddress'>, account: Account): void {
  if (isLoopback(request.clientAddress)) return;
  throw authenticationFailed(
    `The key of ${account.name} is public, so the account serves only callers on the same machine. This request came ` +
      `from ${request.clientAddress}. Configure an account of your own (--account NAME:KEY), or start the server with ` +
      '--allow-development-account.',
  );
}

function refuseUnknownAccount(request: SignedRequest): never {
  throw authenticationFailed(
    `There is no account ${request.target.account} here. Accounts are configured with --account.`,
  );
}

const SHARED_KEY = /^(SharedKey|SharedKeyLite) +([^ :]+):([^ ]+)$/;

function authenticateByKey(
  request: SignedRequest,
  authorization: string,
  account: Account | undefined,
  nowMs: number,
): Identity {
  const match = SHARED_KEY.exec(authorization);
  if (match === null) {
    throw invalidAuthenticationInfo('The Authorization header is not of the form SharedKey ACCOUNT:SIGNATURE.');
  }
  const [, scheme, signer, signature = ''] = match;
  if (account === undefined) refuseUnknownAccount(request);
  if (signer !== account.name) {
    throw authenticationFailed(`The request is signed by ${signer}, but addresses the account ${account.name}.`);
  }
  verifySharedKey(request, account, { scheme: scheme as SharedKeyScheme, signature, nowMs });
  return { kind: 'owner', account: account.name };
}

async function authenticateByToken(
  request: SignedRequest,
  account: Account,
  context: AuthenticationContext,
): Promise<Identity> {
  const { objectId, tenantId, roles } = await verifyBearer(request, account, context);
  const { service } = request;
  const { permissions, controls, delegates } = grantOf(roles, service);
  const holder = { account: account.name, objectId, tenantId, permissions };
  const [firstKey] = account.keys as readonly [Buffer];
  return {
    kind: 'bearer',
    ...holder,
    controls,
    delegationKey: delegates
      ? (terms) => deriveDelegationKey(firstKey, { ...holder, ...terms, service }).toString('base64')
      : null,
  };
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
