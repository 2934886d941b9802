/**
 * The keys that an issuer signs its tokens with: a set given once, or fetched when the first token comes, kept, and looked
 * up again when they grow old or a token names one that is not among them. While the issuer cannot be reached, the keys
 * it last had go on counting for a day.
 * https://openid.net/specs/openid-connect-discovery-1_0.html
 */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTVerifyGetKey,
} from 'jose';
import type { BearerSetting } from './identity.ts';

/** It is not known whether a token is good: its issuer's keys cannot be had. */
export class IssuerUnavailable extends Error {
  override readonly name = 'IssuerUnavailable';
}

const FETCH_LIMIT_MS = 5_000;
const KEYS_FRESH_MS = 10 * 60_000;
const KEYS_LAST_MS = 24 * 3_600_000;

export function issuerKeys({ issuer, keys, keysCooldownMs }: BearerSetting): JWTVerifyGetKey {
  if (keys.kind === 'set') return createLocalJWKSet(keys.set);
  const isDiscovery = keys.kind === 'discovery';
  const remote = createRemoteJWKSet(new URL(isDiscovery ? discoveryUrl(issuer) : keys.url), {
    timeoutDuration: FETCH_LIMIT_MS,
    cacheMaxAge: KEYS_FRESH_MS,
    cooldownDuration: keysCooldownMs,
    [customFetch]: rememberingLast(isDiscovery ? fetchDiscovered(issuer) : fetchText),
  });
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      if (isOfToken(error)) throw error;
      throw new IssuerUnavailable(`the keys of ${issuer} could not be fetched`, { cause: error });
    }
  };
}

const discoveryUrl = (issuer: string): string => `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;

/** The keys are there, and none of them, or no single one, fits what the token says. */
const isOfToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

type FetchOptions = Parameters<FetchImplementation>[1];
type FetchText = (url: string, options: FetchOptions) => Promise<string>;

const fetchText: FetchText = async (url, options) => {
  const response = await fetch(url, options);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return text;
};

/** The document is read anew each time: an issuer may move its keys. */
const fetchDiscovered =
  (issuer: string): FetchText =>
  async (url, options) => {
    const document = readObject(await fetchText(url, options), url);
    if (document['issuer'] !== issuer) throw new Error(`${url} is not the discovery document of ${issuer}`);
    const keysUrl = String(document['jwks_uri']);
    const isAsSafe = keysUrl.startsWith('https:') || (keysUrl.startsWith('http:') && issuer.startsWith('http:'));
    if (!isAsSafe) throw new Error(`the jwks_uri in ${url} must be an HTTPS URL, or an HTTP URL if the issuer's is`);
    return fetchText(keysUrl, options);
  };

function rememberingLast(fetchKeys: FetchText): FetchImplementation {
  let last: { readonly text: string; readonly atMs: number } | null = null;
  return async (url, options) => {
    try {
      const text = await fetchKeys(url, options);
      if (!Array.isArray(readObject(text, url)['keys'])) throw new Error(`${url} does not return a key set (JWKS)`);
      last = { text, atMs: performance.now() };
      return new Response(text);
    } catch (error) {
      if (last === null || performance.now() - last.atMs > KEYS_LAST_MS) throw error;
      return new Response(last.text);
    }
  };
}

function readObject(text: string, url: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error(`${url} does not return a JSON object`);
  return value as Record<string, unknown>;
}
