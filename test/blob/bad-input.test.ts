/** Requests that no client should send: each is refused as documented, and the server serves the next one. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, test } from 'node:test';
import { blobService, freshContainer } from '../harness/clients.ts';
import { firstStatus, headOf, type RawRequest, type RawResponse, send, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service);
await container.uploadBlockBlob('witness', 'still here', 10);

const raw = (request: RawRequest): Promise<RawResponse> => send(server.url, request);
const path = (name: string = randomUUID()): string => `/${container.containerName}/${name}`;
const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' };

afterEach(async () => {
  const witness = await container.getBlobClient('witness').downloadToBuffer();
  assert.equal(witness.toString(), 'still here', 'the server still serves');
});

describe('XML', () => {
  const targets: [string, string][] = [
    ['Put Block List', `${path()}?comp=blocklist`],
    ['Set Container ACL', `/${container.containerName}?restype=container&comp=acl`],
    ['Set Service Properties', '/?restype=service&comp=properties'],
  ];
  const documents: [string, string][] = [
    ['text', 'not xml at all'],
    ['an open tag', '<BlockList><Latest>'],
    ['tags that cross', '<a><b></a></b>'],
    ['a second root', '<BlockList/><BlockList/>'],
    ['another root', '<Surprise/>'],
    ['an unknown entity', '<BlockList>&nobody;</BlockList>'],
    ['an entity bomb', '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY c "&a;&a;&a;">]><BlockList>&c;</BlockList>'],
    [
      'an external entity',
      '<!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/passwd">]><BlockList><Latest>&x;</Latest></BlockList>',
    ],
    ['a NUL', '<BlockList>\0</BlockList>'],
    ['deep nesting', `${'<a>'.repeat(20_000)}${'</a>'.repeat(20_000)}`],
  ];
  for (const [operation, target] of targets) {
    for (const [what, body] of documents) {
      test(`${operation} with ${what} gets 400, or 413 where the document is too large`, async () => {
        const { status, body: answer } = await raw({ method: 'PUT', path: target, body });
        assert.ok(status === 400 || (status === 413 && body.length > 10_000), String(status));
        assert.doesNotMatch(answer.toString(), /root:/);
      });
    }
  }

  test('Put Block List in bytes that are no UTF-8 gets 400', async () => {
    const body = Buffer.concat([
      Buffer.from('<BlockList><Latest>'),
      Buffer.from([0xff, 0xfe, 0xc0]),
      Buffer.from('</Latest></BlockList>'),
    ]);
    assert.equal((await raw({ method: 'PUT', path: `${path()}?comp=blocklist`, body })).status, 400);
  });

  test('a policy with a bad time or bad permissions gets 400', async () => {
    const target = `/${container.containerName}?restype=container&comp=acl`;
    for (const inner of ['<Expiry>tomorrow</Expiry>', '<Permission>xyz!</Permission>']) {
      const body = `<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy>${inner}</AccessPolicy></SignedIdentifier></SignedIdentifiers>`;
      const { outcome } = await raw({ method: 'PUT', path: target, body });
      assert.match(outcome, /^400 (InvalidXmlDocument|InvalidXmlNodeValue)$/, inner);
    }
  });
});

describe('the length of a body', () => {
  test('that ends too early leaves no blob behind', async () => {
    const name = randomUUID();
    const request = { method: 'PUT', path: path(name), headers: { ...BLOCK_BLOB, 'content-length': '1000' } };
    await sendBytes(server.url, `${headOf(server.url, request)}only this`, { halfClose: true });
    assert.equal(await container.getBlobClient(name).exists(), false);
  });

  test('that ends with the connection leaves no staged block behind', async () => {
    const name = randomUUID();
    const target = `${path(name)}?comp=block&blockid=YQ%3D%3D`;
    const head = headOf(server.url, { method: 'PUT', path: target, headers: { 'content-length': '100000' } });
    await sendBytes(server.url, head + 'x'.repeat(50_000), { halfClose: true });
    assert.equal((await raw({ method: 'GET', path: `${path(name)}?comp=blocklist&blocklisttype=all` })).status, 404);
  });

  for (const value of ['-1', 'ten', '1e3', '99999999999999999999', '']) {
    test(`of "${value}" gets 400`, async () => {
      const head = headOf(server.url, {
        method: 'PUT',
        path: path(),
        headers: { ...BLOCK_BLOB, 'content-length': value },
      });
      const status = firstStatus(await sendBytes(server.url, `${head}x`));
      assert.ok(status >= 400 && status < 500, String(status));
    });
  }

  test('larger than any blob gets 413 before the body is sent', async () => {
    const headers = { ...BLOCK_BLOB, 'content-length': String(5001 * 1024 * 1024), expect: '100-continue' };
    const received = await sendBytes(server.url, headOf(server.url, { method: 'PUT', path: path(), headers }));
    assert.equal(firstStatus(received), 413);
    assert.match(received, /RequestBodyTooLarge/);
  });

  test('larger than old versions took gets 413 in those', async () => {
    const limit = 64 * 1024 * 1024;
    const headers = {
      ...BLOCK_BLOB,
      'x-ms-version': '2015-12-11',
      'content-length': String(limit + 1),
      expect: '100-continue',
    };
    const received = await sendBytes(server.url, headOf(server.url, { method: 'PUT', path: path(), headers }));
    assert.equal(firstStatus(received), 413);
  });

  test('given twice, differently, gets 400', async () => {
    const headers = { ...BLOCK_BLOB, 'content-length': ['5', '6'] };
    const status = firstStatus(
      await sendBytes(server.url, `${headOf(server.url, { method: 'PUT', path: path(), headers })}123456`),
    );
    assert.equal(status, 400);
  });

  test('beside chunks gets 400', async () => {
    const headers = { ...BLOCK_BLOB, 'content-length': '5', 'transfer-encoding': 'chunked' };
    const head = headOf(server.url, { method: 'PUT', path: path(), headers });
    assert.equal(firstStatus(await sendBytes(server.url, `${head}5\r\nhello\r\n0\r\n\r\n`)), 400);
  });
});

const chunked = (target: string): string =>
  headOf(server.url, { method: 'PUT', path: target, headers: { ...BLOCK_BLOB, 'transfer-encoding': 'chunked' } });

describe('chunks', () => {
  for (const [what, body] of [
    ['a length that is no number', 'zz\r\nhello\r\n0\r\n\r\n'],
    ['a length that is too short', '2\r\nhello\r\n0\r\n\r\n'],
    ['a negative length', '-5\r\nhello\r\n0\r\n\r\n'],
    ['no lengths', 'hello'],
    ['an enormous length', 'ffffffffffffffff\r\nhello'],
  ] as const) {
    test(`with ${what} get a 4xx or a closed connection, and leave no blob behind`, async () => {
      const name = randomUUID();
      const status = firstStatus(await sendBytes(server.url, chunked(path(name)) + body, { quietMs: 500 }));
      assert.ok(status === 0 || (status >= 400 && status < 500), String(status));
      assert.equal(await container.getBlobClient(name).exists(), false);
    });
  }
});

describe('the request line and its headers', () => {
  for (const [what, bytes] of [
    ['no HTTP', 'hello\r\n\r\n'],
    ['a path without a slash', 'GET x HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['HTTP/9', 'GET / HTTP/9.0\r\nhost: a\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost: a\r\nnonsense\r\n\r\n'],
    ['a header of 100 KB', `GET / HTTP/1.1\r\nhost: a\r\nx-long: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['a line of 100 KB', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nhost: a\r\n\r\n`],
    ['bytes', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ] as const) {
    test(`with ${what} get a 4xx or a closed connection`, async () => {
      const status = firstStatus(await sendBytes(server.url, Buffer.from(bytes, 'latin1'), { halfClose: true }));
      assert.ok(status === 0 || (status >= 400 && status < 500), String(status));
    });
  }

  test('a slow head does not hold up others', async () => {
    const slow = sendBytes(server.url, 'GET / HTTP/1.1\r\nhost: a\r\n', { quietMs: 300 });
    assert.equal((await raw({ method: 'GET', path: '/?comp=list' })).status, 200);
    await slow;
  });

  test('a signed header that is sent twice gets 400', async () => {
    for (const name of ['content-type', 'if-match', 'range', 'content-md5']) {
      const request = { method: 'PUT', path: `${path()}?comp=metadata`, headers: { [name]: ['a', 'b'] } };
      const received = await sendBytes(server.url, headOf(server.url, request), { quietMs: 500 });
      const status = firstStatus(received);
      assert.ok(status === 400 || status === 403, `${name}: ${status}`);
    }
  });
});

describe('names and words', () => {
  for (const [what, target, want] of [
    ['a container of two letters', '/ab?restype=container', /^400 OutOfRangeInput$/],
    ['a container with a dot', '/a.b.c?restype=container', /^400 InvalidResourceName$/],
    [
      'a container with a broken escape',
      '/%zz%?restype=container',
      /^400 (InvalidUri|InvalidResourceName|RequestUrlFailedToParse)$/,
    ],
    [
      'a container with bytes that are no UTF-8',
      '/%ff%fe%fd?restype=container',
      /^400 (InvalidUri|InvalidResourceName|RequestUrlFailedToParse)$/,
    ],
  ] as const) {
    test(`${what} gets 400`, async () => {
      // Unsigned: what cannot be decoded cannot be signed either; the URI is read first.
      const request = what.includes('escape') || what.includes('bytes') ? { account: null } : {};
      const { outcome } = await raw({ method: 'PUT', path: target, ...request });
      assert.match(outcome, want);
    });
  }

  for (const [what, name] of [
    ['a NUL', '%00'],
    ['255 segments', Array.from({ length: 255 }, () => 'a').join('/')],
    ['1,025 characters', 'x'.repeat(1025)],
  ] as const) {
    test(`a blob name with ${what} gets 400`, async () => {
      const { outcome } = await raw({ method: 'PUT', path: path(name), headers: BLOCK_BLOB, body: 'x' });
      assert.match(outcome, /^400 (InvalidUri|InvalidResourceName|OutOfRangeInput)$/);
    });
  }

  for (const [what, name] of [
    ['a control character', 'a%1fb'],
    ['U+FFFF', 'a%EF%BF%BFb'],
  ] as const) {
    test(`a blob name with ${what} is refused, or listed in a form that XML can hold`, async () => {
      const own = await freshContainer(service);
      const target = `/${own.containerName}/${name}`;
      const { outcome } = await raw({ method: 'PUT', path: target, headers: BLOCK_BLOB, body: 'x' });
      if (outcome !== '201') {
        assert.match(outcome, /^400 (InvalidUri|InvalidResourceName)$/);
        return;
      }
      const { body } = await raw({ method: 'GET', path: `/${own.containerName}?restype=container&comp=list` });
      const encoded = /<Name Encoded="true">([^<]*)<\/Name>/.exec(body.toString())?.[1] ?? '';
      assert.equal(decodeURIComponent(encoded), decodeURIComponent(name), body.toString());
    });
  }

  for (const [method, target, want] of [
    ['GET', '/?comp=nonsense', /^400 /],
    ['GET', '/', /^400 /],
    ['PUT', `${path('x')}?comp=nonsense`, /^400 /],
    ['GET', `/${container.containerName}?restype=nonsense`, /^40[04] /],
    ['POST', path('witness'), /^40[05] /],
    ['PATCH', path('witness'), /^40[05] /],
    ['DELETE', '/?comp=list', /^40[05] /],
    ['PUT', '/?comp=list', /^40[05] /],
    ['GET', `${path('witness')}?timeout=soon`, /^400 InvalidQueryParameterValue$/],
    ['GET', `${path('witness')}?snapshot=never`, /^400 InvalidQueryParameterValue$/],
    ['PUT', `${path()}?comp=block&blockid=%21%21`, /^400 InvalidQueryParameterValue$/],
    ['PUT', `${path()}?comp=block`, /^400 /],
    ['GET', `${path('witness')}?comp=blocklist&blocklisttype=x`, /^400 InvalidQueryParameterValue$/],
  ] as const) {
    test(`${method} ${target.replace(container.containerName, 'container').replace(/[0-9a-f-]{36}/, 'blob')} gets a 4xx`, async () => {
      const body = method === 'PUT' ? { body: 'x' } : {};
      const { outcome } = await raw({ method, path: target, ...body });
      assert.match(outcome, want);
    });
  }

  test('a method that nobody knows gets a 4xx', async () => {
    const head = headOf(server.url, { method: 'BREW', path: path('witness') });
    const status = firstStatus(await sendBytes(server.url, head));
    assert.ok(status >= 400 && status < 500, String(status));
  });
});

describe('values of headers', () => {
  for (const [what, headers, want] of [
    ['a date that is none', { 'if-modified-since': 'yesterday' }, '400 InvalidHeaderValue'],
    ['a lease id that is none', { 'x-ms-lease-id': 'mine' }, '400 InvalidHeaderValue'],
    ['a content length on a block blob', { 'x-ms-blob-content-length': 'x' }, '400 InvalidHeaderValue'],
    ['an MD5 that is none', { 'content-md5': '%%%' }, '400 InvalidMd5'],
  ] as const) {
    test(`${what} gets 400`, async () => {
      const request = { method: 'PUT', path: path(), headers: { ...BLOCK_BLOB, ...headers }, body: 'x' };
      assert.equal((await raw(request)).outcome, want);
    });
  }

  test('a range in odd forms never gets a 5xx, and never other bytes than were asked for', async () => {
    for (const range of [
      'bytes=-5',
      'bytes=5-2',
      'bytes=a-b',
      'bytes=0-1,3-4',
      'items=0-1',
      'bytes=',
      'bytes=99999999999999999999-',
    ]) {
      const { status, body } = await raw({ method: 'GET', path: path('witness'), headers: { 'x-ms-range': range } });
      assert.ok([200, 400, 416].includes(status), `${range}: ${status}`);
      if (status === 200) assert.equal(body.toString(), 'still here', range);
    }
  });
});
