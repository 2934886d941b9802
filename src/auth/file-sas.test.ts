import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FileSASPermissions,
  type FileSASSignatureValues,
  generateFileSASQueryParameters,
  SASProtocol,
  ShareSASPermissions,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import {
  ACCOUNT,
  codeOf,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
} from '../../test/vectors/signed-requests.ts';
import { StorageError } from '../service/storage-error.ts';
import type { Identity, ResourceAcl } from './identity.ts';
import { verifySas } from './sas.ts';
import { sign } from './signature.ts';

const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const EXPIRY = '2025-01-02T01:00:00Z';
/** What a path can hold that means something in a URL or to a shell. */
const ODD = "Räume/文 (1) & o'b+100%.txt";

/** For the share `docs`, or for a file of it where there is a `filePath`. */
function sdkToken(values: Partial<FileSASSignatureValues> = {}, key = FIRST_KEY): string {
  const permissions =
    values.filePath === undefined ? ShareSASPermissions.parse('rcwdl') : FileSASPermissions.parse('rcwd');
  const usual = { permissions, expiresOn: new Date(EXPIRY) };
  return generateFileSASQueryParameters(
    { shareName: 'docs', ...(values.identifier === undefined ? usual : {}), ...values },
    new StorageSharedKeyCredential(ACCOUNT.name, key.toString('base64')),
  ).toString();
}

interface Use {
  /** The share, and the path in it. */
  readonly resource?: readonly string[];
  readonly query?: string;
  readonly endpoint?: string;
  readonly clientAddress?: string;
  readonly nowMs?: number;
  readonly loadAcl?: (account: string, resource: readonly string[]) => Promise<ResourceAcl | null>;
}

function use(token: string, { resource = ['docs', 'a/b.txt'], endpoint = PATH_STYLE, ...rest }: Use = {}) {
  const { loadAcl = () => Promise.reject(new Error('no policy is named')), clientAddress = '127.0.0.1' } = rest;
  const { query = '', nowMs = NOW_MS } = rest;
  const path = resource.map((part) => part.split('/').map(encodeURIComponent).join('/')).join('/');
  const url = `${endpoint}/${path}?${query}${token}`;
  const request = signedRequest({ method: 'GET', url, service: 'f', clientAddress });
  return verifySas(request, { account: ACCOUNT, nowMs, wallNowMs: nowMs, resource, loadAcl });
}

const asAccepted = (permissions: string): Identity => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides: {},
});

for (const version of ['2015-04-05', '2018-11-09', '2020-12-06', '2026-06-06']) {
  test(`the SDK's share tokens of ${version} open their share and all that is in it, and no other`, async () => {
    const token = sdkToken({ version });
    for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
      for (const resource of [['docs'], ['docs', 'file'], ['docs', 'a/b/c'], ['docs', ODD]]) {
        assert.deepEqual(await use(token, { endpoint, resource }), asAccepted('rcwdl'), resource.join('/'));
      }
    }
    for (const resource of [['doc'], ['docs2', 'a/b.txt'], ['a', 'docs'], []]) {
      assert.equal(await codeOf(use(token, { resource })), 'AuthenticationFailed', resource.join('/'));
    }
  });

  test(`the SDK's file tokens of ${version} open their file and no other`, async () => {
    for (const filePath of ['file', 'a/b.txt', ODD]) {
      const token = sdkToken({ version, filePath });
      for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
        assert.deepEqual(await use(token, { endpoint, resource: ['docs', filePath] }), asAccepted('rcwd'), filePath);
      }
      for (const resource of [
        ['docs'],
        ['docs', `${filePath}2`],
        ['docs', `${filePath}/c`],
        ['docs', filePath.toUpperCase()],
        ['docs', `a/${filePath}`],
        ['docs2', filePath],
        [],
      ]) {
        assert.equal(await codeOf(use(token, { resource })), 'AuthenticationFailed', resource.join('/'));
      }
    }
  });
}

test('a file token does not open a directory of that name, nor what asks for one', async () => {
  const token = sdkToken({ filePath: 'a/b.txt' });
  for (const query of ['restype=directory&', 'restype=Directory&comp=list&']) {
    assert.equal(await codeOf(use(token, { query })), 'AuthenticationFailed', query);
    assert.equal(await codeOf(use(sdkToken(), { query })), 'accepted', query);
  }
  assert.equal(await codeOf(use(token, { query: 'comp=metadata&' })), 'accepted');
});

test('a snapshot of the share is opened by what opens the share', async () => {
  for (const token of [sdkToken(), sdkToken({ filePath: 'a/b.txt' })]) {
    assert.equal(await codeOf(use(token, { query: 'sharesnapshot=2025-01-01T00:00:00.0000000Z&' })), 'accepted');
  }
});

test('either key of the account signs, and no other', async () => {
  assert.deepEqual(await use(sdkToken({}, SECOND_KEY)), asAccepted('rcwdl'));
  assert.equal(await codeOf(use(sdkToken({}, Buffer.from('another key')))), 'AuthenticationFailed');
});

/** A token with these fields, signed over these lines. */
const handMade = (fields: Readonly<Record<string, string>>, lines: readonly string[]): string =>
  new URLSearchParams({ ...fields, sig: sign(FIRST_KEY, lines.join('\n')) }).toString();

const SHARE = '/file/larimartest/docs';
for (const [version, lines] of [
  ['2014-02-14', ['r', '', EXPIRY, '/larimartest/docs', '', '2014-02-14', 'c', 'd', 'e', 'l', 't']],
  ['2015-02-21', ['r', '', EXPIRY, SHARE, '', '2015-02-21', 'c', 'd', 'e', 'l', 't']],
  ['2015-04-05', ['r', '', EXPIRY, SHARE, '', '', '', '2015-04-05', 'c', 'd', 'e', 'l', 't']],
  ['2026-06-06', ['r', '', EXPIRY, SHARE, '', '', '', '2026-06-06', 'c', 'd', 'e', 'l', 't']],
  // As the SDK for Go does it.
  ['2018-11-09', ['r', '', EXPIRY, SHARE, '', '', '', '2018-11-09', 's', '', 'c', 'd', 'e', 'l', 't']],
] as const) {
  test(`tokens of ${version} sign ${lines.length} lines, and override headers of the answer`, async () => {
    const overrides = { rscc: 'c', rscd: 'd', rsce: 'e', rscl: 'l', rsct: 't' };
    const identity = await use(handMade({ sv: version, sr: 's', sp: 'r', se: EXPIRY, ...overrides }, lines));
    assert.deepEqual(identity.kind === 'serviceSas' && identity.overrides, {
      'Cache-Control': 'c',
      'Content-Disposition': 'd',
      'Content-Encoding': 'e',
      'Content-Language': 'l',
      'Content-Type': 't',
    });
  });
}

for (const [what, fields, lines] of [
  ['without a version', { sr: 's', sp: 'r', se: EXPIRY }, ['r', '', EXPIRY, '/larimartest/docs', '']],
  [
    'that does not say what it is for',
    { sv: '2015-04-05', sp: 'r', se: EXPIRY },
    ['r', '', EXPIRY, SHARE, '', '', '', '2015-04-05', '', '', '', '', ''],
  ],
  [
    'for a container',
    { sv: '2015-04-05', sr: 'c', sp: 'r', se: EXPIRY },
    ['r', '', EXPIRY, SHARE, '', '', '', '2015-04-05', '', '', '', '', ''],
  ],
  [
    'for a share, signed as one for a file by the SDK for Go',
    { sv: '2018-11-09', sr: 's', sp: 'r', se: EXPIRY },
    ['r', '', EXPIRY, SHARE, '', '', '', '2018-11-09', 'f', '', '', '', '', '', ''],
  ],
  [
    'of a version that does not sign as that SDK does',
    { sv: '2018-03-28', sr: 's', sp: 'r', se: EXPIRY },
    ['r', '', EXPIRY, SHARE, '', '', '', '2018-03-28', 's', '', '', '', '', '', ''],
  ],
] as const) {
  test(`a token ${what} is refused`, async () => {
    assert.equal(await codeOf(use(handMade(fields, lines))), 'AuthenticationFailed');
  });
}

for (const [sr, letters, code] of [
  ['s', 'rcwdl', 'accepted'],
  ['s', 'lr', 'AuthenticationFailed'],
  ['s', 'rr', 'AuthenticationFailed'],
  ['s', 'rwc', 'AuthenticationFailed'],
  ['s', 'ra', 'AuthenticationFailed'],
  ['f', 'rcwd', 'accepted'],
  ['f', 'rl', 'AuthenticationFailed'],
  ['f', 'wr', 'AuthenticationFailed'],
] as const) {
  test(`sp=${letters} for sr=${sr}: ${code}`, async () => {
    const resource = sr === 's' ? SHARE : `${SHARE}/a/b.txt`;
    const lines = [letters, '', EXPIRY, resource, '', '', '', '2024-11-04', '', '', '', '', ''];
    const token = handMade({ sv: '2024-11-04', sr, sp: letters, se: EXPIRY }, lines);
    assert.equal(await codeOf(use(token)), code);
  });
}

test('no field can be changed, added or left out', async () => {
  const token = new URLSearchParams(
    sdkToken({
      filePath: 'a/b.txt',
      startsOn: new Date(NOW_MS - 1000),
      ipRange: { start: '127.0.0.1' },
      protocol: SASProtocol.HttpsAndHttp,
      contentType: 'text/plain',
    }),
  );
  assert.equal(await codeOf(use(token.toString())), 'accepted');
  for (const [name, value] of [
    ['sv', '2020-12-06'],
    ['sr', 's'],
    ['sp', 'r'],
    ['st', '2025-01-01T00:00:00Z'],
    ['se', '2025-01-09T00:00:00Z'],
    ['sip', '127.0.0.1-127.0.0.9'],
    ['spr', 'https'],
    ['si', 'policy'],
    ['rsct', 'text/html'],
    ['rscd', 'attachment'],
    ['sig', Buffer.alloc(32).toString('base64')],
  ] as const) {
    const changed = new URLSearchParams(token);
    changed.set(name, value);
    assert.equal(await codeOf(use(changed.toString())), 'AuthenticationFailed', `${name}=${value}`);
    if (name === 'si' || name === 'rscd') continue;
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

test('a stored policy is that of the share, wherever in it the request goes', async () => {
  const asked: string[] = [];
  const loadAcl: Use['loadAcl'] = async (account, [share = '']) => {
    asked.push(`${account}/${share}`);
    return { publicAccess: null, policies: [{ id: 'p', permission: 'rl', expiry: EXPIRY }] };
  };
  assert.deepEqual(await use(sdkToken({ identifier: 'p' }), { loadAcl }), asAccepted('rl'));
  assert.deepEqual(await use(sdkToken({ identifier: 'p', filePath: 'a/b.txt' }), { loadAcl }), asAccepted('rl'));
  assert.deepEqual(asked, Array(2).fill('larimartest/docs'));
});

test('what does not match is told with the lines that would have', async () => {
  const refused = await use(sdkToken({ filePath: 'other' })).catch((error: unknown) => error);
  assert.ok(refused instanceof StorageError);
  const detail = refused.details.elements?.['AuthenticationErrorDetail'] ?? '';
  assert.ok(detail.includes(`rcwd\n\n${EXPIRY}\n${SHARE}/a/b.txt\n`), detail);
});
