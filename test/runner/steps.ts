/** The steps around the tests themselves: formatting, lint, and programs that tests need. Each says what it does. */
import { spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { DEBIAN_TOOLS, hasTool, type Tool } from '../packages.ts';

export interface StepFailure {
  readonly name: string;
  readonly output: string;
}

export interface CommandResult {
  readonly exitCode: number | null;
  readonly output: string;
}

function runCommand(command: string, argv: readonly string[], env = process.env): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', (error) => resolve({ exitCode: null, output: String(error) }));
    child.on('close', (exitCode) => resolve({ exitCode, output }));
  });
}

/** Runs one step and prints its name, its outcome and how long it took. */
export async function step(name: string, body: () => Promise<CommandResult>): Promise<StepFailure[]> {
  const startMs = performance.now();
  const { exitCode, output } = await body();
  const took = `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  console.log(`${name}: ${exitCode === 0 ? 'ok' : 'FAILED'} (${took})`);
  return exitCode === 0 ? [] : [{ name, output }];
}

export function checkFormat(): Promise<StepFailure[]> {
  return step('format', () =>
    runCommand(process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.']),
  );
}

export function checkLint(): Promise<StepFailure[]> {
  return step('lint', () =>
    runCommand(process.execPath, ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings']),
  );
}

const POLICY_FILE = '/usr/sbin/policy-rc.d';

/**
 * Debian starts the services of a package that it installs: a database on its usual port, say. Tests start their own,
 * so for the time of the installation Debian's policy for that says no, unless the machine has one already.
 */
async function withoutServices<T>(body: () => Promise<T>): Promise<T> {
  if (existsSync(POLICY_FILE)) return body();
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

async function install(packages: readonly string[]): Promise<CommandResult> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const update = await runCommand('apt-get', ['-qq', 'update'], env);
  const argv = ['-qq', 'install', '--no-install-recommends', '-y', ...packages];
  const installed = await withoutServices(() => runCommand('apt-get', argv, env));
  return { exitCode: installed.exitCode, output: update.output + installed.output };
}

/** Brings the tools that test files ask for. What cannot be had is no failure: its tests are skipped by name. */
export async function providePackages(needed: Iterable<Tool>): Promise<void> {
  const missing = [...needed].filter((tool) => !hasTool(tool));
  if (missing.length === 0) return;
  for (const tool of missing) {
    const { packages, use } = DEBIAN_TOOLS[tool];
    console.log(`packages: ${packages.join(' ')} (${use})`);
  }
  const packages = missing.flatMap((tool) => DEBIAN_TOOLS[tool].packages);
  if (process.getuid?.() !== 0 || (await runCommand('apt-get', ['--version'])).exitCode !== 0) {
    console.log(`packages: not root on Debian; to run the tests that need them: apt-get install ${packages.join(' ')}`);
    return;
  }
  const failures = await step(`packages: installing ${packages.join(' ')}`, () => install(packages));
  for (const failure of failures) console.log(failure.output.trimEnd());
}
