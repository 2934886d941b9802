import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { JsonReader } from './json-reader.ts';
import { jsonText } from './json-text.ts';
import { parseJsonValue } from './json-value.ts';
import { RecordError } from './query-error.ts';
import { RECORD_BYTES_MAX } from './record-reader.ts';

/** Each record as compact JSON, or what the error says. */
function read(bytes: Uint8Array, recordSeparator = '\n', pieceBytes = bytes.length): string[] {
  const reader = new JsonReader({ kind: 'json', recordSeparator });
  const found: string[] = [];
  const drain = (): boolean => {
    for (;;) {
      try {
        const record = reader.next();
        if (record === null) return true;
        found.push(jsonText(record.value));
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        found.push(`${error.message} @${reader.recordAtBytes}`);
        if (error.isFatal) return false;
      }
    }
  };
  for (let at = 0; at < bytes.length; at += Math.max(1, pieceBytes)) {
    reader.push(bytes.subarray(at, at + Math.max(1, pieceBytes)));
    if (!drain()) return found;
  }
  reader.finish();
  drain();
  return found;
}

const rows: [what: string, text: string | Uint8Array, separator: string, string[]][] = [
  ['nothing', '', '\n', []],
  ['lines', '{"a":1}\n{"b":2}\n', '\n', ['{"a":1}', '{"b":2}']],
  ['no end of the last line', '{"a":1}\r\n{"b":2}', '\n', ['{"a":1}', '{"b":2}']],
  ['records over several lines', '{\n "a": [1,\n 2]\n}\n{}', '\n', ['{"a":[1,2]}', '{}']],
  ['records right behind each other', '{}{}  {}', '\n', ['{}', '{}', '{}']],
  ['another separator', '{};{"a":";"};', ';', ['{}', '{"a":";"}']],
  ['a long separator', '1<>2<>{}', '<>', ['1', '2', '{}']],
  ['an array of records', ' [ {"a":1} , {"b":[2]},3, "x" ]\n', '\n', ['{"a":1}', '{"b":[2]}', '3', '"x"']],
  ['an array that ends with a comma', '[1,]', '\n', ['1']],
  ['an empty array', '[]', '\n', []],
  ['two arrays', '[1][2]', '\n', ['1', '2']],
  ['arrays in an array', '[[1],[2,3]]', '\n', ['[1]', '[2,3]']],
  ['values that are no objects', '1\n"a b"\nnull\ntrue\n-2.5e3', '\n', ['1', '"a b"', 'null', 'true', '-2500']],
  ['braces in strings', '{"a":"}{\\"","b":"\\\\"}{}', '\n', ['{"a":"}{\\"","b":"\\\\"}', '{}']],
  ['characters of all lengths', '{"ä":"€🪨\\u00e4"}', '\n', ['{"ä":"€🪨ä"}']],
  ['a byte order mark', '\ufeff{}', '\n', ['{}']],
  ['commas behind the last member', '{"a":1,}\n{"b":[1,],}', '\n', ['{"a":1}', '{"b":[1]}']],
  ['integers of any length', '{"a":12345678901234567890}', '\n', ['{"a":12345678901234567890}']],
  ['members of the same name', '{"a":1,"a":2}', '\n', ['{"a":2}']],
  ['delimited text', '100,200\n', '\n', ['100', "Unexpected token ',' at [byte: 3]. Expecting tokens '{', or '['. @0"]],
  [
    'names without quotes',
    '{name: owner}',
    '\n',
    [`Unexpected token 'n' at [byte: 1]. Expecting tokens '"', or '}'. @0`],
  ],
  ['two values on a line', '1 2', '\n', ['1', "Unexpected token '2' at [byte: 2]. Expecting tokens '{', or '['. @0"]],
  [
    'no comma between items',
    '[1 2]',
    '\n',
    ['1', "Unexpected token '2' at [byte: 3]. Expecting tokens ',', or ']'. @1"],
  ],
  ['a comma before items', '[,1]', '\n', ["Unexpected token ',' at [byte: 1]. Expecting a value. @1"]],
  ['an array that never ends', '[1,', '\n', ['1', "Unexpected end at [byte: 3]. Expecting tokens ',', or ']'. @1"]],
  ['an object that never ends', '{"ä":1', '\n', ["Unexpected end at [byte: 7]. Expecting tokens ',', or '}'. @0"]],
  ['a string that never ends', '{"a":"b', '\n', [`Unexpected end at [byte: 7]. Expecting token '"'. @0`]],
  ['brackets that do not match', '{]', '\n', [`Unexpected token ']' at [byte: 1]. Expecting tokens '"', or '}'. @0`]],
  [
    'an error behind good records',
    '{}\n\n{"a":x}\n{}',
    '\n',
    ['{}', "Unexpected token 'x' at [byte: 9]. Expecting a value. @4"],
  ],
  ['no such escape', '"\\x"', '\n', [`Unexpected token '"' at [byte: 0]. Expecting a string. @0`]],
  ['a record that is no UTF-8', Buffer.from('{"a":"\xff"}\n{}', 'latin1'), '\n', ['The record is not UTF-8. @0', '{}']],
];

describe('JSON, whole and in pieces of one to three bytes:', () => {
  for (const [what, text, separator, want] of rows) {
    test(what, () => {
      const bytes = Buffer.from(text as string);
      assert.deepEqual(read(bytes, separator), want);
      for (const pieceBytes of [1, 2, 3])
        assert.deepEqual(read(bytes, separator, pieceBytes), want, `in ${pieceBytes}`);
    });
  }
});

test('a value nested too deeply, or too large, is an error, and does not exhaust the stack', () => {
  assert.match(read(Buffer.from('{"a":'.repeat(10_000)))[0] as string, /nested too deeply/);
  assert.match(read(Buffer.from(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`))[0] as string, /nested too deeply/);
  const large = Buffer.from(`{"a":"${'x'.repeat(RECORD_BYTES_MAX)}"}`);
  assert.match(read(large)[0] as string, /up to 1048576 bytes/);
  assert.match(read(large, '\n', 64 * 1024)[0] as string, /up to 1048576 bytes/);
});

for (const text of [
  '',
  '-',
  '01',
  '1.',
  '.5',
  '+1',
  '1e',
  'tru',
  'nulls',
  '{"a"}',
  '{"a":}',
  '{,}',
  '[,]',
  '"\t',
  '1e400',
]) {
  test(`${JSON.stringify(text)} is no JSON`, () => {
    assert.throws(
      () => parseJsonValue(text, 0),
      (error) => error instanceof RecordError && error.isFatal,
    );
  });
}

test('values that JSON.stringify wrote are read as they were, in any layout and however they are cut', () => {
  const layouts = fc.constantFrom(undefined, 1, '\t');
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue(), { maxLength: 4 }),
      layouts,
      fc.integer({ min: 1, max: 9 }),
      (values, space, size) => {
        const objects = values.map((value) => ({ value }));
        const bytes = Buffer.from(objects.map((value) => `${JSON.stringify(value, null, space)}\n`).join(''));
        const got = read(bytes, '\n', size).map((text) => JSON.parse(text) as unknown);
        assert.deepEqual(got, JSON.parse(JSON.stringify(objects)));
      },
    ),
    { numRuns: 500, ...seeded },
  );
});

test('any text is read the same whole and in pieces', () => {
  const parts = fc.array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', '1', 'null', ' ', '\n', 'a', '€'), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 4 }), (text, pieceBytes) => {
      const bytes = Buffer.from(text.join(''));
      assert.deepEqual(read(bytes, '\n', pieceBytes), read(bytes));
    }),
    { numRuns: 2000, ...seeded },
  );
});
