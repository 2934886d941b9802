/**
 * Whose bearer tokens a server accepts: an issuer, where its keys come from, whom its tokens must be for, and what those
 * are worth that name no role. Written as options, or by hand as a library.
 */
import { readFile } from 'node:fs/promises';
import type { JSONWebKeySet } from 'jose';
import type { BearerSetting, KeySource } from '../auth/identity.ts';
import { findRole, ROLE_NAMES, type RoleName } from '../rules/roles.ts';
import { ConfigError } from './config-error.ts';
import type { OptionTexts } from './options.ts';

/** The issuer whose bearer tokens are accepted, and how they are checked. */
export interface OAuthOptions {
  /** The URL of the issuer, exactly as in the `iss` claim of its tokens. */
  readonly issuer: string;
  /** The issuer's key set (JWKS), or the URL of one. By default, the issuer's discovery document names it. */
  readonly keys?: JSONWebKeySet | string;
  /** A token's `aud` claim must contain one of these. The default is https://storage.azure.com or the account's own URL. */
  readonly audiences?: readonly string[];
  /** The names of the roles that a token has if it names none. Each role is for one service. By default, it has none. */
  readonly defaultRoles?: readonly string[];
  /** How many seconds pass before a key that the issuer did not have is looked for again. The default is 30. */
  readonly keysCooldownSeconds?: number;
}

const KEYS_COOLDOWN_SECONDS = 30;

export function chooseOAuth(options: OAuthOptions): BearerSetting {
  refuseUrl('--oauth-issuer', options.issuer);
  const { audiences = [], defaultRoles = [], keysCooldownSeconds = KEYS_COOLDOWN_SECONDS } = options;
  if (audiences.some((audience) => audience.trim() === '')) {
    throw new ConfigError('--oauth-audience takes the aud claim of a token, which is never empty.');
  }
  return {
    issuer: options.issuer,
    keys: chooseKeys(options.keys),
    audiences,
    defaultRoles: defaultRoles.map(parseRole),
    keysCooldownMs: keysCooldownSeconds * 1000,
  };
}

function chooseKeys(keys: OAuthOptions['keys']): KeySource {
  if (keys === undefined) return { kind: 'discovery' };
  if (typeof keys === 'string') {
    refuseUrl('--oauth-keys', keys);
    return { kind: 'url', url: keys };
  }
  refuseKeySet(keys);
  return { kind: 'set', set: keys };
}

function refuseUrl(flag: string, text: string): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  // What might be a password is not shown.
  if (url !== null && (url.username !== '' || url.password !== '')) {
    throw new ConfigError(`${flag} takes a URL without a user name or password.`);
  }
  const isIssuer = flag === '--oauth-issuer';
  const isPlain = url !== null && url.hash === '' && !(isIssuer && url.search !== '');
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`${flag} takes ${isIssuer ? '' : 'a file or '}a URL, https://…, not "${text}".`);
  }
}

function parseRole(text: string): RoleName {
  const role = findRole(text);
  if (role === null) {
    throw new ConfigError(`--oauth-default-role takes one of "${ROLE_NAMES.join('", "')}", not "${text}".`);
  }
  return role;
}

const PUBLIC_KINDS: readonly unknown[] = ['RSA', 'EC', 'OKP'];

function refuseKeySet({ keys }: JSONWebKeySet): void {
  if (!Array.isArray(keys) || !keys.some((key) => PUBLIC_KINDS.includes(key?.kty))) {
    throw new ConfigError('--oauth-keys contains no public key. Give a key set of the form {"keys": […]}.');
  }
  if (keys.some((key) => key.d !== undefined || key.k !== undefined)) {
    throw new ConfigError(
      '--oauth-keys contains a private key. Leave private keys with the issuer, and give only the public ones.',
    );
  }
}

/** Null where no issuer is named. */
export async function readOAuth(texts: OptionTexts): Promise<OAuthOptions | null> {
  const [issuer, keys, defaultRoles] = [texts.oauthIssuer?.[0], texts.oauthKeys?.[0], texts.oauthDefaultRole];
  if (issuer === undefined) {
    const [flag] = [
      ...(keys === undefined ? [] : ['--oauth-keys']),
      ...(texts.oauthAudience === undefined ? [] : ['--oauth-audience']),
      ...(defaultRoles === undefined ? [] : ['--oauth-default-role']),
    ];
    if (flag !== undefined) throw new ConfigError(`${flag} needs --oauth-issuer, which is not given.`);
    return null;
  }
  const options = {
    issuer,
    ...(keys === undefined ? {} : { keys: isUrl(keys) ? keys : await readKeySet(keys) }),
    ...(texts.oauthAudience === undefined ? {} : { audiences: texts.oauthAudience }),
    ...(defaultRoles === undefined ? {} : { defaultRoles }),
  };
  chooseOAuth(options);
  return options;
}

const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(text);

async function readKeySet(path: string): Promise<JSONWebKeySet> {
  const value = parseJson(await readText(path));
  if (typeof value === 'object' && value !== null) return value as JSONWebKeySet;
  throw new ConfigError(`--oauth-keys: ${path} is not JSON of the form {"keys": […]}.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`--oauth-keys: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
