/** What the README shows of the server and of an example is what they print. */
// engines: embedded
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeConfig, SERVE_OPTIONS } from '../../src/config/config.ts';
import { readOptions } from '../../src/config/options.ts';
import { tool } from '../clients/tool.ts';
import { readSnippets, type Snippet } from './fences.ts';
import { runSnippet } from './run-snippet.ts';

const README = 'README.md';

const snippets = readSnippets(README);

function blockUnder(heading: string, language: string): Snippet {
  const found = snippets.find(
    (one) => one.language === language && one.prose.split('\n').findLast((line) => /^#+ /.test(line)) === heading,
  );
  assert.ok(found !== undefined, `${README} has no block of ${language} under "${heading}"`);
  return found;
}

const linesOf = (text: string): string[] => text.trimEnd().split('\n');

/** In what the README shows, `…` stands for anything. */
function isShownAs(shown: string | undefined, printed: string): boolean {
  const parts = (shown ?? '').split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
  return shown !== undefined && new RegExp(`^${parts.join('.*')}$`).test(printed);
}

test('npm ci, npm start: CI and package.json have them too', () => {
  assert.deepEqual(linesOf(blockUnder('## Start', 'sh').code), ['npm ci', 'npm start']);
  assert.match(readFileSync('.ci/run', 'utf8'), /\bnpm ci\b/);
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  assert.match(scripts['start'] ?? '', /dist\/src\/cli\/larimar\.js serve$/);
});

test('what a server prints at its start is shown, with its version and its usual ports', async (t) => {
  const shown = linesOf(blockUnder('## Start', 'text').code);
  const config = await makeConfig(readOptions([], {}, SERVE_OPTIONS));
  const ports = new Map(Object.entries(config).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const output = await runSnippet(t, { page: README, line: 1, language: 'sh', code: 'larimar serve\n', prose: '' });
  const printed = linesOf(output).map((line) =>
    line.replace(/^( {2}(\w+) +\w+:\/\/127\.0\.0\.1:)\d+$/, (_, start: string, label: string) => {
      return `${start}${ports.get(`${label.toLowerCase()}port`)}`;
    }),
  );
  assert.deepEqual(
    printed.map((line, index) => (isShownAs(shown[index], line) ? shown[index] : line)),
    shown,
  );
});

/** ETags differ from run to run; which of them are equal does not. */
function numberEtags(text: string): string {
  const etags = [...new Set(text.match(/"0x[0-9A-F]+"/g))];
  return text.replaceAll(/"0x[0-9A-F]+"/g, (etag) => `"ETag ${etags.indexOf(etag) + 1}"`);
}

test('what the example of a conflict prints at its start is shown', async () => {
  const shown = linesOf(numberEtags(blockUnder('## See a conflict happen', 'text').code));
  const program = fileURLToPath(new URL('../../examples/run.js', import.meta.url));
  const output = await tool(process.execPath, { env: {}, cwd: process.cwd() }).succeed(program, 'optimistic');
  const printed = linesOf(numberEtags(output));
  const start = printed.indexOf(shown[0] as string);
  assert.notEqual(start, -1, `"${shown[0]}" is not printed:\n${output}`);
  assert.deepEqual(printed.slice(start, start + shown.length), shown);
});
