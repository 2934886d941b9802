import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalidHeader, StorageError } from '../service/storage-error.ts';
import { FAULTS, renderFault } from './faults.ts';
import { childNamed, parseXml } from './xml.ts';

const context = { method: 'GET', requestId: 'id-1', nowMs: Date.UTC(2024, 0, 2, 3, 4, 5, 6) };

const headersOf = (headers: readonly string[]): Map<string, string> => {
  const map = new Map<string, string>();
  for (let index = 0; index < headers.length; index += 2)
    map.set(headers[index] as string, headers[index + 1] as string);
  return map;
};

test('the body holds the code, the sentence with request id and time, and the extra elements in their order', () => {
  const reply = renderFault(invalidHeader('x-ms-version', '<x>'), context);
  assert.equal(reply.status, 400);
  assert.equal(
    reply.body,
    '<?xml version="1.0" encoding="utf-8"?><Error><Code>InvalidHeaderValue</Code><Message>The value for one of the HTTP ' +
      'headers is not in the correct format.\nRequestId:id-1\nTime:2024-01-02T03:04:05.0060000Z</Message>' +
      '<HeaderName>x-ms-version</HeaderName><HeaderValue>&lt;x&gt;</HeaderValue></Error>',
  );
  assert.deepEqual(
    [...headersOf(reply.headers)],
    [
      ['x-ms-error-code', 'InvalidHeaderValue'],
      ['Content-Type', 'application/xml'],
    ],
  );
});

test('a HEAD request gets the code in its header and no body', () => {
  const reply = renderFault(new StorageError('BlobNotFound'), { ...context, method: 'HEAD' });
  assert.equal(reply.status, 404);
  assert.equal(reply.body, undefined);
  assert.deepEqual([...headersOf(reply.headers)], [['x-ms-error-code', 'BlobNotFound']]);
});

test('a failed condition is 412, or 304 without a body where the read says so', () => {
  assert.equal(renderFault(new StorageError('ConditionNotMet'), context).status, 412);
  const reply = renderFault(
    new StorageError('ConditionNotMet', { notModified: true, headers: { ETag: '"1"' } }),
    context,
  );
  assert.equal(reply.status, 304);
  assert.equal(reply.body, undefined);
  assert.equal(headersOf(reply.headers).get('ETag'), '"1"');
});

test('a caller without credentials is challenged', () => {
  const reply = renderFault(new StorageError('NoAuthenticationInformation'), context);
  assert.equal(reply.status, 401);
  assert.match(
    headersOf(reply.headers).get('WWW-Authenticate') ?? '',
    /^Bearer authorization_uri=\S+ resource_id=\S+$/,
  );
});

test('every 401 challenges, with the error’s own challenge where it has one', () => {
  const refused = { status: 401 };
  const usual = renderFault(new StorageError('InvalidAuthenticationInfo', refused), context);
  assert.match(headersOf(usual.headers).get('WWW-Authenticate') ?? '', /^Bearer authorization_uri=/);
  const headers = { 'WWW-Authenticate': 'Bearer own' };
  const own = renderFault(new StorageError('NoAuthenticationInformation', { ...refused, headers }), context);
  assert.deepEqual(
    own.headers.filter((_, index) => own.headers[index - 1] === 'WWW-Authenticate'),
    ['Bearer own'],
  );
});

test('an own message replaces the usual one', () => {
  const { body } = renderFault(new StorageError('InvalidUri', { message: 'Too long.' }), context);
  assert.match(childNamed(parseXml(body as string), 'Message')?.text ?? '', /^Too long\.\n/);
});

test('every code has a status of an error and a sentence', () => {
  for (const [code, { status, message }] of Object.entries(FAULTS)) {
    assert.ok(status >= 400 && status < 600, code);
    assert.match(message, /^[A-Z].*\.$/, code);
  }
});
