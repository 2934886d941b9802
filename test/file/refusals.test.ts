/** Requests on files and directories that are refused: each with its code, and the server goes on with nothing changed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, describe, test } from 'node:test';
import { FileSystemAttributes } from '@azure/storage-file-share';
import { outcome, refusal } from '../harness/clients.ts';
import { freshShare, shareService } from '../harness/file-clients.ts';
import { firstStatus, headOf, type RawRequest, send, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const share = await freshShare(server);
const CONTENT = 'witness of what must not change';
const { fileClient: witness } = await share.createFile('file', CONTENT.length);
await witness.uploadRange(CONTENT, 0, CONTENT.length);
await share.createDirectory('dir');
const { etag } = await witness.getProperties();

const raw = (request: RawRequest) => send(server.fileUrl, request);
const MIB = 1024 ** 2;

afterEach(async () => {
  assert.equal((await witness.downloadToBuffer()).toString(), CONTENT);
  assert.equal((await witness.getProperties()).etag, etag, 'nothing of it was done');
});

type Headers = Readonly<Record<string, string>>;

const CREATE = { 'x-ms-type': 'file', 'x-ms-content-length': '31' } as const;
const create = (headers: Headers, { path = 'file', body = '' }: { path?: string; body?: string | Uint8Array } = {}) =>
  raw({ method: 'PUT', path: `/${share.name}/${path}`, headers, body });

const without = (headers: Headers, name: string): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));

describe('Create File', () => {
  for (const [why, headers, want] of [
    ['no type', without(CREATE, 'x-ms-type'), '400 MissingRequiredHeader'],
    ['another type', { ...CREATE, 'x-ms-type': 'directory' }, '400 InvalidHeaderValue'],
    ['no length', without(CREATE, 'x-ms-content-length'), '400 MissingRequiredHeader'],
    ['a length below zero', { ...CREATE, 'x-ms-content-length': '-1' }, '400 OutOfRangeInput'],
    ['a length above 4 TiB', { ...CREATE, 'x-ms-content-length': '4398046511105' }, '400 OutOfRangeInput'],
    ['a length that is no number', { ...CREATE, 'x-ms-content-length': 'long' }, '400 InvalidHeaderValue'],
    ['unknown attributes', { ...CREATE, 'x-ms-file-attributes': 'Shiny' }, '400 InvalidHeaderValue'],
    ['the attribute of directories', { ...CREATE, 'x-ms-file-attributes': 'Directory' }, '400 InvalidHeaderValue'],
    ['a time that is none', { ...CREATE, 'x-ms-file-creation-time': 'today' }, '400 InvalidHeaderValue'],
    ['a permission that is none', { ...CREATE, 'x-ms-file-permission': 'everybody' }, '400'],
    [
      'a permission and a key',
      { ...CREATE, 'x-ms-file-permission': 'inherit', 'x-ms-file-permission-key': '1*1' },
      '400 InvalidHeaderValue',
    ],
    ['a lease id that is none', { ...CREATE, 'x-ms-lease-id': 'mine' }, '400 InvalidHeaderValue'],
    ['an MD5 that is none', { ...CREATE, 'x-ms-content-md5': '!' }, '400 InvalidMd5'],
    ['metadata of no name', { ...CREATE, 'x-ms-meta-': 'x' }, '400 EmptyMetadataKey'],
    ['metadata of a bad name', { ...CREATE, 'x-ms-meta-a-b': 'x' }, '400 InvalidMetadata'],
    ['metadata of 9 KiB', { ...CREATE, 'x-ms-meta-long': 'x'.repeat(9 * 1024) }, '400 MetadataTooLarge'],
    ['an owner as NFS has', { ...CREATE, 'x-ms-owner': '1000' }, '400 UnsupportedHeader'],
    ['a condition', { ...CREATE, 'if-none-match': '*' }, '400 ConditionHeadersNotSupported'],
    ['another condition', { ...CREATE, 'if-match': etag as string }, '400 ConditionHeadersNotSupported'],
  ] as const) {
    test(`with ${why} gets ${want}`, async () => {
      const answer = await create(headers);
      assert.equal(want === '400' ? String(answer.status) : answer.outcome, want);
    });
  }

  const STRICT = {
    ...CREATE,
    'x-ms-version': '2019-02-02',
    'x-ms-file-attributes': 'None',
    'x-ms-file-creation-time': 'now',
    'x-ms-file-last-write-time': 'now',
    'x-ms-file-permission': 'inherit',
  } as const;
  for (const name of Object.keys(STRICT).filter((each) => each.startsWith('x-ms-file-'))) {
    test(`of 2019 without ${name} gets 400`, async () => {
      assert.equal((await create(without(STRICT, name))).outcome, '400 MissingRequiredHeader');
      assert.equal((await create(STRICT, { path: `strict ${name}`.replaceAll(' ', '%20') })).outcome, '201');
    });
  }

  test('with bytes is refused before it took any, and where they are too many or not what they should be', async () => {
    const NEW = { ...CREATE, 'x-ms-version': '2026-06-06' };
    assert.equal((await create(CREATE, { body: 'x' })).outcome, '400 InvalidHeaderValue');
    assert.equal((await create(NEW, { body: 'x'.repeat(32) })).outcome, '400 InvalidHeaderValue');
    const long = { ...NEW, 'x-ms-content-length': String(5 * MIB) };
    assert.equal((await create(long, { body: Buffer.alloc(4 * MIB + 1) })).outcome, '413 RequestBodyTooLarge');
    const md5 = createHash('md5').update('y').digest('base64');
    assert.equal((await create({ ...NEW, 'content-md5': md5 }, { body: 'x' })).outcome, '400 Md5Mismatch');
    assert.equal((await create({ ...NEW, 'content-md5': 'x' }, { body: 'x' })).outcome, '400 InvalidMd5');
    const framed = { ...NEW, 'x-ms-structured-body': 'XSM/1.0; properties=crc64' };
    assert.equal((await create(framed, { body: 'x' })).outcome, '501 NotImplemented');
  });

  test('where something else is, or nothing to be in, is refused', async () => {
    assert.equal((await create(CREATE, { path: 'dir' })).outcome, '409 ResourceTypeMismatch');
    assert.equal((await create(CREATE, { path: 'nowhere/file' })).outcome, '404 ParentNotFound');
    assert.equal((await create(CREATE, { path: 'file/below' })).outcome, '404 ParentNotFound');
    const lost = { method: 'PUT', path: '/no-such-share/file', headers: CREATE };
    assert.equal((await raw(lost)).outcome, '404 ShareNotFound');
  });
});

describe('a path', () => {
  const deep = Array.from({ length: 251 }, () => 'd').join('/');
  for (const [why, path, want] of [
    ['a reserved name', 'con', '400 InvalidResourceName'],
    ['a reserved name in capitals', 'LPT9', '400 InvalidResourceName'],
    ['a clock', 'clock$', '400 InvalidResourceName'],
    ['a backslash', 'a%5Cb', '400 InvalidResourceName'],
    ['a colon', 'a%3Ab', '400 InvalidResourceName'],
    ['a star', '*', '400 InvalidResourceName'],
    ['a question mark', 'a%3Fb', '400 InvalidResourceName'],
    ['quotes', '%22a%22', '400 InvalidResourceName'],
    ['a control character', 'a%01b', '400 InvalidResourceName'],
    ['a slash at the end of a file', 'file/', '400 InvalidResourceName'],
    ['an empty name within', 'dir//file', '400 InvalidResourceName'],
    ['nothing but dots', '...', '400 InvalidResourceName'],
    ['a name of 256', 'x'.repeat(256), '400 InvalidFileOrDirectoryPathName'],
    ['251 names', deep, '400 InvalidFileOrDirectoryPathName'],
    ['bytes that are no text', '%ff', '400 InvalidUri'],
  ] as const) {
    test(`with ${why} gets ${want}`, async () => {
      assert.equal((await create(CREATE, { path })).outcome, want);
    });
  }

  test('with a name of 255 is taken', async () => {
    assert.equal((await create(CREATE, { path: 'x'.repeat(255) })).outcome, '201');
    assert.equal((await create(CREATE, { path: encodeURIComponent('ü'.repeat(255)) })).outcome, '201');
  });
});

const put = (headers: Headers, body: string | Uint8Array = '', path = 'file') =>
  raw({ method: 'PUT', path: `/${share.name}/${path}?comp=range`, headers, body });
const get = (headers: Headers, path = 'file') => raw({ method: 'GET', path: `/${share.name}/${path}`, headers });

describe('Put Range', () => {
  const UPDATE = { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-4' } as const;
  const CLEAR = { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-4' } as const;
  const md5 = createHash('md5').update('Hello').digest('base64');

  for (const [why, headers, body, want] of [
    ['no word', without(UPDATE, 'x-ms-write'), 'Hello', '400 MissingRequiredHeader'],
    ['an unknown word', { ...UPDATE, 'x-ms-write': 'append' }, 'Hello', '400 InvalidHeaderValue'],
    ['no range', without(UPDATE, 'x-ms-range'), 'Hello', '400 MissingRequiredHeader'],
    ['a range without an end', { ...UPDATE, 'x-ms-range': 'bytes=0-' }, 'Hello', '400 InvalidHeaderValue'],
    ['a range of another length', { ...UPDATE, 'x-ms-range': 'bytes=0-5' }, 'Hello', '400 InvalidHeaderValue'],
    ['a range past the end', { ...UPDATE, 'x-ms-range': 'bytes=27-31' }, 'Hello', '416 InvalidRange'],
    ['another MD5', { ...UPDATE, 'content-md5': md5 }, 'World', '400 Md5Mismatch'],
    ['an MD5 that is none', { ...UPDATE, 'content-md5': 'Hello' }, 'Hello', '400 InvalidMd5'],
    ['a frame', { ...UPDATE, 'x-ms-structured-body': 'XSM/1.0' }, 'Hello', '501 NotImplemented'],
    ['a time', { ...UPDATE, 'x-ms-file-last-write-time': 'then' }, 'Hello', '400 InvalidHeaderValue'],
    ['a condition', { ...UPDATE, 'if-match': '"0x1"' }, 'Hello', '400 ConditionHeadersNotSupported'],
    ['a lease id that is none', { ...UPDATE, 'x-ms-lease-id': '1' }, 'Hello', '400 InvalidHeaderValue'],
    ['bytes to clear', CLEAR, 'Hello', '400 InvalidHeaderValue'],
    ['the MD5 of zeros', { ...CLEAR, 'content-md5': md5 }, '', '400 InvalidHeaderValue'],
    ['zeros past the end', { ...CLEAR, 'x-ms-range': 'bytes=0-31' }, '', '416 InvalidRange'],
  ] as const) {
    test(`with ${why} gets ${want}`, async () => {
      assert.equal((await put(headers, body)).outcome, want);
    });
  }

  test('of more than 4 MiB gets 413', async () => {
    const headers = { ...UPDATE, 'x-ms-range': `bytes=0-${4 * MIB}` };
    assert.equal((await put(headers, Buffer.alloc(4 * MIB + 1))).outcome, '413 RequestBodyTooLarge');
  });

  test('of an unknown length gets 411', async () => {
    const headers = { ...UPDATE, 'transfer-encoding': 'chunked' };
    const head = headOf(server.fileUrl, { method: 'PUT', path: `/${share.name}/file?comp=range`, headers });
    assert.equal(firstStatus(await sendBytes(server.fileUrl, `${head}5\r\nHello\r\n0\r\n\r\n`, { quietMs: 500 })), 411);
  });

  test('of what is no file gets 404 or 409', async () => {
    assert.equal((await put(UPDATE, 'Hello', 'lost')).outcome, '404 ResourceNotFound');
    assert.equal((await put(UPDATE, 'Hello', 'lost/file')).outcome, '404 ParentNotFound');
    assert.equal((await put(UPDATE, 'Hello', 'dir')).outcome, '409 ResourceTypeMismatch');
  });
});

describe('Get File', () => {
  test('from the end on gets 416, with how long the file is', async () => {
    const answer = await get({ range: 'bytes=31-' });
    assert.equal(answer.outcome, '416 InvalidRange');
    assert.equal(answer.headers['content-range'], 'bytes */31');
  });

  test('with the MD5 of a range needs a range, of 4 MiB at most', async () => {
    const hash = { 'x-ms-range-get-content-md5': 'true' };
    assert.equal((await get(hash)).outcome, '400 InvalidHeaderValue');
    assert.equal((await get({ ...hash, range: 'bytes=0-4' })).outcome, '206');
    await share.createFile('long', 5 * MIB);
    assert.equal((await get({ ...hash, range: `bytes=0-${4 * MIB - 1}` }, 'long')).outcome, '206');
    assert.equal((await get({ ...hash, range: `bytes=0-${4 * MIB}` }, 'long')).outcome, '400 InvalidHeaderValue');
  });

  test('of a body with checksums is not offered', async () => {
    assert.equal((await get({ 'x-ms-structured-body': 'XSM/1.0; properties=crc64' })).outcome, '501 NotImplemented');
  });

  test('by HEAD has its code in a header', async () => {
    const answer = await raw({ method: 'HEAD', path: `/${share.name}/lost` });
    assert.deepEqual([answer.outcome, answer.body.length], ['404 ResourceNotFound', 0]);
  });
});

describe('Set File Properties', () => {
  for (const [why, headers, want] of [
    ['a length below zero', { 'x-ms-content-length': '-1' }, '400 OutOfRangeInput'],
    ['attributes that are none', { 'x-ms-file-attributes': 'ReadWrite' }, '400 InvalidHeaderValue'],
    ['None beside another', { 'x-ms-file-attributes': 'None|Hidden' }, '400 InvalidHeaderValue'],
    ['no properties at all, as of 2019', { 'x-ms-version': '2019-12-12' }, '400 MissingRequiredHeader'],
    ['a condition', { 'if-unmodified-since': new Date().toUTCString() }, '400 ConditionHeadersNotSupported'],
  ] as const) {
    test(`with ${why} gets ${want}`, async () => {
      const path = `/${share.name}/file?comp=properties`;
      assert.equal((await raw({ method: 'PUT', path, headers })).outcome, want);
    });
  }
});

describe('a snapshot', () => {
  test('that was never taken is not there, and one that is no time is no snapshot', async () => {
    const unknown = await get({}, 'file?sharesnapshot=2001-01-01T00:00:00.0000000Z');
    assert.equal(unknown.outcome, '404 ShareNotFound');
    assert.equal((await get({}, 'file?sharesnapshot=yesterday')).outcome, '400 InvalidQueryParameterValue');
  });

  for (const [method, query] of [
    ['PUT', ''],
    ['PUT', 'comp=properties&'],
    ['PUT', 'comp=metadata&'],
    ['PUT', 'comp=range&'],
    ['PUT', 'comp=lease&'],
    ['PUT', 'comp=rename&'],
    ['DELETE', ''],
    ['PUT', 'restype=directory&'],
    ['PUT', 'restype=directory&comp=properties&'],
    ['PUT', 'restype=directory&comp=metadata&'],
    ['DELETE', 'restype=directory&'],
  ] as const) {
    test(`is not written: ${method} ?${query}`, async () => {
      const { snapshot } = await share.createSnapshot();
      server.clock.advance({ seconds: 1 });
      const path = `/${share.name}/file?${query}sharesnapshot=${encodeURIComponent(snapshot as string)}`;
      assert.equal((await raw({ method, path, headers: CREATE })).outcome, '400 InvalidQueryParameterValue');
    });
  }
});

describe('what does not exist', () => {
  for (const [method, query, want] of [
    ['PUT', 'comp=page', '400 InvalidQueryParameterValue'],
    ['GET', 'comp=rename', '405 UnsupportedHttpVerb'],
    ['POST', '', '405 UnsupportedHttpVerb'],
    ['PATCH', 'comp=range', '405 UnsupportedHttpVerb'],
    ['PUT', 'restype=symboliclink', '400 InvalidQueryParameterValue'],
    ['PUT', 'restype=hardlink', '400 InvalidQueryParameterValue'],
    ['PUT', 'restype=directory&comp=range', '400 InvalidQueryParameterValue'],
  ] as const) {
    test(`as ${method} ?${query} gets ${want}`, async () => {
      assert.equal((await raw({ method, path: `/${share.name}/file?${query}` })).outcome, want);
    });
  }
});

test('a read-only file is not written, deleted or replaced, until somebody takes the mark off it', async () => {
  const { fileClient: file } = await share.createFile('read-only', 10);
  const attributes = new FileSystemAttributes();
  attributes.readonly = true;
  await file.setProperties({ fileAttributes: attributes });
  for (const write of [
    () => file.uploadRange('x', 0, 1),
    () => file.clearRange(0, 1),
    () => file.setMetadata({}),
    () => file.setHttpHeaders({ fileContentType: 'text/plain' }),
    () => file.resize(5),
    () => file.create(10),
  ]) {
    assert.equal(await refusal(write()), '409 ReadOnlyAttribute');
  }
  assert.match(await outcome(file.getProperties()), /^ok$/);
  const normal = new FileSystemAttributes();
  normal.archive = true;
  await file.setProperties({ fileAttributes: normal });
  assert.equal(await outcome(file.uploadRange('x', 0, 1)), 'ok');
});

test('a share takes no more than its quota, and empty files still', async () => {
  const GIB = 1024 ** 3;
  const { shareClient: small } = await shareService(server).createShare(`quota-${Date.now()}`, { quota: 1 });
  const { fileClient: file } = await small.createFile('file', GIB - 1);
  assert.equal(await refusal(small.createFile('other', 2)), '409 ShareSizeLimitReached');
  assert.equal(await refusal(file.resize(GIB + 1)), '409 ShareSizeLimitReached');
  await file.resize(GIB);
  await small.createFile('empty', 0);
  await file.delete();
  await small.createFile('other', GIB);
});
