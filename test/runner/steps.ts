/** The steps around the tests: formatting, lint, and the build of the tests that have a package of their own. */
import { spawn } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { THIRD_PARTY } from './plan.ts';

export interface StepFailure {
  readonly name: string;
  readonly output: string;
  /** What repeats the step alone. */
  readonly command: string | null;
}

export interface CommandResult {
  readonly exitCode: number | null;
  readonly output: string;
}

export function runCommand(command: string, argv: readonly string[], env = process.env): Promise<CommandResult> {
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

interface Step {
  readonly name: string;
  readonly command: string | null;
}

/** Runs one step and prints its name, its outcome and how long it took. */
export async function step({ name, command }: Step, body: () => Promise<CommandResult>): Promise<StepFailure[]> {
  const startMs = performance.now();
  const { exitCode, output } = await body();
  const took = `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  console.log(`${name}: ${exitCode === 0 ? 'ok' : 'FAILED'} (${took})`);
  return exitCode === 0 ? [] : [{ name, output, command }];
}

export const checkFormat = (): Promise<StepFailure[]> =>
  step({ name: 'format', command: 'npm run format' }, () =>
    runCommand(process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.']),
  );

const LINT = ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'];

export const checkLint = (): Promise<StepFailure[]> =>
  step({ name: 'lint', command: 'npm run lint' }, () =>
    runCommand(process.execPath, [...LINT, '--ignore-pattern', THIRD_PARTY]),
  );

/** Whether `npm run test:setup` has installed the clients that have a package of their own. */
export const hasThirdParty = (): boolean => existsSync(join(THIRD_PARTY, 'node_modules'));

/** Lints and compiles the tests of those clients: without their packages their types are not known. */
export async function buildThirdParty(outDir: string): Promise<StepFailure[]> {
  const command = `npx oxlint --type-aware ${THIRD_PARTY} && npx tsc -p ${THIRD_PARTY}`;
  const failures = await step({ name: 'lint and build of third-party tests', command }, async () => {
    const linted = await runCommand(process.execPath, [...LINT, THIRD_PARTY]);
    if (linted.exitCode !== 0) return linted;
    return runCommand(process.execPath, ['node_modules/typescript/bin/tsc', '-p', THIRD_PARTY]);
  });
  const packages = join(outDir, THIRD_PARTY, 'node_modules');
  if (failures.length === 0 && !existsSync(packages)) {
    symlinkSync(join(process.cwd(), THIRD_PARTY, 'node_modules'), packages);
  }
  return failures;
}
