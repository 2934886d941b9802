import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AzureNamedKeyCredential,
  generateTableSas,
  type TableSasPermissions,
  type TableSasSignatureValues,
} from '@azure/data-tables';
import {
  ACCOUNT,
  codeOf,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  signedRequest,
} from '../../test/vectors/signed-requests.ts';
import type { EntityScope } from '../rules/entity-scope.ts';
import type { Identity, ResourceAcl } from './identity.ts';
import { verifySas } from './sas.ts';
import { sign } from './signature.ts';

const NOW_MS = Date.parse('2025-01-02T00:00:00Z');
const EXPIRY = '2025-01-02T01:00:00Z';
const EVERYTHING: TableSasPermissions = { query: true, add: true, update: true, delete: true };
const CREDENTIAL = new AzureNamedKeyCredential(ACCOUNT.name, FIRST_KEY.toString('base64'));

const sdkToken = (values: TableSasSignatureValues = {}, table = 'Things'): string =>
  generateTableSas(table, CREDENTIAL, {
    ...(values.identifier === undefined ? { permissions: EVERYTHING, expiresOn: new Date(EXPIRY) } : {}),
    ...values,
  });

interface Use {
  /** Behind the account, as on the request line. */
  readonly path?: string;
  /** What the door finds in the path. */
  readonly resource?: readonly string[];
  readonly endpoint?: string;
  readonly loadAcl?: (account: string, resource: readonly string[]) => Promise<ResourceAcl | null>;
}

function use(token: string, { path = 'things()', resource = ['things'], endpoint = PATH_STYLE, ...rest }: Use = {}) {
  const request = signedRequest({ method: 'GET', url: `${endpoint}/${path}?${token}`, service: 't' });
  const { loadAcl = () => Promise.reject(new Error('no policy is named')) } = rest;
  return verifySas(request, { account: ACCOUNT, nowMs: NOW_MS, wallNowMs: NOW_MS, resource, loadAcl });
}

const asAccepted = (entities: Partial<EntityScope> = {}, permissions = 'raud'): Identity => ({
  kind: 'serviceSas',
  account: ACCOUNT.name,
  permissions,
  overrides: {},
  entities: { table: 'things', from: null, to: null, ...entities },
});

for (const version of ['2015-04-05', '2019-02-02', '2020-12-06', '2026-04-06']) {
  test(`the SDK's table tokens of ${version} open their table, however its name is written, and no other`, async () => {
    const token = sdkToken({ version });
    for (const endpoint of [PATH_STYLE, HOST_STYLE, `${PATH_STYLE}-secondary`]) {
      assert.deepEqual(await use(token, { endpoint }), asAccepted());
    }
    for (const name of ['things', 'Things', 'THINGS']) {
      assert.deepEqual(
        await use(token, { path: `${name}(PartitionKey='p',RowKey='r')`, resource: [name] }),
        asAccepted(),
      );
    }
    for (const name of ['thing', 'things2']) {
      assert.equal(await codeOf(use(token, { path: name, resource: [name] })), 'AuthenticationFailed', name);
    }
  });
}

test('where the path names no table, the token says which it is good for', async () => {
  for (const path of ['$batch', 'Tables', '']) {
    assert.deepEqual(await use(sdkToken(), { path, resource: [] }), asAccepted());
  }
});

/** Keys of the token, and what it opens. */
const ranges: readonly (readonly [values: TableSasSignatureValues, entities: Partial<EntityScope>])[] = [
  [{}, {}],
  [{ startPartitionKey: 'b' }, { from: { partitionKey: 'b', rowKey: '' } }],
  [{ startPartitionKey: 'b', startRowKey: '2' }, { from: { partitionKey: 'b', rowKey: '2' } }],
  [{ endPartitionKey: 'c' }, { to: { partitionKey: 'c', rowKey: null } }],
  [{ endPartitionKey: 'c', endRowKey: '1' }, { to: { partitionKey: 'c', rowKey: '1' } }],
  [
    { startPartitionKey: "o'b +&%", startRowKey: 'ü', endPartitionKey: 'o😀', endRowKey: '=' },
    { from: { partitionKey: "o'b +&%", rowKey: 'ü' }, to: { partitionKey: 'o😀', rowKey: '=' } },
  ],
  [{ startPartitionKey: '', endPartitionKey: '' }, {}],
  [
    { startPartitionKey: 'b', startRowKey: '', endPartitionKey: 'c', endRowKey: '' },
    {
      from: { partitionKey: 'b', rowKey: '' },
      to: { partitionKey: 'c', rowKey: null },
    },
  ],
];

for (const [values, entities] of ranges) {
  test(`a token of the SDK with ${JSON.stringify(values)} opens ${JSON.stringify(entities)}`, async () => {
    assert.deepEqual(await use(sdkToken(values)), asAccepted(entities));
  });
}

test('an empty key is the same with its name in the query and without', async () => {
  assert.deepEqual(await use(`${sdkToken()}&spk=&srk=&epk=&erk=`), asAccepted());
});

for (const [partition, values] of [
  ['spk', { startRowKey: '1' }],
  ['spk', { startPartitionKey: '', startRowKey: '1', endPartitionKey: 'b' }],
  ['epk', { startPartitionKey: 'a', endRowKey: '1' }],
] as const) {
  test(`a token with ${JSON.stringify(values)} is refused, for want of ${partition}`, async () => {
    assert.equal(await codeOf(use(sdkToken(values))), 'AuthenticationFailed');
    assert.equal(await codeOf(use(`${sdkToken(values)}&${partition}=`)), 'AuthenticationFailed');
  });
}

test('a bound may hold what no key has, but is not longer than a key', async () => {
  assert.equal(await codeOf(use(sdkToken({ startPartitionKey: 'a/', endPartitionKey: 'b'.repeat(512) }))), 'accepted');
  for (const endPartitionKey of ['b'.repeat(513), 'b\0']) {
    assert.equal(await codeOf(use(sdkToken({ endPartitionKey }))), 'AuthenticationFailed');
  }
});

test('a range cannot be widened, nor taken off', async () => {
  const token = new URLSearchParams(sdkToken({ startPartitionKey: 'b', startRowKey: '2', endPartitionKey: 'c' }));
  for (const [name, value] of [
    ['spk', 'a'],
    ['srk', '1'],
    ['epk', 'd'],
    ['erk', '1'],
    ['tn', 'other'],
    ['spk', null],
    ['srk', null],
    ['epk', null],
    ['tn', null],
  ] as const) {
    const touched = new URLSearchParams(token);
    if (value === null) touched.delete(name);
    else touched.set(name, value);
    assert.equal(await codeOf(use(touched.toString())), 'AuthenticationFailed', `${name}=${value}`);
  }
});

/** A token with these keys in its query that was signed for those in the lines. */
function handMade(keys: Record<string, string>, lines: readonly string[]): string {
  const signed = ['r', '', EXPIRY, '/table/larimartest/things', '', '', '', '2019-02-02', ...lines];
  const sig = sign(FIRST_KEY, signed.join('\n'));
  return new URLSearchParams({ sv: '2019-02-02', tn: 'things', sp: 'r', se: EXPIRY, ...keys, sig }).toString();
}

test('keys do not move between their fields, although each is just a line', async () => {
  assert.equal(await codeOf(use(handMade({ spk: 'a' }, ['a', '', '', '']))), 'accepted');
  assert.equal(await codeOf(use(handMade({ epk: 'a' }, ['a', '', '', '']))), 'AuthenticationFailed');
  assert.equal(await codeOf(use(handMade({ spk: 'a\nb' }, ['a', 'b', '', '']))), 'AuthenticationFailed');
});

test('a stored policy is that of the table in the token, also in a batch', async () => {
  const asked: string[] = [];
  const loadAcl: Use['loadAcl'] = async (account, resource) => {
    asked.push([account, ...resource].join('/'));
    return { publicAccess: null, policies: [{ id: 'p', permission: 'ra', expiry: EXPIRY }] };
  };
  const token = sdkToken({ identifier: 'p', startPartitionKey: 'b' });
  const accepted = asAccepted({ from: { partitionKey: 'b', rowKey: '' } }, 'ra');
  assert.deepEqual(await use(token, { loadAcl }), accepted);
  assert.deepEqual(await use(token, { loadAcl, path: '$batch', resource: [] }), accepted);
  assert.deepEqual(asked, ['larimartest/Things', 'larimartest/Things']);
});
