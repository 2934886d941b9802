/**
 * Runs a snippet unchanged, as its reader would: in a folder of its own, against a server of its own, with those
 * environment variables that the page names above it. A snippet that starts a server in the foreground gets a Ctrl-C
 * once the server says that it may be stopped so.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { startServer } from '../../src/main.ts';
import { nameOf, type Snippet } from './fences.ts';
import { forbiddenIn } from './not-run.ts';
import { makeSnippetFolder, type SnippetFolder } from './snippet-folder.ts';

const LIMIT_SECONDS = 300;
const OUTPUT_SHOWN_MAX_CHARACTERS = 8_000;
const WEB_PORT = 10_005;

/** Debian's own Python: one from elsewhere does not see Debian's packages. */
const PYTHON = '/usr/bin/python3';

type Environment = Readonly<Record<string, string>>;

export interface SnippetOptions {
  /** An empty database, for snippets that need one. */
  readonly databaseUrl?: string;
}

interface Ending {
  /** The exit code or the signal. */
  readonly ended: number | string | null;
  readonly output: string;
  /** Whether a server in the foreground said that Ctrl-C stops it. */
  readonly wasServer: boolean;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) signalGroup(child, 'SIGKILL');
});

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), signal);
  } catch {
    // Already gone.
  }
}

/** What it started in the background ends with it. */
function runToEnd(argv: readonly string[], { cwd, env }: { cwd: string; env: Environment }): Promise<Ending> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let output = '';
  let wasServer = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (wasServer || !/^Stop with Ctrl-C\.$/m.test(output)) return;
      wasServer = true;
      signalGroup(child, 'SIGINT');
    });
  }
  const limit = setTimeout(() => signalGroup(child, 'SIGKILL'), LIMIT_SECONDS * 1000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      clearTimeout(limit);
      signalGroup(child, 'SIGKILL');
      running.delete(child);
      child.once('close', () => resolve({ ended: code ?? signal, output, wasServer }));
    });
  });
}

const FILE_ENDINGS: Readonly<Record<string, string>> = { js: 'mjs', python: 'py', sh: 'sh', sql: 'sql' };

function commandFor({ language, code }: Snippet, file: string, databaseUrl = ''): string[] {
  switch (language) {
    case 'js':
      return [process.execPath, ...(code.includes("from 'node:test'") ? ['--test'] : []), file];
    case 'python':
      return [PYTHON, file];
    case 'sh':
      return ['sh', '-eu', file];
    case 'sql':
      return ['psql', '--no-psqlrc', '--set=ON_ERROR_STOP=1', `--file=${file}`, databaseUrl];
    default:
      throw new Error(`nothing runs ${language}`);
  }
}

const PORT_VARIABLES = ['BLOB', 'QUEUE', 'TABLE', 'FILE', 'SMB', 'ADMIN', 'WEB'].map((name) => `LARIMAR_${name}_PORT`);

/** Except for the folder that npm runs in, which is the project's. */
const isNpmSetting = (name: string): boolean =>
  /^(?:npm_config_.*|(?:https?|no)_proxy|NODE_EXTRA_CA_CERTS|HOME)$/i.test(name) && name !== 'npm_config_local_prefix';

/** npm as whoever runs the tests has set it up: where packages come from, and which are at hand. */
const npmEnvironment = (): Environment =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (isNpmSetting(name) ? [[name, value as string]] : [])),
  );

function baseEnvironment({ code }: Snippet, { home, bin }: SnippetFolder): Environment {
  return {
    PATH: [bin, dirname(process.execPath), process.env['PATH'] ?? '', '/usr/sbin'].join(delimiter),
    HOME: home,
    LC_ALL: 'C.UTF-8',
    AZURE_CORE_COLLECT_TELEMETRY: 'false',
    ...Object.fromEntries(PORT_VARIABLES.map((name) => [name, '0'])),
    ...(/\bnpm\b/.test(code) ? npmEnvironment() : {}),
  };
}

/** A variable that the page does not speak of is not there for its reader either. */
const namedAbove = ({ prose }: Snippet, variables: Environment): Environment =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => new RegExp(`\\b${name}\\b`).test(prose)));

/** The end of what was printed, and of the logs that it wrote. */
function outputOf({ output }: Ending, work: string): string {
  const logs = readdirSync(work).filter((name) => name.endsWith('.log'));
  const parts = [output, ...logs.map((name) => `${name}:\n${readFileSync(join(work, name), 'utf8')}`)];
  return parts.map((text) => text.slice(-OUTPUT_SHOWN_MAX_CHARACTERS)).join('\n');
}

/** Of a shell whose server was stopped by Ctrl-C. */
const STOPPED = [0, 130, 'SIGINT'];

async function runIn(folder: SnippetFolder, snippet: Snippet, variables: Environment): Promise<string> {
  const { work } = folder;
  const file = `snippet.${FILE_ENDINGS[snippet.language]}`;
  writeFileSync(join(work, file), snippet.code);
  const env = { ...baseEnvironment(snippet, folder), ...namedAbove(snippet, variables) };
  const ending = await runToEnd(commandFor(snippet, file, variables['DATABASE_URL']), { cwd: work, env });
  const { ended, output, wasServer } = ending;
  if (wasServer ? STOPPED.includes(ended as string) : ended === 0) return output;
  throw new Error(`${nameOf(snippet)} ended with ${ended}\n${outputOf(ending, work)}`);
}

/** Fails, with what the snippet printed, unless it ends well; gives what it printed. */
export async function runSnippet(t: TestContext, snippet: Snippet, options: SnippetOptions = {}): Promise<string> {
  const { databaseUrl } = options;
  const why = snippet.language === 'sh' ? forbiddenIn(snippet) : null;
  if (why !== null) throw new Error(`${nameOf(snippet)} is not run: it ${why}`);
  const webPort = snippet.code.includes(`:${WEB_PORT}/`) ? WEB_PORT : null;
  const server = await startServer({ memory: true, smbPort: 0, webPort });
  t.after(() => server.close());
  const folder = makeSnippetFolder(snippet);
  t.after(() => folder.remove());
  return runIn(folder, snippet, {
    CONNECTION_STRING: server.connectionString,
    AZURE_STORAGE_CONNECTION_STRING: server.connectionString,
    SMB_PORT: new URL(server.origins.smb as string).port,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  });
}
