import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_CONDITIONS } from '../rules/conditions.ts';
import { StorageError } from '../service/storage-error.ts';
import { parseSourceDemands } from './copy-source-headers.ts';
import type { Exchange } from './exchange.ts';

const parse = (headers: Readonly<Record<string, string>>) =>
  parseSourceDemands({ header: (name: string) => headers[name] ?? null } as unknown as Exchange);

const MD5 = 'XUFAKrxLKna5cZ2REBfFkg==';
const CRC64 = 'AAAAAAAAAAE=';

test('a copy that demands nothing of its source', () => {
  assert.deepEqual(parse({ 'if-match': '"own"', 'x-ms-if-tags': 'own', range: 'bytes=0-1', 'content-md5': MD5 }), {
    conditions: { ...NO_CONDITIONS, ifTags: null },
    ifTags: null,
    range: null,
    md5: null,
    crc64: null,
  });
});

test('every header of the source is read', () => {
  const demands = parse({
    'x-ms-source-if-match': '"0x1"',
    'x-ms-source-if-none-match': '*',
    'x-ms-source-if-modified-since': 'Thu, 01 Feb 2024 10:00:00 GMT',
    'x-ms-source-if-unmodified-since': 'Fri, 02 Feb 2024 10:00:00 GMT',
    'x-ms-source-if-tags': "a = 'b'",
    'x-ms-source-range': 'bytes=2-5',
    'x-ms-source-content-md5': MD5,
  });
  assert.deepEqual(demands, {
    conditions: {
      ifMatch: ['0x1'],
      ifNoneMatch: '*',
      ifModifiedSinceMs: Date.parse('2024-02-01T10:00:00Z'),
      ifUnmodifiedSinceMs: Date.parse('2024-02-02T10:00:00Z'),
      ifTags: demands.conditions.ifTags,
    },
    ifTags: "a = 'b'",
    range: { firstOffsetBytes: 2, lastOffsetBytes: 5 },
    md5: Buffer.from(MD5, 'base64'),
    crc64: null,
  });
  assert.notEqual(demands.conditions.ifTags, null);
  assert.deepEqual(parse({ 'x-ms-source-content-crc64': CRC64 }).crc64, Buffer.from(CRC64, 'base64'));
  assert.deepEqual(parse({ 'x-ms-source-range': 'bytes=7-' }).range, { firstOffsetBytes: 7, lastOffsetBytes: null });
});

test('empty headers are none', () => {
  const names = ['if-tags', 'range', 'content-md5', 'content-crc64'].map((name) => `x-ms-source-${name}`);
  const { conditions, ...rest } = parse(Object.fromEntries(names.map((name) => [name, ''])));
  assert.deepEqual(rest, { ifTags: null, range: null, md5: null, crc64: null });
  assert.equal(conditions.ifTags, null);
});

for (const [name, value, want] of [
  ['x-ms-source-if-modified-since', 'yesterday', 'InvalidHeaderValue'],
  ['x-ms-source-if-unmodified-since', '', 'InvalidHeaderValue'],
  ['x-ms-source-if-tags', 'a = b = c', 'InvalidHeaderValue'],
  ['x-ms-source-range', 'bytes=-5', 'InvalidHeaderValue'],
  ['x-ms-source-range', 'bytes=5-2', 'InvalidHeaderValue'],
  ['x-ms-source-range', 'bytes=0-1,3-4', 'InvalidHeaderValue'],
  ['x-ms-source-content-md5', CRC64, 'InvalidMd5'],
  ['x-ms-source-content-crc64', MD5, 'InvalidHeaderValue'],
] as const) {
  test(`${name}: ${value} is refused as ${want}`, () => {
    assert.throws(
      () => parse({ [name]: value }),
      (error) =>
        error instanceof StorageError && error.code === want && error.details.elements?.['HeaderName'] === name,
    );
  });
}

test('two hashes of one source are too many', () => {
  assert.throws(() => parse({ 'x-ms-source-content-md5': MD5, 'x-ms-source-content-crc64': CRC64 }), {
    code: 'BothCrc64AndMd5HeaderPresent',
  });
});
