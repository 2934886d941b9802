import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { makeSigningKey } from '../../test/harness/oauth-issuer.ts';
import { SERVE_OPTIONS } from './config.ts';
import { ConfigError } from './config-error.ts';
import { chooseOAuth, type OAuthOptions, readOAuth } from './oauth-setting.ts';
import { readOptions } from './options.ts';

const ISSUER = 'https://sts.example.org/tenant/';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'larimar-oauth-'));
});
after(() => rm(folder, { recursive: true }));

const readArgs = (args: readonly string[], environment: Record<string, string> = {}): Promise<OAuthOptions | null> =>
  readOAuth(readOptions(args, environment, SERVE_OPTIONS));

async function fileOf(text: string): Promise<string> {
  const path = join(folder, 'keys.json');
  await writeFile(path, text);
  return path;
}

test('without an issuer no bearer token is accepted', async () => {
  assert.equal(await readArgs([]), null);
});

test('an issuer is enough', async () => {
  assert.deepEqual(await readArgs(['--oauth-issuer', ISSUER]), { issuer: ISSUER });
  assert.deepEqual(chooseOAuth({ issuer: ISSUER }), {
    issuer: ISSUER,
    keys: { kind: 'discovery' },
    audiences: [],
    defaultRoles: [],
    keysCooldownMs: 30_000,
  });
});

test('all of it may be given by the environment', async () => {
  const options = await readArgs([], {
    LARIMAR_OAUTH_ISSUER: ISSUER,
    LARIMAR_OAUTH_KEYS: 'https://sts.example.org/keys',
    LARIMAR_OAUTH_AUDIENCES: 'api://one;https://two.example.org',
    LARIMAR_OAUTH_DEFAULT_ROLE: 'StorageBlobDataReader;storage table data contributor',
  });
  assert.ok(options !== null);
  assert.deepEqual(chooseOAuth(options), {
    issuer: ISSUER,
    keys: { kind: 'url', url: 'https://sts.example.org/keys' },
    audiences: ['api://one', 'https://two.example.org'],
    defaultRoles: ['Storage Blob Data Reader', 'Storage Table Data Contributor'],
    keysCooldownMs: 30_000,
  });
});

test('keys are read from a file', async () => {
  const { jwk } = await makeSigningKey();
  const path = await fileOf(JSON.stringify({ keys: [jwk] }));
  const options = await readArgs(['--oauth-issuer', ISSUER, '--oauth-keys', path]);
  assert.deepEqual(options, { issuer: ISSUER, keys: { keys: [jwk] } });
});

describe('what cannot be meant is refused in plain words', () => {
  const rows: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['--oauth-issuer', 'sts.example.org'], /--oauth-issuer takes a URL, https:\/\/…, not "sts\.example\.org"/],
    [['--oauth-issuer', 'ftp://sts.example.org'], /--oauth-issuer takes a URL/],
    [['--oauth-issuer', 'https://'], /--oauth-issuer takes a URL/],
    [['--oauth-issuer', `${ISSUER}?x=1`], /--oauth-issuer takes a URL/],
    [['--oauth-issuer', `${ISSUER}#x`], /--oauth-issuer takes a URL/],
    [['--oauth-keys', 'https://sts.example.org/keys'], /--oauth-keys needs --oauth-issuer/],
    [['--oauth-audience', 'api://x'], /--oauth-audience needs --oauth-issuer/],
    [['--oauth-default-role', 'Storage Blob Data Reader'], /--oauth-default-role needs --oauth-issuer/],
    [['--oauth-issuer', ISSUER, '--oauth-keys', 'ftp://x/keys'], /--oauth-keys takes a file or a URL/],
    [
      ['--oauth-issuer', ISSUER, '--oauth-keys', '/no/such/file'],
      /--oauth-keys: \/no\/such\/file cannot be read \(ENOENT\)/,
    ],
    [['--oauth-issuer', ISSUER, '--oauth-keys', '/'], /cannot be read \(EISDIR\)/],
    [['--oauth-issuer', ISSUER, '--oauth-audience', ' '], /--oauth-audience takes the aud claim of a token/],
    [
      ['--oauth-issuer', ISSUER, '--oauth-default-role', 'Owner'],
      /--oauth-default-role takes one of "Storage Blob Data Owner", .*"Storage Table Delegator", .*not "Owner"/,
    ],
  ];
  for (const [args, message] of rows) {
    test(args.join(' '), async () => {
      await refuses(args, message);
    });
  }

  for (const [what, text, message] of [
    ['text', 'hello', /is not JSON of the form/],
    ['null', 'null', /is not JSON of the form/],
    ['a single key', '{"kty":"EC"}', /contains no public key/],
    ['no keys', '{"keys":[]}', /contains no public key/],
    ['keys that are none', '{"keys":[null,7]}', /contains no public key/],
    ['a secret', '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /contains no public key/],
    ['a private key', '{"keys":[{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"c2VjcmV0"}]}', /contains a private key/],
    ['a secret beside a key', '{"keys":[{"kty":"EC"},{"kty":"oct","k":"c2VjcmV0"}]}', /contains a private key/],
  ] as const) {
    test(`a file of ${what}`, async () => {
      const refusal = await refuses(['--oauth-issuer', ISSUER, '--oauth-keys', await fileOf(text)], message);
      assert.doesNotMatch(refusal, /c2VjcmV0/);
    });
  }

  test('a password in a URL, which is not shown', async () => {
    for (const args of [
      ['--oauth-issuer', 'https://user:c2VjcmV0@sts.example.org'],
      ['--oauth-issuer', ISSUER, '--oauth-keys', 'https://user:c2VjcmV0@sts.example.org/keys'],
    ]) {
      assert.doesNotMatch(await refuses(args, /without a user name or password/), /c2VjcmV0/);
    }
  });
});

/** The message. */
async function refuses(args: readonly string[], message: RegExp): Promise<string> {
  const refusal = await readArgs(args).catch((error: unknown) => error);
  assert.ok(refusal instanceof ConfigError, String(refusal));
  assert.match(refusal.message, message);
  return refusal.message;
}
