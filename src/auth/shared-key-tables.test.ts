/** Shared Key as clients of tables sign it: the SDK's requests taken off its pipeline, and recorded ones of others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ACCOUNT,
  captureFromTableSdk,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
  type TableClients,
} from '../../test/vectors/signed-requests.ts';
import { StorageError } from '../service/storage-error.ts';
import { type SharedKeyScheme, stringsToSign, verifySharedKey } from './shared-key.ts';
import { sign } from './signature.ts';
import type { SignedRequest } from './signed-request.ts';

const DATE = 'Mon, 16 Nov 2026 07:54:39 GMT';
const NOW_MS = Date.parse(DATE);

/** `accepted`, or the code of the refusal. */
function judge(
  request: SignedRequest,
  { scheme, signature }: { scheme: SharedKeyScheme; signature: string },
  { account = ACCOUNT, nowMs = NOW_MS } = {},
): string {
  try {
    verifySharedKey(request, account, { scheme, signature, nowMs });
    return 'accepted';
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
}

function presented(request: SignedRequest): { scheme: SharedKeyScheme; signature: string } {
  const [scheme = '', rest = ''] = request.header('authorization')?.split(' ') ?? [];
  return { scheme: scheme as SharedKeyScheme, signature: rest.slice(`${ACCOUNT.name}:`.length) };
}

const ODD = { partitionKey: "o'b +&% ü(1)文", rowKey: '=,;@:$!*~' };

const SDK_CALLS: Readonly<Record<string, (clients: TableClients) => Promise<unknown>>> = {
  'creating a table': ({ service }) => service.createTable('Things'),
  'deleting a table': ({ service }) => service.deleteTable('Things'),
  'listing tables': ({ service }) => service.listTables({ queryOptions: { filter: "TableName eq 'x'" } }).next(),
  'the service properties': ({ service }) => service.getProperties(),
  'the access policies of a table': ({ table }) => table.getAccessPolicy(),
  'setting them': ({ table }) => table.setAccessPolicy([{ id: 'i', accessPolicy: { permission: 'r' } }]),
  'an insert': ({ table }) => table.createEntity({ ...ODD, a: 1 }),
  'a get': ({ table }) => table.getEntity(ODD.partitionKey, ODD.rowKey),
  'a get of empty keys': ({ table }) => table.getEntity('', ''),
  'a merge': ({ table }) => table.updateEntity(ODD, 'Merge'),
  'a replacement': ({ table }) => table.updateEntity(ODD, 'Replace', { etag: 'W/"x"' }),
  'an upsert': ({ table }) => table.upsertEntity(ODD, 'Replace'),
  'a delete': ({ table }) => table.deleteEntity(ODD.partitionKey, ODD.rowKey),
  'a query': ({ table }) =>
    table
      .listEntities({ queryOptions: { filter: "a eq 'ä+b'", select: ['a', 'b'] } })
      .byPage({ maxPageSize: 2 })
      .next(),
  'a batch': ({ table }) => table.submitTransaction([['upsert', ODD]]),
};

const SDK_TARGETS: Readonly<Record<string, { endpoint: string; key: Buffer }>> = {
  'path-style': { endpoint: PATH_STYLE, key: FIRST_KEY },
  'host-style, by the second key': { endpoint: HOST_STYLE, key: SECOND_KEY },
  'path-style, at the secondary': { endpoint: `${PATH_STYLE}-secondary`, key: FIRST_KEY },
};

for (const [what, call] of Object.entries(SDK_CALLS)) {
  for (const [how, { endpoint, key }] of Object.entries(SDK_TARGETS)) {
    test(`the SDK signs ${what} (${how}) by date and resource`, async () => {
      const request = signedRequest(await captureFromTableSdk(call, { endpoint, key }));
      const nowMs = Date.parse(request.header('x-ms-date') ?? '');
      const authorization = presented(request);
      const [usual = ''] = stringsToSign(request, 'SharedKeyLite');
      assert.deepEqual(authorization, { scheme: 'SharedKeyLite', signature: sign(key, usual) });
      assert.equal(judge(request, authorization, { nowMs }), 'accepted');
      const stranger = { ...ACCOUNT, keys: [Buffer.from('another key')] };
      assert.equal(judge(request, authorization, { nowMs, account: stranger }), 'AuthenticationFailed');
      assert.equal(judge(request, { ...authorization, scheme: 'SharedKey' }, { nowMs }), 'AuthenticationFailed');
    });
  }
}

const ENTITY = "Things(PartitionKey='o%27%27b%20%2B%26%25%20%C3%BC%281%29',RowKey='%3D%2C%3B%40%3A')";

/** What the Python SDK (azure-data-tables 12.4) sent with the first key at DATE, with Date and x-ms-date alike. */
const recorded: readonly (readonly [method: string, url: string, contentType: string, signature: string])[] = [
  ['POST', `${PATH_STYLE}/Tables`, 'application/json;odata=nometadata', 'T+7md7aUbLLNdAml+wv3Q+upCBYH6hPx0EemIpiASBs='],
  ['DELETE', `${PATH_STYLE}/Tables('Things')`, '', 'hkZgzzowmQf+VAxiwnOl3o4cxFuauvQLzan0vqcp7B8='],
  ['GET', `${PATH_STYLE}/Tables`, '', 'EvAnIte4cSk5Oebxfy4smVjhiMysOlNhOVbQ5YghsR0='],
  ['GET', `${PATH_STYLE}/?restype=service&comp=properties`, '', 'EBC/pXPxZjXIh0W4znHDWXxzpdHgGDepKeJhVFiHwr0='],
  ['GET', `${PATH_STYLE}/Things?comp=acl`, '', 'ptd2Og3pjsFMtyKm8PfehThUB3wF6QFmYCJVet63pZg='],
  ['POST', `${PATH_STYLE}/Things`, 'application/json;odata=nometadata', 'mU3STvQ/UrTsxEGYA4B8yjJkbx/GC5OuQaCOoJU0AnI='],
  ['GET', `${PATH_STYLE}/${ENTITY}`, '', 'rk04oh/0nzl+MjMQJsMzWtike3WVqFXVRGTfiJfYvoM='],
  ['PATCH', `${PATH_STYLE}/${ENTITY}`, 'application/json', '6p8XsoI43u3oJ76jy6Y4ydFvu7o5/VVePtmjZtsrlvs='],
  ['PUT', `${PATH_STYLE}/${ENTITY}`, 'application/json', 'eRAh/x0DEnG0wtYMgh1ner+VZqy7YstO8ZaUYQpR+WQ='],
  ['DELETE', `${PATH_STYLE}/${ENTITY}`, '', 'pzS5W3hINni0S/naGBzqhqLYhAo7wL04sTXUEGU2CxA='],
  [
    'GET',
    `${PATH_STYLE}/Things()?$top=2&$filter=PartitionKey%20eq%20%27x%27`,
    '',
    'e/7TN7g2zS8JepM2ZcyoftimSdHbqF23Z9xXY4nYDKo=',
  ],
  [
    'POST',
    `${PATH_STYLE}/$batch`,
    'multipart/mixed; boundary=batch_ee56ee13-6347-4e59-93a4-554cbcae164e',
    'pgZHWWqBRhAWsw8ofDvBUWnlynIPv0lJjIesnZ2XOBo=',
  ],
  ['GET', `${HOST_STYLE}/?restype=service&comp=properties`, '', 'amCoKw8ps4kruA51rJM2EhZGXy2Sg9NvDc7kQrO/Rrs='],
  ['GET', `${HOST_STYLE}/Things?comp=acl`, '', 'mtW1XvQI/0whpy3zIqYvpKV2jmNcFhck9Ki7Nzk+n/Y='],
  ['PATCH', `${HOST_STYLE}/${ENTITY}`, 'application/json', 'oLfzZOpYDdzRS2nOyZr8KQvGkXo0yUww6389DCKTj14='],
  [
    'POST',
    `${HOST_STYLE}/$batch`,
    'multipart/mixed; boundary=batch_67ba7e9d-f1d9-498f-8a9c-baf2ce69fff3',
    '6swZ2D9EMVF9Y8DQt/fltspBlLrweYchpwoMao8jTSQ=',
  ],
  ['GET', `${PATH_STYLE}-secondary/${ENTITY}`, '', 'AqyTYR18xYMK7uFgt+Hnj58vBgBKzD3XLVYNHaQ/ryw='],
];

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly contentType: string;
  readonly date: string;
}

function asPythonSends({ method, url, contentType, date }: Sent): SignedRequest {
  const type = contentType === '' ? [] : [['Content-Type', contentType] as const];
  const headers = [['Date', date], ['x-ms-date', date], ['x-ms-version', '2019-02-02'], ...type] as const;
  return signedRequest({ method, url, headers, service: 't' });
}

for (const [method, url, contentType, signature] of recorded) {
  test(`the Python SDK's signature on ${method} ${url} is accepted, and on nothing else`, () => {
    const sent: Sent = { method, url, contentType, date: DATE };
    const authorization = { scheme: 'SharedKey', signature } as const;
    assert.equal(judge(asPythonSends(sent), authorization), 'accepted');
    for (const change of [
      { method: 'MERGE' },
      { url: `${url.split('?')[0]}x` },
      { contentType: 'text/plain' },
      { date: 'Mon, 16 Nov 2026 07:54:40 GMT' },
    ]) {
      const code = judge(asPythonSends({ ...sent, ...change }), authorization);
      assert.equal(code, 'AuthenticationFailed', JSON.stringify(change));
    }
  });
}

/** As the documentation has them: comp alone of the query, Date where there is no x-ms-date. */
const written: readonly (readonly [scheme: SharedKeyScheme, url: string, lines: readonly string[]])[] = [
  ['SharedKey', `${HOST_STYLE}/Things?comp=acl&timeout=3`, ['GET', '', '', DATE, '/larimartest/Things?comp=acl']],
  ['SharedKey', `${HOST_STYLE}/Things()?$top=1`, ['GET', '', '', DATE, '/larimartest/Things()']],
  ['SharedKeyLite', `${HOST_STYLE}/Tables('Things')`, [DATE, "/larimartest/Tables('Things')"]],
  ['SharedKeyLite', `${PATH_STYLE}/${ENTITY}`, [DATE, `/larimartest/larimartest/${ENTITY}`]],
  ['SharedKeyLite', `${PATH_STYLE}-secondary/Tables`, [DATE, '/larimartest/larimartest-secondary/Tables']],
  ['SharedKeyLite', `${PATH_STYLE}-secondary/Tables`, [DATE, '/larimartest/larimartest/Tables']],
  ['SharedKeyLite', HOST_STYLE.replace(ACCOUNT.name, `${ACCOUNT.name}-secondary`), [DATE, '/larimartest/']],
];

for (const [scheme, url, lines] of written) {
  for (const name of ['Date', 'x-ms-date']) {
    test(`${scheme} of ${url} by ${name} signs ${lines.at(-1)}`, () => {
      const request = signedRequest({ method: 'GET', url, headers: [[name, DATE]], service: 't' });
      assert.equal(judge(request, { scheme, signature: sign(FIRST_KEY, lines.join('\n')) }), 'accepted');
      const undated = lines.map((line) => (line === DATE ? '' : line));
      assert.equal(judge(request, { scheme, signature: sign(FIRST_KEY, undated.join('\n')) }), 'AuthenticationFailed');
    });
  }
}

test('where both dates are sent, x-ms-date is the one that is signed and judged', () => {
  const headers = [
    ['Date', 'Mon, 16 Nov 2020 07:54:39 GMT'],
    ['x-ms-date', DATE],
  ] as const;
  const request = signedRequest({ method: 'GET', url: `${HOST_STYLE}/Tables`, headers, service: 't' });
  const signature = sign(FIRST_KEY, `${DATE}\n/larimartest/Tables`);
  assert.equal(judge(request, { scheme: 'SharedKeyLite', signature }), 'accepted');
  const late = { nowMs: NOW_MS + 15 * 60_000 + 1 };
  assert.equal(judge(request, { scheme: 'SharedKeyLite', signature }, late), 'AuthenticationFailed');
});

test('an unsigned date is none', () => {
  const request = signedRequest({ method: 'GET', url: `${HOST_STYLE}/Tables`, service: 't' });
  const signature = sign(FIRST_KEY, '\n/larimartest/Tables');
  assert.equal(judge(request, { scheme: 'SharedKeyLite', signature }), 'AuthenticationFailed');
});
