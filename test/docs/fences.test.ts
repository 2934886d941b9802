/** Finding the code blocks of a page. */
// engines: embedded
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFences } from './fences.ts';

for (const [what, text, want] of [
  ['a page without code has no block', 'one\n`two`\n', []],
  ['a block has its line, its language and its code', 'one\n\n```sh\na\nb\n```\n', [[3, 'sh', 'a\nb\n']]],
  [
    'two blocks keep their order',
    '```js\na\n```\n```text\nb\n```',
    [
      [1, 'js', 'a\n'],
      [4, 'text', 'b\n'],
    ],
  ],
  ['a block without a language has an empty one', '```\na\n```', [[1, '', 'a\n']]],
  ['what follows the language does not count', '``` sh title="x"\na\n```', [[1, 'sh', 'a\n']]],
  [
    'the indentation of a list item is taken off',
    '- a\n\n  ```sh\n  b\n    c\n\n  d\n  ```',
    [[3, 'sh', 'b\n  c\n\nd\n']],
  ],
  ['a longer fence holds a shorter one', '````text\n```sh\na\n```\n````', [[1, 'text', '```sh\na\n```\n']]],
  ['tildes are a fence too', '~~~sh\n```\n~~~', [[1, 'sh', '```\n']]],
  ['inline code that begins a line is no fence', '```a``` b\n', []],
] as const) {
  test(what, () => {
    const found = parseFences('page.md', text).map(({ line, language, code }) => [line, language, code]);
    assert.deepEqual(found, want);
  });
}

test('a block knows what the page says above it, without other blocks', () => {
  const [, second] = parseFences('page.md', 'one\n```sh\ntwo\n```\nthree\n```sh\nfour\n```\nfive');
  assert.equal(second?.prose, 'one\nthree');
});

test('a block that is not closed is refused', () => {
  assert.throws(() => parseFences('page.md', 'one\n```sh\ntwo'), {
    message: 'page.md:2: this code block is not closed',
  });
});

test('a block in a quotation is refused', () => {
  const message = 'page.md:1: a code block in a quotation is not supported';
  assert.throws(() => parseFences('page.md', '> ```sh\n> a\n> ```'), { message });
});
