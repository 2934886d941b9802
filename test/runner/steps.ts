/** The steps around the tests themselves: formatting, lint, and programs that tests need. Each says what it does. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { DEBIAN_PACKAGES, hasTool, type Tool, toolsNamedIn } from '../packages.ts';

export interface StepFailure {
  readonly name: string;
  readonly output: string;
}

interface CommandResult {
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
async function step(name: string, body: () => Promise<CommandResult>): Promise<StepFailure[]> {
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

function missingTools(files: readonly string[]): Tool[] {
  const needed = new Set(
    files.filter((file) => existsSync(file)).flatMap((file) => toolsNamedIn(readFileSync(file, 'utf8'))),
  );
  return [...needed].filter((tool) => !hasTool(tool));
}

async function install(packages: readonly string[]): Promise<CommandResult> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const update = await runCommand('apt-get', ['-qq', 'update'], env);
  const installed = await runCommand('apt-get', ['-qq', 'install', '--no-install-recommends', '-y', ...packages], env);
  return { exitCode: installed.exitCode, output: update.output + installed.output };
}

/** Brings the programs that these test files ask for. What cannot be had is no failure: its tests are skipped by name. */
export async function providePackages(files: readonly string[]): Promise<void> {
  const missing = missingTools(files);
  if (missing.length === 0) return;
  const packages = missing.map((tool) => DEBIAN_PACKAGES[tool].package);
  for (const tool of missing) console.log(`packages: ${DEBIAN_PACKAGES[tool].package} (${DEBIAN_PACKAGES[tool].use})`);
  if (process.getuid?.() !== 0 || (await runCommand('apt-get', ['--version'])).exitCode !== 0) {
    console.log(`packages: not root on Debian; to run the tests that need them: apt-get install ${packages.join(' ')}`);
    return;
  }
  const failures = await step(`packages: installing ${packages.join(' ')}`, () => install(packages));
  for (const failure of failures) console.log(failure.output.trimEnd());
}
