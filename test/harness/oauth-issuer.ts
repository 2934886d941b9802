/**
 * An issuer of bearer tokens on loopback, as small as one can be: a discovery document, a set of keys, and tokens that
 * say what a test wants. It counts how often it was asked, and can be told to answer wrongly or to change its keys.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export const TENANT = '11111111-2222-3333-4444-555555555555';
export const USER = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  /** As the issuer publishes it. */
  readonly jwk: JWK;
}

let keyCount = 0;

export async function makeSigningKey(alg = 'ES256'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const kid = `key-${++keyCount}`;
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig' } };
}

/** Claims over those of an ordinary token; undefined leaves one out. */
export type Claims = Readonly<Record<string, unknown>>;

/** A token that is good for an hour. */
export function signToken(issuer: string, key: SigningKey, claims: Claims = {}, nowMs = Date.now()): Promise<string> {
  const nowSeconds = Math.floor(nowMs / 1000);
  const usual = { iss: issuer, aud: 'https://storage.azure.com', oid: USER, tid: TENANT, sub: 'subject' };
  const period = { iat: nowSeconds, nbf: nowSeconds, exp: nowSeconds + 3600 };
  const payload = Object.fromEntries(
    Object.entries({ ...usual, ...period, ...claims }).filter(([, value]) => value !== undefined),
  );
  return new SignJWT(payload).setProtectedHeader({ alg: key.alg, kid: key.kid }).sign(key.privateKey);
}

export class OAuthIssuer {
  readonly #server = createServer((request, response) => {
    const path = request.url ?? '';
    this.asked.push(path);
    const [status, body] = this.misanswer(path) ?? this.#answer(path);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  #keys: readonly SigningKey[] = [];
  url = '';
  /** The paths of all requests. */
  readonly asked: string[] = [];
  /** What is answered in place of the truth; null: the truth. */
  misanswer: (path: string) => readonly [status: number, body: string] | null = () => null;

  async start(): Promise<this> {
    await this.rotate();
    await this.#listen(0);
    return this;
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${TENANT}`;
  }

  get keysUrl(): string {
    return `${this.url}/keys`;
  }

  /** The key that signs from now on. */
  get key(): SigningKey {
    return this.#keys.at(-1) as SigningKey;
  }

  /** A new key, and the old ones are gone. */
  async rotate(): Promise<void> {
    this.#keys = [await makeSigningKey()];
  }

  sign(claims: Claims = {}): Promise<string> {
    return signToken(this.url, this.key, claims);
  }

  #answer(path: string): readonly [status: number, body: string] {
    const { pathname } = new URL(this.url);
    switch (path) {
      case `${pathname}/.well-known/openid-configuration`:
        return [200, JSON.stringify({ issuer: this.url, jwks_uri: this.keysUrl })];
      case `${pathname}/keys`:
        return [200, JSON.stringify({ keys: this.#keys.map(({ jwk }) => jwk) })];
      default:
        return [404, '{}'];
    }
  }

  /** Nobody can reach it from now on. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
