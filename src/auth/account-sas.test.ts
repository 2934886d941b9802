import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AccountSASPermissions,
  type AccountSASSignatureValues,
  generateAccountSASQueryParameters,
  SASProtocol,
} from '@azure/storage-blob';
import {
  ACCOUNT,
  codeOf,
  credential,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
} from '../../test/vectors/signed-requests.ts';
import type { Identity } from './identity.ts';
import { verifySas } from './sas.ts';
import { sign } from './signature.ts';

const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const HOUR_MS = 3_600_000;

function use(
  token: string,
  { endpoint = PATH_STYLE, clientAddress = '127.0.0.1', nowMs = NOW_MS } = {},
): Promise<Identity> {
  const request = signedRequest({ method: 'GET', url: `${endpoint}/c?restype=container&${token}`, clientAddress });
  return verifySas(request, {
    account: ACCOUNT,
    nowMs,
    wallNowMs: nowMs,
    resource: ['c'],
    loadAcl: () => Promise.reject(new Error('An account SAS has no policy')),
  });
}

const sdkToken = (values: Partial<AccountSASSignatureValues> = {}, key = FIRST_KEY): string =>
  generateAccountSASQueryParameters(
    {
      services: 'bq',
      resourceTypes: 'sco',
      permissions: AccountSASPermissions.parse('rwdl'),
      expiresOn: new Date(NOW_MS + HOUR_MS),
      ...values,
    },
    credential(key),
  ).toString();

for (const version of ['2015-04-05', '2018-11-09', '2020-10-02', '2020-12-06', '2026-04-06']) {
  test(`the SDK's account tokens of ${version} say what they allow, at every address of the account`, async () => {
    const token = sdkToken({ version });
    const allowed = { services: 'bq', resourceTypes: 'sco', permissions: 'rwdl' };
    for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
      assert.deepEqual(await use(token, { endpoint }), { kind: 'accountSas', account: ACCOUNT.name, ...allowed });
    }
  });
}

test('the second key signs too, and every letter of the SDK is known', async () => {
  const permissions = AccountSASPermissions.parse('rwdxftlacupiy');
  assert.equal(await codeOf(use(sdkToken({ permissions }, SECOND_KEY))), 'accepted');
});

test("another account's token is refused though the key is the same", async () => {
  const lines = ['someoneelse', 'r', 'b', 's', '', '2025-01-03', '', '', '2024-11-04', '', ''];
  const fields = { sp: 'r', ss: 'b', srt: 's', se: '2025-01-03', sv: '2024-11-04' };
  const token = new URLSearchParams({ ...fields, sig: sign(FIRST_KEY, lines.join('\n')) }).toString();
  assert.equal(await codeOf(use(token)), 'AuthenticationFailed');
});

/** A token with exactly these fields, always signed rightly. */
function present(fields: Record<string, string>): string {
  const all: Record<string, string> = { sp: 'r', ss: 'b', srt: 's', se: '2025-01-03', sv: '2024-11-04', ...fields };
  const names = ['sp', 'ss', 'srt', 'st', 'se', 'sip', 'spr', 'sv', 'ses'];
  const signed = (all['sv'] ?? '') >= '2020-12-06' ? names : names.slice(0, -1);
  const stringToSign = `${[ACCOUNT.name, ...signed.map((name) => all[name] ?? '')].join('\n')}\n`;
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  return new URLSearchParams({ ...given, sig: sign(FIRST_KEY, stringToSign) }).toString();
}

for (const [what, token, how, code] of [
  ['nothing wrong', present({}), {}, 'accepted'],
  ['no ss', present({ ss: '' }), {}, 'AuthenticationFailed'],
  ['no srt', present({ srt: '' }), {}, 'AuthenticationFailed'],
  ['no sp', present({ sp: '' }), {}, 'AuthenticationFailed'],
  ['no se', present({ se: '' }), {}, 'AuthenticationFailed'],
  ['no sv', present({ sv: '' }), {}, 'AuthenticationFailed'],
  ['an empty signature', present({}).replace(/sig=.*/, 'sig='), {}, 'AuthenticationFailed'],
  ['a service that is not known', present({ ss: 'bx' }), {}, 'AuthenticationFailed'],
  ['a repeated service', present({ ss: 'bb' }), {}, 'AuthenticationFailed'],
  ['a resource type that is not known', present({ srt: 'sx' }), {}, 'AuthenticationFailed'],
  ['a permission that is not known', present({ sp: 'rz' }), {}, 'AuthenticationFailed'],
  ['permissions in any order', present({ sp: 'lwr' }), {}, 'accepted'],
  ['a version before there were such tokens', present({ sv: '2015-02-21' }), {}, 'AuthenticationFailed'],
  ['a version that is no date', present({ sv: 'latest' }), {}, 'AuthenticationFailed'],
  ['an encryption scope too early', present({ sv: '2020-10-02', ses: 'x' }), {}, 'AuthenticationFailed'],
  ['an encryption scope', present({ ses: 'x' }), {}, 'accepted'],
  ['an expiry reached', present({ se: '2025-01-02' }), {}, 'AuthenticationFailed'],
  ['a start ahead', present({ st: '2025-01-02T00:00:01Z' }), {}, 'AuthenticationFailed'],
  ['its address', present({ sip: '10.0.0.1-10.0.0.9' }), { clientAddress: '::ffff:10.0.0.9' }, 'accepted'],
  ['another address', present({ sip: '10.0.0.1-10.0.0.9' }), {}, 'AuthorizationSourceIPMismatch'],
  ['https asked for and not had', present({ spr: 'https' }), {}, 'AuthorizationProtocolMismatch'],
  ['https asked for and had', present({ spr: 'https' }), { endpoint: HOST_STYLE }, 'accepted'],
  ['fields of a service SAS', `${present({})}&sr=c`, {}, 'AuthenticationFailed'],
  ['a repeated field', `${present({})}&se=2026-01-01`, {}, 'AuthenticationFailed'],
] as const) {
  test(`an account token with ${what} gets ${code}`, async () => {
    assert.equal(await codeOf(use(token, how)), code);
  });
}

const everyField = sdkToken({
  version: '2024-11-04',
  startsOn: new Date(NOW_MS - HOUR_MS),
  ipRange: { start: '127.0.0.1', end: '127.0.0.9' },
  protocol: SASProtocol.HttpsAndHttp,
  encryptionScope: 'scope',
});
const tamperings: Record<string, string> = {
  sv: '2024-08-04',
  ss: 'bqt',
  srt: 'sc',
  sp: 'rwdlc',
  st: '2025-01-01T22:00:00Z',
  se: '2025-01-02T02:00:00Z',
  sip: '127.0.0.1-127.0.0.10',
  spr: '',
  ses: 'scope2',
  sig: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
};

test('an account token with every field is accepted', async () => {
  assert.equal(await codeOf(use(everyField)), 'accepted');
  assert.deepEqual([...new URLSearchParams(everyField).keys()].toSorted(), Object.keys(tamperings).toSorted());
});

for (const [name, value] of Object.entries(tamperings)) {
  for (const change of ['changed', 'left out'] as const) {
    test(`an account token whose ${name} was ${change} is refused`, async () => {
      const parameters = new URLSearchParams(everyField);
      if (change === 'changed') parameters.set(name, value);
      else parameters.delete(name);
      assert.equal(await codeOf(use(parameters.toString())), 'AuthenticationFailed');
    });
  }
}
