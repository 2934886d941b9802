/**
 * The code blocks of README and documentation: each says what it is, and those that need nothing but Node are run as they
 * stand. program-snippets.test.ts and samples.test.ts run the others.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { listPages, nameOf, readSnippets } from './fences.ts';
import { forbiddenIn, isListed, isNotRun, NOT_RUN } from './not-run.ts';
import { runSnippet } from './run-snippet.ts';
import { fileNamedAbove, sampleOf } from './samples.ts';

const RUN_LANGUAGES = ['js', 'python', 'sh', 'sql', 'ts'];
const DATA_LANGUAGES = ['text', 'diff', 'json', 'yaml', 'nginx'];

/** Those of npm itself. */
const NPM_COMMANDS = ['ci', 'init', 'install', 'pack'];

const pages = listPages();
const snippets = pages.flatMap(readSnippets);

test('there are pages, and code in them', () => {
  for (const page of ['README.md', 'docs/connect.md', 'examples/README.md']) assert.ok(pages.includes(page), page);
  assert.ok(snippets.filter(({ language }) => language === 'js').length >= 5);
});

describe('every code block', () => {
  test('says its language, and is either run or data', () => {
    const known = [...RUN_LANGUAGES, ...DATA_LANGUAGES];
    const strange = snippets
      .filter(({ language }) => !known.includes(language))
      .map(({ page, line, language }) =>
        language === ''
          ? `${page}:${line}: a block without a language; write one of ${known.join(', ')}`
          : `${page}:${line}: no test runs ${language}; show it as inline code, or teach run-snippet.ts to run it`,
      );
    assert.deepEqual(strange, []);
  });

  test('holds only commands that a test may run, unless it is listed as not run', () => {
    const wrong = snippets.flatMap((snippet) => {
      const why = snippet.language === 'sh' && !isNotRun(snippet) ? forbiddenIn(snippet) : null;
      return why === null ? [] : `${nameOf(snippet)} ${why}: write it as inline code, or list it in not-run.ts`;
    });
    assert.deepEqual(wrong, []);
  });

  test('of JSON is well-formed', () => {
    for (const snippet of snippets.filter(({ language }) => language === 'json')) {
      assert.doesNotThrow(() => JSON.parse(snippet.code), nameOf(snippet));
    }
  });

  test('of TypeScript is a test file that is not there yet, or is added to a function that is there', () => {
    const samples = snippets.filter(({ language }) => language === 'ts').map(sampleOf);
    for (const { snippet, file, intoFunction } of samples) {
      assert.equal(existsSync(file), intoFunction !== null, `${nameOf(snippet)}: ${file}`);
    }
    const files = samples.map(({ file }) => file);
    assert.deepEqual(files, [...new Set(files)]);
  });

  test('of a diff removes lines that its file has', () => {
    for (const snippet of snippets.filter(({ language }) => language === 'diff')) {
      const lines = readFileSync(fileNamedAbove(snippet), 'utf8').split('\n');
      const removed = snippet.code.split('\n').filter((line) => line.startsWith('-'));
      assert.ok(removed.length > 0, nameOf(snippet));
      for (const line of removed) assert.ok(lines.includes(line.slice(1)), `${nameOf(snippet)}: ${line}`);
    }
  });

  test('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const wrong = snippets
      .filter(({ language }) => language === 'sh')
      .flatMap((snippet) =>
        [...snippet.code.matchAll(/\bnpm (?:run )?([\w:-]+)/g)]
          .map(([, name = '']) => name)
          .filter((name) => !NPM_COMMANDS.includes(name) && scripts[name] === undefined)
          .map((name) => `${nameOf(snippet)}: ${name}`),
      );
    assert.deepEqual(wrong, []);
  });
});

for (const listed of NOT_RUN) {
  test(`the block of ${listed.page} that no test runs, because it ${listed.reason}, exists`, () => {
    assert.equal(snippets.filter((snippet) => isListed(snippet, listed)).length, 1, listed.firstLine);
  });
}

describe('run as it stands:', () => {
  for (const snippet of snippets.filter(({ language }) => language === 'js')) {
    test(nameOf(snippet), async (t) => {
      await runSnippet(t, snippet);
    });
  }
});
