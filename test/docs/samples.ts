/**
 * The samples in TypeScript: each is a file of the project, or is added to a function of one. The paragraph above a sample
 * names the file: `test/blob/a.test.ts`, or "Add it to `engineContract` in `src/engine/contract.ts`", with the command that
 * runs it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameOf, type Snippet } from './fences.ts';

export interface Sample {
  readonly snippet: Snippet;
  /** From the project's folder. */
  readonly file: string;
  /** The function that the sample is added to; null if the sample is the whole file. */
  readonly intoFunction: string | null;
  /** The test file that runs the sample. */
  readonly testFile: string;
  readonly isSystemTier: boolean;
  readonly needsPostgres: boolean;
}

const paragraphAbove = ({ prose }: Snippet): string =>
  prose
    .trimEnd()
    .split(/\n\s*\n/)
    .at(-1) ?? '';

export function fileNamedAbove(snippet: Snippet): string {
  const [, file] = /`((?:src|test)\/[\w/.-]+\.ts)`/.exec(paragraphAbove(snippet)) ?? [];
  if (file === undefined) throw new Error(`${nameOf(snippet)}: the paragraph above names no file`);
  return file;
}

/** Fails unless the page says where the sample belongs. */
export function sampleOf(snippet: Snippet): Sample {
  const file = fileNamedAbove(snippet);
  const paragraph = paragraphAbove(snippet);
  const intoFunction = /Add it to `(\w+)` in /.exec(paragraph)?.[1] ?? null;
  const testFile = file.endsWith('.test.ts') ? file : /--only ([\w/.-]+\.test\.ts)`/.exec(paragraph)?.[1];
  if (testFile === undefined) throw new Error(`${nameOf(snippet)}: the paragraph above does not say what runs ${file}`);
  const isSystemTier = /^\/\/ tier: system$/m.test(snippet.code);
  // In the system tier a file runs on both engines.
  const needsPostgres = isSystemTier || paragraph.includes('PostgreSQL');
  return { snippet, file, intoFunction, testFile, isSystemTier, needsPostgres };
}

/** At the end of a function that begins in a line of its own and ends with a brace in the first column. */
function addToFunction(source: string, name: string, code: string): string {
  const start = source.search(new RegExp(`^export function ${name}\\(`, 'm'));
  const end = source.indexOf('\n}\n', start);
  if (start === -1 || end === -1) throw new Error(`there is no function ${name}`);
  return `${source.slice(0, end)}\n\n${code.trimEnd()}${source.slice(end)}`;
}

/** Into a copy of the project. */
export function writeSample(folder: string, { snippet, file, intoFunction }: Sample): void {
  const path = join(folder, file);
  if (intoFunction === null) writeFileSync(path, snippet.code, { flag: 'wx' });
  else writeFileSync(path, addToFunction(readFileSync(path, 'utf8'), intoFunction, snippet.code));
}
