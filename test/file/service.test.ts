/** The File service as a whole: what a new account has, what the service does not have, and how it refuses. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { freshShare } from '../harness/file-clients.ts';
import { type RawRequest, type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });
const raw = (request: RawRequest): Promise<RawResponse> => send(server.fileUrl, request);

const PROPERTIES = '/?restype=service&comp=properties';

test('service properties of a new account are off', async () => {
  const { body } = await raw({ method: 'GET', path: PROPERTIES, account: SECOND_ACCOUNT });
  const text = body.toString();
  assert.ok(text.includes('<HourMetrics><Version>1.0</Version><Enabled>false</Enabled>'), text);
  assert.ok(text.includes('<ShareDeleteRetentionPolicy><Enabled>false</Enabled>'), text);
  assert.ok(!text.includes('<Logging>'), text);
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
