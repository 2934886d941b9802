import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageError } from '../../service/storage-error.ts';
import { type BatchBody, type BatchRequest, parseBatchBody } from './batch-body.ts';

const parse = (text: string | Buffer, changeCountMax = 100): BatchBody =>
  parseBatchBody(Buffer.from(text as string), { boundary: 'batch_1', changeCountMax });

function changesIn(text: string | Buffer, changeCountMax?: number): readonly BatchRequest[] {
  const body = parse(text, changeCountMax);
  assert.ok(body.kind === 'changes');
  return body.requests;
}

/** `POST url {header} body`, with its Content-ID in front. */
function inShort({ contentId, method, url, headers, body }: BatchRequest): string {
  const names = headers.map(([name]) => name).join(' ');
  return `${contentId ?? '-'} ${method} ${url} {${names}} ${JSON.stringify(Buffer.from(body).toString('utf8'))}`;
}

function refusalOf(text: string | Buffer): string {
  try {
    parse(text);
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return `${error.code}: ${error.details.message}`;
  }
  assert.fail('the body was read');
}

const crlf = (...lines: string[]): string => lines.join('\r\n');
const lf = (...lines: string[]): string => lines.join('\n');

const OPEN = ['--batch_1', 'Content-Type: multipart/mixed; boundary=changeset_2', ''];
const PART = ['--changeset_2', 'Content-Type: application/http', 'Content-Transfer-Encoding: binary'];

describe('a batch is read as clients write it', () => {
  for (const [client, text, want] of [
    [
      '@azure/data-tables: an empty line too many before each body',
      crlf(
        ...OPEN,
        ...PART,
        '',
        'POST http://h/a/t HTTP/1.1',
        'content-type: application/json;odata=nometadata',
        'prefer: return-no-content',
        '',
        '',
        '{"PartitionKey":"p"}',
        ...PART,
        '',
        "DELETE http://h/a/t(PartitionKey='p',RowKey='r') HTTP/1.1",
        'if-match: *',
        '',
        '',
        '--changeset_2--',
        '--batch_1--',
        '',
      ),
      [
        '- POST http://h/a/t {content-type prefer} "\\r\\n{\\"PartitionKey\\":\\"p\\"}"',
        "- DELETE http://h/a/t(PartitionKey='p',RowKey='r') {if-match} \"\"",
      ],
    ],
    [
      '@azure/data-tables before 12: the last boundary without its dashes',
      crlf(
        ...OPEN,
        ...PART,
        '',
        'POST https://h/t HTTP/1.1',
        'Accept: application/json',
        '',
        '{}',
        '--changeset_2--',
        '--batch_1',
        '',
      ),
      ['- POST https://h/t {accept} "{}"'],
    ],
    [
      'the Python client: Content-ID in the part, Content-Length in the request',
      crlf(
        ...OPEN,
        ...PART,
        'Content-ID: 0',
        '',
        'POST https://h/t HTTP/1.1',
        'x-ms-version: 2019-02-02',
        'Content-Length: 4',
        '',
        '{ü}',
        ...PART,
        'Content-ID: 1',
        '',
        "DELETE https://h/t(PartitionKey='p',RowKey='r') HTTP/1.1",
        'If-Match: *',
        '',
        '',
        '--changeset_2--',
        '',
        '--batch_1--',
        '',
      ),
      [
        '0 POST https://h/t {x-ms-version content-length} "{ü}"',
        "1 DELETE https://h/t(PartitionKey='p',RowKey='r') {if-match} \"\"",
      ],
    ],
    [
      'the .NET client: Host in the request',
      crlf(
        ...OPEN,
        ...PART,
        '',
        'POST https://h/t?$format=application%2Fjson HTTP/1.1',
        'Host: h',
        'Prefer: return-no-content',
        '',
        '{"a":1}',
        '--changeset_2--',
        '',
        '--batch_1--',
        '',
      ),
      ['- POST https://h/t?$format=application%2Fjson {host prefer} "{\\"a\\":1}"'],
    ],
    [
      'azure-storage: line feeds alone, a charset before the boundary, Content-ID in the request, no last line break',
      lf(
        '--batch_1',
        'content-type: multipart/mixed;charset="utf-8";boundary=changeset_2',
        '',
        '--changeset_2',
        'content-type: application/http',
        'content-transfer-encoding: binary',
        '',
        "MERGE http://h/a/t(PartitionKey='p',RowKey='r') HTTP/1.1",
        'content-id: 1',
        'content-type: application/json;type=entry',
        '',
        '{"a":\n1}',
        '--changeset_2--',
        '--batch_1--',
      ),
      ['1 MERGE http://h/a/t(PartitionKey=\'p\',RowKey=\'r\') {content-id content-type} "{\\"a\\":\\n1}"'],
    ],
    [
      'the Rust client: line feeds alone, the last boundary without its dashes',
      lf(
        ...OPEN,
        ...PART,
        '',
        "PUT http://h/t(PartitionKey='p',RowKey='r') HTTP/1.1",
        'Accept: application/json',
        '',
        '{}',
        '',
        '--changeset_2--',
        '--batch_1',
        '',
      ),
      ["- PUT http://h/t(PartitionKey='p',RowKey='r') {accept} \"{}\\n\""],
    ],
    [
      'the documentation: a blank between the keys',
      crlf(
        ...OPEN,
        '--changeset_2',
        'Content-Type: application/http',
        '',
        "PUT https://h/Blogs(PartitionKey='p', RowKey='3') HTTP/1.1",
        'If-Match: W/"x"',
        '',
        '{}',
        '--changeset_2--',
        '--batch_1--',
      ),
      ["- PUT https://h/Blogs(PartitionKey='p', RowKey='3') {if-match} \"{}\""],
    ],
    [
      'blank lines around everything, blanks behind the boundaries',
      crlf(
        '',
        '--batch_1 ',
        'Content-Type: multipart/mixed; boundary="changeset_2"',
        '',
        '',
        ' ',
        '--changeset_2\t',
        'Content-Type:application/http ; msgtype=request',
        '',
        'POST t HTTP/1.1',
        '',
        '{}',
        '--changeset_2-- ',
        '',
        '',
        '--batch_1--',
        '',
        '',
      ),
      ['- POST t {} "{}"'],
    ],
    ['an empty change set', crlf(...OPEN, '--changeset_2--', '', '--batch_1--', ''), []],
  ] as const) {
    test(client, () => assert.deepEqual(changesIn(text).map(inShort), want));
  }

  test('a query stands in the batch by itself, with or without an empty line at its end', () => {
    for (const end of [[], [''], ['', ''], ['', '', '']]) {
      const head = ['--batch_1', 'Content-Type: application/http', '', 'GET http://h/a/t() HTTP/1.1', 'accept: x'];
      for (const join of [crlf, lf]) {
        const body = parse(join(...head, ...end, '--batch_1--'));
        assert.ok(body.kind === 'query');
        assert.match(inShort(body.request), /^- GET http:\/\/h\/a\/t\(\) \{accept\} "(\\r)?(\\n)?"$/);
      }
    }
  });

  test('what looks like a boundary and is none belongs to the body', () => {
    const content = crlf(
      '{"a":"',
      ' --changeset_2',
      '--changeset_22',
      '--changeset_2-',
      '--changeset_2--x',
      'x--batch_1--',
      '"}',
    );
    const text = crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', '', content, '--changeset_2--', '--batch_1--');
    assert.equal(Buffer.from(changesIn(text)[0]?.body ?? []).toString(), content);
  });

  test('bytes are not touched', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const [before, behind] = [
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', '', ''),
      crlf('', '--changeset_2--', '--batch_1--'),
    ];
    const text = Buffer.concat([Buffer.from(before), bytes, Buffer.from(behind)]);
    assert.deepEqual(Buffer.from(changesIn(text)[0]?.body ?? []), bytes);
  });

  test('reading ends with the first change that is too many', () => {
    const part = crlf(...PART, '', 'POST /t HTTP/1.1', '', '{}', '');
    assert.equal(changesIn(`${crlf(...OPEN, '')}${part.repeat(3)}--changeset_2--\r\n--batch_1--`, 3).length, 3);
    assert.equal(changesIn(`${crlf(...OPEN, '')}${part.repeat(200)}--batch_1--`, 3).length, 4);
  });
});

describe('a batch that cannot be read is refused with a sentence that says why', () => {
  const request = ['POST /t HTTP/1.1', '', '{}'];
  const close = ['--changeset_2--', '--batch_1--'];
  for (const [what, text, want] of [
    ['nothing', '', /boundary in the Content-Type does not occur/],
    ['another boundary', crlf('--batch_2', '', '--batch_2--'), /boundary in the Content-Type does not occur/],
    ['a boundary inside a line', crlf('x--batch_1', ...OPEN.slice(1)), /does not occur/],
    ['text before the first part', crlf('x', ...OPEN, ...PART, '', ...request, ...close), /before the first part/],
    ['text behind the last part', crlf(...OPEN, ...PART, '', ...request, ...close, 'x'), /after the last part/],
    [
      'text behind the change set',
      crlf(...OPEN, ...PART, '', ...request, '--changeset_2--', 'x', '--batch_1--'),
      /after the last part/,
    ],
    ['text before the first change', crlf(...OPEN, 'x', ...PART, '', ...request, ...close), /before the first part/],
    ['no part', crlf('--batch_1--'), /no part/],
    ['a first boundary alone', crlf('--batch_1', ''), /last boundary is missing/],
    ['no last boundary', crlf(...OPEN, ...PART, '', ...request, '--changeset_2--'), /last boundary is missing/],
    [
      'no last boundary of the change set',
      crlf(...OPEN, ...PART, '', ...request, '--batch_1--'),
      /last boundary is missing/,
    ],
    [
      'a change set that ends without dashes',
      crlf(...OPEN, ...PART, '', ...request, '--changeset_2', '--batch_1--'),
      /last boundary is missing/,
    ],
    [
      'two change sets',
      crlf(...OPEN, ...PART, '', ...request, '--changeset_2--', ...OPEN, ...PART, '', ...request, ...close),
      /one change set or one query/,
    ],
    [
      'a query beside a change set',
      crlf(
        '--batch_1',
        'Content-Type: application/http',
        '',
        'GET /t HTTP/1.1',
        '',
        ...OPEN,
        ...PART,
        '',
        ...request,
        ...close,
      ),
      /one change set or one query/,
    ],
    [
      'a change set in a change set',
      crlf(...OPEN, '--changeset_2', 'Content-Type: multipart/mixed; boundary=x', '', '--x--', ...close),
      /contain another change set/,
    ],
    [
      'a change set without a boundary',
      crlf('--batch_1', 'Content-Type: multipart/mixed', '', '--batch_1--'),
      /Content-Type of the change set/,
    ],
    [
      'a change set of another kind',
      crlf('--batch_1', 'Content-Type: multipart/form-data; boundary=changeset_2', '', ...close),
      /Content-Type of the change set/,
    ],
    ['a part of no kind', crlf('--batch_1', '', 'GET /t HTTP/1.1', '', '--batch_1--'), /application\/http/],
    [
      'a part of another kind',
      crlf(...OPEN, '--changeset_2', 'Content-Type: application/json', '', ...request, ...close),
      /application\/http/,
    ],
    [
      'an encoding',
      crlf(
        ...OPEN,
        '--changeset_2',
        'Content-Type: application/http',
        'Content-Transfer-Encoding: base64',
        '',
        ...request,
        ...close,
      ),
      /Content-Transfer-Encoding/,
    ],
    ['an empty part', crlf(...OPEN, '--changeset_2', ...close), /application\/http/],
    ['a part without a request', crlf(...OPEN, ...PART, '', ...close), /METHOD url HTTP/],
    [
      'a request line without a URL',
      crlf(...OPEN, ...PART, '', 'POST HTTP/1.1', '', '{}', ...close),
      /METHOD url HTTP/,
    ],
    ['a request line without a version', crlf(...OPEN, ...PART, '', 'POST /t', '', '{}', ...close), /METHOD url HTTP/],
    [
      'a request line without a method',
      crlf(...OPEN, ...PART, '', ' /t HTTP/1.1', '', '{}', ...close),
      /METHOD url HTTP/,
    ],
    ['a method in lower case', crlf(...OPEN, ...PART, '', 'post /t HTTP/1.1', '', '{}', ...close), /METHOD url HTTP/],
    ['another protocol', crlf(...OPEN, ...PART, '', 'POST /t HTTP/2', '', '{}', ...close), /METHOD url HTTP/],
    [
      'a header without a colon',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', 'If-Match', '', '{}', ...close),
      /Name: value/,
    ],
    [
      'a header without a name',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', ': x', '', '{}', ...close),
      /Name: value/,
    ],
    [
      'a folded header',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', 'If-Match: *', ' , x', '', '{}', ...close),
      /Name: value/,
    ],
    ['a control character', crlf(...OPEN, ...PART, '', 'POST /t\0 HTTP/1.1', '', '{}', ...close), /control characters/],
    [
      'a carriage return alone',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', 'If-Match: *\rPrefer: x', '', '{}', ...close),
      /control characters/,
    ],
    ['a Content-ID beyond ASCII', crlf(...OPEN, ...PART, 'Content-ID: ü', '', ...request, ...close), /Content-ID/],
    [
      'a Content-Length too long',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', 'Content-Length: 3', '', '{}', ...close),
      /Content-Length/,
    ],
    [
      'a Content-Length too short',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', 'Content-Length: 1', '', '{}', ...close),
      /Content-Length/,
    ],
    [
      'a Content-Length that is none',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', 'Content-Length: -1', '', '{}', ...close),
      /Content-Length/,
    ],
    [
      'a head without an end',
      crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', `a: ${'x'.repeat(70_000)}`, '', '{}', ...close),
      /longer than 65536 bytes/,
    ],
    [
      'a head of many lines',
      crlf(
        ...OPEN,
        ...PART,
        '',
        'POST /t HTTP/1.1',
        ...Array.from({ length: 20_000 }, () => 'a: b'),
        '',
        '{}',
        ...close,
      ),
      /longer than 65536 bytes/,
    ],
  ] as const) {
    test(what, () => assert.match(refusalOf(text), new RegExp(`^InvalidInput: .*${want.source}`)));
  }

  test('megabytes of what is almost a boundary are no boundary', () => {
    const almost = '\r\n--changeset_2x'.repeat(250_000);
    assert.equal(changesIn(crlf(...OPEN, ...PART, '', 'POST /t HTTP/1.1', '', almost, ...close)).length, 1);
    assert.match(refusalOf('--batch_1'.repeat(400_000)), /does not occur/);
  });
});
