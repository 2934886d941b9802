import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import { requireRange } from '../written-range.ts';
import {
  parseChangedContentHeaders,
  parseContentHeaders,
  parseFileLength,
  refuseNfsHeaders,
  requireFileLength,
} from './request-headers.ts';

type Headers = Readonly<Record<string, string>>;

const asked = (headers: Headers) => ({ header: (name: string) => headers[name] ?? null });

/** What was read, or the code of the refusal with the header that it names. */
function outcome(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return `${error.code} ${error.details.elements?.['HeaderName']}`;
  }
}

describe('the length of a file', () => {
  for (const [text, want] of [
    ['0', 0],
    ['1099511627776', 1024 ** 4],
    ['4398046511104', 4 * 1024 ** 4],
    ['4398046511105', 'OutOfRangeInput x-ms-content-length'],
    ['-1', 'OutOfRangeInput x-ms-content-length'],
    ['9223372036854775807', 'OutOfRangeInput x-ms-content-length'],
    ['', 'InvalidHeaderValue x-ms-content-length'],
    ['1.5', 'InvalidHeaderValue x-ms-content-length'],
    ['0x10', 'InvalidHeaderValue x-ms-content-length'],
    ['99999999999999999999', 'InvalidHeaderValue x-ms-content-length'],
  ] as const) {
    test(`"${text}" is ${want}`, () => {
      assert.equal(
        outcome(() => parseFileLength(asked({ 'x-ms-content-length': text }))),
        want,
      );
    });
  }

  test('is needed where a file is created, and may be left away where one is changed', () => {
    assert.equal(
      outcome(() => requireFileLength(asked({}))),
      'MissingRequiredHeader x-ms-content-length',
    );
    assert.equal(parseFileLength(asked({})), null);
  });
});

describe('the content headers', () => {
  const PLAIN = {
    'content-type': 'text/plain',
    'content-md5': 'ixqZU8RhEpaoJ6v4xHgE1w==',
    'cache-control': 'no-store',
  };

  test('of a request itself count only where they may, and its MD5 never: that is of its body', () => {
    assert.deepEqual(parseContentHeaders(asked(PLAIN), { plain: true }), {
      contentType: 'text/plain',
      cacheControl: 'no-store',
    });
    assert.deepEqual(parseContentHeaders(asked(PLAIN), { plain: false }), {});
  });

  test('of the file come before those of the request', () => {
    const headers = { ...PLAIN, 'x-ms-content-type': 'text/html' };
    assert.equal(parseContentHeaders(asked(headers), { plain: true }).contentType, 'text/html');
  });

  test('are changed together: one that is named unsets those that are not', () => {
    assert.deepEqual(parseChangedContentHeaders(asked({ 'x-ms-cache-control': 'no-cache' })), {
      cacheControl: 'no-cache',
    });
    assert.deepEqual(parseChangedContentHeaders(asked({ 'x-ms-content-language': '' })), {});
    assert.equal(parseChangedContentHeaders(asked(PLAIN)), null);
  });

  test('take any Base64 for an MD5', () => {
    const short = parseContentHeaders(asked({ 'x-ms-content-md5': 'AQIDBA==' }), { plain: false });
    assert.equal(short.contentMd5, 'AQIDBA==');
    assert.equal(
      outcome(() => parseContentHeaders(asked({ 'x-ms-content-md5': 'no base64' }), { plain: false })),
      'InvalidMd5 x-ms-content-md5',
    );
  });
});

describe('the range of a write', () => {
  for (const [headers, want] of [
    [{ 'x-ms-range': 'bytes=0-4' }, { offsetBytes: 0, lengthBytes: 5 }],
    [{ range: 'bytes=511-512' }, { offsetBytes: 511, lengthBytes: 2 }],
    [
      { range: 'bytes=0-1', 'x-ms-range': 'bytes=7-7' },
      { offsetBytes: 7, lengthBytes: 1 },
    ],
    [{}, 'MissingRequiredHeader x-ms-range'],
    [{ 'x-ms-range': 'bytes=5-' }, 'InvalidHeaderValue x-ms-range'],
    [{ 'x-ms-range': 'bytes=5-4' }, 'InvalidHeaderValue x-ms-range'],
    [{ 'x-ms-range': '0-4', range: 'bytes=0-4' }, 'InvalidHeaderValue x-ms-range'],
    [{ range: 'bytes=0-4,6-7' }, 'InvalidHeaderValue Range'],
    [{ range: 'bytes=-5' }, 'InvalidHeaderValue Range'],
  ] as const satisfies readonly (readonly [Headers, unknown])[]) {
    test(`${JSON.stringify(headers)} is ${JSON.stringify(want)}`, () => {
      assert.deepEqual(
        outcome(() => requireRange(asked(headers))),
        want,
      );
    });
  }
});

for (const name of ['x-ms-mode', 'x-ms-owner', 'x-ms-group']) {
  test(`${name} is refused: it is for shares that NFS reads`, () => {
    assert.equal(
      outcome(() => refuseNfsHeaders(asked({ [name]: '0' }))),
      `UnsupportedHeader ${name}`,
    );
  });
}
