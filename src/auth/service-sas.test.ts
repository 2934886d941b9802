import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BlobSASPermissions,
  type BlobSASSignatureValues,
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  SASProtocol,
} from '@azure/storage-blob';
import { DataLakeSASPermissions, generateDataLakeSASQueryParameters } from '@azure/storage-file-datalake';
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
import { StorageError } from '../service/storage-error.ts';
import type { Identity, ResourceAcl, ServiceLetter } from './identity.ts';
import { verifySas } from './sas.ts';
import { sign } from './signature.ts';

const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const HOUR_MS = 3_600_000;
const EXPIRY = '2025-01-02T01:00:00Z';

interface Use {
  readonly token: string;
  readonly resource?: readonly string[];
  readonly endpoint?: string;
  readonly service?: ServiceLetter;
  readonly clientAddress?: string;
  readonly nowMs?: number;
  readonly acl?: ResourceAcl | null;
  /** Further parameters of the request. */
  readonly query?: string;
}

function use({ token, resource = ['c', 'b'], endpoint = PATH_STYLE, service = 'b', ...rest }: Use): Promise<Identity> {
  const path = resource.map(encodeURIComponent).join('/');
  const url = `${endpoint}/${path}?${token}${rest.query === undefined ? '' : `&${rest.query}`}`;
  const request = signedRequest({ method: 'GET', url, service, clientAddress: rest.clientAddress ?? '127.0.0.1' });
  const loadAcl = () => Promise.resolve(rest.acl ?? null);
  const nowMs = rest.nowMs ?? NOW_MS;
  return verifySas(request, { account: ACCOUNT, nowMs, wallNowMs: nowMs, resource, loadAcl });
}

const asAccepted = (permissions: string, overrides = {}) => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides,
});

const sdkToken = (values: Partial<BlobSASSignatureValues>, key = FIRST_KEY): string =>
  generateBlobSASQueryParameters(
    {
      containerName: 'c',
      blobName: 'b',
      permissions: BlobSASPermissions.parse('r'),
      startsOn: new Date(NOW_MS - HOUR_MS),
      expiresOn: new Date(NOW_MS + HOUR_MS),
      ...values,
    },
    credential(key),
  ).toString();

const containerToken = (values: Partial<BlobSASSignatureValues> = {}): string => {
  const { blobName: _, ...rest } = { blobName: '', permissions: ContainerSASPermissions.parse('rl'), ...values };
  return generateBlobSASQueryParameters(
    { containerName: 'c', expiresOn: new Date(NOW_MS + HOUR_MS), ...rest },
    credential(),
  ).toString();
};

const directoryToken = (pathName: string, directoryDepth: number): string =>
  generateDataLakeSASQueryParameters(
    {
      fileSystemName: 'c',
      pathName,
      isDirectory: true,
      directoryDepth,
      permissions: DataLakeSASPermissions.parse('r'),
      expiresOn: new Date(NOW_MS + HOUR_MS),
    },
    credential(),
  ).toString();

const SDK_VERSIONS = ['2015-04-05', '2018-03-28', '2018-11-09', '2020-02-10', '2020-10-02', '2020-12-06', '2026-04-06'];

for (const version of SDK_VERSIONS) {
  test(`the SDK's blob tokens of ${version} open their blob and nothing else`, async () => {
    const token = sdkToken({ version, cacheControl: 'no-cache', contentDisposition: 'inline; filename="a b.txt"' });
    const overrides = { 'Cache-Control': 'no-cache', 'Content-Disposition': 'inline; filename="a b.txt"' };
    assert.deepEqual(await use({ token }), asAccepted('r', overrides));
    assert.deepEqual(await use({ token, endpoint: HOST_STYLE }), asAccepted('r', overrides));
    assert.deepEqual(await use({ token, endpoint: `${PATH_STYLE}-secondary` }), asAccepted('r', overrides));
    for (const resource of [['c', 'b2'], ['c2', 'b'], ['c', 'b/b'], ['c', 'B'], ['c'], []]) {
      assert.equal(await codeOf(use({ token, resource })), 'AuthenticationFailed', resource.join('/'));
    }
  });

  test(`the SDK's container tokens of ${version} open the container and all of its blobs`, async () => {
    const token = containerToken({ version });
    for (const resource of [['c'], ['c', 'b'], ['c', 'a/b c/ü']]) {
      assert.deepEqual(await use({ token, resource }), asAccepted('rl'));
    }
    for (const resource of [['c2'], ['c2', 'b'], ['c/b'], []]) {
      assert.equal(await codeOf(use({ token, resource })), 'AuthenticationFailed', resource.join('/'));
    }
  });
}

test('the second key signs tokens too, names beyond ASCII are signed decoded', async () => {
  const token = sdkToken({ blobName: 'Übung/文書 ✓ a+b%20&c=d?e#f.txt' }, SECOND_KEY);
  assert.deepEqual(await use({ token, resource: ['c', 'Übung/文書 ✓ a+b%20&c=d?e#f.txt'] }), asAccepted('r'));
});

test("every order of permissions that the SDK writes is accepted, the container's and the blob's", async () => {
  const blobLetters = BlobSASPermissions.parse('racwdxtmeiy');
  assert.equal((await use({ token: sdkToken({ permissions: blobLetters }) })).kind, 'serviceSas');
  const containerLetters = ContainerSASPermissions.parse('racwdxltmeiyf');
  assert.equal((await use({ token: containerToken({ permissions: containerLetters }) })).kind, 'serviceSas');
});

test('a token for a snapshot or a version opens that one and neither another nor the blob', async () => {
  const time = '2024-01-01T00:00:00.1234567Z';
  for (const [values, parameter] of [
    [{ snapshotTime: time }, 'snapshot'],
    [{ versionId: time }, 'versionid'],
  ] as const) {
    const token = sdkToken(values);
    assert.equal(await codeOf(use({ token, query: `${parameter}=${time}` })), 'accepted');
    assert.equal(await codeOf(use({ token, query: `${parameter}=${time.replace('7', '8')}` })), 'AuthenticationFailed');
    assert.equal(await codeOf(use({ token })), 'AuthenticationFailed');
  }
});

test('a token for a directory opens what lies in it, and the listing of it', async () => {
  const token = directoryToken('a/b', 2);
  assert.match(token, /&sdd=2/);
  for (const name of ['a/b', 'a/b/c', 'a/b/c/d e'])
    assert.equal(await codeOf(use({ token, resource: ['c', name] })), 'accepted');
  for (const name of ['a', 'a/bb', 'a/c/b', 'b/a/b', 'a/bb/c']) {
    assert.equal(await codeOf(use({ token, resource: ['c', name] })), 'AuthenticationFailed', name);
  }
  for (const [query, code] of [
    ['restype=container&comp=list&prefix=a/b/', 'accepted'],
    ['restype=container&comp=list&prefix=a/b/c', 'accepted'],
    ['restype=container&comp=list&prefix=a/b', 'AuthenticationFailed'],
    ['restype=container&comp=list&prefix=a/', 'AuthenticationFailed'],
    ['restype=container&comp=list&prefix=', 'AuthenticationFailed'],
    ['restype=container&comp=list', 'AuthenticationFailed'],
    ['restype=container&comp=blobs&prefix=a/b/', 'AuthenticationFailed'],
    ['restype=container&comp=list&prefix=x&prefix=a/b/', 'AuthenticationFailed'],
  ] as const) {
    assert.equal(await codeOf(use({ token, resource: ['c'], query })), code, query);
  }
});

test('a directory of another depth is another directory', async () => {
  const token = directoryToken('a/b', 2);
  for (const [depth, code] of [
    ['1', 'AuthenticationFailed'],
    ['3', 'AuthenticationFailed'],
    ['99', 'AuthenticationFailed'],
    ['', 'QueryParameterSasMandatory'],
    ['-2', 'QueryParameterSddInvalid'],
    ['2.0', 'QueryParameterSddInvalid'],
    ['02x', 'QueryParameterSddInvalid'],
  ] as const) {
    const other = token.replace('sdd=2', `sdd=${depth}`);
    assert.equal(await codeOf(use({ token: other, resource: ['c', 'a/b/c'] })), code, depth);
  }
});

/** A token signed over lines written out here, as documented, and not by the code under test. */
function handMade(fields: Record<string, string>, lines: readonly string[], key = FIRST_KEY): string {
  return new URLSearchParams({ ...fields, sig: sign(key, lines.join('\n')) }).toString();
}

const se = EXPIRY;
const written: [string, ServiceLetter, readonly string[], Record<string, string>, readonly string[]][] = [
  ['blob tokens without a version', 'b', ['c', 'b'], { sp: 'r', se, sr: 'b' }, ['r', '', se, '/larimartest/c/b', '']],
  [
    'blob tokens of 2012-02-12',
    'b',
    ['c', 'b'],
    { sp: 'rw', se, sr: 'c', sv: '2012-02-12' },
    ['rw', '', se, '/larimartest/c', '', '2012-02-12'],
  ],
  [
    'blob tokens of 2013-08-15',
    'b',
    ['c', 'b'],
    { sp: 'r', se, sr: 'b', sv: '2013-08-15', rsct: 'text/plain' },
    ['r', '', se, '/larimartest/c/b', '', '2013-08-15', '', '', '', '', 'text/plain'],
  ],
  [
    'blob tokens of 2015-02-21',
    'b',
    ['c', 'b'],
    { sp: 'r', se, sr: 'b', sv: '2015-02-21' },
    ['r', '', se, '/blob/larimartest/c/b', '', '2015-02-21', '', '', '', '', ''],
  ],
  [
    'blob tokens of 2024-11-04 with an encryption scope',
    'b',
    ['c', 'b'],
    { sp: 'r', se, sr: 'b', sv: '2024-11-04', ses: 'scope' },
    ['r', '', se, '/blob/larimartest/c/b', '', '', '', '2024-11-04', 'b', '', 'scope', '', '', '', '', ''],
  ],
  [
    'queue tokens of 2014-02-14',
    'q',
    ['q', 'messages'],
    { sp: 'raup', se, sv: '2014-02-14' },
    ['raup', '', se, '/larimartest/q', '', '2014-02-14'],
  ],
  [
    'queue tokens of 2015-04-05 and later',
    'q',
    ['q', 'messages', 'id'],
    { sp: 'p', se, sv: '2024-11-04', sip: '127.0.0.1', spr: 'https,http' },
    ['p', '', se, '/queue/larimartest/q', '', '127.0.0.1', 'https,http', '2024-11-04'],
  ],
  [
    'table tokens of 2012-02-12',
    't',
    ['Things'],
    { sp: 'raud', se, sv: '2012-02-12', tn: 'things' },
    ['raud', '', se, '/larimartest/things', '', '2012-02-12', '', '', '', ''],
  ],
  [
    'table tokens of 2015-04-05 and later, the name in lower case',
    't',
    [],
    { sp: 'r', se, sv: '2019-02-02', tn: 'THINGS' },
    ['r', '', se, '/table/larimartest/things', '', '', '', '2019-02-02', '', '', '', ''],
  ],
  [
    'share tokens of 2024-11-04',
    'f',
    ['s', 'dir', 'file'],
    { sp: 'rcwdl', se, sv: '2024-11-04', sr: 's' },
    ['rcwdl', '', se, '/file/larimartest/s', '', '', '', '2024-11-04', '', '', '', '', ''],
  ],
  [
    'file tokens of 2015-02-21',
    'f',
    ['s', 'dir/file'],
    { sp: 'r', se, sv: '2015-02-21', sr: 'f', rscc: 'x' },
    ['r', '', se, '/file/larimartest/s/dir/file', '', '2015-02-21', 'x', '', '', '', ''],
  ],
];

for (const [what, service, resource, fields, lines] of written) {
  test(`${what} sign ${lines.length} lines`, async () => {
    const token = handMade(fields, lines);
    const identity = await use({ token, service, resource });
    assert.equal(identity.kind === 'serviceSas' && identity.permissions, fields['sp']);
    const missigned = handMade(fields, [...lines, '']);
    assert.equal(await codeOf(use({ token: missigned, service, resource })), 'AuthenticationFailed');
    const elsewhere = service === 't' ? ['other'] : ['other', ...resource.slice(1)];
    assert.equal(await codeOf(use({ token, service, resource: elsewhere })), 'AuthenticationFailed');
  });
}

test('an override that the version does not sign is not applied', async () => {
  const token = handMade({ sp: 'r', se, sr: 'b', sv: '2012-02-12' }, [
    'r',
    '',
    se,
    '/larimartest/c/b',
    '',
    '2012-02-12',
  ]);
  assert.deepEqual(await use({ token, query: 'rsct=text/html' }), asAccepted('r'));
});

/** A token of the present with exactly these fields, always signed rightly. */
function present(fields: Record<string, string>, path = 'c/b'): string {
  const all: Record<string, string> = { sp: 'r', se, sr: 'b', sv: '2024-11-04', ...fields };
  const names = [
    'sp',
    'st',
    'se',
    '',
    'si',
    'sip',
    'spr',
    'sv',
    'sr',
    'snapshot',
    'ses',
    'rscc',
    'rscd',
    'rsce',
    'rscl',
    'rsct',
  ];
  const lines = names.map((name) => (name === '' ? `/blob/${ACCOUNT.name}/${path}` : (all[name] ?? '')));
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  return handMade(given, lines);
}

const refusals: [string, string, Omit<Use, 'token'>?, string?][] = [
  ['nothing wrong', present({})],
  [
    'a signature of another key',
    handMade({ sp: 'r', se, sr: 'b', sv: '2024-11-04' }, [], Buffer.from('x')),
    {},
    'AuthenticationFailed',
  ],
  ['an empty signature', present({}).replace(/sig=.*/, 'sig='), {}, 'AuthenticationFailed'],
  ['no sr', present({ sr: '' }), {}, 'AuthenticationFailed'],
  ['no sp', present({ sp: '' }), {}, 'AuthenticationFailed'],
  ['no se', present({ se: '' }), {}, 'AuthenticationFailed'],
  ['an sr that is not known', present({ sr: 'x' }), {}, 'AuthenticationFailed'],
  ["a file's sr", present({ sr: 'f' }), {}, 'AuthenticationFailed'],
  ['a directory without its depth', present({ sr: 'd' }), {}, 'QueryParameterSasMandatory'],
  ['a snapshot token without a snapshot', present({ sr: 'bs' }), {}, 'AuthenticationFailed'],
  ['permissions out of order', present({ sp: 'wr' }), {}, 'AuthenticationFailed'],
  ['a repeated permission', present({ sp: 'rr' }), {}, 'AuthenticationFailed'],
  ['a permission that is not known', present({ sp: 'rq' }), {}, 'AuthenticationFailed'],
  ['permissions in order', present({ sp: 'racwdxltmeop' })],
  ['permissions as documented since', present({ sp: 'racwdxyltfmeopi' })],
  ['a version that is no date', present({ sv: '2024-13-04' }), {}, 'AuthenticationFailed'],
  ['a version before tokens had one', present({ sv: '2011-08-18' }), {}, 'AuthenticationFailed'],
  ['a version still to come', present({ sv: '2031-01-01' })],
  ['an expiry that is no time', present({ se: 'tomorrow' }), {}, 'AuthenticationFailed'],
  ['an expiry without a zone', present({ se: '2025-01-02T01:00' }), {}, 'AuthenticationFailed'],
  ['a start that is no time', present({ st: 'now' }), {}, 'AuthenticationFailed'],
  ['an expiry reached', present({ se: '2025-01-02T00:00:00Z' }), {}, 'AuthenticationFailed'],
  ['an expiry a millisecond ahead', present({ se: '2025-01-02T00:00:00.001Z' })],
  ['a start a second ahead', present({ st: '2025-01-02T00:00:01Z' }), {}, 'AuthenticationFailed'],
  ['a start reached', present({ st: '2025-01-02T00:00:00Z' })],
  ['times as days', present({ st: '2025-01-02', se: '2025-01-03' })],
  ['times in minutes', present({ st: '2025-01-02T00:00Z', se: '2025-01-02T00:01Z' })],
  ['times with seven digits', present({ st: '2025-01-01T00:00:00.0000000Z', se: '2025-01-02T00:01:00.0000000Z' })],
  ['times with offsets', present({ st: '2025-01-02T01:00+01:00', se: '2025-01-01T23:30-01:00' })],
  ['an expiry with an offset, reached', present({ se: '2025-01-02T00:30+01:00' }), {}, 'AuthenticationFailed'],
  ['an address that is not an address', present({ sip: 'localhost' }), {}, 'AuthenticationFailed'],
  ['a range backwards', present({ sip: '10.0.0.9-10.0.0.1' }), { clientAddress: '10.0.0.5' }, 'AuthenticationFailed'],
  ['its address', present({ sip: '10.0.0.5' }), { clientAddress: '10.0.0.5' }],
  ['its address on an IPv6 socket', present({ sip: '10.0.0.5' }), { clientAddress: '::ffff:10.0.0.5' }],
  ['another address', present({ sip: '10.0.0.5' }), { clientAddress: '10.0.0.6' }, 'AuthorizationSourceIPMismatch'],
  ['an address of IPv6', present({ sip: '127.0.0.1' }), { clientAddress: '::1' }, 'AuthorizationSourceIPMismatch'],
  ['the first of a range', present({ sip: '10.0.0.5-10.0.1.2' }), { clientAddress: '10.0.0.5' }],
  ['the last of a range', present({ sip: '10.0.0.5-10.0.1.2' }), { clientAddress: '10.0.1.2' }],
  [
    'before a range',
    present({ sip: '10.0.0.5-10.0.1.2' }),
    { clientAddress: '10.0.0.4' },
    'AuthorizationSourceIPMismatch',
  ],
  [
    'behind a range',
    present({ sip: '10.0.0.5-10.0.1.2' }),
    { clientAddress: '10.0.1.3' },
    'AuthorizationSourceIPMismatch',
  ],
  ['https asked for and had', present({ spr: 'https' }), { endpoint: HOST_STYLE }],
  ['https asked for and not had', present({ spr: 'https' }), {}, 'AuthorizationProtocolMismatch'],
  ['both protocols', present({ spr: 'https,http' })],
  ['http alone', present({ spr: 'http' }), {}, 'AuthenticationFailed'],
  ['a repeated field', `sp=r&${present({})}`, {}, 'AuthenticationFailed'],
  ['a line break in a field', present({ rscc: 'a\nb' }), {}, 'AuthenticationFailed'],
  ['a line break in the path', present({}, 'c/b\nb'), { resource: ['c', 'b\nb'] }, 'AuthenticationFailed'],
  ['fields of an account SAS', `${present({})}&ss=b`, {}, 'AuthenticationFailed'],
  ['fields of a user delegation SAS', `${present({})}&skoid=x`, {}, 'AuthenticationFailed'],
  ['a policy where there is no container', present({ si: 'p' }), {}, 'AuthenticationFailed'],
];

for (const [what, token, how = {}, code = 'accepted'] of refusals) {
  test(`a token with ${what} gets ${code}`, async () => {
    assert.equal(await codeOf(use({ token, ...how })), code);
  });
}

for (const [what, fields, since] of [
  ['an address', { sip: '127.0.0.1' }, '2015-04-05'],
  ['a protocol', { spr: 'https,http' }, '2015-04-05'],
  ['an encryption scope', { ses: 'x' }, '2020-12-06'],
] as const) {
  test(`a token with ${what} is refused where its version does not sign it, before ${since}`, async () => {
    const lines = ['r', '', se, '/larimartest/c/b', '', '2014-02-14', '', '', '', '', ''];
    const token = handMade({ sp: 'r', se, sr: 'b', sv: '2014-02-14', ...fields }, lines);
    assert.equal(await codeOf(use({ token })), 'AuthenticationFailed');
  });
}

test('snapshots, versions and directories are refused to tokens whose version does not sign the kind of resource', async () => {
  for (const [kind, version, path, fields] of [
    ['bs', '2018-03-28', 'c/b', { snapshot: '2024-01-01T00:00:00.0000000Z' }],
    ['bv', '2018-03-28', 'c/b', { versionid: '2024-01-01T00:00:00.0000000Z' }],
    ['d', '2018-03-28', 'c', { sdd: '0' }],
    ['b', '2018-03-28', 'c', {}],
  ] as const) {
    const lines = ['r', '', se, `/blob/larimartest/${path}`, '', '', '', version, '', '', '', '', ''];
    const token = handMade({ sp: 'r', se, sr: kind, sv: version, ...fields }, lines);
    const resource = path.split('/');
    assert.equal(await codeOf(use({ token, resource, query: 'comp=list&prefix=x' })), 'AuthenticationFailed', kind);
  }
});

const acl = (policy: { start?: string; expiry?: string; permission?: string }): ResourceAcl => ({
  publicAccess: null,
  policies: [
    { id: 'other', expiry: EXPIRY, permission: 'racwd' },
    { id: 'p', ...policy },
  ],
});

for (const [what, fields, policy, code] of [
  ['everything in the policy', { sp: '', se: '' }, { expiry: EXPIRY, permission: 'r' }, 'accepted'],
  ['the permissions in the policy', { sp: '' }, { permission: 'r' }, 'accepted'],
  ['the expiry in the policy', { se: '' }, { expiry: EXPIRY }, 'accepted'],
  ['nothing in the policy', {}, {}, 'accepted'],
  ['a policy that expired', { se: '' }, { expiry: '2025-01-01' }, 'AuthenticationFailed'],
  ['a policy that has not begun', { sp: '' }, { start: '2025-01-03', permission: 'r' }, 'AuthenticationFailed'],
  ['permissions in both', {}, { permission: 'r' }, 'AuthenticationFailed'],
  ['an expiry in both', {}, { expiry: EXPIRY }, 'AuthenticationFailed'],
  ['a start in both', { st: '2025-01-01' }, { start: '2025-01-01' }, 'AuthenticationFailed'],
  ['permissions in neither', { sp: '' }, {}, 'AuthenticationFailed'],
  ['an expiry in neither', { se: '' }, {}, 'AuthenticationFailed'],
  ['a policy that is not there', { si: 'q' }, {}, 'AuthenticationFailed'],
  ['a policy of another case', { si: 'P' }, {}, 'AuthenticationFailed'],
] as const) {
  test(`a token with ${what} gets ${code}`, async () => {
    assert.equal(await codeOf(use({ token: present({ si: 'p', ...fields }), acl: acl(policy) })), code);
  });
}

test('a changed policy acts on the very next request', async () => {
  const token = present({ si: 'p', sp: '' });
  assert.deepEqual(await use({ token, acl: acl({ permission: 'r' }) }), asAccepted('r'));
  assert.deepEqual(await use({ token, acl: acl({ permission: 'wd' }) }), asAccepted('wd'));
  assert.equal(await codeOf(use({ token, acl: acl({}) })), 'AuthenticationFailed');
  assert.equal(await codeOf(use({ token, acl: { publicAccess: 'container', policies: [] } })), 'AuthenticationFailed');
});

test('a token used before is still judged by time, address, protocol, resource and signature', async () => {
  const token = present({ sip: '10.0.0.5', spr: 'https' });
  const rightly = { token, endpoint: HOST_STYLE, clientAddress: '10.0.0.5' };
  for (let round = 0; round < 3; round++) assert.equal(await codeOf(use(rightly)), 'accepted');
  assert.equal(await codeOf(use({ ...rightly, nowMs: NOW_MS + HOUR_MS })), 'AuthenticationFailed');
  assert.equal(await codeOf(use({ ...rightly, clientAddress: '10.0.0.6' })), 'AuthorizationSourceIPMismatch');
  assert.equal(await codeOf(use({ ...rightly, endpoint: PATH_STYLE })), 'AuthorizationProtocolMismatch');
  assert.equal(await codeOf(use({ ...rightly, resource: ['c', 'b2'] })), 'AuthenticationFailed');
  const [signature = ''] = /sig=.*/.exec(token) ?? [];
  const other = token.replace(
    signature,
    signature.replace(/^sig=./, (start) => (start === 'sig=A' ? 'sig=B' : 'sig=A')),
  );
  assert.equal(await codeOf(use({ ...rightly, token: other })), 'AuthenticationFailed');
});

test('a wrong signature is answered with the string that the server signed', async () => {
  const token = sdkToken({ version: '2020-12-06' }).replace('sp=r', 'sp=rw');
  await assert.rejects(use({ token }), (error: unknown) => {
    assert.ok(error instanceof StorageError);
    const lines = [
      'rw',
      '2025-01-01T23:00:00Z',
      EXPIRY,
      '/blob/larimartest/c/b',
      '',
      '',
      '',
      '2020-12-06',
      'b',
      '',
      '',
      '',
      '',
      '',
      '',
      '',
    ];
    assert.equal(
      error.details.elements?.['AuthenticationErrorDetail'],
      `Signature did not match. String to sign used was ${lines.join('\n')}`,
    );
    return true;
  });
});

const everyField = sdkToken({
  version: '2024-11-04',
  blobName: 'b',
  snapshotTime: '2024-01-01T00:00:00.0000000Z',
  identifier: 'p',
  ipRange: { start: '127.0.0.1', end: '127.0.0.9' },
  protocol: SASProtocol.HttpsAndHttp,
  encryptionScope: 'scope',
  cacheControl: 'a',
  contentDisposition: 'b',
  contentEncoding: 'c',
  contentLanguage: 'd',
  contentType: 'e',
});
const tamperings: Record<string, string> = {
  sp: 'rw',
  st: '2025-01-01T22:00:00Z',
  se: '2025-01-02T02:00:00Z',
  si: 'other',
  sip: '127.0.0.1-127.0.0.10',
  spr: '',
  sv: '2024-08-04',
  sr: 'b',
  snapshot: '2024-01-01T00:00:00.0000001Z',
  ses: 'scope2',
  rscc: 'x',
  rscd: 'x',
  rsce: 'x',
  rscl: 'x',
  rsct: 'x',
  sig: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
};

test('a token with every field is accepted', async () => {
  const parameters = new URLSearchParams(everyField);
  parameters.set('snapshot', '2024-01-01T00:00:00.0000000Z');
  assert.equal(await codeOf(use({ token: parameters.toString(), acl: acl({}) })), 'accepted');
  assert.deepEqual([...parameters.keys()].toSorted(), Object.keys(tamperings).toSorted());
});

for (const [name, value] of Object.entries(tamperings)) {
  for (const change of ['changed', 'left out'] as const) {
    test(`a token whose ${name} was ${change} is refused`, async () => {
      const parameters = new URLSearchParams(everyField);
      parameters.set('snapshot', '2024-01-01T00:00:00.0000000Z');
      if (change === 'changed') parameters.set(name, value);
      else parameters.delete(name);
      assert.equal(await codeOf(use({ token: parameters.toString(), acl: acl({}) })), 'AuthenticationFailed');
    });
  }
}
