/**
 * `npm run test:setup`: installs what `npm run test:system` drives and `npm ci` does not bring. Programs come from Debian's
 * packages, which takes root; clients from npm into a folder of their own (test/third-party/), which does not.
 */
import { spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { findProgram } from './find-program.ts';
import { DEBIAN_TOOLS, hasDebianTool, type Tool } from './packages.ts';
import { THIRD_PARTY } from './runner/plan.ts';

const HELP = `npm run test:setup [-- OPTIONS]     install what npm run test:system drives

  --dry-run   say what would be installed, and install nothing
  --help      show this text

Programs are installed with apt-get: run it as root, or with sudo at hand. A test whose program is missing is skipped by name.`;

const POLICY_FILE = '/usr/sbin/policy-rc.d';

function run(command: readonly string[], cwd = '.'): Promise<number> {
  console.log(`$ ${command.join(' ')}`);
  const [program = '', ...argv] = command;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return new Promise((resolve) => {
    const child = spawn(program, argv, { cwd, env, stdio: 'inherit' });
    child.on('error', (error) => {
      console.error(error.message);
      resolve(1);
    });
    child.on('close', (exitCode) => resolve(exitCode ?? 1));
  });
}

/**
 * Debian starts the services of a package that it installs: a database on its usual port, say. Tests start their own, so
 * its policy for that says no during the installation. Only root can say so; sudo's user has services to stop afterwards.
 */
async function withoutServices<T>(body: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0 || existsSync(POLICY_FILE)) return body();
  const remove = (): void => rmSync(POLICY_FILE, { force: true });
  process.once('exit', remove);
  try {
    writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
    return await body();
  } finally {
    remove();
    process.off('exit', remove);
  }
}

/** What precedes a command that root must run; null when there is no way to become root. */
function asRoot(): readonly string[] | null {
  if (process.getuid?.() === 0) return [];
  return findProgram('sudo') === null ? null : ['sudo'];
}

async function installPrograms(missing: readonly Tool[]): Promise<boolean> {
  const packages = [...new Set(missing.flatMap((tool) => DEBIAN_TOOLS[tool].packages))];
  const root = asRoot();
  if (root === null || findProgram('apt-get') === null) {
    console.log(`Not root on Debian. To install them elsewhere, run as root: apt-get install ${packages.join(' ')}`);
    return false;
  }
  if ((await run([...root, 'apt-get', '-qq', 'update'])) !== 0) console.log('The list of packages may be out of date.');
  const install = [...root, 'apt-get', '-qq', 'install', '--no-install-recommends', '-y', ...packages];
  return (await withoutServices(() => run(install))) === 0;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const isDryRun = values['dry-run'] === true;
  const tools = Object.keys(DEBIAN_TOOLS) as Tool[];
  const missing = tools.filter((tool) => !hasDebianTool(tool));
  console.log(missing.length === 0 ? 'All programs are installed.' : 'Programs to install (Debian packages):');
  for (const tool of missing) {
    const { packages, use } = DEBIAN_TOOLS[tool];
    console.log(`  ${packages.join(' ')}: ${use}`);
  }
  console.log(`Clients to install (npm, into ${THIRD_PARTY}/node_modules):`);
  console.log('  Bot Framework, Event Hubs, tus, azure-storage 2.10, and Node 22, 24 and 26');
  if (isDryRun) return 0;
  const programs = missing.length === 0 || (await installPrograms(missing));
  const clients = (await run(['npm', 'ci'], THIRD_PARTY)) === 0;
  if (!programs) console.log('Some programs are missing: npm run test:system skips what needs them, by name.');
  return programs && clients ? 0 : 1;
}

process.exitCode = await main();
