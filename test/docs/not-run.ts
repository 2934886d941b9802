/**
 * Which blocks of a page no test runs: a closed list, with the reasons. And what a block may not contain unless it is on
 * that list, because a test must neither change the machine nor start itself.
 */
import type { Snippet } from './fences.ts';

export interface NotRun {
  readonly page: string;
  /** Of the block. */
  readonly firstLine: string;
  readonly reason: string;
}

export const NOT_RUN: readonly NotRun[] = [
  {
    page: 'CONTRIBUTING.md',
    firstLine: 'npm pack --pack-destination /tmp',
    reason: 'installs packages',
  },
  {
    page: 'README.md',
    firstLine: 'npm install --prefix .cache/azurite-3.37 node@22 azurite@3.37',
    reason: 'installs and measures another product, which takes minutes',
  },
  {
    page: 'docs/scale-out.md',
    firstLine: 'docker build -t larimar:local .',
    reason: 'needs Docker and a Kubernetes cluster',
  },
];

export const isListed = (snippet: Snippet, { page, firstLine }: NotRun): boolean =>
  snippet.page === page && snippet.code.startsWith(`${firstLine}\n`);

export const isNotRun = (snippet: Snippet): boolean => NOT_RUN.some((one) => isListed(snippet, one));

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sudo|su|apt|apt-get|systemctl|mount)\b/, 'changes the machine'],
  [/\b(?:docker|kubectl)\b/, 'needs Docker or a cluster'],
  [/\bnpm (?:install|i|add|publish|link)\b/, 'installs packages'],
  [/\bnpm (?:t\b|test|run test)/, 'runs the tests inside a test'],
  [/\bnpm run (?:bench|compare)\b/, 'measures'],
];

/** Why a test may not run the commands of a block; null if it may. */
export const forbiddenIn = ({ code }: Snippet): string | null =>
  FORBIDDEN.find(([form]) => form.test(code))?.[1] ?? null;
