import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenize } from './lexer.ts';
import { QueryRefused } from './query-error.ts';

const shown = (text: string): string[] =>
  tokenize(text).map((token) => {
    if (token.kind === 'end') return `end@${token.position}`;
    return `${token.kind} ${token.kind === 'number' ? `${typeof token.value} ${token.value}` : token.text}`;
  });

for (const [text, want] of [
  ['', ['end@1']],
  ['  \n\t', ['end@5']],
  ['SELECT _1', ['word SELECT', 'word _1', 'end@10']],
  ['größe Ünïx$1', ['word größe', 'word Ünïx$1', 'end@13']],
  ['"a ""b"" c"', ['quotedName a "b" c', 'end@12']],
  ["'it''s'", ["string it's", 'end@8']],
  ["''", ['string ', 'end@3']],
  ["'🪨'", ['string 🪨', 'end@5']],
  ['12', ['number bigint 12', 'end@3']],
  ['12.', ['number number 12', 'end@4']],
  ['.5', ['number number 0.5', 'end@3']],
  ['1.5e-3', ['number number 0.0015', 'end@7']],
  ['9223372036854775808', ['number bigint 9223372036854775808', 'end@20']],
  ['a<>b', ['word a', 'symbol <>', 'word b', 'end@5']],
  ['<=>=!=||<>', ['symbol <=', 'symbol >=', 'symbol !=', 'symbol ||', 'symbol <>', 'end@11']],
  [
    't[*].x[0];',
    [
      'word t',
      'symbol [',
      'symbol *',
      'symbol ]',
      'symbol .',
      'word x',
      'symbol [',
      'number bigint 0',
      'symbol ]',
      'symbol ;',
      'end@11',
    ],
  ],
  ['1--1', ['number bigint 1', 'symbol -', 'symbol -', 'number bigint 1', 'end@5']],
] as const) {
  test(`the tokens of ${JSON.stringify(text)} are ${want.length}`, () => assert.deepEqual(shown(text), want));
}

for (const [text, position] of [
  ["SELECT 'open", 8],
  ['SELECT "open', 8],
  ["'a''", 1],
  ['a # b', 3],
  ['a ? b', 3],
  ['ab \u0000', 4],
  ['🪨', 1],
  ['1e999', 1],
] as const) {
  test(`${JSON.stringify(text)} is refused at position ${position}`, () => {
    assert.throws(
      () => tokenize(text),
      (error) => error instanceof QueryRefused && error.position === position,
    );
  });
}
