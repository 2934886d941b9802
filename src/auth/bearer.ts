/**
 * OAuth bearer tokens (`Authorization: Bearer …`): JSON Web Tokens of one configured issuer. A token counts if a key of the
 * issuer signed it, for us, and its time has come and not passed; who it speaks for and in which roles is in its claims.
 * https://learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory
 */
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { findRole, type RoleName } from '../rules/roles.ts';
import { isLoopback } from './client-address.ts';
import type { Account, BearerSetting, ServiceLetter } from './identity.ts';
import { IssuerUnavailable, issuerKeys } from './issuer-keys.ts';
import { authenticationFailed, bearerRefused, invalidAuthenticationInfo } from './refusals.ts';
import type { SignedRequest } from './signed-request.ts';
import { serviceNames } from './signed-resource.ts';

const SINCE_BEARER_TOKENS = '2017-11-09';
const SINCE_BEARER_TOKENS_FOR_FILES = '2022-11-02';
/** What is signed with a secret that both sides know, or not at all, is not among them. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** Between the issuer's clock and ours. */
const LEEWAY_SECONDS = 60;
const STORAGE_AUDIENCE = 'https://storage.azure.com';
const NAME_LENGTH_MAX = 256;

/** Whom a token speaks for. */
export interface Principal {
  readonly objectId: string;
  readonly tenantId: string;
  readonly roles: readonly RoleName[];
}

export interface TokenUse {
  readonly account: string;
  readonly service: ServiceLetter;
  /** Where this server listens, `https://host:port`; not what the caller calls it. */
  readonly origin: string;
  readonly nowMs: number;
}

export interface BearerTokens {
  /** What a refused caller is told: where a token comes from, and for what. */
  readonly challenge: string;
  /** Throws a StorageError for a token that does not count, and IssuerUnavailable where that cannot be known. */
  verify(token: string, use: TokenUse): Promise<Principal>;
}

export interface BearerContext {
  /** Absent or null: bearer tokens are not accepted. */
  readonly bearer?: BearerTokens | null;
  readonly origin?: string;
  /** The real time: an issuer knows of no other. */
  readonly wallNowMs: number;
}

export const isBearer = (authorization: string): boolean => /^Bearer\b/i.test(authorization);

/** Whom the request's token speaks for. */
export async function verifyBearer(
  request: SignedRequest,
  account: Account,
  { bearer = null, origin = '', wallNowMs }: BearerContext,
): Promise<Principal> {
  const [, token] = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '') ?? [];
  if (token === undefined) throw invalidAuthenticationInfo('The Authorization header is not of the form Bearer TOKEN.');
  if (bearer === null) {
    throw bearerRefused(
      'Bearer tokens are not accepted here, because no issuer is configured. Start the server with ' +
        '--oauth-issuer URL, or use Shared Key or a shared access signature.',
    );
  }
  const firstVersion = request.service === 'f' ? SINCE_BEARER_TOKENS_FOR_FILES : SINCE_BEARER_TOKENS;
  if (request.version < firstVersion) {
    throw authenticationFailed(
      `Authentication scheme Bearer is not supported in this version: x-ms-version must be ${firstVersion} or later.`,
    );
  }
  if (!request.secure && !isLoopback(request.clientAddress)) {
    throw authenticationFailed('Authentication scheme Bearer is not allowed with HTTP, except on the same machine.');
  }
  return bearer.verify(token, { account: account.name, service: request.service, origin, nowMs: wallNowMs });
}

export function openBearerTokens(setting: BearerSetting): BearerTokens {
  const { issuer, audiences, defaultRoles } = setting;
  const keys = issuerKeys(setting);
  const challenge = renderChallenge(setting);

  return {
    challenge,
    async verify(token, use) {
      try {
        const { payload } = await jwtVerify(token, keys, {
          algorithms: ALGORITHMS,
          issuer,
          audience: audiences.length > 0 ? [...audiences] : usualAudiences(use),
          requiredClaims: ['exp'],
          clockTolerance: LEEWAY_SECONDS,
          currentDate: new Date(use.nowMs),
        });
        return readPrincipal(payload, { issuer, defaultRoles });
      } catch (error) {
        if (error instanceof IssuerUnavailable) throw error;
        throw bearerRefused(explain(error, issuer), challenge);
      }
    },
  };
}

/** Clients take the tenant from the path, and the scope of their next token from the resource. */
function renderChallenge({ issuer, audiences }: BearerSetting): string {
  const authority = issuer.replace(/\/$/, '').replace(/\/v2\.0$/, '');
  const resource = audiences.find((audience) => /^https?:\/\/[^\s"]+$/.test(audience)) ?? STORAGE_AUDIENCE;
  return `Bearer authorization_uri=${authority}/oauth2/authorize resource_id=${resource}`;
}

function usualAudiences({ account, service, origin }: TokenUse): string[] {
  const azure = `https://${account}.${serviceNames[service]}.core.windows.net`;
  const own = origin === '' ? [] : [`${origin}/${account}`];
  return [STORAGE_AUDIENCE, azure, ...own].flatMap((audience) => [audience, `${audience}/`]);
}

function readPrincipal(
  claims: JWTPayload,
  { issuer, defaultRoles }: Pick<BearerSetting, 'issuer' | 'defaultRoles'>,
): Principal {
  const objectId = readName(claims, 'oid') ?? readName(claims, 'sub');
  if (objectId === null) throw new UnusableClaims('The token does not identify its user (oid or sub).');
  const named = [claims['roles'] ?? []].flat().map((name) => (typeof name === 'string' ? findRole(name) : null));
  const roles = named.filter((role) => role !== null);
  return {
    objectId,
    // Issuers other than Microsoft's have no tenants; what stands in their place goes into SAS tokens.
    tenantId: readName(claims, 'tid') ?? new URL(issuer).hostname,
    roles: roles.length === 0 ? defaultRoles : roles,
  };
}

/** They become lines of a string to sign, and parameters of a URL. */
function readName(claims: JWTPayload, claim: string): string | null {
  const value = claims[claim];
  if (value === undefined || value === '') return null;
  if (typeof value !== 'string' || value.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(value)) {
    throw new UnusableClaims(`The token's ${claim} is not a valid name.`);
  }
  return value;
}

class UnusableClaims extends Error {}

/** The beginnings are the service's own words, which people search for. Nothing of the token is repeated. */
function explain(error: unknown, issuer: string): string {
  if (error instanceof UnusableClaims) return error.message;
  if (error instanceof errors.JWTExpired) return 'Lifetime validation failed. The token is expired.';
  if (error instanceof errors.JWTClaimValidationFailed) return explainClaim(error, issuer);
  if (error instanceof errors.JWKSNoMatchingKey) {
    return 'Signature validation failed. The issuer has no key with that id (kid) and algorithm (alg).';
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return 'Signature validation failed. The token does not say which key of the issuer signed it (kid).';
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return 'Signature validation failed. The signature was not made with the key that the token names.';
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `Signature validation failed. The algorithm is not one of ${ALGORITHMS.join(', ')}.`;
  }
  return 'The token is not a JSON Web Token that can be verified here.';
}

function explainClaim({ claim, reason }: errors.JWTClaimValidationFailed, issuer: string): string {
  if (reason === 'missing') return `The token has no ${claim}.`;
  switch (claim) {
    case 'iss':
      return `Issuer validation failed. Issuer did not match: only tokens from ${issuer} are accepted here.`;
    case 'aud':
      return 'Audience validation failed. Audience did not match: see --oauth-audience.';
    case 'nbf':
      return 'Lifetime validation failed. The token is not valid yet.';
    default:
      return `The token's ${claim} is not valid.`;
  }
}
