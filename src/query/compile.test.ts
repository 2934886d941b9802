import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseQuery } from './parse-query.ts';
import { makePlan } from './plan.ts';
import { QueryRefused, RecordError } from './query-error.ts';
import { Timestamp } from './timestamp.ts';
import type { Value } from './value.ts';
import { Work } from './work.ts';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

/** `_1`: the text of a whole number; `_2`: of another; `_3`: no number; `_4`: nothing; `_5`: true. */
const FIELDS = ['7', '2.5', 'Straße', '', 'true'];

function evaluate(expression: string, row: Value = FIELDS, { isDelimited = true } = {}): Value {
  const query = parseQuery(`SELECT ${expression} FROM BlobStorage t`);
  const plan = makePlan(query, { isDelimited, header: null, nowMs: NOW_MS, work: new Work() });
  return plan.take(row)?.values[0];
}

/** The value, or the name of the error. */
function outcome(act: () => Value): Value {
  try {
    return act();
  } catch (error) {
    if (error instanceof RecordError) return error.errorName;
    throw error;
  }
}

const shown = (value: Value): string =>
  typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? 'missing');
const at = (iso: string): Timestamp => new Timestamp(Date.parse(iso));

describe('over fields of text,', () => {
  for (const [expression, want] of [
    // Types and literals.
    ['1', 1n],
    ['1.5', 1.5],
    ["'a'", 'a'],
    ['TRUE', true],
    ['NULL', null],
    ['_1', '7'],
    ['t._1', '7'],
    ['_9', 'InvalidColumnOrdinal'],

    // Arithmetic.
    ['7 / 2', 3n],
    ['-7 / 2', -3n],
    ['7 / 2.0', 3.5],
    ['7 % 4', 3n],
    ['2 + 3 * 4', 14n],
    ['-(2 - 5)', 3n],
    ['_1 + 1', 8n],
    ['_1 * _2', 17.5],
    ['-_1', -7n],
    ['_3 + 1', 'InvalidTypeConversion'],
    ['_4 + 1', 'InvalidTypeConversion'],
    ['NULL + 1', null],
    ['1 / 0', 'DivideByZero'],
    ['1 % 0', 'DivideByZero'],
    ['1.0 / 0', 'DivideByZero'],
    ['9223372036854775807 + 1', 'ArithmeticOverflow'],
    ['9223372036854775807 * 1.0', 2 ** 63],
    ['1e308 * 10', 'ArithmeticOverflow'],
    ["'a' || _1 || TRUE || 1.5", 'a7true1.5'],
    ["'a' || NULL", null],

    // Comparison, with conversions.
    ['_1 > 6', true],
    ['_1 > 6.9', true],
    ['_2 = 2.50', true],
    ["_1 > '10'", true],
    ['_1 > 10', false],
    ["'10' = 10", true],
    ["' 10 ' = 10", true],
    ['9007199254740993 = 9007199254740992.0', false],
    ["'a' < 'b'", true],
    ["'a' < 'B'", false],
    ['_3 > 1', 'InvalidTypeConversion'],
    ['_5 = TRUE', true],
    ['_1 = TRUE', 'InvalidTypeConversion'],
    ['1 = TRUE', true],
    ["TRUE = 'FALSE'", false],
    ['NULL = NULL', null],
    ["CAST('2020-01-01' AS TIMESTAMP) < '2020-01-01T00:00:01Z'", true],
    ["CAST('2020-01-01T01:00+01:00' AS TIMESTAMP) = CAST('2020-01-01' AS TIMESTAMP)", true],
    ["CAST('2020-01-01' AS TIMESTAMP) < 5", 'InvalidTypeConversion'],

    // Logic of three values.
    ['TRUE AND NULL', null],
    ['FALSE AND NULL', false],
    ['NULL AND FALSE', false],
    ['TRUE OR NULL', true],
    ['FALSE OR NULL', null],
    ['NOT NULL', null],
    ['NOT _5', false],
    ['1 AND 0', false],
    ['FALSE AND 1 / 0 = 1', false],
    ['TRUE OR 1 / 0 = 1', true],
    ["'perhaps' OR FALSE", 'InvalidTypeConversion'],

    // Predicates.
    ['_1 IS NULL', false],
    ['NULL IS NULL', true],
    ['_4 IS NULL', false],
    ['_9 IS NULL', true],
    ['_9 IS MISSING', true],
    ['_9 IS NOT MISSING', false],
    ['_1 IS NOT MISSING', true],
    ['NULL IS MISSING', false],
    ['_1 BETWEEN 7 AND 8', true],
    ['_1 NOT BETWEEN 7 AND 8', false],
    ['_1 BETWEEN 8 AND NULL', false],
    ['_1 BETWEEN 7 AND NULL', null],
    ["_1 IN ('6', '7')", true],
    ['_1 IN (6, 7)', true],
    ["_1 IN ('6')", false],
    ["_1 NOT IN ('6')", true],
    ["_1 IN ('6', NULL)", null],
    ["_1 IN ('7', NULL)", true],
    ["NULL IN ('7')", null],
    ["_3 LIKE 'S%e'", true],
    ["_3 LIKE 'Stra_e'", true],
    ["_3 LIKE 's%'", false],
    ["_3 NOT LIKE 's%'", true],
    ["'50%' LIKE '50!%' ESCAPE '!'", true],
    ["'50x' LIKE '50!%' ESCAPE '!'", false],
    ["_3 LIKE _3 || '%'", true],
    ['_3 LIKE NULL', null],
    ["NULL LIKE '%'", null],
    ["_3 LIKE '%' ESCAPE _3", 'InvalidArgument'],

    // Choices.
    ["CASE WHEN _1 > 5 THEN 'big' ELSE 'small' END", 'big'],
    ["CASE WHEN NULL THEN 'a' END", null],
    ["CASE _1 WHEN 6 THEN 'six' WHEN 7 THEN 'seven' END", 'seven'],
    ["CASE NULL WHEN NULL THEN 'a' ELSE 'b' END", 'b'],
    ["CASE WHEN TRUE THEN 'a' ELSE 1 / 0 END", 'a'],
    ["COALESCE(NULL, NULL, 'x')", 'x'],
    ['COALESCE(NULL)', null],
    ["COALESCE('a', 1 / 0)", 'a'],
    ['NULLIF(_1, 7)', null],
    ['NULLIF(_1, 8)', '7'],
    ['NULLIF(NULL, 8)', null],

    // Casts.
    ['CAST(_1 AS INT)', 7n],
    ['CAST(_2 AS INT)', 2n],
    ["CAST('-2.9' AS INT)", -2n],
    ["CAST('1e3' AS INT)", 1000n],
    ["CAST('1e30' AS INT)", 'ArithmeticOverflow'],
    ['CAST(_3 AS INT)', 'InvalidTypeConversion'],
    ['CAST(TRUE AS INT)', 1n],
    ['CAST(NULL AS INT)', null],
    ['CAST(_1 AS FLOAT)', 7],
    ["CAST('2.345' AS DECIMAL(5, 2))", 2.35],
    ["CAST('2.5' AS NUMERIC)", 2.5],
    ['CAST(7 AS DECIMAL(5, 2))', 7n],
    ['CAST(1.50 AS STRING)', '1.5'],
    ["CAST('abcdef' AS VARCHAR(3))", 'abc'],
    ['CAST(TRUE AS STRING)', 'true'],
    ['CAST(_5 AS BOOL)', true],
    ["CAST('0' AS BOOLEAN)", false],
    ["CAST('yes' AS BOOL)", 'InvalidTypeConversion'],
    ["CAST('2017-01-02T03:04:05.006Z' AS TIMESTAMP)", at('2017-01-02T03:04:05.006Z')],
    ["CAST('yesterday' AS TIMESTAMP)", 'InvalidTypeConversion'],
    ["CAST(CAST('2017-01-02T03:04+05:30' AS TIMESTAMP) AS STRING)", '2017-01-02T03:04:00.000+05:30'],
    ['CAST(5 AS TIMESTAMP)', 'InvalidTypeConversion'],

    // Functions of text: the examples of the reference first.
    ["CHARACTER_LENGTH('abcdefg')", 7n],
    ['CHAR_LENGTH(_1)', 1n],
    ["CHAR_LENGTH('🪨a')", 2n],
    ["LOWER('AbCdEfG')", 'abcdefg'],
    ["UPPER('AbCdEfG')", 'ABCDEFG'],
    ["SUBSTRING('123456789', 1, 5)", '23456'],
    ["SUBSTRING('123456789', 6)", '789'],
    ["TRIM(BOTH '123' FROM '1112211Microsoft22211122')", 'Microsoft'],
    ["TRIM(LEADING '1' FROM '1x1')", 'x1'],
    ["TRIM(TRAILING FROM ' x ')", ' x'],
    ["TRIM('  x ')", 'x'],
    ['UPPER(12)', '12'],
    ['LOWER(NULL)', null],
    ['SUBSTRING(NULL, 1, 2)', null],
    ["SUBSTRING('abc', 'x')", 'InvalidTypeConversion'],

    // Functions of time.
    ["DATE_ADD('minute', 1, CAST('2017-01-02T03:04:05.006Z' AS TIMESTAMP))", at('2017-01-02T03:05:05.006Z')],
    ["DATE_DIFF('hour','2018-11-09T00:00+05:30','2018-11-09T01:00:23-08:00')", 14n],
    ["EXTRACT(YEAR FROM '2010-01-01T')", 2010n],
    ["EXTRACT(TIMEZONE_HOUR FROM '2010-01-01T00:00-03:30')", -3n],
    ["TO_STRING(CAST('1969-07-20T20:18Z' AS TIMESTAMP),  'MMMM d, y')", 'July 20, 1969'],
    ["TO_STRING('1969-07-20T20:18Z')", '1969-07-20T20:18:00.000Z'],
    ["TO_STRING('1969-07-20T20:18Z', 'QQ')", 'InvalidArgument'],
    ["TO_TIMESTAMP('2007T')", at('2007-01-01T00:00:00Z')],
    ["TO_TIMESTAMP('2007T') + 1.5", at('2007-01-02T12:00:00Z')],
    ["1 + TO_TIMESTAMP('2007T')", at('2007-01-02T00:00:00Z')],
    ["TO_TIMESTAMP('2007T') - 1", at('2006-12-31T00:00:00Z')],
    ["TO_TIMESTAMP('2007T') * 2", 'InvalidTypeConversion'],
    ["DATE_ADD('year', 9000, '2007T')", 'ArithmeticOverflow'],
    ["DATE_ADD('year', 1e300, '2007T')", 'ArithmeticOverflow'],
    ["DATE_ADD('second', NULL, '2007T')", null],
    ['UTCNOW()', new Timestamp(NOW_MS)],
  ] as const) {
    test(`${expression} is ${shown(want)}`, () =>
      assert.deepEqual(
        outcome(() => evaluate(expression)),
        want,
      ));
  }
});

describe('over JSON,', () => {
  const row: Value = new Map<string, Value>([
    ['id', 1n],
    ['Name', 'mouse'],
    ['price', 12.5],
    ['none', null],
    ['tags', ['wireless', 'accessory']],
    ['size', new Map<string, Value>([['Length', 3n]])],
    ['__proto__', 'a member like others'],
  ]);
  for (const [expression, want] of [
    ['id', 1n],
    ['name', 'mouse'],
    ['NAME', 'mouse'],
    ['"Name"', 'mouse'],
    ['"name"', undefined],
    ['t.name', 'mouse'],
    ['tags[1]', 'accessory'],
    ['tags[2]', undefined],
    ['tags[0][0]', undefined],
    ['size.length', 3n],
    ['size.nothing.at.all', undefined],
    ['id.x', undefined],
    ['__proto__', 'a member like others'],
    ['constructor', undefined],
    ['nothing IS MISSING', true],
    ['none IS MISSING', false],
    ['none IS NULL', true],
    ['nothing IS NULL', true],
    ['nothing = 1', null],
    ['id + price', 13.5],
    ["price > '12'", true],
    ['tags = 1', 'InvalidTypeConversion'],
    ['size || 1', 'InvalidTypeConversion'],
    ['CAST(tags AS STRING)', 'InvalidTypeConversion'],
    ['_1', undefined],
  ] as const) {
    test(`${expression} is ${shown(want)}`, () => {
      assert.deepEqual(
        outcome(() => evaluate(expression, row, { isDelimited: false })),
        want,
      );
    });
  }
});

describe('a query that does not fit its data is refused:', () => {
  const refusals: [text: string, options: { isDelimited?: boolean; header?: readonly string[] | null }, RegExp][] = [
    ['SELECT Month FROM BlobStorage', {}, /Without headers.*position 8/],
    ["SELECT * FROM BlobStorage WHERE Month = 'May'", {}, /Without headers.*position 33/],
    ['SELECT Month FROM BlobStorage', { header: ['Year', 'Day'] }, /no column "Month"/],
    ['SELECT "year" FROM BlobStorage', { header: ['Year'] }, /no column "year"/],
    ['SELECT _1.x FROM BlobStorage', {}, /no members/],
    ['SELECT _0 FROM BlobStorage', {}, /Without headers/],
    ['SELECT * FROM BlobStorage[*].a', {}, /has no paths/],
    ['SELECT sys.split(10485760) FROM BlobStorage', { isDelimited: false }, /delimited text/],
    ['SELECT COUNT(*), _1 FROM BlobStorage', {}, /inside an aggregate.*position 18/],
    ['SELECT SUM(COUNT(*)) FROM BlobStorage', {}, /COUNT is not allowed here.*position 12/],
    ['SELECT * FROM BlobStorage WHERE COUNT(*) > 1', {}, /COUNT is not allowed here/],
    ["SELECT * FROM BlobStorage WHERE _1 LIKE 'a!' ESCAPE '!'", {}, /ends with its escape.*position 41/],
    ["SELECT * FROM BlobStorage WHERE _1 LIKE 'a' ESCAPE 'ab'", {}, /single character/],
    [`SELECT * FROM BlobStorage WHERE _1 LIKE '${'a'.repeat(4001)}'`, {}, /up to 4000/],
  ];
  for (const [text, { isDelimited = true, header = null }, message] of refusals) {
    test(text.slice(0, 60), () => {
      assert.throws(
        () => makePlan(parseQuery(text), { isDelimited, header, nowMs: 0, work: new Work() }),
        (error) => error instanceof QueryRefused && message.test(error.message),
      );
    });
  }

  test('but columns have the names of the header, in any case, or their numbers', () => {
    const query = parseQuery('SELECT year, "Year", "_1", _2, DAY FROM BlobStorage');
    const header = ['Day', 'Year', '_1'];
    const plan = makePlan(query, { isDelimited: true, header, nowMs: 0, work: new Work() });
    assert.deepEqual(plan.take(['1', '2026', 'x']), {
      names: ['year', 'Year', '_1', '_4', 'DAY'],
      values: ['2026', '2026', 'x', '2026', '1'],
    });
  });
});

test('a row that costs too much work is given up', () => {
  const field = 'x'.repeat(1024 * 1024);
  const copies = Array.from({ length: 40 }, () => '_1').join(' || ');
  for (const expression of [copies, `LOWER(UPPER(${'LOWER('.repeat(30)}_1${')'.repeat(30)}))`]) {
    assert.equal(
      outcome(() => evaluate(expression, [field])),
      'ResourceLimitExceeded',
    );
  }
});
