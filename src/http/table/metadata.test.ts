import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import type { RequestTarget } from '../exchange.ts';
import { parseQuery } from '../request-target.ts';
import { jsonHeaders, parseMetadataLevel, refuseContentType, serviceUrl } from './metadata.ts';

const target = (query: string): RequestTarget => ({
  rawPath: '/acme/people',
  account: 'acme',
  secondary: false,
  hostStyle: false,
  resourcePath: 'people',
  query: parseQuery(query),
});

const asked = (accept: string | null, query = '') => ({
  target: target(query),
  header: (name: string) => (name === 'accept' ? accept : null),
});

const sent = (type: string | null) => ({ header: (name: string) => (name === 'content-type' ? type : null) });

const isRefused = (code: string) => (error: unknown) => error instanceof StorageError && error.code === code;

describe('an answer is written as Accept asks:', () => {
  for (const [who, accept, want] of [
    ['nobody says anything', null, 'minimal'],
    ['an empty header', '', 'minimal'],
    [
      '@azure/data-tables, azure-storage for Node, .NET, Python, Java, Go',
      'application/json;odata=minimalmetadata',
      'minimal',
    ],
    ['.NET, asking for all', 'application/json;odata=fullmetadata', 'full'],
    ['azure-storage for Node, asking for little', 'application/json;odata=nometadata', 'none'],
    ['parts of a batch', 'application/json', 'minimal'],
    ['curl', '*/*', 'minimal'],
    ['fetch', 'application/*', 'minimal'],
    ['axios', 'application/json, text/plain, */*', 'minimal'],
    ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'minimal'],
    ['spaces', ' application/json ; odata = fullmetadata ', 'full'],
    ['upper case', 'Application/JSON;OData=NoMetadata', 'none'],
    ['other parameters around', 'application/json;charset=utf-8;odata=nometadata;streaming=true', 'none'],
    ['quotes', 'application/json;odata="fullmetadata"', 'full'],
    ['other parameters alone', 'application/json;charset=utf-8', 'minimal'],
    ['two kinds of JSON, the first', 'application/json;odata=nometadata,application/json;odata=fullmetadata', 'none'],
    [
      'two kinds of JSON, the better',
      'application/json;odata=nometadata;q=0.5,application/json;odata=fullmetadata',
      'full',
    ],
    ['what is not wanted', 'application/json;odata=fullmetadata;q=0,*/*;q=0.1', 'minimal'],
    ['Atom, or else JSON', 'application/atom+xml,application/json;odata=nometadata;q=0.5', 'none'],
    ['verbose JSON, or else any', 'application/json;odata=verbose,application/json', 'minimal'],
  ] as const) {
    test(who, () => assert.equal(parseMetadataLevel(asked(accept)), want));
  }

  for (const [accept, code] of [
    ['application/atom+xml', 'AtomFormatNotSupported'],
    ['application/atom+xml,application/xml', 'AtomFormatNotSupported'],
    ['application/atomsvc+xml;q=0.8', 'AtomFormatNotSupported'],
    ['application/xml', 'MediaTypeNotSupported'],
    ['text/json', 'MediaTypeNotSupported'],
    ['application/jsonp', 'MediaTypeNotSupported'],
    ['application/json;odata=verbose', 'MediaTypeNotSupported'],
    ['application/json;odata=constructor', 'MediaTypeNotSupported'],
    ['application/json;odata=', 'MediaTypeNotSupported'],
    ['application/json;q=0', 'MediaTypeNotSupported'],
    ['nonsense', 'MediaTypeNotSupported'],
  ] as const) {
    test(`${accept} is refused as ${code}`, () =>
      assert.throws(() => parseMetadataLevel(asked(accept)), isRefused(code)));
  }
});

describe('$format comes before Accept:', () => {
  for (const [query, want] of [
    ['$format=application/json;odata=fullmetadata', 'full'],
    ['$format=application%2Fjson%3Bodata%3Dnometadata', 'none'],
    ['%24format=application/json;odata%3Dminimalmetadata', 'minimal'],
    ['$FORMAT=application/json;odata=fullmetadata', 'full'],
    ['$format=json', 'minimal'],
    ['$format=', 'minimal'],
  ] as const) {
    test(query, () => {
      assert.equal(parseMetadataLevel(asked('application/json;odata=fullmetadata', query)), want);
      assert.equal(parseMetadataLevel(asked('application/atom+xml', query)), want);
    });
  }

  for (const [query, code] of [
    ['$format=atom', 'AtomFormatNotSupported'],
    ['$format=application/atom%2Bxml', 'AtomFormatNotSupported'],
    ['$format=xml', 'MediaTypeNotSupported'],
  ] as const) {
    test(`${query} is refused as ${code}`, () =>
      assert.throws(() => parseMetadataLevel(asked('application/json', query)), isRefused(code)));
  }
});

describe('a body is taken as', () => {
  for (const type of [
    null,
    '',
    'application/json',
    'application/json;odata=nometadata',
    'application/json; charset=utf-8',
    'Application/Json ;odata=fullmetadata',
  ]) {
    test(`JSON: ${type}`, () => assert.doesNotThrow(() => refuseContentType(sent(type))));
  }

  for (const [type, code] of [
    ['application/atom+xml', 'AtomFormatNotSupported'],
    ['application/atom+xml;type=entry', 'AtomFormatNotSupported'],
    ['application/xml', 'MediaTypeNotSupported'],
    ['text/plain', 'MediaTypeNotSupported'],
    ['application/jsonx', 'MediaTypeNotSupported'],
    ['multipart/mixed; boundary=batch', 'MediaTypeNotSupported'],
  ] as const) {
    test(`nothing else: ${type} is refused as ${code}`, () =>
      assert.throws(() => refuseContentType(sent(type)), isRefused(code)));
  }
});

test('an answer says what it is', () => {
  assert.deepEqual(jsonHeaders('full').slice(0, 2), [
    'Content-Type',
    'application/json;odata=fullmetadata;streaming=true;charset=utf-8',
  ]);
});

for (const [what, parts, want] of [
  ['in the path', {}, 'http://example.org:10002/acme'],
  ['in the path, for the secondary', { secondary: true }, 'http://example.org:10002/acme-secondary'],
  ['in the host', { hostStyle: true }, 'http://example.org:10002'],
] as const) {
  test(`URLs in answers start with ${want} where the account stands ${what}`, () => {
    const exchange = { origin: 'http://example.org:10002', target: { ...target(''), ...parts } };
    assert.equal(serviceUrl(exchange), want);
  });
}
