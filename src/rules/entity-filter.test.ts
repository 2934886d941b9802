import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { filter as anyFilter, renderFilter } from '../../test/harness/filters.ts';
import { seeded } from '../../test/harness/random.ts';
import type { EdmValue } from './edm.ts';
import { type ComparisonOperator, type Filter, matchesFilter, parseFilter } from './entity-filter.ts';

const string = (value: string): EdmValue => ({ type: 'Edm.String', value });
const int32 = (value: number): EdmValue => ({ type: 'Edm.Int32', value });
const int64 = (value: bigint): EdmValue => ({ type: 'Edm.Int64', value });
const double = (value: number): EdmValue => ({ type: 'Edm.Double', value });
const boolean = (value: boolean): EdmValue => ({ type: 'Edm.Boolean', value });
const dateTime = (value: bigint): EdmValue => ({ type: 'Edm.DateTime', value });
const guid = (value: string): EdmValue => ({ type: 'Edm.Guid', value });
const binary = (...bytes: number[]): EdmValue => ({ type: 'Edm.Binary', value: Uint8Array.from(bytes) });

const compare = (property: string, operator: ComparisonOperator, literal: EdmValue): Filter => ({
  kind: 'compare',
  property,
  operator,
  literal,
});
const and = (left: Filter, right: Filter): Filter => ({ kind: 'and', left, right });
const or = (left: Filter, right: Filter): Filter => ({ kind: 'or', left, right });
const not = (operand: Filter): Filter => ({ kind: 'not', operand });
const isTrue = (property: string): Filter => ({ kind: 'isTrue', property });
const constant = (value: boolean): Filter => ({ kind: 'constant', value });

const [a, b, c] = [compare('A', 'eq', int32(1)), compare('B', 'eq', int32(2)), compare('C', 'eq', int32(3))];

describe('the parser reads', () => {
  for (const [text, want] of [
    // Operators, and what binds how tightly.
    ['A eq 1', a],
    ['A ne 1', compare('A', 'ne', int32(1))],
    ['A gt 1', compare('A', 'gt', int32(1))],
    ['A ge 1', compare('A', 'ge', int32(1))],
    ['A lt 1', compare('A', 'lt', int32(1))],
    ['A le 1', compare('A', 'le', int32(1))],
    ['A eq 1 and B eq 2 and C eq 3', and(and(a, b), c)],
    ['A eq 1 or B eq 2 or C eq 3', or(or(a, b), c)],
    ['A eq 1 or B eq 2 and C eq 3', or(a, and(b, c))],
    ['A eq 1 and B eq 2 or C eq 3', or(and(a, b), c)],
    ['A eq 1 and (B eq 2 or C eq 3)', and(a, or(b, c))],
    ['(A eq 1 or B eq 2) and C eq 3', and(or(a, b), c)],
    ['not A eq 1', not(a)],
    ['not A eq 1 and B eq 2', and(not(a), b)],
    ['not (A eq 1 and B eq 2)', not(and(a, b))],
    ['not not A', not(not(isTrue('A')))],
    ['A eq 1 and not B', and(a, not(isTrue('B')))],
    // White space.
    ['  A   eq\t1\n', a],
    ['(A eq 1)and(B eq 2)', and(a, b)],
    ['not(A eq 1)or not(B eq 2)', or(not(a), not(b))],
    ['((A) eq ((1)))', a],
    [`( 'x'eq A )`, compare('A', 'eq', string('x'))],
    // A literal on the left, which turns the operator round.
    ['1 eq A', a],
    ['1 ne A', compare('A', 'ne', int32(1))],
    ['1 gt A', compare('A', 'lt', int32(1))],
    ['1 ge A', compare('A', 'le', int32(1))],
    ['1 lt A', compare('A', 'gt', int32(1))],
    ['1 le A', compare('A', 'ge', int32(1))],
    // Booleans alone, and what is known beforehand.
    ['A', isTrue('A')],
    ['(A)', isTrue('A')],
    ['A or B', or(isTrue('A'), isTrue('B'))],
    ['true', constant(true)],
    ['not false', not(constant(false))],
    ['A eq true', compare('A', 'eq', boolean(true))],
    ['1 lt 2', constant(true)],
    [`1 eq '1'`, constant(false)],
    ['2 ge 2.0', constant(true)],
    // Names: words mean something only where they can.
    ['mod eq 1', compare('mod', 'eq', int32(1))],
    ['datetime eq 1', compare('datetime', 'eq', int32(1))],
    ['X', isTrue('X')],
    ['AND eq 1', compare('AND', 'eq', int32(1))],
    ['nullable eq 1', compare('nullable', 'eq', int32(1))],
    ['INFx eq 1', compare('INFx', 'eq', int32(1))],
    ['_a1 eq 1', compare('_a1', 'eq', int32(1))],
    ['Größe_日本 eq 1', compare('Größe_日本', 'eq', int32(1))],
    // Texts.
    [`A eq ''`, compare('A', 'eq', string(''))],
    [`A eq 'it''s'`, compare('A', 'eq', string("it's"))],
    [`A eq ''''`, compare('A', 'eq', string("'"))],
    [`A eq '(and) 1'`, compare('A', 'eq', string('(and) 1'))],
    [`A eq '😀'`, compare('A', 'eq', string('😀'))],
    // Numbers.
    ['A eq -3', compare('A', 'eq', int32(-3))],
    ['A eq -0', compare('A', 'eq', int32(0))],
    ['A eq 007', compare('A', 'eq', int32(7))],
    ['A eq 2147483647', compare('A', 'eq', int32(2147483647))],
    ['A eq -2147483648', compare('A', 'eq', int32(-2147483648))],
    ['A eq 2147483648', compare('A', 'eq', int64(2147483648n))],
    ['A eq -2147483649', compare('A', 'eq', int64(-2147483649n))],
    ['A eq 9223372036854775807', compare('A', 'eq', int64(9223372036854775807n))],
    ['A eq 9223372036854775808', compare('A', 'eq', double(2 ** 63))],
    ['A eq 12L', compare('A', 'eq', int64(12n))],
    ['A eq -12l', compare('A', 'eq', int64(-12n))],
    ['A eq 1.5', compare('A', 'eq', double(1.5))],
    ['A eq 1e3', compare('A', 'eq', double(1000))],
    ['A eq -1.5E-3', compare('A', 'eq', double(-0.0015))],
    ['A eq 1e+21', compare('A', 'eq', double(1e21))],
    ['A eq 1.5d', compare('A', 'eq', double(1.5))],
    ['A eq 2D', compare('A', 'eq', double(2))],
    ['A eq -0.0', compare('A', 'eq', double(-0))],
    ['A eq NaN', compare('A', 'eq', double(Number.NaN))],
    ['A eq INF', compare('A', 'eq', double(Infinity))],
    ['A eq -INF', compare('A', 'eq', double(-Infinity))],
    ['A eq Infinity', compare('A', 'eq', double(Infinity))],
    ['A eq -Infinity', compare('A', 'eq', double(-Infinity))],
    // Other literals.
    [`A eq datetime'2024-05-01T12:34:56.1234567Z'`, compare('A', 'eq', dateTime(638501636961234567n))],
    [`A eq datetime'2024-05-01T12:34:56'`, compare('A', 'eq', dateTime(638501636960000000n))],
    [`A eq datetime'2024-05-01T14:34:56+02:00'`, compare('A', 'eq', dateTime(638501636960000000n))],
    [
      `A eq guid'C9DA6455-213D-42C9-9A79-3E9149A57833'`,
      compare('A', 'eq', guid('c9da6455-213d-42c9-9a79-3e9149a57833')),
    ],
    [`A eq X'0AfF'`, compare('A', 'eq', binary(0x0a, 0xff))],
    [`A eq binary'0AFF'`, compare('A', 'eq', binary(0x0a, 0xff))],
    [`A eq X''`, compare('A', 'eq', binary())],
  ] as const) {
    test(text, () => assert.deepEqual(parseFilter(text), { filter: want }));
  }
});

const OPERAND = 'a property, a literal, not or an opening parenthesis';

describe('the parser refuses', () => {
  for (const [text, want] of [
    ['', `Expected ${OPERAND} at position 1 of the filter, found the end.`],
    ['  ', `Expected ${OPERAND} at position 3 of the filter, found the end.`],
    ['A eq', 'Expected a property or a literal at position 5 of the filter, found the end.'],
    ['A eq 1 and', `Expected ${OPERAND} at position 11 of the filter, found the end.`],
    ['A eq 1 and or B', `Expected ${OPERAND} at position 12 of the filter, found or.`],
    ['eq 1', `Expected ${OPERAND} at position 1 of the filter, found eq.`],
    ['A eq eq 1', 'Expected a property or a literal at position 6 of the filter, found eq.'],
    ['A eq not B', 'Expected a property or a literal at position 6 of the filter, found not.'],
    [')', `Expected ${OPERAND} at position 1 of the filter, found ).`],
    ['()', `Expected ${OPERAND} at position 2 of the filter, found ).`],
    ['(A eq 1', 'Expected an operator or a closing parenthesis at position 8 of the filter, found the end.'],
    ['A eq 1)', 'Expected an operator or the end at position 7 of the filter, found ).'],
    ['A EQ 1', 'Expected an operator or the end at position 3 of the filter, found EQ.'],
    ['A eq 1 AND B eq 2', 'Expected an operator or the end at position 8 of the filter, found AND.'],
    ['A eq 1 eq 2', 'Expected an operator or the end at position 8 of the filter, found eq.'],
    ['A B', 'Expected an operator or the end at position 3 of the filter, found B.'],
    ['A = 1', '= at position 3 of the filter is not expected. Comparisons are written eq, ne, gt, ge, lt or le.'],
    ['A eq +1', '+ at position 6 of the filter is not expected.'],
    ['A eq -B', '- at position 6 of the filter is not expected.'],
    ['odata.etag eq 1', '. at position 6 of the filter is not expected.'],
    ['A/B eq 1', '/ at position 2 of the filter is not expected.'],
    ['A eq "x"', '" at position 6 of the filter is not expected.'],
    ['😀 eq 1', '😀 at position 1 of the filter is not expected.'],
    [`A eq 'x`, `'x at position 6 of the filter opens with a quote that is never closed.`],
    [`A eq 'x''`, `'x'' at position 6 of the filter opens with a quote that is never closed.`],
    [
      `A eq'x'`,
      `eq'x' at position 3 of the filter is not a literal: ` +
        'only datetime, guid, X or binary may come directly before a quote.',
    ],
    ['A eq 12abc', '12abc at position 6 of the filter is not a number.'],
    ['A eq 1.2.3', '1.2.3 at position 6 of the filter is not a number.'],
    ['A eq 1.', '1. at position 6 of the filter is not a number.'],
    ['A eq 1e', '1e at position 6 of the filter is not a number.'],
    ['A eq 1.5m', '1.5m at position 6 of the filter is not a number.'],
    ['A eq 9223372036854775808L', '9223372036854775808L at position 6 of the filter does not fit into an Edm.Int64.'],
    ['A eq 1e400', '1e400 at position 6 of the filter does not fit into an Edm.Double.'],
    [
      `A eq datetime'2024-13-01T00:00:00Z'`,
      `datetime'2024-13-01T00:00:00Z' at position 6 of the filter is not a time, ` +
        `which has the form datetime'2024-05-01T12:34:56Z'.`,
    ],
    [
      `A eq guid'1'`,
      `guid'1' at position 6 of the filter is not a GUID, ` +
        `which has the form guid'c9da6455-213d-42c9-9a79-3e9149a57833'.`,
    ],
    [
      `A eq X'0'`,
      `X'0' at position 6 of the filter is not a binary, which has two hexadecimal digits for each byte: X'0AFF'.`,
    ],
    [
      `A eq X'0G'`,
      `X'0G' at position 6 of the filter is not a binary, which has two hexadecimal digits for each byte: X'0AFF'.`,
    ],
    ['1', 'The literal at position 1 of the filter stands alone; expected a comparison with a property.'],
    [`A and 'x'`, 'The literal at position 7 of the filter stands alone; expected a comparison with a property.'],
    ['not 5', 'The literal at position 5 of the filter stands alone; expected a comparison with a property.'],
    [`${'x'.repeat(100)}.`, '. at position 101 of the filter is not expected.'],
    [`A ${'x'.repeat(100)}`, `Expected an operator or the end at position 3 of the filter, found ${'x'.repeat(40)}….`],
  ] as const) {
    test(text, () => assert.deepEqual(parseFilter(text), { problem: want, unsupported: false }));
  }

  for (const [text, want] of [
    ['startswith(A,1)', 'The Table service has no functions such as startswith, as at position 1 of the filter.'],
    [
      `substringof('x', A) eq true`,
      'The Table service has no functions such as substringof, as at position 1 of the filter.',
    ],
    [`tolower (A) eq 'x'`, 'The Table service has no functions such as tolower, as at position 1 of the filter.'],
    [
      `A eq 1 and length(B) gt 1`,
      'The Table service has no functions such as length, as at position 12 of the filter.',
    ],
    ['A add 1 eq 2', 'The Table service has no arithmetic such as add, as at position 3 of the filter.'],
    ['A eq 2 sub 1', 'The Table service has no arithmetic such as sub, as at position 8 of the filter.'],
    ['A mul 1', 'The Table service has no arithmetic such as mul, as at position 3 of the filter.'],
    ['(A div 1) eq 2', 'The Table service has no arithmetic such as div, as at position 4 of the filter.'],
    ['1 mod 2 eq A', 'The Table service has no arithmetic such as mod, as at position 3 of the filter.'],
    ['A eq B', 'The Table service does not compare two properties, as at position 1 of the filter.'],
    [
      '(A eq 1) eq true',
      'The Table service does not compare the result of an expression, as at position 2 of the filter.',
    ],
  ] as const) {
    test(`${text}, which the service does not offer`, () =>
      assert.deepEqual(parseFilter(text), { problem: want, unsupported: true }));
  }

  for (const [text, position] of [
    ['A eq null', 6],
    ['null ne A', 1],
    ['A eq 1 or null', 11],
    ['(null)', 2],
    ['null eq null', 1],
  ] as const) {
    test(`${text}, and says how entities without a property are found`, () => {
      const parsed = parseFilter(text);
      assert.ok('problem' in parsed && !parsed.unsupported);
      assert.match(parsed.problem, new RegExp(`the null at position ${position} of the filter`));
      assert.match(parsed.problem, /not \(Name ne ''\)/);
    });
  }
});

const repeated = (part: string, count: number, between: string): string =>
  Array.from({ length: count }, () => part).join(between);

describe('the parser has limits', () => {
  for (const [what, text] of [
    ['100 parentheses', `${'('.repeat(100)}A${')'.repeat(100)}`],
    ['100 times not', `${'not '.repeat(100)}A`],
    ['1,000 comparisons', repeated('A eq 1', 1_000, ' or ')],
    ['1,000 pairs of parentheses side by side', repeated('(A)', 1_000, ' and ')],
    ['a text of 32 KiB', `A eq '${"''".repeat(16_000)}'`],
  ] as const) {
    test(`and takes ${what}`, () => assert.ok('filter' in parseFilter(text)));
  }

  for (const [what, text, want] of [
    ['101 parentheses', `${'('.repeat(101)}A${')'.repeat(101)}`, /nests more than 100 deep at position 101\.$/],
    ['101 times not', `${'not '.repeat(101)}A`, /nests more than 100 deep at position 401\.$/],
    ['32 Ki parentheses', '('.repeat(32 * 1024), /nests more than 100 deep/],
    ['8 Ki times not', 'not '.repeat(8 * 1024), /nests more than 100 deep/],
    ['1,001 comparisons', repeated('A eq 1', 1_001, ' or '), /more than 1000 comparisons/],
    ['1,001 properties', repeated('A', 1_001, ' and '), /more than 1000 comparisons/],
    ['a number of 32 Ki digits', `A eq ${'9'.repeat(32 * 1024)}`, /does not fit/],
    ['a broken number of 32 Ki digits', `A eq ${'9'.repeat(32 * 1024)}x`, /is not a number/],
    ['32 Ki quotes', "'".repeat(32 * 1024 - 1), /never closed/],
    ['32 KiB of space', ' '.repeat(32 * 1024), /found the end/],
  ] as const) {
    test(`and refuses ${what}`, () => {
      const parsed = parseFilter(text);
      assert.ok('problem' in parsed);
      assert.match(parsed.problem, want);
    });
  }
});

const WORDS = [
  'A',
  'B',
  'eq',
  'lt',
  'and',
  'or',
  'not',
  '(',
  ')',
  '1',
  '-',
  `'x'`,
  "'",
  'null',
  'true',
  'datetime',
  ' ',
  '.',
];

test('any text is parsed or refused with a sentence', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }).map((words) => words.join(' ')),
    fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }).map((words) => words.join('')),
  );
  fc.assert(
    fc.property(text, (text) => {
      const parsed = parseFilter(text);
      assert.ok('filter' in parsed || /^\S.*\.$/su.test(parsed.problem));
    }),
    { numRuns: 2000, ...seeded },
  );
});

test('a filter written as text and parsed is the filter', () => {
  fc.assert(
    fc.property(anyFilter, (filter) => assert.deepEqual(parseFilter(renderFilter(filter)), { filter })),
    { numRuns: 1000, ...seeded },
  );
});

const ENTITY: Readonly<Record<string, EdmValue>> = {
  PartitionKey: string('p'),
  Timestamp: dateTime(638501636960000000n),
  Text: string('b'),
  Face: string('\u{1f5ff}'),
  Empty: string(''),
  Five: int32(5),
  Long: int64(5n),
  Big: int64(2n ** 53n + 1n),
  Half: double(5.5),
  Whole: double(5),
  NaN_: double(Number.NaN),
  Endless: double(Infinity),
  Yes: boolean(true),
  No: boolean(false),
  Time: dateTime(638501636960000000n),
  Id: guid('c9da6455-213d-42c9-9a79-3e9149a57833'),
  Bytes: binary(1, 2),
};

describe('of an entity', () => {
  for (const [text, want] of [
    [`Text eq 'b'`, true],
    [`Text eq 'B'`, false],
    [`Text ne 'b'`, false],
    [`Text ne 'c'`, true],
    [`Text gt 'a' and Text lt 'c' and Text ge 'b' and Text le 'b'`, true],
    [`Text gt 'b' or Text lt 'b'`, false],
    [`Text lt 'ba'`, true],
    [`Empty eq ''`, true],
    [`Empty lt 'a'`, true],
    // UTF-16 has it between U+D7FF and U+E000.
    [`Face lt '\ue000' and Face gt '\ud7ff'`, true],
    [`PartitionKey eq 'p'`, true],
    [`Timestamp ge datetime'2024-05-01T12:34:56Z'`, true],
    // What is not there compares with nothing.
    [`None eq ''`, false],
    [`None ne ''`, false],
    [`not (None ne '')`, true],
    ['None', false],
    ['not None', true],
    // Nor does what is of another kind.
    [`Five eq '5'`, false],
    [`Five ne '5'`, false],
    ['Text ne 5', false],
    ['Yes ne 1', false],
    [`Time ne '2024-05-01T12:34:56Z'`, false],
    [`Bytes ne guid'c9da6455-213d-42c9-9a79-3e9149a57833'`, false],
    [`Id ne X'0102'`, false],
    ['PartitionKey ne 1', false],
    // Numbers are numbers.
    ['Five eq 5', true],
    ['Five eq 5L', true],
    ['Five eq 5.0', true],
    ['Long eq 5 and Long le 5.5', true],
    ['Half gt 5 and Half lt 6L', true],
    ['Whole eq 5 and Whole eq 5L', true],
    ['Big eq 9007199254740993', true],
    ['Big gt 9007199254740992.0', true],
    ['Big ne 9007199254740992.0', true],
    ['Endless gt 9223372036854775807', true],
    ['Endless eq INF', true],
    // NaN is unequal to all, and that is all.
    ['NaN_ eq NaN', false],
    ['NaN_ ne NaN', true],
    ['NaN_ ne 1', true],
    ['NaN_ ge 1 or NaN_ le 1 or NaN_ gt NaN', false],
    ['Five ne NaN', true],
    ['Five lt NaN or Five ge NaN', false],
    // Booleans.
    ['Yes', true],
    ['No', false],
    ['not No', true],
    ['Five', false],
    ['Text', false],
    ['Yes eq true and No eq false', true],
    ['No lt true and Yes gt false and Yes ge true', true],
    // Times; those that no entity can have lie before or behind all.
    [`Time eq datetime'2024-05-01T12:34:56Z'`, true],
    [`Time lt datetime'2024-05-01T12:34:56.0000001Z'`, true],
    [`Time gt datetime'0001-01-01T00:00:00Z'`, true],
    [`Time gt datetime'1601-01-01T00:00:00+01:00'`, true],
    [`Time lt datetime'9999-12-31T23:59:59-01:00'`, true],
    // GUIDs and binaries.
    [`Id eq guid'C9DA6455-213D-42C9-9A79-3E9149A57833'`, true],
    [`Id gt guid'c9da6455-213d-42c9-9a79-3e9149a57832'`, true],
    [`Bytes eq X'0102'`, true],
    [`Bytes gt X'01' and Bytes lt X'010200' and Bytes lt X'0103' and Bytes gt X'00ff'`, true],
  ] as const) {
    test(`${text} is ${want}`, () => {
      const parsed = parseFilter(text);
      assert.ok('filter' in parsed);
      assert.equal(
        matchesFilter(parsed.filter, (name) => ENTITY[name] ?? null),
        want,
      );
    });
  }
});
