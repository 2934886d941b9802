/** The File service as a whole: its properties, CORS, the secondary, what it does not have, and how it refuses. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FileServiceProperties } from '@azure/storage-file-share';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { freshShare, shareService } from '../harness/file-clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = shareService(server);
const raw = (request: RawRequest): Promise<RawResponse> => send(server.fileUrl, request);

const PROPERTIES = '/?restype=service&comp=properties';

describe('service properties', () => {
  test('of a new account are off', async () => {
    const { body } = await raw({ method: 'GET', path: PROPERTIES, account: SECOND_ACCOUNT });
    const text = body.toString();
    assert.ok(text.includes('<HourMetrics><Version>1.0</Version><Enabled>false</Enabled>'), text);
    assert.ok(text.includes('<ShareDeleteRetentionPolicy><Enabled>false</Enabled>'), text);
    assert.ok(!text.includes('<Logging>'), text);
  });

  test('come back as they were set, and what is not sent stays', async () => {
    const wanted: FileServiceProperties = {
      hourMetrics: { enabled: true, includeAPIs: true, version: '1.0', retentionPolicy: { enabled: true, days: 3 } },
      minuteMetrics: { enabled: true, includeAPIs: false, version: '1.0', retentionPolicy: { enabled: true, days: 1 } },
      cors: [
        {
          allowedOrigins: 'http://one.example',
          allowedMethods: 'GET,PUT',
          allowedHeaders: '*',
          exposedHeaders: '*',
          maxAgeInSeconds: 500,
        },
      ],
    };
    await service.setProperties(wanted);
    const { hourMetrics, minuteMetrics, cors } = await service.getProperties();
    assert.deepEqual({ hourMetrics, minuteMetrics, cors }, wanted);
    await service.setProperties({ cors: [] });
    const after = await service.getProperties();
    assert.deepEqual([after.cors ?? [], after.hourMetrics], [[], wanted.hourMetrics]);
  });

  for (const [name, body, want] of [
    ['another document', '<Properties />', '400 InvalidXmlDocument'],
    [
      'what only blobs have',
      '<StorageServiceProperties><StaticWebsite /></StorageServiceProperties>',
      '400 InvalidXmlDocument',
    ],
    ['no XML', 'x', '400 InvalidXmlDocument'],
  ] as const) {
    test(`are not set from ${name}`, async () => {
      assert.equal((await raw({ method: 'PUT', path: PROPERTIES, body })).outcome, want);
    });
  }
});

test('a browser of an allowed origin is let in, and told so', async () => {
  const account = SECOND_ACCOUNT;
  const share = await freshShare(server);
  const cors = {
    allowedOrigins: 'http://one.example',
    allowedMethods: 'GET',
    allowedHeaders: '*',
    exposedHeaders: 'ETag',
    maxAgeInSeconds: 9,
  };
  await service.setProperties({ cors: [cors] });
  const headers = { Origin: 'http://one.example', 'Access-Control-Request-Method': 'GET' };
  const preflight = await raw({ method: 'OPTIONS', path: `/${share.name}`, headers, account: null });
  assert.deepEqual([preflight.status, preflight.headers['access-control-max-age']], [200, '9']);
  const read = await raw({ method: 'GET', path: `/${share.name}?restype=share`, headers });
  assert.equal(read.headers['access-control-allow-origin'], 'http://one.example');
  const other = await raw({ method: 'OPTIONS', path: '/', headers, account: null, pathAccount: account.name });
  assert.equal(other.outcome, '403 CorsPreflightFailure');
});

describe('the service', () => {
  for (const [method, path, want] of [
    ['GET', '/?restype=service&comp=stats', '400 InvalidQueryParameterValue'],
    ['POST', '/?restype=service&comp=userdelegationkey', '403 AuthenticationFailed'],
    ['GET', '/', '400 InvalidQueryParameterValue'],
    ['DELETE', '/?comp=list', '405 UnsupportedHttpVerb'],
    ['GET', '/nowhere?restype=share', '404 ShareNotFound'],
    ['GET', '/nowhere?restype=directory&comp=list', '404 ShareNotFound'],
    ['GET', '/nowhere/file', '404 ShareNotFound'],
    ['GET', '/nowhere', '400 MissingRequiredQueryParameter'],
  ] as const) {
    test(`answers ${method} ${path} with ${want}`, async () => {
      const { outcome, headers, body } = await raw({
        method,
        path,
        headers: { 'x-ms-version': '2026-06-06', 'x-ms-client-request-id': 'me' },
      });
      assert.equal(outcome, want);
      assert.equal(headers['x-ms-client-request-id'], 'me');
      assert.match(body.toString(), new RegExp(`<Error><Code>${want.split(' ')[1]}</Code><Message>`));
    });
  }

  test('tells a refused HEAD by its header', async () => {
    const { outcome, body } = await raw({ method: 'HEAD', path: '/nowhere?restype=share' });
    assert.deepEqual([outcome, body.length], ['404 ShareNotFound', 0]);
  });

  test('lets nobody in who does not say who they are', async () => {
    const share = await freshShare(server);
    const { status } = await raw({ method: 'GET', path: `/${share.name}?restype=share`, account: null });
    assert.equal(status, 401);
  });
});
