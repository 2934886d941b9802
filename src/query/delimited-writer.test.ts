import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DelimitedWriter } from './delimited-writer.ts';
import { DEFAULT_DELIMITED, DEFAULT_JSON, type DelimitedFormat, formatFault } from './formats.ts';
import { Timestamp } from './timestamp.ts';
import type { Value } from './value.ts';

const rows: [what: string, Partial<DelimitedFormat>, Value[], string][] = [
  ['fields as they are', {}, ['a', 'b c', ''], 'a,b c,\n'],
  ['a quoted separator', {}, ['a,b', 'c\nd', 'e\rf'], '"a,b","c\nd","e\rf"\n'],
  ['doubled quotes', {}, ['a"b'], '"a""b"\n'],
  ['escaped quotes', { escape: '\\' }, ['a"b', 'c\\d'], '"a\\"b","c\\\\d"\n'],
  [
    'escapes where nothing can be quoted',
    { fieldQuote: null, escape: '\\' },
    ['a,b', 'c\\d', 'e"'],
    'a\\,b,c\\\\d,e"\n',
  ],
  ['nothing done where nothing can be', { fieldQuote: null }, ['a,b', 'c"d'], 'a,b,c"d\n'],
  [
    'other separators',
    { columnSeparator: ';', recordSeparator: '.', fieldQuote: "'", escape: '\\' },
    ['1.0.1', 'a b', 'c,d'],
    "'1.0.1';a b;c,d.",
  ],
  ['a separator that means something to regular expressions', { columnSeparator: '|' }, ['a|b', 'c'], '"a|b"|c\n'],
  ['numbers, truth and time', {}, [1n, 2.5, true, new Timestamp(0)], '1,2.5,true,1970-01-01T00:00:00.000Z\n'],
  ['nothing for null and for what is missing', {}, [null, undefined, 1n], ',,1\n'],
  ['JSON', {}, [[1n, 'a', null], new Map<string, Value>([['k', 2.5]])], '"[1,""a"",null]","{""k"":2.5}"\n'],
  ['no fields', {}, [], '\n'],
];
for (const [what, format, values, want] of rows) {
  test(`a row has ${what}`, () => {
    assert.equal(new DelimitedWriter({ ...DEFAULT_DELIMITED, ...format }).row(values), want);
  });
}

for (const [what, format] of [
  ['separators that are the same', { columnSeparator: '\n' }],
  ['a separator that begins with the other', { columnSeparator: '|', recordSeparator: '||' }],
  ['an empty separator', { columnSeparator: '' }],
  ['an endless separator', { recordSeparator: 'x'.repeat(17) }],
  ['a quote of two characters', { fieldQuote: "''" }],
  ['an escape of two characters', { escape: 'ab' }],
  ['a quote that separates', { fieldQuote: ',' }],
  ['an escape that separates', { escape: '\n' }],
] as const) {
  test(`a format with ${what} cannot be used`, () => {
    assert.notEqual(formatFault({ ...DEFAULT_DELIMITED, ...format }), null);
  });
}

test('the formats by default can be used, and one of JSON unless its separator begins a value', () => {
  assert.equal(formatFault(DEFAULT_DELIMITED), null);
  assert.equal(formatFault(DEFAULT_JSON), null);
  for (const recordSeparator of ['{', '["', '"', '-', '7', 'true', '']) {
    assert.notEqual(formatFault({ kind: 'json', recordSeparator }), null, recordSeparator);
  }
});
