import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { AuthorizedExchange, RequestTarget } from '../exchange.ts';
import { parseQuery } from '../request-target.ts';
import type { BatchRequest } from './batch-body.ts';
import { BatchExchange } from './batch-exchange.ts';

const outer = (hostStyle = false): AuthorizedExchange => {
  const query = parseQuery('sig=x');
  const target = {
    rawPath: '/acct/$batch',
    account: 'acct',
    secondary: false,
    hostStyle,
    resourcePath: '$batch',
    query,
  };
  return {
    target,
    service: 't',
    version: '2019-02-02',
    requestId: 'r',
    clientAddress: '127.0.0.1',
    secure: true,
    origin: 'https://here',
    identity: { kind: 'owner', account: 'acct' },
  } as AuthorizedExchange;
};

const part = (request: Partial<BatchRequest>): BatchRequest => ({
  contentId: null,
  method: 'POST',
  url: '/t',
  headers: [],
  body: Buffer.from('{}'),
  ...request,
});

const targetOf = (url: string, hostStyle?: boolean): RequestTarget =>
  new BatchExchange(outer(hostStyle), part({ url })).target;

for (const [url, resourcePath, query] of [
  ['http://127.0.0.1:10002/acct/t', 't', []],
  ['https://acct.table.example.org/t', 't', []],
  ['HTTPS://elsewhere:1/acct/t()', 't()', []],
  ['/acct/t', 't', []],
  ['/t', 't', []],
  ['t', 't', []],
  ["/t(PartitionKey='a%20b',RowKey='http://x')", "t(PartitionKey='a%20b',RowKey='http://x')", []],
  ['/acct', 'acct', []],
  ["acct(PartitionKey='p',RowKey='r')", "acct(PartitionKey='p',RowKey='r')", []],
  ['/other/t', 'other/t', []],
  ['http://host', '', []],
  ['http://host?$top=1', '', [['$top', '1']]],
  [
    '/t?$format=application%2Fjson%3Bodata%3Dfullmetadata&x',
    't',
    [
      ['$format', 'application/json;odata=fullmetadata'],
      ['x', ''],
    ],
  ],
] as const) {
  test(`${url} is ${resourcePath || 'the service'} of the account of the batch, whatever the style of its address`, () => {
    for (const hostStyle of [false, true]) {
      const target = targetOf(url, hostStyle);
      assert.deepEqual(
        [target.account, target.secondary, target.hostStyle, target.resourcePath, target.query.entries],
        ['acct', false, hostStyle, resourcePath, query],
      );
    }
  });
}

test('a URL beyond ASCII is UTF-8, or refused', () => {
  assert.equal(targetOf(Buffer.from('/t?$filter=ü').toString('latin1')).query.get('$filter'), 'ü');
  assert.throws(() => targetOf('/t?$filter=\u00fc'), StorageError);
});

test('a part has headers of its own, and shares caller, version, origin and request id with the batch', () => {
  const exchange = new BatchExchange(
    outer(),
    part({
      headers: [
        ['if-match', '*'],
        ['x-http-method', 'PUT'],
        ['x-http-method', 'MERGE'],
        ['prefer', ''],
      ],
    }),
  );
  assert.deepEqual(
    ['if-match', 'x-http-method', 'prefer', 'accept'].map((name) => exchange.header(name)),
    ['*', 'PUT, MERGE', '', null],
  );
  assert.deepEqual(exchange.headersWithPrefix('pre'), [['prefer', '']]);
  const { service, version, requestId, clientAddress, secure, origin, identity } = exchange;
  assert.deepEqual(
    [service, version, requestId, clientAddress, secure, origin, identity.kind],
    ['t', '2019-02-02', 'r', '127.0.0.1', true, 'https://here', 'owner'],
  );
});

test('its body can be had whole and as a stream', async () => {
  const exchange = new BatchExchange(outer(), part({}));
  assert.equal(exchange.contentLengthBytes, 2);
  assert.equal(Buffer.from(await exchange.wholeBody()).toString(), '{}');
  assert.equal(Buffer.concat(await exchange.body().toArray()).toString(), '{}');
});
