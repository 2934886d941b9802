import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { jwtVerify } from 'jose';
import { makeSigningKey, OAuthIssuer, signToken } from '../../test/harness/oauth-issuer.ts';
import type { BearerSetting, KeySource } from './identity.ts';
import { IssuerUnavailable, issuerKeys } from './issuer-keys.ts';

const HOUR_MS = 3_600_000;
const started: OAuthIssuer[] = [];
let issuer: OAuthIssuer;

beforeEach(async () => {
  issuer = await new OAuthIssuer().start();
  started.push(issuer);
});
after(() => Promise.all(started.map((one) => one.stop())));

const settingOf = (keys: KeySource, keysCooldownMs: number): BearerSetting => ({
  issuer: issuer.url,
  keys,
  audiences: [],
  defaultRoles: [],
  keysCooldownMs,
});

/** `ok`, or the code of the refusal. */
function opened(keys: KeySource = { kind: 'discovery' }, { cooldownMs = 0 } = {}) {
  const find = issuerKeys(settingOf(keys, cooldownMs));
  return async (token: string): Promise<string> => {
    try {
      await jwtVerify(token, find);
      return 'ok';
    } catch (error) {
      return error instanceof IssuerUnavailable ? error.name : String((error as { code?: string }).code);
    }
  };
}

const discovery = (): string[] => issuer.asked.filter((path) => path.endsWith('openid-configuration'));
const keyReads = (): string[] => issuer.asked.filter((path) => path.endsWith('/keys'));

test('nothing is fetched before the first token, and then once for all', async () => {
  const verify = opened({ kind: 'discovery' }, { cooldownMs: HOUR_MS });
  assert.deepEqual(issuer.asked, []);
  const tokens = await Promise.all([issuer.sign(), issuer.sign(), issuer.sign()]);
  assert.deepEqual(await Promise.all(tokens.map(verify)), ['ok', 'ok', 'ok']);
  assert.equal(await verify(await issuer.sign()), 'ok');
  assert.deepEqual([discovery().length, keyReads().length], [1, 1]);
});

test('a URL of keys is read in place of the discovery document', async () => {
  const verify = opened({ kind: 'url', url: issuer.keysUrl });
  assert.equal(await verify(await issuer.sign()), 'ok');
  assert.deepEqual([discovery().length, keyReads().length], [0, 1]);
});

test('a set of keys is complete: nobody is asked', async () => {
  const verify = opened({ kind: 'set', set: { keys: [issuer.key.jwk] } });
  assert.equal(await verify(await issuer.sign()), 'ok');
  await issuer.rotate();
  assert.equal(await verify(await issuer.sign()), 'ERR_JWKS_NO_MATCHING_KEY');
  assert.deepEqual(issuer.asked, []);
});

test('a new key of the issuer is found, and the key that it replaced no longer counts', async () => {
  const verify = opened();
  const before = await issuer.sign();
  assert.equal(await verify(before), 'ok');
  await issuer.rotate();
  assert.equal(await verify(await issuer.sign()), 'ok');
  assert.equal(await verify(before), 'ERR_JWKS_NO_MATCHING_KEY');
});

test('whoever makes key names up does not make us ask the issuer each time', async () => {
  const verify = opened({ kind: 'discovery' }, { cooldownMs: HOUR_MS });
  assert.equal(await verify(await issuer.sign()), 'ok');
  for (let count = 0; count < 20; count++) {
    assert.equal(await verify(await signToken(issuer.url, await makeSigningKey())), 'ERR_JWKS_NO_MATCHING_KEY');
  }
  assert.equal(keyReads().length, 1);
});

test('while the issuer is away, the keys it last had go on counting', async () => {
  const verify = opened();
  const token = await issuer.sign();
  assert.equal(await verify(token), 'ok');
  await issuer.stop();
  assert.equal(await verify(await signToken(issuer.url, await makeSigningKey())), 'ERR_JWKS_NO_MATCHING_KEY');
  assert.equal(await verify(token), 'ok');
});

test('an issuer that was never reached is unavailable, and is found when it comes', async () => {
  const verify = opened();
  issuer.misanswer = () => [503, 'busy'];
  const token = await issuer.sign();
  assert.equal(await verify(token), 'IssuerUnavailable');
  issuer.misanswer = () => null;
  assert.equal(await verify(token), 'ok');
});

const toDiscovery = (document: () => object) => (path: string) =>
  path.endsWith('openid-configuration') ? ([200, JSON.stringify(document())] as const) : null;

describe('an issuer is unavailable that answers', () => {
  const rows: readonly (readonly [what: string, misanswer: () => OAuthIssuer['misanswer']])[] = [
    ['with text', () => () => [200, 'hello']],
    ['with no object', () => () => [200, 'null']],
    ['for another issuer', () => toDiscovery(() => ({ issuer: 'https://other', jwks_uri: issuer.keysUrl }))],
    ['without a URL of keys', () => toDiscovery(() => ({ issuer: issuer.url }))],
    ['with a file for keys', () => toDiscovery(() => ({ issuer: issuer.url, jwks_uri: 'file:///etc/passwd' }))],
    ['with no set of keys', () => (path) => (path.endsWith('/keys') ? [200, '{"keys": 7}'] : null)],
    ['with keys that are none', () => (path) => (path.endsWith('/keys') ? [200, '{"keys": [7]}'] : null)],
    ['that it is elsewhere', () => () => [302, '']],
  ];
  for (const [what, misanswer] of rows) {
    test(what, async () => {
      issuer.misanswer = misanswer();
      assert.equal(await opened()(await issuer.sign()), 'IssuerUnavailable');
    });
  }
});

test('an https issuer cannot send us over http for its keys', async (t) => {
  const https = { ...settingOf({ kind: 'discovery' }, 0), issuer: 'https://sts.example.org' };
  const document = { issuer: https.issuer, jwks_uri: issuer.keysUrl };
  const network = t.mock.method(globalThis, 'fetch', async () => new Response(JSON.stringify(document)));
  await assert.rejects(async () => jwtVerify(await issuer.sign(), issuerKeys(https)), IssuerUnavailable);
  assert.deepEqual(
    network.mock.calls.map((call) => call.arguments[0]),
    ['https://sts.example.org/.well-known/openid-configuration'],
  );
});

test('what is told of an unavailable issuer holds nothing of the token', async () => {
  await issuer.stop();
  const token = await issuer.sign();
  const told = await jwtVerify(token, issuerKeys(settingOf({ kind: 'discovery' }, 0))).catch((error: Error) => error);
  assert.ok(told instanceof IssuerUnavailable);
  for (const part of token.split('.')) assert.ok(!`${told.stack} ${String(told.cause)}`.includes(part));
});
