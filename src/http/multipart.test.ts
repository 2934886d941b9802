import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { StorageError } from '../service/storage-error.ts';
import { type AnswerPart, parseBoundary, parseRequestParts, type RequestPart, renderAnswerParts } from './multipart.ts';

const PART = [
  '--b',
  'Content-Type: application/http',
  'Content-ID: 7',
  '',
  'DELETE /c/a HTTP/1.1',
  'x-ms-date: now',
  '',
];
const END = ['--b--', ''];

const parse = (lines: readonly string[], partCountMax = 256): RequestPart[] =>
  parseRequestParts(Buffer.from(lines.join('\r\n'), 'latin1'), { boundary: 'b', partCountMax });

const refused = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
  return 'taken';
};

describe('the boundary of a Content-Type', () => {
  for (const [contentType, boundary] of [
    ['multipart/mixed; boundary=batch_1', 'batch_1'],
    ['Multipart/Mixed;BOUNDARY=x', 'x'],
    ['multipart/mixed; boundary="a b"', 'a b'],
    ['multipart/mixed; charset=utf-8; boundary=x; more=1', 'x'],
    ['multipart/mixed; boundary================7==', '===============7=='],
    [`multipart/mixed; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
  ] as const) {
    test(`is read from ${contentType}`, () => assert.equal(parseBoundary(contentType), boundary));
  }

  for (const contentType of [
    null,
    '',
    'multipart/mixed',
    'multipart/mixed; boundary=',
    'multipart/mixed; boundary=""',
    'multipart/mixed; boundary="x',
    'multipart/mixed; boundary="ends with a blank "',
    'multipart/mixed; boundary=a{b}',
    `multipart/mixed; boundary=${'x'.repeat(71)}`,
    'multipart/form-data; boundary=x',
    'application/json; boundary=x',
    `multipart/mixed${'; '.repeat(100_000)}boundary`,
  ]) {
    test(`is refused of ${String(contentType).slice(0, 60)}`, () => {
      assert.match(
        refused(() => parseBoundary(contentType)),
        /^(InvalidHeaderValue|MissingRequiredHeader)$/,
      );
    });
  }
});

describe('a body of requests', () => {
  const expected: RequestPart = {
    contentId: '7',
    method: 'DELETE',
    url: '/c/a',
    headers: [['x-ms-date', 'now']],
  };

  for (const [what, lines] of [
    ['that ends with the last header', [...PART, ...END]],
    ['that ends with an empty line', [...PART, '', ...END]],
    ['behind an empty line', ['', ...PART, ...END]],
    ['with blanks behind its boundaries', ['--b \t', ...PART.slice(1), '--b-- ', '']],
    ['without a line break at the end', [...PART, '--b--']],
    ['of an explicit encoding', ['--b', 'content-transfer-encoding: Binary', ...PART.slice(1), ...END]],
    ['whose headers have blanks around their values', [...PART.slice(0, 5), 'x-ms-date:\t now ', '', ...END]],
  ] as const) {
    test(`${what} is read`, () => assert.deepEqual(parse(lines), [expected]));
  }

  test('is read in order, and names keep their case', () => {
    const second = [
      '--b',
      'Content-Type: application/http; msgtype=request',
      '',
      'PUT /c/b?comp=tier HTTP/1.1',
      'X-Ms-Y:',
      '',
    ];
    const put: RequestPart = { contentId: null, method: 'PUT', url: '/c/b?comp=tier', headers: [['X-Ms-Y', '']] };
    assert.deepEqual(parse([...PART, ...second, ...PART, ...END]), [expected, put, expected]);
  });

  test('may have as many parts as allowed, and not one more', () => {
    assert.equal(parse([...PART, ...PART, ...END], 2).length, 2);
    assert.equal(
      refused(() => parse([...PART, ...PART, ...PART, ...END], 2)),
      'InvalidInput',
    );
  });

  const head = PART.slice(0, 4);
  for (const [what, lines] of [
    ['nothing', []],
    ['no part', END],
    ['no last boundary', PART],
    ['another boundary', ['--c', ...PART.slice(1), '--c--', '']],
    ['a boundary that is longer', ['--bb', ...PART.slice(1), ...END]],
    ['a line of blanks before the boundary', [' ', ...PART, ...END]],
    ['text before the parts', ['hello', ...PART, ...END]],
    ['text behind the parts', [...PART, ...END, 'hello']],
    ['a part behind the last', [...PART, ...END, ...PART, ...END]],
    ['an empty part', ['--b', '', ...END]],
    ['two boundaries in a row', ['--b', ...PART, ...END]],
    ['a part without a request', ['--b', 'Content-Type: application/http', ...END]],
    ['a part without a request line', [...head, ...END]],
    ['a part of another type', ['--b', 'Content-Type: text/plain', ...PART.slice(3), ...END]],
    ['a part without a type', ['--b', ...PART.slice(3), ...END]],
    [
      'a nested multipart',
      ['--b', 'Content-Type: multipart/mixed; boundary=c', '', '--c', ...PART.slice(1), '--c--', ...END],
    ],
    ['a part in Base64', ['--b', 'Content-Transfer-Encoding: base64', ...PART.slice(1), ...END]],
    ['two ids for one part', ['--b', 'Content-ID: 1', ...PART.slice(1), ...END]],
    ['an id without text', ['--b', 'Content-Type: application/http', 'Content-ID:', ...PART.slice(3), ...END]],
    ['an id beyond ASCII', ['--b', 'Content-Type: application/http', 'Content-ID: \u00e9', ...PART.slice(3), ...END]],
    ['an address with a host', [...head, 'DELETE http://example.org/c/a HTTP/1.1', '', ...END]],
    ['an address with a blank', [...head, 'DELETE /c/a b HTTP/1.1', '', ...END]],
    ['a method in lower case', [...head, 'delete /c/a HTTP/1.1', '', ...END]],
    ['another protocol', [...head, 'DELETE /c/a HTTP/2', '', ...END]],
    ['a folded header', [...PART.slice(0, -1), ' and more', '', ...END]],
    ['a header without a colon', [...PART.slice(0, -1), 'x-ms-date', '', ...END]],
    ['a header without a name', [...PART.slice(0, -1), ': value', '', ...END]],
    ['a blank in a header name', [...PART.slice(0, -1), 'x-ms-date : now', '', ...END]],
    ['a bare LF', [...PART.slice(0, -1), 'a: b\nc: d', '', ...END]],
    ['a bare CR', [...PART.slice(0, -1), 'a: b\rc: d', '', ...END]],
    ['a NUL', [...PART.slice(0, -1), 'a: \u0000', '', ...END]],
    ['a body', [...PART, '', 'body', '', ...END]],
    ['a header of 64 KiB', [...PART.slice(0, -1), `a: ${'x'.repeat(64 * 1024)}`, '', ...END]],
    ['a hundred thousand headers', [...PART.slice(0, -1), ...Array<string>(100_000).fill('a: b'), '', ...END]],
    ['a hundred thousand empty lines in a part', [...PART, ...Array<string>(100_000).fill(''), ...END]],
  ] as const) {
    test(`with ${what} is refused`, () =>
      assert.equal(
        refused(() => parse(lines)),
        'InvalidInput',
      ));
  }

  test('with LF alone between its lines is refused', () => {
    const body = Buffer.from([...PART, ...END].join('\n'));
    assert.equal(
      refused(() => parseRequestParts(body, { boundary: 'b', partCountMax: 1 })),
      'InvalidInput',
    );
  });
});

const token = fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/);
const text = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);
const latin1 = fc.stringMatching(/^[!-~\u0080-\u00ff]([ -~\u0080-\u00ff]{0,20}[!-~\u0080-\u00ff])?$/);

const requestPart: fc.Arbitrary<RequestPart> = fc.record(
  {
    contentId: fc.option(text),
    method: fc.constantFrom('DELETE', 'PUT', 'GET'),
    url: fc.stringMatching(/^\/[!-~\u0080-\u00ff]{0,30}$/),
    headers: fc.array(fc.tuple(token, latin1), { maxLength: 5 }),
  },
  { noNullPrototype: true },
);

const renderRequest = ({ contentId, method, url, headers }: RequestPart, boundary: string): string =>
  [
    `--${boundary}`,
    'Content-Type: application/http',
    'Content-Transfer-Encoding: binary',
    ...(contentId === null ? [] : [`Content-ID: ${contentId}`]),
    '',
    `${method} ${url} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n');

/** Long enough not to stand in a random header. */
const boundaryOf = fc.stringMatching(/^batch_[0-9a-f]{12}$/);

test('whatever requests a client writes are read as written', () => {
  const parts = fc.array(requestPart, { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(parts, boundaryOf, (written, boundary) => {
      const body = `${written.map((part) => renderRequest(part, boundary)).join('')}--${boundary}--\r\n`;
      assert.deepEqual(parseRequestParts(Buffer.from(body, 'latin1'), { boundary, partCountMax: 8 }), written);
    }),
    seeded,
  );
});

test('a body that is cut, or changed in any place, is refused or read as requests: nothing else ever happens', () => {
  const whole = Buffer.from([...PART, '', ...PART, ...END].join('\r\n'));
  const change = fc.record({
    at: fc.nat(whole.length),
    remove: fc.nat(whole.length),
    insert: fc.uint8Array({ maxLength: 20 }),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      let body: Buffer = whole;
      for (const { at, remove, insert } of changes) {
        body = Buffer.concat([body.subarray(0, at), insert, body.subarray(at + remove)]);
      }
      const outcome = refused(() => {
        const parts = parseRequestParts(body, { boundary: 'b', partCountMax: 2 });
        assert.ok(parts.length === 1 || parts.length === 2);
        for (const { url, headers } of parts) {
          assert.match(url, /^\/[^ \t\r\n]*$/);
          for (const value of headers.flat()) assert.doesNotMatch(value, /[\r\n\0]/);
        }
      });
      assert.ok(outcome === 'taken' || outcome === 'InvalidInput', outcome);
    }),
    { ...seeded, numRuns: 1000 },
  );
});

describe('answers', () => {
  const ok: AnswerPart = {
    contentId: '0',
    status: 202,
    headers: ['x-ms-request-id', 'r', 'x-ms-version', 'v'],
    body: '',
  };

  test('without a body have one empty line behind their headers, as the service writes them', () => {
    assert.equal(
      renderAnswerParts([ok, { ...ok, contentId: null }], 'b'),
      [
        '--b',
        'Content-Type: application/http',
        'Content-ID: 0',
        '',
        'HTTP/1.1 202 Accepted',
        'x-ms-request-id: r',
        'x-ms-version: v',
        '',
        '--b',
        'Content-Type: application/http',
        '',
        'HTTP/1.1 202 Accepted',
        'x-ms-request-id: r',
        'x-ms-version: v',
        '',
        '--b--',
        '',
      ].join('\r\n'),
    );
  });

  test('with a body tell its length in bytes', () => {
    const rendered = renderAnswerParts([{ ...ok, status: 404, headers: [], body: '<é/>' }], 'b');
    assert.match(rendered, /HTTP\/1\.1 404 Not Found\r\nContent-Length: 5\r\n\r\n<é\/>\r\n--b--\r\n$/);
  });

  test('never get a header more by a line break in a value', () => {
    const rendered = renderAnswerParts([{ ...ok, headers: ['a', 'b\r\nc: d'] }], 'b');
    assert.match(rendered, /\r\na: b {2}c: d\r\n/);
  });
});
