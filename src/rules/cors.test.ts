import assert from 'node:assert/strict';
import test from 'node:test';
import { type CorsRule, corsResponseHeaders, matchPreflight, refuseCorsRules } from './cors.ts';

const rule = (changes: Partial<CorsRule>): CorsRule => ({
  allowedOrigins: ['http://a.example'],
  allowedMethods: ['GET', 'PUT'],
  allowedHeaders: ['x-ms-meta-*', 'content-type'],
  exposedHeaders: ['x-ms-request-id', 'ETag'],
  maxAgeSeconds: 200,
  ...changes,
});
const EXACT = rule({});
const ANY = rule({ allowedOrigins: ['*'], maxAgeSeconds: 5 });

// ---- preflight

const NO_MATCH = { refusal: 'CorsPreflightFailure' };
const granted = (headers: Record<string, string>) => ({ headers: Object.entries(headers).flat() });

for (const [what, rules, request, want] of [
  [
    'no Origin',
    [ANY],
    { origin: null, method: 'GET', headers: [] },
    { refusal: 'InvalidHeaderValue', header: 'Origin' },
  ],
  [
    'an empty Origin',
    [ANY],
    { origin: '', method: 'GET', headers: [] },
    { refusal: 'InvalidHeaderValue', header: 'Origin' },
  ],
  [
    'no method',
    [ANY],
    { origin: 'http://a.example', method: null, headers: [] },
    { refusal: 'InvalidHeaderValue', header: 'Access-Control-Request-Method' },
  ],
  [
    'an unknown method',
    [ANY],
    { origin: 'http://a.example', method: 'FETCH', headers: [] },
    { refusal: 'InvalidHeaderValue', header: 'Access-Control-Request-Method' },
  ],
  ['no rules', [], { origin: 'http://a.example', method: 'GET', headers: [] }, NO_MATCH],
  ['another origin', [EXACT], { origin: 'http://b.example', method: 'GET', headers: [] }, NO_MATCH],
  ['an origin in other case', [EXACT], { origin: 'http://A.example', method: 'GET', headers: [] }, NO_MATCH],
  ['another method', [EXACT], { origin: 'http://a.example', method: 'DELETE', headers: [] }, NO_MATCH],
  ['another header', [EXACT], { origin: 'http://a.example', method: 'GET', headers: ['x-other'] }, NO_MATCH],
  [
    'a header that only a later rule allows',
    [EXACT, rule({ allowedHeaders: ['*'] })],
    { origin: 'http://a.example', method: 'GET', headers: ['x-other'] },
    NO_MATCH,
  ],
  [
    'a method that only a later rule allows',
    [EXACT, rule({ allowedMethods: ['DELETE'], maxAgeSeconds: 7 })],
    { origin: 'http://a.example', method: 'DELETE', headers: [] },
    granted({
      'Access-Control-Allow-Origin': 'http://a.example',
      'Access-Control-Allow-Credentials': 'true',
      'Access-Control-Allow-Methods': 'DELETE',
      'Access-Control-Max-Age': '7',
    }),
  ],
  [
    'its origin named',
    [EXACT, ANY],
    { origin: 'http://a.example', method: 'PUT', headers: ['Content-Type', 'X-MS-Meta-Name'] },
    granted({
      'Access-Control-Allow-Origin': 'http://a.example',
      'Access-Control-Allow-Credentials': 'true',
      'Access-Control-Allow-Methods': 'PUT',
      'Access-Control-Allow-Headers': 'Content-Type,X-MS-Meta-Name',
      'Access-Control-Max-Age': '200',
    }),
  ],
  [
    'any origin allowed',
    [ANY],
    { origin: 'http://b.example', method: 'GET', headers: [] },
    granted({
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': 'GET',
      'Access-Control-Max-Age': '5',
    }),
  ],
] as const) {
  test(`a preflight with ${what} gets ${'refusal' in want ? want.refusal : 'its headers'}`, () =>
    assert.deepEqual(matchPreflight(rules, request), want));
}

for (const [allowed, origin, want] of [
  ['http://*.contoso.com', 'http://a.contoso.com', true],
  ['http://*.contoso.com', 'http://a.b.contoso.com', true],
  ['http://*.contoso.com', 'http://contoso.com', false],
  ['http://*.contoso.com', 'http://.contoso.com', false],
  ['http://*.contoso.com', 'https://a.contoso.com', false],
  ['http://*.contoso.com', 'http://a.contoso.com:8080', false],
  ['http://*.contoso.com', 'http://acontoso.com', false],
  ['http://*.contoso.com', 'http://evil.example/.contoso.com', false],
  ['http://*.contoso.com', 'http://a.contoso.com.evil.example', false],
  ['http://*', 'http://a.example', false],
  ['http://*.*.contoso.com', 'http://a.b.contoso.com', false],
  ['*', 'null', true],
] as const) {
  test(`the rule's origin ${allowed} ${want ? 'lets in' : 'keeps out'} ${origin}`, () => {
    const result = matchPreflight([rule({ allowedOrigins: [allowed] })], { origin, method: 'GET', headers: [] });
    assert.equal('headers' in result, want);
  });
}

// ---- actual requests

const ORIGIN = 'http://a.example';
const OTHER = rule({ allowedOrigins: ['http://other.example'] });
const VARY = ['Vary', 'Origin'];
const EXPOSE = ['Access-Control-Expose-Headers', 'x-ms-request-id,ETag'];
const ALLOW_ANY = ['Access-Control-Allow-Origin', '*'];
const ALLOW_ORIGIN = ['Access-Control-Allow-Origin', ORIGIN, 'Access-Control-Allow-Credentials', 'true'];

for (const [what, origin, rules, want] of [
  ['no Origin, no rules', null, [], []],
  ['no Origin, rules without *', null, [EXACT], VARY],
  ['no Origin, a rule with *', null, [EXACT, ANY], [...ALLOW_ANY, ...EXPOSE]],
  ['an Origin, no rules', ORIGIN, [], []],
  ['an Origin, a rule that names it', ORIGIN, [OTHER, EXACT], [...VARY, ...ALLOW_ORIGIN, ...EXPOSE]],
  ['an Origin, no rule for it', ORIGIN, [OTHER], VARY],
  ['an Origin, a rule with *', ORIGIN, [OTHER, ANY], [...ALLOW_ANY, ...EXPOSE]],
] as const) {
  test(`the answer to a GET with ${what} carries ${JSON.stringify(want)}`, () =>
    assert.deepEqual(corsResponseHeaders(rules, { origin, method: 'GET' }), want));
}

test('Vary is for GET and HEAD only', () => {
  const rules = [rule({ allowedMethods: ['GET', 'HEAD', 'PUT'] })];
  const varies = (method: string) => corsResponseHeaders(rules, { origin: ORIGIN, method }).includes('Vary');
  assert.deepEqual(['GET', 'HEAD', 'PUT', 'DELETE'].map(varies), [true, true, false, false]);
});

test('a request with a method that the rule does not name gets no origin back', () => {
  assert.deepEqual(corsResponseHeaders([EXACT], { origin: ORIGIN, method: 'DELETE' }), []);
});

test('a rule that exposes nothing sends no Expose-Headers', () => {
  const headers = corsResponseHeaders([rule({ exposedHeaders: [] })], { origin: ORIGIN, method: 'PUT' });
  assert.deepEqual(headers, ALLOW_ORIGIN);
});

// ---- limits

const names = (count: number, suffix = '') => Array.from({ length: count }, (_, index) => `h${index}${suffix}`);

/** Seven origins of 255 characters, an eighth for the rest, commas, `GET` and `0`. */
const ruleOfLength = (length: number) =>
  rule({
    allowedOrigins: [...Array<string>(7).fill('o'.repeat(255)), 'o'.repeat(length - 7 * 256 - 'GET0'.length)],
    allowedMethods: ['GET'],
    allowedHeaders: [],
    exposedHeaders: [],
    maxAgeSeconds: 0,
  });

for (const [what, rules, want] of [
  ['no rules', [], null],
  ['five rules', Array(5).fill(EXACT), null],
  ['six rules', Array(6).fill(EXACT), 'InvalidXmlDocument'],
  ['64 origins', [rule({ allowedOrigins: names(64) })], null],
  ['65 origins', [rule({ allowedOrigins: names(65) })], 'InvalidXmlNodeValue'],
  ['no origin', [rule({ allowedOrigins: [] })], 'InvalidXmlNodeValue'],
  ['an empty origin', [rule({ allowedOrigins: [''] })], 'InvalidXmlNodeValue'],
  ['an origin of 256 characters', [rule({ allowedOrigins: ['o'.repeat(256)] })], null],
  ['an origin of 257 characters', [rule({ allowedOrigins: ['o'.repeat(257)] })], 'InvalidXmlNodeValue'],
  ['one method', [rule({ allowedMethods: ['GET'] })], null],
  ['no method', [rule({ allowedMethods: [] })], 'InvalidXmlNodeValue'],
  [
    'every method',
    [rule({ allowedMethods: ['DELETE', 'GET', 'HEAD', 'MERGE', 'PATCH', 'POST', 'OPTIONS', 'PUT'] })],
    null,
  ],
  ['an unknown method', [rule({ allowedMethods: ['GET', 'TRACE'] })], 'InvalidXmlNodeValue'],
  ['no headers', [rule({ allowedHeaders: [], exposedHeaders: [] })], null],
  ['64 literal and 2 prefixed headers', [rule({ allowedHeaders: [...names(64), ...names(2, '*')] })], null],
  ['65 literal headers', [rule({ allowedHeaders: names(65) })], 'InvalidXmlNodeValue'],
  ['3 prefixed headers', [rule({ exposedHeaders: names(3, '*') })], 'InvalidXmlNodeValue'],
  ['a header of 256 characters', [rule({ exposedHeaders: ['h'.repeat(256)] })], null],
  ['a header of 257 characters', [rule({ exposedHeaders: ['h'.repeat(257)] })], 'InvalidXmlNodeValue'],
  ['a max age of 0', [rule({ maxAgeSeconds: 0 })], null],
  ['a negative max age', [rule({ maxAgeSeconds: -1 })], 'InvalidXmlNodeValue'],
  ['a max age that is no number', [rule({ maxAgeSeconds: Number.NaN })], 'InvalidXmlNodeValue'],
  ['2 KiB in all', [ruleOfLength(2048)], null],
  ['a character more', [ruleOfLength(2049)], 'InvalidXmlDocument'],
  [
    'over 2 KiB in several',
    Array(4).fill(rule({ allowedOrigins: Array(3).fill('o'.repeat(200)) })),
    'InvalidXmlDocument',
  ],
] as const) {
  test(`CORS rules with ${what} get ${want}`, () => assert.equal(refuseCorsRules(rules), want));
}
