import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { DelimitedReader } from './delimited-reader.ts';
import { DelimitedWriter } from './delimited-writer.ts';
import { DEFAULT_DELIMITED, type DelimitedFormat, formatFault } from './formats.ts';
import { RecordError } from './query-error.ts';
import { RECORD_BYTES_MAX } from './record-reader.ts';

/** Fields by record, or what the error says and where the record began. */
type Read = readonly string[] | string;

function read(bytes: Uint8Array, format: Partial<DelimitedFormat> = {}, pieceBytes = bytes.length): Read[] {
  const reader = new DelimitedReader({ ...DEFAULT_DELIMITED, ...format });
  const found: Read[] = [];
  const drain = (): boolean => {
    for (;;) {
      try {
        const record = reader.next();
        if (record === null) return true;
        found.push(record.value as readonly string[]);
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

const rows: [what: string, text: string | Uint8Array, Partial<DelimitedFormat>, Read[]][] = [
  ['nothing', '', {}, []],
  ['one line without an end', 'a,b', {}, [['a', 'b']]],
  ['lines', 'a,b\nc\n', {}, [['a', 'b'], ['c']]],
  ['an empty line', 'a\n\nb\n', {}, [['a'], [''], ['b']]],
  [
    'empty fields',
    ',\n,,\n',
    {},
    [
      ['', ''],
      ['', '', ''],
    ],
  ],
  [
    'CRLF',
    'a,b\r\nc,d\r\n',
    {},
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  ['CR inside of a line', 'a\rb,c\n', {}, [['a\rb', 'c']]],
  ['CR before another separator', 'a\r;b', { recordSeparator: ';' }, [['a\r'], ['b']]],
  ['CR as the separator', 'a,b\rc\r', { recordSeparator: '\r' }, [['a', 'b'], ['c']]],
  ['a quoted field', '"a","b c"\n', {}, [['a', 'b c']]],
  ['quoted separators', '"a,b\nc",d\n', {}, [['a,b\nc', 'd']]],
  ['a quoted end of a line', '"a\r\nb",c\r\nd\r\n', {}, [['a\r\nb', 'c'], ['d']]],
  ['doubled quotes', '"a ""b""","","""",x\n', {}, [['a "b"', '', '"', 'x']]],
  ['a quote that is not at the start', '5" disk,a"b"\nc\n', {}, [['5" disk', 'a"b"'], ['c']]],
  ['text behind a closed quote', '"a"b,c\n', {}, [['ab', 'c']]],
  ['a quoted field at the end', 'a,"b"', {}, [['a', 'b']]],
  ['a quoted field before CRLF', '"a"\r\n"b"\r\n', {}, [['a'], ['b']]],
  ['a quote that is never closed', 'a\n"b,c\nd', {}, [['a'], 'A quoted field is never closed. @2']],
  ['no quotes known', '"a,b"\n', { fieldQuote: null }, [['"a', 'b"']]],
  ['another quote', '\'a,b\',"c"\n', { fieldQuote: "'" }, [['a,b', '"c"']]],
  ['an escaped separator', 'a\\,b,c\\\nd\n', { escape: '\\' }, [['a,b', 'c\nd']]],
  ['an escaped quote', '"a\\"b",c\n', { escape: '\\' }, [['a"b', 'c']]],
  ['an escaped escape', 'a\\\\,"b\\\\"\n', { escape: '\\' }, [['a\\', 'b\\']]],
  ['an escaped long character', '\\€,"\\🪨"\n', { escape: '\\' }, [['€', '🪨']]],
  ['an escape at the very end', 'a\\', { escape: '\\' }, [['a']]],
  ['a quote that escapes itself', '"a""b",c\n', { escape: '"' }, [['a"b', 'c']]],
  ['other separators', '1.2!"3.!"!', { columnSeparator: '.', recordSeparator: '!' }, [['1', '2'], ['3.!']]],
  ['long separators', 'a||b|c<>"x||<>"<>', { columnSeparator: '||', recordSeparator: '<>' }, [['a', 'b|c'], ['x||<>']]],
  [
    'separators beyond ASCII',
    'a§b€c§"d§"€',
    { columnSeparator: '§', recordSeparator: '€' },
    [
      ['a', 'b'],
      ['c', 'd§'],
    ],
  ],
  ['quotes beyond ASCII', '«a,«« b«,c\n', { fieldQuote: '«' }, [['a,« b', 'c']]],
  ['characters of all lengths', 'ä€🪨,"ß""🪨"\n', {}, [['ä€🪨', 'ß"🪨']]],
  ['a byte order mark', '\ufeffa,b\n', {}, [['a', 'b']]],
  ['a byte order mark before a quote', '\ufeff"a",b\n', {}, [['a', 'b']]],
  ['nothing but a byte order mark', '\ufeff', {}, []],
  [
    'a line that is no UTF-8',
    Buffer.from('a\nb\xff\nc\n', 'latin1'),
    {},
    [['a'], 'The record is not UTF-8. @2', ['c']],
  ],
  ['a quoted line that is no UTF-8', Buffer.from('"\xe4"\nc\n', 'latin1'), {}, ['The record is not UTF-8. @0', ['c']]],
  ['a replacement character', '\ufffd,b\n', {}, [['\ufffd', 'b']]],
  ['NUL', 'a\u0000b,c\n', {}, [['a\u0000b', 'c']]],
];

describe('delimited text, whole and in pieces of one to three bytes:', () => {
  for (const [what, text, format, want] of rows) {
    test(what, () => {
      const bytes = Buffer.from(text as string);
      assert.deepEqual(read(bytes, format), want);
      for (const pieceBytes of [1, 2, 3]) assert.deepEqual(read(bytes, format, pieceBytes), want, `in ${pieceBytes}`);
    });
  }
});

test('a record tells where it begins and ends', () => {
  const reader = new DelimitedReader(DEFAULT_DELIMITED);
  reader.push(Buffer.from('ä,b\r\n"c'));
  assert.equal(reader.next()?.endBytes, 6);
  assert.equal(reader.recordAtBytes, 0);
  assert.equal(reader.next(), null);
  reader.push(Buffer.from('"\nd'));
  assert.equal(reader.next()?.endBytes, 10);
  assert.equal(reader.recordAtBytes, 6);
  reader.finish();
  assert.equal(reader.next()?.endBytes, 11);
  assert.equal(reader.next(), null);
});

test('a record may have a megabyte, and not more', () => {
  const line = Buffer.alloc(RECORD_BYTES_MAX, 'x');
  line[RECORD_BYTES_MAX - 1] = 0x0a;
  assert.equal(read(line)[0]?.[0]?.length, RECORD_BYTES_MAX - 1);
  const tooLong = `A record can have up to ${RECORD_BYTES_MAX} bytes. @2`;
  for (const start of ['a\nx', 'a\n"']) {
    const bytes = Buffer.concat([Buffer.from(start), line, Buffer.from('"\nb\n')]);
    assert.deepEqual(read(bytes), [['a'], tooLong]);
    assert.deepEqual(read(bytes, {}, 64 * 1024), [['a'], tooLong]);
  }
});

const SEPARATORS = [',', ';', '.', '|', '||', '\t', '§', '<>'];
const formats = fc
  .record({
    columnSeparator: fc.constantFrom(...SEPARATORS),
    recordSeparator: fc.constantFrom('\n', '\r', '!', '€', ...SEPARATORS),
    fieldQuote: fc.constantFrom('"', "'", '«', null),
    escape: fc.constantFrom('\\', '"', '^', null),
  })
  .map((format): DelimitedFormat => ({ ...DEFAULT_DELIMITED, ...format }))
  .filter((format) => formatFault(format) === null);

test('what was written by a format that can quote is read again, however the bytes are cut', () => {
  const field = fc.array(fc.constantFrom('a', 'ä', '🪨', '"', "'", '\\', '^', '«', '\r', '\n', ' ', ...SEPARATORS), {
    maxLength: 6,
  });
  const table = fc.array(
    fc.array(
      field.map((parts) => parts.join('')),
      { minLength: 1, maxLength: 4 },
    ),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(formats, table, fc.integer({ min: 1, max: 9 }), (format, records, pieceBytes) => {
      fc.pre(format.fieldQuote !== null);
      const writer = new DelimitedWriter(format);
      const bytes = Buffer.from(records.map((record) => writer.row(record)).join(''));
      assert.deepEqual(read(bytes, format, pieceBytes), records);
    }),
    { numRuns: 1000, ...seeded },
  );
});

test('any bytes are read the same whole and in pieces', () => {
  const text = fc.array(fc.constantFrom(',', '\n', '\r', '"', '""', '\\', 'a', '€', '\xff'), { maxLength: 30 });
  fc.assert(
    fc.property(formats, text, fc.integer({ min: 1, max: 5 }), (format, parts, pieceBytes) => {
      const bytes = Buffer.concat(parts.map((part) => Buffer.from(part, part === '\xff' ? 'latin1' : 'utf8')));
      assert.deepEqual(read(bytes, format, pieceBytes), read(bytes, format));
    }),
    { numRuns: 1000, ...seeded },
  );
});
