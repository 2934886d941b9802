import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { DEFAULT_DELIMITED, DEFAULT_JSON, type Format } from './formats.ts';
import { parseQuery } from './parse-query.ts';
import { QueryRefused } from './query-error.ts';
import { runQuery } from './run-query.ts';

const MARKER = Buffer.from('0123456789abcdef');

type ResultRecord =
  | { readonly kind: 'data'; readonly data: string }
  | { readonly kind: 'error'; readonly error: string }
  | { readonly kind: 'progress'; readonly scannedBytes: number; readonly totalBytes: number }
  | { readonly kind: 'end'; readonly totalBytes: number };

/** Reads the answer by the letter of Avro's specification. */
class AnswerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): ResultRecord[] {
    assert.equal(this.#take(4).toString('latin1'), 'Obj\x01');
    for (let count = this.#long(); count > 0; count--) {
      this.#take(this.#long());
      this.#take(this.#long());
    }
    assert.equal(this.#long(), 0);
    assert.deepEqual(this.#take(16), MARKER);
    const records: ResultRecord[] = [];
    while (this.#at < this.#bytes.length) {
      const count = this.#long();
      const endAt = this.#long() + this.#at;
      for (let index = 0; index < count; index++) records.push(this.#record());
      assert.equal(this.#at, endAt, 'the block has the length that it tells');
      assert.deepEqual(this.#take(16), MARKER);
    }
    return records;
  }

  #record(): ResultRecord {
    switch (this.#long()) {
      case 0:
        return { kind: 'data', data: this.#text() };
      case 1: {
        const fatal = this.#take(1)[0] === 1 ? 'fatal ' : '';
        return { kind: 'error', error: `${fatal}${this.#text()}: ${this.#text()} @${this.#long()}` };
      }
      case 2:
        return { kind: 'progress', scannedBytes: this.#long(), totalBytes: this.#long() };
      case 3:
        return { kind: 'end', totalBytes: this.#long() };
      default:
        assert.fail('there is no such record');
    }
  }

  #text(): string {
    return this.#take(this.#long()).toString('latin1');
  }

  #long(): number {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#take(1)[0] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number((value >> 1n) ^ -(value & 1n));
    }
  }

  #take(count: number): Buffer {
    assert.ok(this.#at + count <= this.#bytes.length, 'the answer is complete');
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }
}

interface RunOptions {
  readonly input?: Format;
  readonly output?: Format;
  readonly bytes?: AsyncIterable<Uint8Array>;
  readonly totalBytes?: number;
}

async function run(text: string, blob: string | Uint8Array, options: RunOptions = {}) {
  const { input = DEFAULT_DELIMITED, output = DEFAULT_DELIMITED } = options;
  const whole = Buffer.from(blob as string);
  const pieces: Uint8Array[] = [];
  for await (const piece of runQuery({
    query: parseQuery(text),
    input,
    output,
    nowMs: 0,
    bytes: options.bytes ?? whole,
    totalBytes: options.totalBytes ?? whole.length,
    syncMarker: MARKER,
  })) {
    pieces.push(piece);
  }
  const records = new AnswerReader(Buffer.concat(pieces)).read();
  const data = records.map((record) => (record.kind === 'data' ? record.data : '')).join('');
  return {
    text: Buffer.from(data, 'latin1').toString(),
    errors: records.flatMap((record) => (record.kind === 'error' ? [record.error] : [])),
    progress: records.flatMap((record) => (record.kind === 'progress' ? [record.scannedBytes] : [])),
    records,
    pieces,
  };
}

const WITH_HEADERS: Format = { ...DEFAULT_DELIMITED, hasHeaders: true };
const CSV = 'id,name,price\n1,mouse,12.5\n2,"key, board",40\n3,cable\n';
const JSON_LINES =
  '{"id": 1, "Name": "mouse", "tags": ["a", "b"], "at": {"x": 1}}\n{"id": 2, "extra": null, "at": {"x": 2}}\n';

describe('a query gives', () => {
  const rows: [what: string, text: string, blob: string, RunOptions, want: string, errors: string[]][] = [
    ['all of it', 'SELECT * FROM BlobStorage', 'a,b\r\nc\r\n', {}, 'a,b\nc\n', []],
    ['nothing of nothing', 'SELECT * FROM BlobStorage', '', {}, '', []],
    ['rows without the header', 'SELECT * FROM BlobStorage', CSV, { input: WITH_HEADERS }, CSV.slice(14), []],
    ['rows and header', 'SELECT * FROM BlobStorage', CSV, { input: WITH_HEADERS, output: WITH_HEADERS }, CSV, []],
    [
      'columns by name, and an error for the row that is too short',
      'SELECT price, NAME FROM BlobStorage',
      CSV,
      { input: WITH_HEADERS },
      '12.5,mouse\n40,"key, board"\n',
      ['InvalidColumnOrdinal: Invalid column ordinal. @45'],
    ],
    [
      'names of its own',
      'SELECT b.id AS "the id", b.id + 1, name FROM BlobStorage b LIMIT 1',
      CSV,
      { input: WITH_HEADERS, output: WITH_HEADERS },
      'the id,_2,name\n1,2,mouse\n',
      [],
    ],
    [
      'a header also for no rows',
      'SELECT id FROM BlobStorage WHERE id = 9',
      CSV,
      { input: WITH_HEADERS, output: WITH_HEADERS },
      'id\n',
      [],
    ],
    [
      'rows that are wanted, and an error for each that cannot be judged',
      'SELECT _1 FROM BlobStorage WHERE _2 > 250;',
      '100,pizza\n300,400\n5,x\n',
      {},
      '300\n',
      ['InvalidTypeConversion: Invalid type conversion. @0', 'InvalidTypeConversion: Invalid type conversion. @18'],
    ],
    ['no row for an unknown condition', 'SELECT _1 FROM BlobStorage WHERE NULL', '1\n', {}, '', []],
    [
      'JSON, by the numbers of the answer',
      'SELECT _2 FROM BlobStorage',
      '1,2\n',
      { output: DEFAULT_JSON },
      '{"_1":"2"}\n',
      [],
    ],
    [
      'JSON with the names of the header, and numbers where there are none',
      'SELECT * FROM BlobStorage',
      'a,b\n1\n2,3,4\n',
      { input: WITH_HEADERS, output: { kind: 'json', recordSeparator: ';' } },
      '{"a":"1"};{"a":"2","b":"3","_3":"4"};',
      [],
    ],
    [
      'records of JSON as they are',
      'SELECT * FROM BlobStorage',
      '{\n\t"name0": "owner0",\n}  [ {"b" : 1.50} ]',
      { input: DEFAULT_JSON, output: DEFAULT_JSON },
      '{\n\t"name0": "owner0",\n}\n{"b" : 1.50}\n',
      [],
    ],
    [
      'members, and nothing for those that are missing',
      'SELECT name, tags[1], at.x FROM BlobStorage',
      JSON_LINES,
      { input: DEFAULT_JSON, output: DEFAULT_JSON },
      '{"name":"mouse","_2":"b","x":1}\n{"x":2}\n',
      [],
    ],
    [
      'delimited text of JSON',
      'SELECT * FROM BlobStorage',
      JSON_LINES,
      { input: DEFAULT_JSON },
      '1,mouse,"[""a"",""b""]","{""x"":1}"\n2,,"{""x"":2}"\n',
      [],
    ],
    [
      'the items of an array',
      'SELECT * FROM BlobStorage[*].tags[*]',
      JSON_LINES,
      { input: DEFAULT_JSON, output: DEFAULT_JSON },
      '{"_1":"a"}\n{"_1":"b"}\n',
      [],
    ],
    [
      'the members of a member',
      'SELECT x FROM BlobStorage[*].at',
      JSON_LINES,
      { input: DEFAULT_JSON, output: DEFAULT_JSON },
      '{"x":1}\n{"x":2}\n',
      [],
    ],
    [
      'what is there, until the data cannot be understood',
      'SELECT * FROM BlobStorage',
      '100,200\n',
      { input: DEFAULT_JSON },
      '\n',
      ["fatal ParseError: Unexpected token ',' at [byte: 3]. Expecting tokens '{', or '['. @0"],
    ],
    [
      'an error for each row of a record that fails',
      'SELECT 1 / n AS n FROM BlobStorage[*].a[*]',
      '{"a":[{"n":1},{"n":0},{"n":0},{"n":1}]}',
      { input: DEFAULT_JSON },
      '1\n1\n',
      ['DivideByZero: A number is divided by zero. @0', 'DivideByZero: A number is divided by zero. @0'],
    ],
    [
      'nothing if the header cannot be read',
      'SELECT a FROM BlobStorage',
      '"a\n1\n',
      { input: WITH_HEADERS },
      '',
      ['fatal ParseError: A quoted field is never closed. @0'],
    ],
    [
      'aggregates',
      'SELECT COUNT(*), SUM(_1) / COUNT(_1) AS mean, MAX(_2) FROM BlobStorage',
      '1,x\n4,y\n',
      {},
      '2,2,y\n',
      [],
    ],
    ['aggregates of nothing', 'SELECT COUNT(*), SUM(_1) FROM BlobStorage', '', {}, '0,\n', []],
    [
      'aggregates of nothing by name',
      'SELECT COUNT(*), SUM(a) FROM BlobStorage',
      '',
      { input: WITH_HEADERS },
      '0,\n',
      [],
    ],
    ['no more rows than it is asked for', 'SELECT * FROM BlobStorage LIMIT 2', '1\n2\n3\n', {}, '1\n2\n', []],
    ['no rows if none are asked for', 'SELECT * FROM BlobStorage LIMIT 0', '1\n2\n3\n', {}, '', []],
    ['aggregates that ask for no rows', 'SELECT COUNT(*) FROM BlobStorage LIMIT 0', '1\n', {}, '', []],
    ['the one row of an aggregate', 'SELECT COUNT(*) FROM BlobStorage LIMIT 1', '1\n2\n', {}, '2\n', []],
    ['the size of the only batch', 'SELECT sys.split(10485760) FROM BlobStorage', '1\n2\n', {}, '4\n', []],
    ['no batch of nothing', 'SELECT sys.split(10485760) FROM BlobStorage', '', {}, '', []],
  ];
  for (const [what, text, blob, options, want, errors] of rows) {
    test(what, async () => {
      const answer = await run(text, blob, options);
      assert.deepEqual(answer.errors, errors);
      assert.equal(answer.text, want);
      assert.deepEqual(answer.records.at(-1), { kind: 'end', totalBytes: Buffer.byteLength(blob) });
    });
  }
});

test('a header that is no text ends the query, for no other line is one', async () => {
  const blob = Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.from('a\n1\n')]);
  const { errors, text } = await run('SELECT a FROM BlobStorage', blob, { input: WITH_HEADERS });
  assert.deepEqual([text, errors], ['', ['fatal ParseError: The record is not UTF-8. @0']]);
});

test('a batch ends with the record that makes it large enough', async () => {
  const line = `${'x'.repeat(99_999)}\n`;
  const { text } = await run('SELECT sys.split(10485760) FROM BlobStorage', line.repeat(250));
  assert.equal(text, '10500000\n10500000\n4000000\n');
});

test('what the header refuses is refused before the first piece, and the blob is let go of', async () => {
  const source = new Source(Buffer.from('a,b\n1,2\n'));
  await assert.rejects(run('SELECT c FROM BlobStorage', '', { input: WITH_HEADERS, bytes: source }), QueryRefused);
  assert.equal(source.isGivenUp, true);
});

/** A blob of the same piece many times; remembers how many were read, and whether it was given up. */
class Source implements AsyncIterableIterator<Uint8Array> {
  readonly #piece: Buffer;
  readonly #countMax: number;
  readCount = 0;
  isGivenUp = false;

  constructor(piece: Buffer, countMax = 20) {
    this.#piece = piece;
    this.#countMax = countMax;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.readCount >= this.#countMax) return { done: true, value: undefined };
    this.readCount++;
    return { done: false, value: this.#piece };
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.isGivenUp = true;
    return { done: true, value: undefined };
  }
}

const MEBIBYTE = 1024 * 1024;
/** A mebibyte of lines of 16 bytes. */
const LINES = Buffer.from('100,200,300,400\n'.repeat(MEBIBYTE / 16));

test('LIMIT stops reading, and lets go of the blob', async () => {
  const source = new Source(LINES);
  const { text } = await run('SELECT _2 FROM BlobStorage LIMIT 3', '', { bytes: source, totalBytes: 20 * MEBIBYTE });
  assert.equal(text, '200\n200\n200\n');
  assert.deepEqual([source.readCount, source.isGivenUp], [1, true]);
});

test('LIMIT 0 lets go of a blob that was never read', async () => {
  const source = new Source(LINES);
  await run('SELECT _2 FROM BlobStorage LIMIT 0', '', { bytes: source });
  assert.deepEqual([source.readCount, source.isGivenUp], [0, true]);
});

test('an answer that is given up lets go of the blob', async () => {
  const source = new Source(LINES);
  const answer = runQuery({
    query: parseQuery('SELECT * FROM BlobStorage'),
    input: DEFAULT_DELIMITED,
    output: DEFAULT_DELIMITED,
    nowMs: 0,
    bytes: source,
    totalBytes: 20 * MEBIBYTE,
    syncMarker: MARKER,
  });
  await answer.next();
  await answer.next();
  await answer.return(undefined);
  assert.deepEqual([source.readCount, source.isGivenUp], [1, true]);
});

test('results go out in pieces of some tens of kilobytes, with progress every four mebibytes', async () => {
  const totalBytes = 10 * MEBIBYTE;
  const { records, pieces, progress, text } = await run('SELECT * FROM BlobStorage', '', {
    bytes: new Source(LINES, 10),
    totalBytes,
  });
  assert.equal(text.length, totalBytes);
  assert.ok(pieces.every((piece) => piece.length < 100 * 1024));
  assert.ok(records.every((record) => record.kind !== 'data' || record.data.length <= 64 * 1024));
  assert.deepEqual(progress, [4 * MEBIBYTE, 8 * MEBIBYTE, 10 * MEBIBYTE]);
});

test('a scan that finds nothing tells its progress meanwhile', async () => {
  const { pieces, progress } = await run('SELECT * FROM BlobStorage WHERE _1 = 0', '', { bytes: new Source(LINES, 9) });
  assert.deepEqual(progress, [4 * MEBIBYTE, 8 * MEBIBYTE, 9 * MEBIBYTE]);
  assert.equal(pieces.length, 3);
});

test('others have their turn while a blob is scanned', async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await run('SELECT COUNT(*) FROM BlobStorage', '', { bytes: new Source(LINES, 8) });
  isOver = true;
  assert.ok(turns >= 8, `${turns} turns`);
});

test('a record of many rows goes out row by row, however much each of them gives', async () => {
  const blob = `{"a":[${Array.from({ length: 100 }, () => '1').join(',')}]}`;
  const { pieces, text } = await run(`SELECT '${'x'.repeat(100_000)}' FROM BlobStorage[*].a[*]`, blob, {
    input: DEFAULT_JSON,
  });
  assert.equal(text.length, 100 * 100_001);
  assert.ok(pieces.every((piece) => piece.length < 300 * 1024));
});

test('a row that gives too much is an error of its record', async () => {
  const blob = `${'x'.repeat(1_000_000)}\n`;
  const { errors, text } = await run(
    `SELECT ${Array.from({ length: 49 }, () => '_1').join(',')} FROM BlobStorage`,
    blob,
  );
  assert.equal(text, '');
  assert.match(errors.join(), /^ResourceLimitExceeded/);
});

async function* broken(): AsyncGenerator<Uint8Array> {
  yield LINES;
  throw new Error('the disk is gone');
}

test('a blob that cannot be read to its end fails as its stream does', async () => {
  await assert.rejects(run('SELECT * FROM BlobStorage', '', { bytes: broken() }), /the disk is gone/);
});

const WORDS =
  `SELECT FROM WHERE LIMIT BlobStorage AS AND OR NOT IS NULL MISSING LIKE ESCAPE BETWEEN IN CASE WHEN THEN ELSE END CAST
   INT FLOAT STRING TIMESTAMP BOOL DECIMAL TRUE FALSE COUNT SUM AVG MIN MAX COALESCE NULLIF LOWER UPPER TRIM BOTH LEADING
   CHAR_LENGTH SUBSTRING TO_TIMESTAMP TO_STRING DATE_ADD DATE_DIFF EXTRACT UTCNOW year 'day' _1 _2 _3 a b.c "a" x[0] sys split
   ( ) [ ] * . , ; + - * / % || = <> != < <= > >= 0 1 2.5 1e300 9223372036854775807 'x' '1' '2020-01-01' '%_' '' ' " [*]`.split(
    /\s+/,
  );

/** Words that mostly make sense together, so that many of the queries run. */
const operand = fc.oneof(
  fc.constantFrom(
    '_1',
    '_2',
    'a',
    'b.c',
    'x[0]',
    '1',
    '0',
    '2.5',
    "'x'",
    "'1'",
    "'2020-01-01'",
    'NULL',
    'TRUE',
    '1e300',
  ),
  fc.constantFrom(
    'UTCNOW()',
    'CAST(_1 AS INT)',
    'LOWER(_1)',
    "TRIM('x' FROM a)",
    'EXTRACT(year FROM _1)',
    'COUNT(*)',
    'MAX(_1)',
  ),
);
const expression = fc
  .array(
    fc.tuple(
      operand,
      fc.constantFrom(
        '+',
        '-',
        '*',
        '/',
        '%',
        '||',
        '=',
        '<',
        '>=',
        'AND',
        'OR',
        'LIKE',
        'IS NULL AND',
        'IN (1, a) OR',
      ),
    ),
    {
      maxLength: 4,
    },
  )
  .chain((pairs) => operand.map((last) => `${pairs.map((pair) => pair.join(' ')).join(' ')} ${last}`));
const likelyQuery = fc
  .tuple(
    fc.oneof(fc.constant('*'), expression),
    fc.constantFrom('', '[*].a', '[*].a[*]', ' t'),
    fc.option(expression),
    fc.option(fc.nat(3)),
  )
  .map(([select, table, where, limit]) =>
    [
      `SELECT ${select} FROM BlobStorage${table}`,
      where === null ? '' : `WHERE ${where}`,
      limit === null ? '' : `LIMIT ${limit}`,
    ].join(' '),
  );
const anyQuery = fc.oneof(
  { weight: 4, arbitrary: likelyQuery },
  { weight: 2, arbitrary: fc.array(fc.constantFrom(...WORDS), { maxLength: 25 }).map((words) => words.join(' ')) },
  { weight: 2, arbitrary: expression.map((text) => `SELECT ${text} FROM BlobStorage`) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
);
const anyBlob = fc.oneof(
  fc
    .array(fc.constantFrom(',', '\n', '\r\n', '"', '""', '1', '-2.5', 'x', '2020-01-01', '€', ' '), { maxLength: 40 })
    .map((all) => all.join('')),
  fc
    .array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 4 })
    .map((values) => values.map((value) => JSON.stringify({ a: value, b: { c: value } })).join('\n')),
  fc.uint8Array({ maxLength: 40 }),
);
const anyFormat = fc.constantFrom<Format>(
  DEFAULT_DELIMITED,
  WITH_HEADERS,
  { ...DEFAULT_DELIMITED, escape: '\\', columnSeparator: '1', recordSeparator: '€' },
  DEFAULT_JSON,
  { kind: 'json', recordSeparator: ',' },
);

test('any query over any blob is refused, or answered to its end', async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(anyQuery, anyBlob, anyFormat, anyFormat, async (text, blob, input, output) => {
      try {
        const { records } = await run(text, blob, { input, output });
        assert.equal(records.at(-1)?.kind, 'end');
        answered++;
      } catch (error) {
        if (!(error instanceof QueryRefused)) throw error;
        assert.ok(error.position >= 1 && error.position <= text.length + 1);
      }
    }),
    { numRuns: 2000, ...seeded },
  );
  assert.ok(answered > 200, `${answered} were answered`);
});
