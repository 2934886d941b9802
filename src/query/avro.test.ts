import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeBlock, encodeBoolean, encodeBytes, encodeFileHead, encodeLong, encodeString } from './avro.ts';
import { RecordError } from './query-error.ts';
import { RESULT_SCHEMA, ResultStream } from './result-stream.ts';

// The first five are the examples of the specification.
for (const [value, hex] of [
  [0, '00'],
  [-1, '01'],
  [1, '02'],
  [-64, '7f'],
  [64, '8001'],
  [-65, '8101'],
  [8191, 'fe7f'],
  [8192, '808001'],
  [2 ** 31, '8080808010'],
  [-(2 ** 31), 'ffffffff0f'],
  [2 ** 40, '808080808040'],
  [Number.MAX_SAFE_INTEGER, 'feffffffffffff1f'],
  [Number.MIN_SAFE_INTEGER, 'fdffffffffffff1f'],
] as const) {
  test(`the long ${value} is ${hex}`, () => assert.equal(encodeLong(value).toString('hex'), hex));
}

test('strings and bytes have their length before them, a boolean is one byte', () => {
  assert.equal(encodeString('foo').toString('hex'), '06666f6f');
  assert.equal(encodeString('ä').toString('hex'), '04c3a4');
  assert.equal(encodeBytes(Buffer.alloc(0)).toString('hex'), '00');
  assert.equal(encodeBoolean(true).toString('hex'), '01');
  assert.equal(encodeBoolean(false).toString('hex'), '00');
});

const MARKER = Buffer.from('0123456789abcdef');

test('a file starts with its magic, its schema and its marker', () => {
  const head = encodeFileHead('"null"', MARKER).toString('latin1');
  assert.equal(head, 'Obj\x01\x04\x16avro.schema\x0c"null"\x14avro.codec\x08null\x00' + MARKER.toString());
});

test('a block has the count and the length of its records before them, and the marker behind', () => {
  const block = encodeBlock([Buffer.from('ab'), Buffer.from('cde')], MARKER).toString('latin1');
  assert.equal(block, `\x04\x0aabcde${MARKER.toString()}`);
});

test('results are told in the order in which they came, each as its place in the schema and its fields', () => {
  const stream = new ResultStream({ syncMarker: MARKER, totalBytes: 5 });
  stream.result('a\n');
  stream.result('b\n');
  stream.error(new RecordError('ParseError', 'No.', { isFatal: true }), 300);
  stream.progress(4);
  stream.end();
  const head = encodeFileHead(RESULT_SCHEMA, MARKER);
  const records = ['\x00\x08a\nb\n', '\x02\x01\x14ParseError\x06No.\xd8\x04', '\x04\x08\x0a', '\x06\x0a'];
  const block = encodeBlock(
    records.map((record) => Buffer.from(record, 'latin1')),
    MARKER,
  );
  assert.deepEqual(stream.take(), Buffer.concat([head, block]));
  assert.equal(stream.take().length, 0);
});

test('an error is never the first record: there is progress before it', () => {
  const stream = new ResultStream({ syncMarker: MARKER, totalBytes: 5 });
  stream.error(new RecordError('ParseError', 'No.'), 0);
  const headBytes = encodeFileHead(RESULT_SCHEMA, MARKER).length;
  assert.equal(
    stream
      .take()
      .subarray(headBytes, headBytes + 6)
      .toString('hex'),
    '042a04000a02',
  );
});

test('a long result is told in several records', () => {
  const stream = new ResultStream({ syncMarker: MARKER, totalBytes: 5 });
  assert.equal(stream.isFull, false);
  stream.result('x'.repeat(150_000));
  assert.equal(stream.isFull, true);
  const headBytes = encodeFileHead(RESULT_SCHEMA, MARKER).length;
  assert.equal(stream.take()[headBytes], 2 * 3, 'three records');
  assert.equal(stream.isFull, false);
});

test('the schema has the names that clients look for', () => {
  const names = (JSON.parse(RESULT_SCHEMA) as { name: string }[]).map(({ name }) => name.split('.').at(-1));
  assert.deepEqual(names, ['resultData', 'error', 'progress', 'end']);
  assert.match(RESULT_SCHEMA, /"com\.microsoft\.azure\.storage\.queryBlobContents\.resultData"/);
});
