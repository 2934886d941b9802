import assert from 'node:assert/strict';
import test from 'node:test';
import {
  matchedTags,
  matchesTagQuery,
  meetsTagCondition,
  parseTagCondition,
  parseTagQuery,
  type TagBound,
  type TagQuery,
} from './tag-expression.ts';
import type { Tags } from './tags.ts';

const TAGS: Tags = [
  ['Status', 'done'],
  ['age', '10'],
  ['and', 'x'],
  ['empty', ''],
  ['two words', 'a b'],
];

const anded = (count: number) => Array.from({ length: count }, () => `age='10'`).join(' AND ');
const nested = (count: number) => `${'('.repeat(count)}age='10'${')'.repeat(count)}`;

for (const [text, want] of [
  [`Status='done'`, true],
  [`Status = 'done'`, true],
  [` "Status"\t=\n'done' `, true],
  [`status='done'`, false],
  [`Status='Done'`, false],
  [`"two words"='a b'`, true],
  [`"and"='x'`, true],
  [`"and"='x'AND"and"='x'`, true],
  [`empty=''`, true],
  [`empty<>''`, false],
  [`Status=''''`, false],
  [`Status<>'it''s'`, true],
  [`Status<>'done'`, false],
  [`Status<>'open'`, true],
  [`age>'1'`, true],
  [`age>'10'`, false],
  [`age>='10'`, true],
  [`age>'9'`, false],
  [`age<'9'`, true],
  [`age<'10'`, false],
  [`age<='10'`, true],
  // A tag that is not there compares with nothing.
  [`none='x'`, false],
  [`none<>'x'`, false],
  [`none<'x'`, false],
  [`none>=''`, false],
  // AND binds tighter than OR, and parentheses bind tightest.
  [`age='10' AND none='x'`, false],
  [`age='10' OR none='x'`, true],
  [`age='10' or none='x' and none='x'`, true],
  [`none='x' And none='x' Or age='10'`, true],
  [`(age='10' OR none='x') AND none='x'`, false],
  [`none='x' AND (none='x' OR age='10')`, false],
  [`((age='10') AND (Status='done'))`, true],
  [anded(11), true],
  [`(${anded(5)}) OR (${anded(6)})`, true],
  [nested(100), true],
] as const) {
  test(`the condition ${text.slice(0, 60)} is ${want}`, () => {
    const expression = parseTagCondition(text);
    assert.ok(expression !== null);
    assert.equal(meetsTagCondition(expression, TAGS), want);
  });
}

for (const text of [
  ``,
  ` `,
  `Status`,
  `Status=`,
  `='done'`,
  `Status 'done'`,
  `Status='done`,
  `Status=done`,
  `Status="done"`,
  `'Status'='done'`,
  `'done'=Status`,
  `""='done'`,
  `"Status='done'`,
  `and='x'`,
  `two words='a b'`,
  `my-tag='x'`,
  `Status=='done'`,
  `Status!='done'`,
  `Status=>'done'`,
  `NOT Status='done'`,
  `Status='done' AND`,
  `AND Status='done'`,
  `Status='done' age='10'`,
  `Status='done' AND OR age='10'`,
  `(Status='done'`,
  `Status='done')`,
  `()`,
  `(Status)='done'`,
  `@container='c'`,
  `@other='c'`,
  `Status='done';`,
  anded(12),
  nested(101),
  '('.repeat(100_000),
  `a='${"''".repeat(50_000)}`,
]) {
  test(`the condition ${text.slice(0, 60)} is none`, () => assert.equal(parseTagCondition(text), null));
}

// ---- queries

const from = (value: string): TagBound => ({ value, inclusive: true });
const beyond = (value: string): TagBound => ({ value, inclusive: false });

for (const [text, want] of [
  [`a='1'`, { container: null, terms: [{ name: 'a', min: from('1'), max: from('1') }] }],
  [`a>'1'`, { container: null, terms: [{ name: 'a', min: beyond('1'), max: null }] }],
  [`"a b" <= 'it''s'`, { container: null, terms: [{ name: 'a b', min: null, max: from("it's") }] }],
  [`a>='1' and a<'3'`, { container: null, terms: [{ name: 'a', min: from('1'), max: beyond('3') }] }],
  [`@container='c' AND a='1'`, { container: 'c', terms: [{ name: 'a', min: from('1'), max: from('1') }] }],
  [`a<'1' AND @Container = 'c'`, { container: 'c', terms: [{ name: 'a', min: null, max: beyond('1') }] }],
  [
    `b='2' AND a='1'`,
    {
      container: null,
      terms: [
        { name: 'b', min: from('2'), max: from('2') },
        { name: 'a', min: from('1'), max: from('1') },
      ],
    },
  ],
  // Terms on one name are narrowed to one.
  [`a>'1' AND a>'2'`, { container: null, terms: [{ name: 'a', min: beyond('2'), max: null }] }],
  [`a>'2' AND a>='1'`, { container: null, terms: [{ name: 'a', min: beyond('2'), max: null }] }],
  [`a>='2' AND a>'2'`, { container: null, terms: [{ name: 'a', min: beyond('2'), max: null }] }],
  [`a<='2' AND a<'10'`, { container: null, terms: [{ name: 'a', min: null, max: beyond('10') }] }],
  [`a<'2' AND a<='2'`, { container: null, terms: [{ name: 'a', min: null, max: beyond('2') }] }],
  [`a='2' AND a>'1'`, { container: null, terms: [{ name: 'a', min: from('2'), max: from('2') }] }],
  [`a='1' AND a='2'`, { container: null, terms: [{ name: 'a', min: from('2'), max: from('1') }] }],
] as const) {
  test(`the query ${text} is understood`, () => assert.deepEqual(parseTagQuery(text), want));
}

for (const text of [
  ``,
  `a`,
  `a<>'1'`,
  `a='1' OR b='2'`,
  `(a='1')`,
  `a='1' AND`,
  `a='1' b='2'`,
  `@container='c'`,
  `@container>'c' AND a='1'`,
  `@container='c' AND @container='c' AND a='1'`,
  `@container AND a='1'`,
  `"@container`,
  `@tag='1'`,
]) {
  test(`the query ${text} is none`, () => assert.equal(parseTagQuery(text), null));
}

test('a quoted @container is the name of a tag', () =>
  assert.equal(parseTagQuery(`"@container"='c'`)?.terms[0]?.name, '@container'));

for (const [text, want] of [
  [`age='10'`, true],
  [`age='1'`, false],
  [`age>='10' AND age<='10'`, true],
  [`age>'10'`, false],
  [`age<'10'`, false],
  [`age>'1' AND age<'2'`, true],
  [`age>'1' AND age<'10'`, false],
  [`age='10' AND Status='done'`, true],
  [`age='10' AND Status='open'`, false],
  [`none>=''`, false],
  [`empty>=''`, true],
  [`empty>''`, false],
  [`age='10' AND age='11'`, false],
  [`age>'2' AND age<'1'`, false],
  [`@container='other' AND age='10'`, true],
] as const) {
  test(`the query ${text} ${want ? 'matches' : 'does not match'}`, () =>
    assert.equal(matchesTagQuery(parseTagQuery(text) as TagQuery, TAGS), want));
}

test('a query and the condition of the same text agree on every value', () => {
  const operators = ['=', '<', '<=', '>', '>='];
  const values = ['', '0', '1', '10', '2', 'a', 'é'];
  for (const first of operators) {
    for (const second of operators) {
      for (const [low, high] of values.flatMap((a) => values.map((b) => [a, b] as const))) {
        const text = `t${first}'${low}' AND t${second}'${high}'`;
        const query = parseTagQuery(text);
        const condition = parseTagCondition(text);
        assert.ok(query !== null && condition !== null);
        for (const value of values) {
          const tags: Tags = [['t', value]];
          assert.equal(matchesTagQuery(query, tags), meetsTagCondition(condition, tags), `${text} for '${value}'`);
        }
      }
    }
  }
});

test('of the tags of a blob, those that the query names are given', () => {
  const query = parseTagQuery(`"two words">'a' AND age='10'`) as TagQuery;
  assert.deepEqual(matchedTags(query, TAGS), [
    ['age', '10'],
    ['two words', 'a b'],
  ]);
});
