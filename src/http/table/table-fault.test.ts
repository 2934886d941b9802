import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { RequestTarget } from '../exchange.ts';
import { parseQuery } from '../request-target.ts';
import { renderFaultJson, renderTableFault } from './table-fault.ts';

const target = (query: string): RequestTarget => ({
  rawPath: '/acme/people',
  account: 'acme',
  secondary: false,
  hostStyle: false,
  resourcePath: 'people',
  query: parseQuery(query),
});

const context = (method: string, query: string) => ({
  method,
  requestId: 'c9da6455',
  nowMs: Date.UTC(2024, 4, 1, 12, 34, 56, 789),
  target: target(query),
});

const TIME = '2024-05-01T12:34:56.7890000Z';
const headersOf = (headers: readonly string[]): Record<string, string> =>
  Object.fromEntries(headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1] as string]] : [])));

describe('a refusal of the Table service', () => {
  test('is JSON, with its code also in a header', () => {
    const { status, headers, body } = renderTableFault(new StorageError('EntityAlreadyExists'), context('POST', ''));
    assert.equal(status, 409);
    assert.deepEqual(headersOf(headers), {
      'x-ms-error-code': 'EntityAlreadyExists',
      'Content-Type': 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-cache',
    });
    assert.deepEqual(JSON.parse(body as string), {
      'odata.error': {
        code: 'EntityAlreadyExists',
        message: { lang: 'en-US', value: `The specified entity already exists.\nRequestId:c9da6455\nTime:${TIME}` },
      },
    });
  });

  test('says what is said of it in particular', () => {
    const error = new StorageError('InvalidInput', { message: 'No "quotes".', headers: { 'Retry-After': '1' } });
    const { status, headers, body } = renderTableFault(error, context('GET', '$filter=x'));
    assert.equal(status, 400);
    assert.equal(headersOf(headers)['Retry-After'], '1');
    assert.match(JSON.parse(body as string)['odata.error'].message.value, /^No "quotes"\.\n/);
  });

  test('tells what is wrong with a signature', () => {
    const elements = { AuthenticationErrorDetail: 'The date is too old.' };
    const { body } = renderTableFault(new StorageError('AuthenticationFailed', { elements }), context('GET', ''));
    assert.match(JSON.parse(body as string)['odata.error'].message.value, /\nTime:\S+\nThe date is too old\.$/);
  });

  test('is XML where the operation speaks XML', () => {
    const { status, headers, body } = renderTableFault(new StorageError('TableNotFound'), context('PUT', 'comp=acl'));
    assert.equal(status, 404);
    assert.equal(headersOf(headers)['Content-Type'], 'application/xml');
    assert.match(body as string, /<Code>TableNotFound<\/Code>/);
  });

  test('to HEAD has no body, in either language', () => {
    for (const query of ['', 'comp=acl']) {
      const { status, headers, body } = renderTableFault(new StorageError('TableNotFound'), context('HEAD', query));
      assert.equal(status, 404);
      assert.equal(body, undefined);
      assert.equal(headersOf(headers)['x-ms-error-code'], 'TableNotFound');
    }
  });

  test('is JSON where even the target could not be read', () => {
    const { target: _, ...rest } = context('GET', '');
    const { status, body } = renderTableFault(new StorageError('InvalidUri'), rest);
    assert.equal(status, 400);
    assert.equal(JSON.parse(body as string)['odata.error'].code, 'InvalidUri');
  });

  test('of a part of a batch starts with its place', () => {
    const { requestId, nowMs } = context('POST', '');
    for (const index of [0, 7]) {
      const text = renderFaultJson(new StorageError('UpdateConditionNotSatisfied'), { requestId, nowMs, index });
      const { message } = JSON.parse(text)['odata.error'];
      assert.ok(
        message.value.startsWith(`${index}:The update condition specified in the request was not satisfied.\n`),
      );
    }
  });
});
