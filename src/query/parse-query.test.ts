import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { jsonText } from './json-text.ts';
import { parseQuery } from './parse-query.ts';
import { QueryRefused } from './query-error.ts';
import type { Expression } from './syntax.ts';

/** The tree of an expression with every operator and its operands in parentheses. */
function shape(expression: Expression): string {
  switch (expression.kind) {
    case 'literal':
      return typeof expression.value === 'string' ? `'${expression.value}'` : jsonText(expression.value);
    case 'column':
      return expression.path
        .map((step) => (step.kind === 'member' ? `.${step.name}` : `[${step.kind === 'index' ? step.index : '*'}]`))
        .join('')
        .slice(1);
    case 'arithmetic':
    case 'compare':
      return `(${shape(expression.left)} ${expression.operator} ${shape(expression.right)})`;
    case 'and':
    case 'or':
    case 'concat':
      return `(${expression.kind} ${expression.operands.map(shape).join(' ')})`;
    case 'between':
      return `(between ${[expression.operand, expression.low, expression.high].map(shape).join(' ')})`;
    case 'in':
      return `(in ${[expression.operand, ...expression.choices].map(shape).join(' ')})`;
    case 'like':
      return `(like ${[expression.operand, expression.pattern, ...(expression.escape ? [expression.escape] : [])].map(shape).join(' ')})`;
    case 'case':
      return `(case ${expression.branches.map(({ when, result }) => `${shape(when)}:${shape(result)}`).join(' ')})`;
    case 'cast':
      return `(cast ${shape(expression.operand)} ${JSON.stringify(expression.target)})`;
    case 'call':
      return `(${expression.name} ${expression.operands.map(shape).join(' ')})`;
    case 'aggregate':
      return `(${expression.name} ${expression.operand === null ? '*' : shape(expression.operand)})`;
    default:
      return `(${expression.kind} ${shape(expression.operand)})`;
  }
}

describe('an expression', () => {
  for (const [text, want] of [
    ['1 + 2 * 3', '(1 + (2 * 3))'],
    ['(1 + 2) * 3', '((1 + 2) * 3)'],
    ['1 - 2 - 3', '((1 - 2) - 3)'],
    ['-a * +b', '((negate a) * b)'],
    ["a || 'x' || b", "(concat a 'x' b)"],
    ['a + 1 || b', '(concat (a + 1) b)'],
    ['a = 1 OR b = 2 AND NOT c = 3', '(or (a = 1) (and (b = 2) (not (c = 3))))'],
    ['a AND b AND c', '(and a b c)'],
    ['a != 1', '(a <> 1)'],
    ['a <> 1', '(a <> 1)'],
    ['NOT a IS NULL', '(not (isNull a))'],
    ['a IS NOT NULL', '(not (isNull a))'],
    ['a IS MISSING', '(isMissing a)'],
    ['a IS NOT MISSING', '(not (isMissing a))'],
    ['a BETWEEN 1 AND 2 AND b', '(and (between a 1 2) b)'],
    ['a NOT BETWEEN 1 AND 2', '(not (between a 1 2))'],
    ["a IN ('x', 'y')", "(in a 'x' 'y')"],
    ["a NOT IN ('x')", "(not (in a 'x'))"],
    ["a LIKE 'x%'", "(like a 'x%')"],
    ["a NOT LIKE 'x!%' ESCAPE '!'", "(not (like a 'x!%' '!'))"],
    ['CASE WHEN a THEN 1 ELSE 2 END', '(case a:1)'],
    ["CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END", "(case 1:'x' 2:'y')"],
    ['cast(a as int)', '(cast a {"type":"int"})'],
    ['CAST(a AS DECIMAL(10,2))', '(cast a {"type":"decimal","scale":2})'],
    ['CAST(a AS NUMERIC(10))', '(cast a {"type":"decimal","scale":0})'],
    ['CAST(a AS VARCHAR(5))', '(cast a {"type":"string","lengthMax":5})'],
    ['CAST(a AS STRING)', '(cast a {"type":"string","lengthMax":null})'],
    ['TRUE', 'true'],
    ['null', 'null'],
    ['warehouses[0].longitude', 'warehouses[0].longitude'],
    ['a["b c"].d', 'a.b c.d'],
    ['b.select', 'b.select'],
    ['"select"', 'select'],
    ["TRIM(BOTH '12' FROM a)", "(trim 'both' a '12')"],
    ["TRIM('12' FROM a)", "(trim 'both' a '12')"],
    ['TRIM(LEADING FROM a)', "(trim 'leading' a ' ')"],
    ['TRIM(a)', "(trim 'both' a ' ')"],
    ['TRIM(leading)', "(trim 'both' leading ' ')"],
    ['EXTRACT(YEAR FROM a)', "(extract 'year' a)"],
    ["DATE_ADD('minute', 1, a)", "(date_add 'minute' 1 a)"],
    ['DATE_DIFF(day, a, b)', "(date_diff 'day' a b)"],
    ['UTCNOW()', '(utcnow )'],
    ['COUNT(*)', '(count *)'],
    ['AVERAGE(a)', '(avg a)'],
    ['count(a) + 1', '((count a) + 1)'],
  ] as const) {
    test(`${text} reads as ${want}`, () => {
      const { select } = parseQuery(`SELECT ${text} FROM BlobStorage`);
      assert.ok(select.kind === 'items');
      assert.equal(shape((select.items[0] as (typeof select.items)[0]).expression), want);
    });
  }
});

describe('a query', () => {
  test('names its table in any case, qualified by an alias, and may end with a semicolon', () => {
    const query = parseQuery('select b._1 as "First Name", _2 second from blobstorage AS B where 1 = 1 limit 5 ;');
    assert.ok(query.select.kind === 'items');
    assert.deepEqual(
      query.select.items.map(({ alias }) => alias),
      ['First Name', 'second'],
    );
    assert.equal(query.tableName, 'b');
    assert.equal(query.limitCount, 5);
    assert.deepEqual(query.tablePath, []);
  });

  test('may say which rows of the JSON it means', () => {
    const { tablePath, select } = parseQuery('SELECT * FROM BlobStorage[*].a."B c"[*][2] x');
    assert.deepEqual(select, { kind: 'all' });
    assert.deepEqual(tablePath, [
      { kind: 'member', name: 'a', isQuoted: false },
      { kind: 'member', name: 'B c', isQuoted: true },
      { kind: 'each' },
      { kind: 'index', index: 2 },
    ]);
  });

  test('of sys.split has a size and nothing else', () => {
    assert.deepEqual(parseQuery('SELECT sys.split(10485760)FROM BlobStorage').select, {
      kind: 'split',
      sizeBytes: 10_485_760,
    });
  });

  test('takes thousands of conditions side by side', () => {
    const conditions = Array.from({ length: 10_000 }, (_, index) => `_1 = ${index}`);
    for (const word of ['AND', 'OR']) parseQuery(`SELECT * FROM BlobStorage WHERE ${conditions.join(` ${word} `)}`);
  });
});

const deep = (open: string, close: string, count: number): string => open.repeat(count) + '1' + close.repeat(count);
const columns = (count: number): string => Array.from({ length: count }, (_, index) => `_${index + 1}`).join(', ');

describe('is refused, with its position:', () => {
  for (const [text, position, message] of [
    ['', 1, /Expected SELECT, found the end/],
    ['DELETE FROM BlobStorage', 1, /Expected SELECT, found "DELETE"/],
    ['SELECT FROM BlobStorage', 8, /Expected a value or the name of a column, found "FROM"/],
    ['SELECT * BlobStorage', 10, /Expected FROM/],
    ['SELECT * FROM Table1', 15, /Expected BlobStorage, found "Table1"/],
    ['SELECT * FROM BlobStorage WHERE', 32, /found the end/],
    ['SELECT * FROM BlobStorage WHERE _1 =', 37, /found the end/],
    ['SELECT * FROM BlobStorage WHERE _1 = 1 GROUP BY _1', 40, /Expected WHERE, LIMIT or the end, found "GROUP"/],
    ['SELECT * FROM BlobStorage LIMIT -1', 33, /a number of rows/],
    ['SELECT * FROM BlobStorage LIMIT 1.5', 33, /a number of rows/],
    ['SELECT * FROM BlobStorage LIMIT 99999999999999999999', 33, /a number of rows/],
    ['SELECT * FROM BlobStorage; SELECT 1', 28, /the end/],
    ['SELECT *, _1 FROM BlobStorage', 9, /Expected FROM/],
    ['SELECT (_1 FROM BlobStorage', 12, /Expected "\)"/],
    ['SELECT nothing(1) FROM BlobStorage', 8, /There is no function NOTHING/],
    ['SELECT LOWER() FROM BlobStorage', 8, /LOWER is not called with 0 operands/],
    ['SELECT SUBSTRING(_1) FROM BlobStorage', 8, /SUBSTRING is not called with 1 operands/],
    ['SELECT CAST(_1 AS MONEY) FROM BlobStorage', 19, /Expected a type/],
    ['SELECT EXTRACT(CENTURY FROM _1) FROM BlobStorage', 16, /one of year, month/],
    ['SELECT DATE_ADD(_1, 1, _2) FROM BlobStorage', 17, /one of year, month/],
    ['SELECT CASE END FROM BlobStorage', 13, /Expected a value/],
    ['SELECT CASE WHEN 1 THEN 2 FROM BlobStorage', 27, /Expected END/],
    ['SELECT _1 IS 5 FROM BlobStorage', 14, /NULL or MISSING/],
    ['SELECT a[b] FROM BlobStorage', 10, /an index/],
    ['SELECT a[*] FROM BlobStorage', 10, /an index/],
    ['SELECT * FROM BlobStorage[0]', 15, /followed by a name/],
    ['SELECT * FROM BlobStorage[*][*]', 15, /followed by a name/],
    ['SELECT sys.split(100) FROM BlobStorage', 18, /at least 10485760 bytes/],
    ['SELECT sys.split(10485760) FROM BlobStorage LIMIT 1', 33, /whole blob/],
    [`SELECT ${columns(50)} FROM BlobStorage`, 244, /Up to 49 columns/],
    [`SELECT ${deep('(', ')', 5000)} FROM BlobStorage`, null, /nested too deeply/],
    [`SELECT ${deep('NOT ', '', 5000)} FROM BlobStorage`, null, /nested too deeply/],
    [`SELECT ${deep('- ', '', 5000)} FROM BlobStorage`, null, /nested too deeply/],
    [`SELECT 1${'+1'.repeat(5000)} FROM BlobStorage`, null, /nested too deeply/],
    [`SELECT 1${' IS NULL'.repeat(5000)} FROM BlobStorage`, null, /nested too deeply/],
    [`SELECT ${deep('LOWER(', ')', 5000)} FROM BlobStorage`, null, /nested too deeply/],
    [`SELECT a${'.a'.repeat(5000)} FROM BlobStorage`, null, /too many steps/],
  ] as const) {
    test(text.length > 60 ? `${text.slice(0, 30)}… (${message.source})` : text, () => {
      assert.throws(
        () => parseQuery(text),
        (error) => {
          assert.ok(error instanceof QueryRefused, String(error));
          assert.match(error.message, message);
          if (position !== null) assert.equal(error.position, position);
          return true;
        },
      );
    });
  }

  test('but 49 columns, and nesting that people write, are taken', () => {
    parseQuery(`SELECT ${columns(49)} FROM BlobStorage`);
    parseQuery(`SELECT ${deep('(', ')', 100)} FROM BlobStorage`);
  });
});
