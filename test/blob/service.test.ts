/**
 * The Blob service as a whole: account information, versions, ids of requests, bodies of errors. What it shares with the
 * other services (properties, CORS, stats) is in test/services.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { blobService, freshContainer } from '../harness/clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const service = blobService(server);
const container = await freshContainer(service);
const raw = (request: RawRequest): Promise<RawResponse> => send(server.url, request);

test('service properties of a new account are off', async () => {
  const properties = await blobService(server, SECOND_ACCOUNT).getProperties();
  assert.deepEqual(properties.cors ?? [], []);
  assert.equal(properties.blobAnalyticsLogging?.read, false);
  assert.equal(properties.blobAnalyticsLogging?.version, '1.0');
  assert.equal(properties.minuteMetrics?.enabled, false);
  assert.equal(properties.deleteRetentionPolicy?.enabled, false);
  assert.equal(properties.staticWebsite?.enabled, false);
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
