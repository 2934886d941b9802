/** The code blocks of README and documentation that drive other programs: each is run as it stands. */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, type TestContext, test } from 'node:test';
import { startServer } from '../../src/main.ts';
import { findProgram } from '../find-program.ts';
import { isFree } from '../harness/free-port.ts';
import { freshDatabase, type PostgresServer, startPostgresServer, type TestDatabase } from '../harness/postgres.ts';
import { DEBIAN_TOOLS, hasTool, missingTool, type Tool } from '../packages.ts';
import { listPages, nameOf, readSnippets, type Snippet } from './fences.ts';
import { isNotRun } from './not-run.ts';
import { runSnippet } from './run-snippet.ts';

const snippets = listPages()
  .flatMap(readSnippets)
  .filter((snippet) => !isNotRun(snippet));
const ofLanguage = (...languages: readonly string[]): Snippet[] =>
  snippets.filter(({ language }) => languages.includes(language));

/** Not every machine has them; a snippet that needs another program fails where it is missing. */
const PROGRAMS = ['az', 'curl', 'haproxy', 'npm', 'openssl', 'rclone', 'restic', 'smbclient'];

/** At the beginning of a command, after its variables. */
const isCalled = (code: string, program: string): boolean =>
  new RegExp(`(?:^|[|&;(]|\\bdo\\b)\\s*(?:\\w+=\\S*\\s+)*${program}\\s`, 'm').test(code);

const isTool = (name: string): name is Tool => Object.hasOwn(DEBIAN_TOOLS, name);

function missingProgram(name: string): false | string {
  if (isTool(name)) return missingTool(name);
  return findProgram(name) === null && `needs ${name}`;
}

const needsDatabase = ({ language, code }: Snippet): boolean => language === 'sql' || code.includes('$DATABASE_URL');

/** For node:test's `skip`. */
function missingFor(snippet: Snippet): false | string {
  const { language, code } = snippet;
  const programs = language === 'sh' ? PROGRAMS.filter((program) => isCalled(code, program)) : [];
  const missing = [
    language === 'python' && missingTool('pythonStorage'),
    language === 'sql' && missingProgram('psql'),
    // Not the server that all tests share: a snippet creates roles.
    needsDatabase(snippet) && !hasTool('postgres') && 'needs postgresql, which npm run test:setup installs',
    ...programs.map(missingProgram),
  ];
  return missing.find((one) => one !== false) ?? false;
}

/** Of whoever cannot reach a package registry. */
const OFFLINE = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED)\b/;

/** The first port that the snippet names and somebody else has; null if there is none. */
async function takenPort({ code }: Snippet): Promise<number | null> {
  for (const [, port] of code.matchAll(/127\.0\.0\.1:(\d+)/g)) {
    if (!(await isFree(Number(port)))) return Number(port);
  }
  return null;
}

async function runUnlessHindered(t: TestContext, snippet: Snippet, databaseUrl?: string): Promise<void> {
  const taken = await takenPort(snippet);
  if (taken !== null) return t.skip(`needs port ${taken}, which is in use`);
  try {
    await runSnippet(t, snippet, databaseUrl === undefined ? {} : { databaseUrl });
  } catch (error) {
    if (!/\bnpm ci\b/.test(snippet.code) || !OFFLINE.test((error as Error).message)) throw error;
    t.skip('npm ci cannot reach the package registry');
  }
}

describe('run as it stands:', () => {
  let postgres: PostgresServer | null = null;

  before(async () => {
    if (hasTool('postgres')) postgres = await startPostgresServer({ user: 'postgres' });
  });
  after(() => postgres?.remove());

  /** For statements, with the tables that a node creates; for commands, empty. */
  async function databaseFor(t: TestContext, { language }: Snippet): Promise<TestDatabase> {
    const database = await freshDatabase(postgres?.url);
    t.after(() => database.drop());
    if (language !== 'sql') return database;
    const node = await startServer({ engine: database.url, content: 'postgres' });
    t.after(() => node.close());
    return database;
  }

  for (const snippet of ofLanguage('python', 'sh', 'sql')) {
    test(nameOf(snippet), { skip: missingFor(snippet) }, async (t) => {
      const database = needsDatabase(snippet) ? await databaseFor(t, snippet) : undefined;
      await runUnlessHindered(t, snippet, database?.url);
    });
  }
});

describe('well-formed:', { skip: missingTool('pythonYaml') }, () => {
  for (const snippet of ofLanguage('yaml')) {
    test(nameOf(snippet), () => {
      const program = 'import sys, yaml; list(yaml.safe_load_all(sys.stdin))';
      const { status, stderr } = spawnSync('/usr/bin/python3', ['-c', program], {
        input: snippet.code,
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
    });
  }
});
