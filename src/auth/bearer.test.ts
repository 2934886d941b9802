import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { type CryptoKey, exportSPKI, importJWK, type JWK, SignJWT } from 'jose';
import {
  type Claims,
  makeSigningKey,
  type SigningKey,
  signToken,
  TENANT,
  USER,
} from '../../test/harness/oauth-issuer.ts';
import { ACCOUNT, signedRequest, type WireRequest } from '../../test/vectors/signed-requests.ts';
import type { RoleName } from '../rules/roles.ts';
import { StorageError } from '../service/storage-error.ts';
import { type BearerTokens, openBearerTokens, type Principal, verifyBearer } from './bearer.ts';
import type { BearerSetting } from './identity.ts';

const ISSUER = `https://sts.example.org/${TENANT}/`;
const ORIGIN = 'https://storage.example.org:10000';
const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const NOW = NOW_MS / 1000;
const READER: RoleName = 'Storage Blob Data Reader';

const KINDS = ['RS256', 'PS384', 'ES256', 'ES512', 'EdDSA'];
const keys = new Map<string, SigningKey>();
before(async () => {
  for (const alg of KINDS) keys.set(alg, await makeSigningKey(alg));
});
const keyOf = (alg: string): SigningKey => keys.get(alg) as SigningKey;

const opened = (setting: Partial<BearerSetting> = {}, further: readonly JWK[] = []): BearerTokens =>
  openBearerTokens({
    issuer: ISSUER,
    keys: { kind: 'set', set: { keys: [...[...keys.values()].map(({ jwk }) => jwk), ...further] } },
    audiences: [],
    defaultRoles: [],
    keysCooldownMs: 0,
    ...setting,
  });

const verify = (token: string, bearer: BearerTokens = opened()): Promise<Principal> =>
  bearer.verify(token, { account: ACCOUNT.name, service: 'b', origin: ORIGIN, nowMs: NOW_MS });

const sign = (claims: Claims = {}, key = keyOf('ES256')): Promise<string> => signToken(ISSUER, key, claims, NOW_MS);

/** The refusal of a token: its status, code, detail, and what it asks for instead. */
async function refusalOf(acted: Promise<unknown>) {
  try {
    await acted;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const { status, elements, headers } = error.details;
    const detail = elements?.['AuthenticationErrorDetail'] ?? '';
    return { status, code: error.code, detail, challenge: headers?.['WWW-Authenticate'] ?? '' };
  }
  return assert.fail('the token was accepted');
}

for (const alg of KINDS) {
  test(`a token signed with ${alg} speaks for whom it names`, async () => {
    assert.deepEqual(await verify(await sign({}, keyOf(alg))), { objectId: USER, tenantId: TENANT, roles: [] });
  });
}

describe('claims', () => {
  const rows: readonly (readonly [what: string, claims: Claims, detail: RegExp])[] = [
    ['another issuer', { iss: 'https://sts.example.org/other/' }, /^Issuer validation failed/],
    ['an issuer without its slash', { iss: ISSUER.slice(0, -1) }, /^Issuer validation failed/],
    ['no issuer', { iss: undefined }, /no iss/],
    ['another audience', { aud: 'https://vault.azure.net' }, /^Audience validation failed/],
    ['another account', { aud: 'https://other.blob.core.windows.net' }, /^Audience validation failed/],
    ['another service', { aud: `https://${ACCOUNT.name}.queue.core.windows.net` }, /^Audience validation failed/],
    ['another account here', { aud: `${ORIGIN}/other` }, /^Audience validation failed/],
    ['an audience with more behind it', { aud: 'https://storage.azure.com.evil.org' }, /^Audience validation failed/],
    ['no audience', { aud: undefined }, /no aud/],
    ['an expiry just beyond the leeway', { exp: NOW - 60 }, /^Lifetime validation failed. The token is expired/],
    ['no expiry', { exp: undefined }, /no exp/],
    ['an expiry that is no time', { exp: 'tomorrow' }, /exp/],
    [
      'a beginning just beyond the leeway',
      { nbf: NOW + 61 },
      /^Lifetime validation failed. The token is not valid yet/,
    ],
    ['nobody', { oid: undefined, sub: undefined }, /does not identify its user/],
    ['an oid of two lines', { oid: `${USER}\nrw` }, /oid/],
    ['an oid that is no text', { oid: 7 }, /oid/],
    ['a tid of two lines', { tid: 'a\nb' }, /tid/],
    ['an oid too long', { oid: 'x'.repeat(257) }, /oid/],
  ];
  for (const [what, claims, detail] of rows) {
    test(`a token of ${what} is refused`, async () => {
      const token = await sign(claims);
      const refusal = await refusalOf(verify(token));
      assert.equal(`${refusal.status} ${refusal.code}`, '401 InvalidAuthenticationInfo');
      assert.match(refusal.detail, detail);
      assert.match(refusal.challenge, /^Bearer authorization_uri=/);
      for (const part of token.split('.'))
        assert.ok(!refusal.detail.includes(part), 'nothing of the token is repeated');
    });
  }

  for (const [what, claims] of [
    ['expired within the leeway', { exp: NOW - 59 }],
    ['beginning within the leeway', { nbf: NOW + 60 }],
    ['without a beginning', { nbf: undefined }],
    ['for storage, with a slash', { aud: 'https://storage.azure.com/' }],
    ['for the account', { aud: `https://${ACCOUNT.name}.blob.core.windows.net` }],
    ['for the account, with a slash', { aud: `https://${ACCOUNT.name}.blob.core.windows.net/` }],
    ['for the account here', { aud: `${ORIGIN}/${ACCOUNT.name}` }],
    ['for several', { aud: ['https://vault.azure.net', 'https://storage.azure.com'] }],
  ] as const) {
    test(`a token ${what} is accepted`, async () => {
      assert.equal((await verify(await sign(claims))).objectId, USER);
    });
  }

  test('configured audiences replace the usual ones', async () => {
    const bearer = opened({ audiences: ['api://larimar', 'https://larimar.example.org'] });
    assert.equal((await verify(await sign({ aud: 'api://larimar' }), bearer)).objectId, USER);
    assert.match((await refusalOf(verify(await sign(), bearer))).detail, /^Audience validation failed/);
  });

  test('an issuer without tenants and object ids is served by subject and host', async () => {
    const principal = await verify(await sign({ oid: undefined, tid: undefined }));
    assert.deepEqual(principal, { objectId: 'subject', tenantId: 'sts.example.org', roles: [] });
  });
});

describe('roles', () => {
  const rows: readonly (readonly [roles: unknown, defaultRoles: readonly RoleName[], found: readonly RoleName[]])[] = [
    [undefined, [], []],
    [undefined, [READER], [READER]],
    [[], [READER], [READER]],
    [['offline_access'], [READER], [READER]],
    [['Storage Blob Data Owner'], [READER], ['Storage Blob Data Owner']],
    [['StorageBlobDataContributor', 'x'], [], ['Storage Blob Data Contributor']],
    ['Storage Blob Delegator', [], ['Storage Blob Delegator']],
    [[7, null, { a: 1 }, READER], [], [READER]],
    [{ toString: 'Storage Blob Data Owner' }, [], []],
  ];
  for (const [roles, defaultRoles, found] of rows) {
    test(`roles ${JSON.stringify(roles)}, by default ${defaultRoles.join() || 'none'}: ${found.join() || 'none'}`, async () => {
      assert.deepEqual((await verify(await sign({ roles }), opened({ defaultRoles }))).roles, found);
    });
  }
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('signatures', () => {
  const claims = { iss: ISSUER, aud: 'https://storage.azure.com', oid: USER, exp: NOW + 3600 };

  test('a token without a signature is refused, however it says so', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      const head = encode({ alg, kid: keyOf('ES256').kid });
      const { status, detail } = await refusalOf(verify(`${head}.${encode(claims)}.`));
      assert.equal(status, 401, alg);
      assert.match(detail, /algorithm|JSON Web Token/, alg);
    }
  });

  test('a public key is no secret that signs: a token signed with it by HMAC is refused', async () => {
    const { jwk, kid } = keyOf('RS256');
    const publicKey = (await importJWK(jwk, 'RS256')) as CryptoKey;
    for (const secret of [await exportSPKI(publicKey), JSON.stringify(jwk)]) {
      const body = `${encode({ alg: 'HS256', kid })}.${encode(claims)}`;
      const signature = createHmac('sha256', secret).update(body).digest('base64url');
      assert.match((await refusalOf(verify(`${body}.${signature}`))).detail, /algorithm/);
    }
  });

  test('a secret among the keys signs nothing', async () => {
    const secret = Buffer.alloc(32, 7);
    const jwk = { kty: 'oct', k: secret.toString('base64url'), kid: 'secret', alg: 'HS256' };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'secret' }).sign(secret);
    assert.match((await refusalOf(verify(token, opened({}, [jwk])))).detail, /algorithm/);
  });

  test('a key that the token brings along is not looked at', async () => {
    const stranger = await makeSigningKey('ES256');
    const head = { alg: 'ES256', kid: keyOf('ES256').kid, jwk: stranger.jwk, jku: 'https://evil.example.org/keys' };
    const token = await new SignJWT(claims).setProtectedHeader(head).sign(stranger.privateKey);
    assert.match((await refusalOf(verify(token))).detail, /^Signature validation failed/);
  });

  test('the key of a stranger is refused, under its own name and under one of ours', async () => {
    const stranger = await makeSigningKey('ES256');
    assert.match((await refusalOf(verify(await sign({}, stranger)))).detail, /no key with that id/);
    const disguised = { ...stranger, kid: keyOf('ES256').kid };
    assert.match((await refusalOf(verify(await sign({}, disguised)))).detail, /not made with the key/);
  });

  test('a key of one kind does not verify what claims to be signed by another kind', async () => {
    const confused = { ...keyOf('ES256'), kid: keyOf('RS256').kid };
    assert.match(
      (await refusalOf(verify(await sign({}, confused)))).detail,
      /no key with that id \(kid\) and algorithm/,
    );
  });

  test('a changed claim breaks the signature', async () => {
    const [head, body, signature] = (await sign({ roles: [READER] })).split('.') as [string, string, string];
    const changed = {
      ...(JSON.parse(Buffer.from(body, 'base64url').toString()) as object),
      roles: ['Storage Blob Data Owner'],
    };
    assert.match((await refusalOf(verify(`${head}.${encode(changed)}.${signature}`))).detail, /not made with the key/);
  });

  test('a token that names no key is refused where several could be meant', async () => {
    const second = await makeSigningKey('ES256');
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(second.privateKey);
    assert.match((await refusalOf(verify(token, opened({}, [second.jwk])))).detail, /which key/);
  });

  for (const text of ['token', 'a.b', 'a.b.c', '..', `${encode({ alg: 'ES256' })}..`, 'ä.ö.ü', 'a.b.c.d.e']) {
    test(`${text} is no token`, async () => {
      const { status, code } = await refusalOf(verify(text));
      assert.equal(`${status} ${code}`, '401 InvalidAuthenticationInfo');
    });
  }
});

describe('a request with a token', () => {
  const plain: WireRequest = { method: 'GET', url: `https://127.0.0.1:10000/${ACCOUNT.name}/c/b` };
  const ask = async (
    wire: Partial<WireRequest> & { token?: string; version?: string; bearer?: BearerTokens | null } = {},
  ) => {
    const { token = await sign(), version = '2024-11-04', bearer = opened(), ...rest } = wire;
    const headers = [
      ['Authorization', `Bearer ${token}`],
      ['x-ms-version', version],
    ] as const;
    return verifyBearer(signedRequest({ ...plain, headers, ...rest }), ACCOUNT, {
      bearer,
      origin: ORIGIN,
      wallNowMs: NOW_MS,
    });
  };

  test('is judged by it', async () => {
    assert.equal((await ask()).objectId, USER);
    assert.match((await refusalOf(ask({ token: await sign({ exp: NOW - 3600 }) }))).detail, /expired/);
  });

  test('is told how to turn tokens on, where they are off', async () => {
    const { status, code, detail } = await refusalOf(ask({ bearer: null }));
    assert.equal(`${status} ${code}`, '401 InvalidAuthenticationInfo');
    assert.match(detail, /--oauth-issuer/);
  });

  test('is refused before 2017-11-09', async () => {
    const { code, detail } = await refusalOf(ask({ version: '2017-07-29' }));
    assert.equal(code, 'AuthenticationFailed');
    assert.match(detail, /not supported in this version/);
    assert.equal((await ask({ version: '2017-11-09' })).objectId, USER);
  });

  test('is refused over plain HTTP, except from the same machine', async () => {
    const url = plain.url.replace('https:', 'http:');
    assert.equal((await ask({ url, clientAddress: '127.0.0.1' })).objectId, USER);
    const { code, detail } = await refusalOf(ask({ url, clientAddress: '192.168.1.2' }));
    assert.equal(code, 'AuthenticationFailed');
    assert.match(detail, /not allowed with HTTP/);
    assert.equal((await ask({ clientAddress: '192.168.1.2' })).objectId, USER);
  });

  for (const authorization of ['Bearer', 'Bearer ', 'Bearer a b']) {
    test(`that says "${authorization}" cannot be read`, async () => {
      const request = signedRequest({ ...plain, headers: [['Authorization', authorization]] });
      const refusal = await refusalOf(verifyBearer(request, ACCOUNT, { bearer: opened(), wallNowMs: NOW_MS }));
      assert.deepEqual([refusal.status, refusal.code], [undefined, 'InvalidAuthenticationInfo']);
    });
  }
});

describe('the challenge', () => {
  for (const [issuer, audiences, challenge] of [
    [ISSUER, [], `https://sts.example.org/${TENANT}/oauth2/authorize resource_id=https://storage.azure.com`],
    [
      `https://login.example.org/${TENANT}/v2.0`,
      [],
      `https://login.example.org/${TENANT}/oauth2/authorize resource_id=https://storage.azure.com`,
    ],
    [
      'https://id.example.org',
      ['api://x', 'https://y.example.org'],
      'https://id.example.org/oauth2/authorize resource_id=https://y.example.org',
    ],
    [
      'https://id.example.org',
      ['api://x'],
      'https://id.example.org/oauth2/authorize resource_id=https://storage.azure.com',
    ],
  ] as const) {
    test(`of ${issuer} for ${audiences.join() || 'anything'} is one that clients can read`, () => {
      assert.equal(opened({ issuer, audiences }).challenge, `Bearer authorization_uri=${challenge}`);
    });
  }
});
