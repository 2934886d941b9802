import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseQuery } from '../request-target.ts';
import { findOperation } from './routes.ts';

/** `GET people?comp=acl` */
function asked(line: string, headers: Readonly<Record<string, string>> = {}): Exchange {
  const [method = '', url = ''] = line.split(' ');
  const [resourcePath = '', query = ''] = url.split('?');
  return {
    service: 't',
    method,
    target: {
      rawPath: `/acme/${resourcePath}`,
      account: 'acme',
      secondary: false,
      hostStyle: false,
      resourcePath,
      query: parseQuery(query),
    },
    header: (name) => headers[name] ?? null,
    rawHeaders: Object.entries(headers),
    headersWithPrefix: () => [],
    version: '2019-02-02',
    requestId: 'request',
    clientAddress: '192.0.2.7',
    secure: false,
    origin: 'http://example.org',
    body: () => Readable.from([]),
    wholeBody: async () => new Uint8Array(0),
    contentLengthBytes: 0,
  };
}

const ENTITY = "people(PartitionKey='p',RowKey='r')";
const IF_MATCH = { 'if-match': '*' };

describe('a request asks for', () => {
  for (const [line, want] of [
    ['GET ?restype=service&comp=properties', 'Get Table Service Properties'],
    ['GET ?comp=properties', 'Get Table Service Properties'],
    ['PUT ?restype=service&comp=properties', 'Set Table Service Properties'],
    ['GET ?restype=service&comp=stats', 'Get Table Service Stats'],
    ['GET Tables', 'Query Tables'],
    ['GET Tables?$top=3&$filter=x', 'Query Tables'],
    ['POST Tables', 'Create Table'],
    ["GET Tables('people')", 'Query Table'],
    ["DELETE Tables('people')", 'Delete Table'],
    ['GET people', 'Query Entities'],
    ['GET people()', 'Query Entities'],
    ['GET people?timeout=30', 'Query Entities'],
    ['POST people', 'Insert Entity'],
    ['POST people()', 'Insert Entity'],
    ['GET people?comp=acl', 'Get Table ACL'],
    ['GET people?COMP=ACL', 'Get Table ACL'],
    ['HEAD people?comp=acl', 'Get Table ACL'],
    ['PUT people?comp=acl', 'Set Table ACL'],
    [`GET ${ENTITY}`, 'Query Entity'],
    [`PUT ${ENTITY}`, 'Insert Or Replace Entity'],
    [`MERGE ${ENTITY}`, 'Insert Or Merge Entity'],
    [`PATCH ${ENTITY}`, 'Insert Or Merge Entity'],
    [`DELETE ${ENTITY}`, 'Delete Entity'],
    ['POST $batch', 'Entity Group Transaction'],
  ] as const) {
    test(`${want}: ${line}`, () => assert.equal(findOperation(asked(line)).operation.name, want));
  }

  for (const [line, want] of [
    [`PUT ${ENTITY}`, 'Update Entity'],
    [`MERGE ${ENTITY}`, 'Merge Entity'],
    [`PATCH ${ENTITY}`, 'Merge Entity'],
    [`DELETE ${ENTITY}`, 'Delete Entity'],
    [`GET ${ENTITY}`, 'Query Entity'],
    ['POST people', 'Insert Entity'],
  ] as const) {
    test(`${want}, with If-Match: ${line}`, () => {
      assert.equal(findOperation(asked(line, IF_MATCH)).operation.name, want);
      assert.equal(findOperation(asked(line, { 'if-match': '' })).operation.name, want);
    });
  }

  test('what its path names', () => {
    assert.deepEqual(findOperation(asked(`GET ${ENTITY}`)).resource, {
      kind: 'entity',
      table: 'people',
      partitionKey: 'p',
      rowKey: 'r',
    });
  });
});

describe('a POST stands for another method:', () => {
  for (const [method, headers, want] of [
    ['MERGE', {}, 'Insert Or Merge Entity'],
    ['MERGE', IF_MATCH, 'Merge Entity'],
    ['merge', IF_MATCH, 'Merge Entity'],
    [' PATCH ', IF_MATCH, 'Merge Entity'],
    ['PUT', {}, 'Insert Or Replace Entity'],
    ['PUT', IF_MATCH, 'Update Entity'],
    ['DELETE', IF_MATCH, 'Delete Entity'],
  ] as const) {
    test(`${method} for ${want}`, () => {
      const exchange = asked(`POST ${ENTITY}`, { ...headers, 'x-http-method': method });
      assert.equal(findOperation(exchange).operation.name, want);
    });
  }

  test('DELETE of a table', () => {
    const exchange = asked("POST Tables('people')", { 'x-http-method': 'DELETE' });
    assert.equal(findOperation(exchange).operation.name, 'Delete Table');
  });

  for (const [line, method, code] of [
    [`PUT ${ENTITY}`, 'MERGE', 'XMethodNotUsingPost'],
    [`GET ${ENTITY}`, 'MERGE, MERGE', 'XMethodNotUsingPost'],
    [`POST ${ENTITY}`, 'MERGE, MERGE', 'XMethodIncorrectCount'],
    [`POST ${ENTITY}`, 'GET, PUT', 'XMethodIncorrectCount'],
    [`POST ${ENTITY}`, 'GET', 'XMethodIncorrectValue'],
    [`POST ${ENTITY}`, 'POST', 'XMethodIncorrectValue'],
    [`POST ${ENTITY}`, '', 'XMethodIncorrectValue'],
    ['POST people', 'PUT', 'MethodNotAllowed'],
    ['POST $batch', 'MERGE', 'MethodNotAllowed'],
  ] as const) {
    test(`${line} for '${method}' is refused as ${code}`, () =>
      assert.throws(() => findOperation(asked(line, { 'x-http-method': method })), isRefused(code)));
  }
});

describe('what is no operation is refused:', () => {
  for (const [line, code] of [
    // The path comes first.
    ['GET 1people?comp=nonsense', 'InvalidResourceName'],
    ['BREW 1people', 'InvalidResourceName'],
    ['GET people?restype=service', 'InvalidQueryParameterValue'],
    ['GET people?restype=table', 'InvalidQueryParameterValue'],
    ['GET ?restype=container&comp=properties', 'InvalidQueryParameterValue'],
    ['GET ?restype=account&comp=properties', 'InvalidQueryParameterValue'],
    ['BREW people', 'InvalidHttpVerb'],
    ['BREW people?comp=nonsense', 'InvalidHttpVerb'],
    ['GET ', 'InvalidQueryParameterValue'],
    ['GET ?restype=service', 'InvalidQueryParameterValue'],
    ['GET ?restype=service&comp=acl', 'InvalidQueryParameterValue'],
    ['GET ?restype=service&comp=list', 'InvalidQueryParameterValue'],
    ['GET people?comp=metadata', 'InvalidQueryParameterValue'],
    ['PUT people?comp=constructor', 'InvalidQueryParameterValue'],
    [`GET ${ENTITY}?comp=acl`, 'InvalidQueryParameterValue'],
    ['GET Tables?comp=acl', 'InvalidQueryParameterValue'],
    ['DELETE ?restype=service&comp=properties', 'MethodNotAllowed'],
    ['HEAD ?restype=service&comp=properties', 'MethodNotAllowed'],
    ['PUT ?restype=service&comp=stats', 'MethodNotAllowed'],
    ['PUT Tables', 'MethodNotAllowed'],
    ['HEAD Tables', 'MethodNotAllowed'],
    ["PUT Tables('people')", 'MethodNotAllowed'],
    ['PUT people', 'MethodNotAllowed'],
    ['HEAD people', 'MethodNotAllowed'],
    ['DELETE people', 'MethodNotAllowed'],
    ['DELETE people?comp=acl', 'MethodNotAllowed'],
    [`POST ${ENTITY}`, 'MethodNotAllowed'],
    [`HEAD ${ENTITY}`, 'MethodNotAllowed'],
    ['GET $batch', 'MethodNotAllowed'],
  ] as const) {
    test(`${line} as ${code}`, () => assert.throws(() => findOperation(asked(line)), isRefused(code)));
  }
});

function isRefused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof StorageError && error.code === code;
}
