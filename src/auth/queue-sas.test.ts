import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  generateQueueSASQueryParameters,
  QueueSASPermissions,
  type QueueSASSignatureValues,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import {
  ACCOUNT,
  codeOf,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
} from '../../test/vectors/signed-requests.ts';
import type { Identity, ResourceAcl } from './identity.ts';
import { verifySas } from './sas.ts';
import { sign } from './signature.ts';

const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const EXPIRY = '2025-01-02T01:00:00Z';

function sdkToken(values: Partial<QueueSASSignatureValues> = {}, key = FIRST_KEY): string {
  const usual = { permissions: QueueSASPermissions.parse('raup'), expiresOn: new Date(EXPIRY) };
  return generateQueueSASQueryParameters(
    { queueName: 'letters', ...(values.identifier === undefined ? usual : {}), ...values },
    new StorageSharedKeyCredential(ACCOUNT.name, key.toString('base64')),
  ).toString();
}

interface Use {
  /** Queue, `messages`, id: as far as the request goes. */
  readonly resource?: readonly string[];
  readonly endpoint?: string;
  readonly clientAddress?: string;
  readonly nowMs?: number;
  readonly loadAcl?: (account: string, resource: readonly string[]) => Promise<ResourceAcl | null>;
}

function use(token: string, { resource = ['letters', 'messages'], endpoint = PATH_STYLE, ...rest }: Use = {}) {
  const { loadAcl = () => Promise.reject(new Error('no policy is named')), clientAddress = '127.0.0.1' } = rest;
  const url = `${endpoint}/${resource.join('/')}?${token}`;
  const request = signedRequest({ method: 'GET', url, service: 'q', clientAddress });
  const { nowMs = NOW_MS } = rest;
  return verifySas(request, { account: ACCOUNT, nowMs, wallNowMs: nowMs, resource, loadAcl });
}

const asAccepted = (permissions = 'raup'): Identity => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides: {},
});

for (const version of ['2015-04-05', '2018-11-09', '2020-12-06', '2026-04-06']) {
  test(`the SDK's queue tokens of ${version} open their queue and its messages, and no other`, async () => {
    const token = sdkToken({ version });
    for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
      for (const resource of [['letters'], ['letters', 'messages'], ['letters', 'messages', 'an-id']]) {
        assert.deepEqual(await use(token, { endpoint, resource }), asAccepted(), `${endpoint} ${resource.join('/')}`);
      }
    }
    for (const resource of [['letter'], ['letters2', 'messages'], ['messages', 'letters'], []]) {
      assert.equal(await codeOf(use(token, { resource })), 'AuthenticationFailed', resource.join('/'));
    }
  });
}

test('either key of the account signs, and no other', async () => {
  assert.deepEqual(await use(sdkToken({}, SECOND_KEY)), asAccepted());
  assert.equal(await codeOf(use(sdkToken({}, Buffer.from('another key')))), 'AuthenticationFailed');
});

for (const letters of ['r', 'a', 'u', 'p', 'ra', 'up', 'rap', 'raup']) {
  test(`a token of the SDK with ${letters} has those letters`, async () => {
    assert.deepEqual(await use(sdkToken({ permissions: QueueSASPermissions.parse(letters) })), asAccepted(letters));
  });
}

/** A token with these fields, signed over these lines. */
const handMade = (fields: Readonly<Record<string, string>>, lines: readonly string[]): string =>
  new URLSearchParams({ ...fields, sig: sign(FIRST_KEY, lines.join('\n')) }).toString();

for (const [version, lines] of [
  ['2012-02-12', ['raup', '', EXPIRY, '/larimartest/letters', '', '2012-02-12']],
  ['2014-02-14', ['raup', '', EXPIRY, '/larimartest/letters', '', '2014-02-14']],
  ['2015-02-21', ['raup', '', EXPIRY, '/queue/larimartest/letters', '', '2015-02-21']],
  ['2015-04-05', ['raup', '', EXPIRY, '/queue/larimartest/letters', '', '', '', '2015-04-05']],
] as const) {
  test(`tokens of ${version} sign the lines of their time`, async () => {
    assert.deepEqual(await use(handMade({ sv: version, sp: 'raup', se: EXPIRY }, lines)), asAccepted());
  });
}

const FIRST_LINES = ['r', '', EXPIRY, '/larimartest/letters', ''];
for (const [what, token] of [
  ['without a version', handMade({ sp: 'r', se: EXPIRY }, FIRST_LINES)],
  ['of a version before there were any', handMade({ sv: '2011-08-18', sp: 'r', se: EXPIRY }, FIRST_LINES)],
  [
    'that names an address its version does not sign',
    handMade({ sv: '2014-02-14', sp: 'r', se: EXPIRY, sip: '127.0.0.1' }, [...FIRST_LINES, '2014-02-14']),
  ],
] as const) {
  test(`a token ${what} is refused`, async () => assert.equal(await codeOf(use(token)), 'AuthenticationFailed'));
}

for (const letters of ['ar', 'pu', 'rr', 'rd', 'l', 'w']) {
  test(`sp=${letters} is refused: the letters of queues are raup, in this order`, async () => {
    const lines = [letters, '', EXPIRY, '/queue/larimartest/letters', '', '', '', '2024-11-04'];
    const token = handMade({ sv: '2024-11-04', sp: letters, se: EXPIRY }, lines);
    assert.equal(await codeOf(use(token)), 'AuthenticationFailed');
  });
}

test('no field can be changed, added or left out', async () => {
  const token = new URLSearchParams(
    sdkToken({
      startsOn: new Date(NOW_MS - 1000),
      ipRange: { start: '127.0.0.1' },
      protocol: SASProtocol.HttpsAndHttp,
    }),
  );
  assert.equal(await codeOf(use(token.toString())), 'accepted');
  for (const [name, value] of [
    ['sv', '2020-12-06'],
    ['sp', 'r'],
    ['st', '2025-01-01T00:00:00Z'],
    ['se', '2025-01-09T00:00:00Z'],
    ['sip', '127.0.0.1-127.0.0.9'],
    ['spr', 'https'],
    ['si', 'policy'],
    ['sig', Buffer.alloc(32).toString('base64')],
  ] as const) {
    const changed = new URLSearchParams(token);
    changed.set(name, value);
    assert.equal(await codeOf(use(changed.toString())), 'AuthenticationFailed', `${name}=${value}`);
    if (name === 'si') continue;
    changed.delete(name);
    assert.equal(await codeOf(use(changed.toString())), 'AuthenticationFailed', `without ${name}`);
  }
});

for (const [what, values, how, code] of [
  ['before it begins', { startsOn: new Date(NOW_MS + 1000) }, {}, 'AuthenticationFailed'],
  ['when it ends', {}, { nowMs: Date.parse(EXPIRY) }, 'AuthenticationFailed'],
  ['just before that', {}, { nowMs: Date.parse(EXPIRY) - 1 }, 'accepted'],
  ['from its address', { ipRange: { start: '10.0.0.1' } }, { clientAddress: '10.0.0.1' }, 'accepted'],
  ['from another', { ipRange: { start: '10.0.0.1' } }, {}, 'AuthorizationSourceIPMismatch'],
  ['over http, being for https', { protocol: SASProtocol.Https }, {}, 'AuthorizationProtocolMismatch'],
  ['over https', { protocol: SASProtocol.Https }, { endpoint: HOST_STYLE }, 'accepted'],
] as const) {
  test(`a token that is used ${what}: ${code}`, async () => {
    assert.equal(await codeOf(use(sdkToken(values), how)), code);
  });
}

test('a stored policy is that of the queue, wherever in it the request goes', async () => {
  const asked: string[] = [];
  const loadAcl: Use['loadAcl'] = async (account, [queue = '']) => {
    asked.push(`${account}/${queue}`);
    return { publicAccess: null, policies: [{ id: 'p', permission: 'pr', expiry: EXPIRY }] };
  };
  const token = sdkToken({ identifier: 'p' });
  for (const resource of [['letters'], ['letters', 'messages'], ['letters', 'messages', 'an-id']]) {
    assert.deepEqual(await use(token, { loadAcl, resource }), asAccepted('pr'));
  }
  assert.deepEqual(asked, Array(3).fill('larimartest/letters'));
});

const policies: Use['loadAcl'] = async () => ({ publicAccess: null, policies: [{ id: 'p', permission: 'r' }] });
for (const [what, values, loadAcl, code] of [
  ['an expiry in the token', { expiresOn: new Date(EXPIRY) }, policies, 'accepted'],
  ['no expiry anywhere', {}, policies, 'AuthenticationFailed'],
  [
    'letters in both',
    { expiresOn: new Date(EXPIRY), permissions: QueueSASPermissions.parse('r') },
    policies,
    'AuthenticationFailed',
  ],
  [
    'a queue that has no such policy',
    { identifier: 'q', expiresOn: new Date(EXPIRY) },
    policies,
    'AuthenticationFailed',
  ],
  ['no such queue', { expiresOn: new Date(EXPIRY) }, async () => null, 'AuthenticationFailed'],
] as const) {
  test(`a token with a policy and ${what}: ${code}`, async () => {
    assert.equal(await codeOf(use(sdkToken({ identifier: 'p', ...values }), { loadAcl })), code);
  });
}

test('a token for a blob, with the same name, opens no queue', async () => {
  const lines = ['r', '', EXPIRY, '/blob/larimartest/letters', '', '', '', '2018-03-28', '', '', '', '', ''];
  const token = handMade({ sv: '2018-03-28', sr: 'c', sp: 'r', se: EXPIRY }, lines);
  assert.equal(await codeOf(use(token)), 'AuthenticationFailed');
});
