/** The account's own level: service properties, CORS, account information, versions, ids of requests, bodies of errors. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { BlobServiceProperties } from '@azure/storage-blob';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer, outcome } from '../harness/clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = blobService(server);
const container = await freshContainer(service);
const raw = (request: RawRequest): Promise<RawResponse> => send(server.url, request);

const PROPERTIES_PATH = '/?restype=service&comp=properties';

const corsRules = (count: number): BlobServiceProperties['cors'] =>
  Array.from({ length: count }, (_, index) => ({
    allowedOrigins: `http://${index}.example`,
    allowedMethods: 'GET',
    allowedHeaders: '',
    exposedHeaders: '',
    maxAgeInSeconds: 0,
  }));

describe('service properties', () => {
  test('of a new account are off', async () => {
    const properties = await blobService(server, SECOND_ACCOUNT).getProperties();
    assert.deepEqual(properties.cors ?? [], []);
    assert.equal(properties.blobAnalyticsLogging?.read, false);
    assert.equal(properties.blobAnalyticsLogging?.version, '1.0');
    assert.equal(properties.minuteMetrics?.enabled, false);
    assert.equal(properties.deleteRetentionPolicy?.enabled, false);
    assert.equal(properties.staticWebsite?.enabled, false);
  });

  test('come back as they were set, and what is not sent stays', async () => {
    const wanted: BlobServiceProperties = {
      blobAnalyticsLogging: {
        version: '1.0',
        deleteProperty: true,
        read: true,
        write: false,
        retentionPolicy: { enabled: true, days: 5 },
      },
      minuteMetrics: { enabled: true, includeAPIs: true, version: '1.0', retentionPolicy: { enabled: true, days: 4 } },
      cors: [
        {
          allowedOrigins: 'http://one.example',
          allowedMethods: 'GET,PUT',
          allowedHeaders: 'x-ms-*',
          exposedHeaders: 'x-ms-meta-*',
          maxAgeInSeconds: 60,
        },
      ],
      defaultServiceVersion: '2021-12-02',
    };
    await service.setProperties(wanted);
    const first = await service.getProperties();
    assert.deepEqual(first.blobAnalyticsLogging, wanted.blobAnalyticsLogging);
    assert.deepEqual(first.minuteMetrics, wanted.minuteMetrics);
    assert.deepEqual(first.cors, wanted.cors);
    assert.equal(first.defaultServiceVersion, '2021-12-02');
    await service.setProperties({ defaultServiceVersion: '2022-11-02' });
    const second = await service.getProperties();
    assert.deepEqual(second.cors, wanted.cors);
    assert.deepEqual(second.blobAnalyticsLogging, wanted.blobAnalyticsLogging);
    assert.equal(second.defaultServiceVersion, '2022-11-02');
    await service.setProperties({ cors: [] });
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
  });

  test('answer 202 to a change and 200 to a question', async () => {
    const set = await raw({ method: 'PUT', path: PROPERTIES_PATH, body: '<StorageServiceProperties/>' });
    assert.equal(set.status, 202);
    const get = await raw({ method: 'GET', path: PROPERTIES_PATH });
    assert.equal(get.status, 200);
    assert.match(get.headers['content-type'] ?? '', /^application\/xml/);
  });

  for (const [what, body] of [
    ['no XML', 'x'],
    [
      'an incomplete CORS rule',
      '<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins></CorsRule></Cors></StorageServiceProperties>',
    ],
    [
      'a retention without days',
      '<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write><RetentionPolicy><Enabled>true</Enabled></RetentionPolicy></Logging></StorageServiceProperties>',
    ],
    [
      'a retention of 366 days',
      '<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy></Logging></StorageServiceProperties>',
    ],
  ] as const) {
    test(`with ${what} are refused`, async () => {
      const { outcome } = await raw({ method: 'PUT', path: PROPERTIES_PATH, body });
      assert.match(outcome, /^400 (InvalidXmlDocument|InvalidXmlNodeValue|MissingRequiredXmlNode)$/);
    });
  }

  test('hold five CORS rules and not six', async () => {
    assert.match(await outcome(service.setProperties({ cors: corsRules(6) as [] })), /^400 /);
    assert.equal(await outcome(service.setProperties({ cors: corsRules(5) as [] })), 'ok');
    await service.setProperties({ cors: [] });
  });
});

const setRules = (...cors: NonNullable<BlobServiceProperties['cors']>): Promise<unknown> =>
  service.setProperties({ cors });

const preflight = (headers: Record<string, string>): Promise<RawResponse> =>
  raw({ method: 'OPTIONS', path: `/${container.containerName}/any`, headers, account: null });

const corsHeaders = ({ headers }: RawResponse): unknown[] => [
  headers['access-control-allow-origin'],
  headers['access-control-expose-headers'],
  headers.vary,
];

describe('CORS', () => {
  const RULE = {
    allowedOrigins: 'http://one.example',
    allowedMethods: 'GET,PUT',
    allowedHeaders: 'x-ms-meta-*,content-type',
    exposedHeaders: 'x-ms-request-id',
    maxAgeInSeconds: 77,
  };
  const ASK = { origin: 'http://one.example', 'access-control-request-method': 'PUT' };

  test('a preflight without rules, of another origin, method or header gets 403', async () => {
    await setRules();
    assert.equal((await preflight(ASK)).outcome, '403 CorsPreflightFailure');
    await setRules(RULE);
    for (const headers of [
      { ...ASK, origin: 'http://two.example' },
      { ...ASK, 'access-control-request-method': 'DELETE' },
      { ...ASK, 'access-control-request-headers': 'x-other' },
    ]) {
      assert.equal((await preflight(headers)).outcome, '403 CorsPreflightFailure', JSON.stringify(headers));
    }
  });

  test('a preflight that a rule allows gets 200 and what it asked for', async () => {
    await setRules(RULE);
    const answer = await preflight({ ...ASK, 'access-control-request-headers': 'x-ms-meta-colour,Content-Type' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['access-control-allow-origin'], 'http://one.example');
    assert.equal(answer.headers['access-control-allow-methods'], 'PUT');
    assert.equal(answer.headers['access-control-allow-headers'], 'x-ms-meta-colour,Content-Type');
    assert.equal(answer.headers['access-control-max-age'], '77');
    assert.equal(answer.headers['access-control-allow-credentials'], 'true');
    assert.equal(answer.body.length, 0);
  });

  test('a preflight without an origin or a method gets 400', async () => {
    assert.equal((await preflight({ 'access-control-request-method': 'GET' })).outcome, '400 InvalidHeaderValue');
    assert.equal((await preflight({ origin: 'http://one.example' })).outcome, '400 InvalidHeaderValue');
  });

  test('the answer to a request carries the headers of the rule, by origin', async () => {
    await container.uploadBlockBlob('cors', 'x', 1);
    const path = `/${container.containerName}/cors`;
    const get = (origin?: string): Promise<RawResponse> =>
      raw({ method: 'GET', path, headers: origin === undefined ? {} : { origin } });
    await setRules(RULE);
    assert.deepEqual(corsHeaders(await get('http://one.example')), ['http://one.example', 'x-ms-request-id', 'Origin']);
    assert.deepEqual(corsHeaders(await get('http://two.example')), [undefined, undefined, 'Origin']);
    assert.deepEqual(corsHeaders(await get()), [undefined, undefined, 'Origin']);
    await setRules({ ...RULE, allowedOrigins: '*' });
    assert.deepEqual(corsHeaders(await get('http://two.example')), ['*', 'x-ms-request-id', undefined]);
    await setRules();
    assert.deepEqual(corsHeaders(await get('http://one.example')), [undefined, undefined, undefined]);
  });
});

describe('account information', () => {
  test('tells SKU and kind at every level, whether the resource exists or not', async () => {
    const { skuName, accountKind, isHierarchicalNamespaceEnabled } = await service.getAccountInfo();
    assert.ok(skuName !== undefined && accountKind !== undefined);
    assert.equal(isHierarchicalNamespaceEnabled, false);
    for (const path of ['/', `/missing-${randomUUID()}`, `/missing-${randomUUID()}/blob`]) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await raw({ method, path: `${path}?restype=account&comp=properties` });
        assert.equal(status, 200, `${method} ${path}`);
        assert.equal(headers['x-ms-sku-name'], skuName);
        assert.equal(headers['x-ms-account-kind'], accountKind);
      }
    }
  });
});

describe('every answer', () => {
  test('echoes the version and the id that the client gave', async () => {
    for (const version of ['2015-02-21', '2019-12-12', '2024-11-04', '2026-06-06']) {
      const headers = { 'x-ms-version': version, 'x-ms-client-request-id': `from the client ${version}` };
      const answer = await raw({ method: 'GET', path: `/${container.containerName}?restype=container`, headers });
      assert.equal(answer.status, 200, version);
      assert.equal(answer.headers['x-ms-version'], version);
      if (version >= '2019-02-02') assert.equal(answer.headers['x-ms-client-request-id'], `from the client ${version}`);
    }
  });

  test('has an id of its own', async () => {
    const ids = new Set<unknown>();
    for (let count = 0; count < 20; count++) {
      const path = count % 2 === 0 ? '/?comp=list' : '/missing/blob';
      ids.add((await raw({ method: 'GET', path })).headers['x-ms-request-id']);
    }
    assert.equal(ids.size, 20);
  });

  test('to a version that is none is 400', async () => {
    const answer = await raw({ method: 'GET', path: '/?comp=list', headers: { 'x-ms-version': 'yesterday' } });
    assert.equal(answer.outcome, '400 InvalidHeaderValue');
    assert.match(answer.body.toString(), /<HeaderName>x-ms-version<\/HeaderName>/);
  });
});

describe('an error', () => {
  test('has a body with code, message, request id and time', async () => {
    const answer = await raw({ method: 'GET', path: `/${container.containerName}/missing` });
    assert.equal(answer.outcome, '404 BlobNotFound');
    assert.match(answer.headers['content-type'] ?? '', /^application\/xml/);
    const text = answer.body.toString();
    assert.match(
      text,
      /^(\uFEFF)?<\?xml version="1\.0" encoding="utf-8"\?>\s*<Error><Code>BlobNotFound<\/Code><Message>/,
    );
    const id = answer.headers['x-ms-request-id'] as string;
    assert.match(
      text,
      new RegExp(`The specified blob does not exist\\.\\s*\nRequestId:${id}\\s*\nTime:20\\d\\d-.*Z</Message>`),
    );
  });

  test('to HEAD has no body', async () => {
    const answer = await raw({ method: 'HEAD', path: `/${container.containerName}/missing` });
    assert.equal(answer.outcome, '404 BlobNotFound');
    assert.equal(answer.body.length, 0);
  });

  test('to a conditional read is 304 without a body', async () => {
    const { etag } = (await container.uploadBlockBlob('blob', 'x', 1)).response;
    const headers = { 'if-none-match': etag as string };
    const answer = await raw({ method: 'GET', path: `/${container.containerName}/blob`, headers });
    assert.equal(answer.outcome, '304 ConditionNotMet');
    assert.equal(answer.body.length, 0);
  });

  test('names the header or the query word that is wrong', async () => {
    const path = `/${container.containerName}?restype=container&comp=list&maxresults=0`;
    const text = (await raw({ method: 'GET', path })).body.toString();
    assert.match(text, /<QueryParameterName>maxresults<\/QueryParameterName>/);
    assert.match(text, /<QueryParameterValue>0<\/QueryParameterValue>/);
    const headers = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '3' };
    const lease = await raw({
      method: 'PUT',
      path: `/${container.containerName}?restype=container&comp=lease`,
      headers,
    });
    assert.match(lease.body.toString(), /<HeaderName>x-ms-lease-duration<\/HeaderName>/);
  });

  test('never lets names of the client into the XML as markup', async () => {
    const path = `/${container.containerName}?restype=container&comp=list&include=${encodeURIComponent('<b>&"')}`;
    const { body, status } = await raw({ method: 'GET', path });
    assert.equal(status, 400);
    assert.doesNotMatch(body.toString(), /<b>/);
  });
});
