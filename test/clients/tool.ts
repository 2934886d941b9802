/**
 * Third-party programs as tests run them: in an environment of their own, their output collected. Nothing of the
 * caller's environment but PATH reaches a program, so that no setting of whoever runs the tests (an account, a proxy,
 * a configuration file) changes what is tested.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface ToolRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Tool {
  /** Runs to the end, whatever the exit code. */
  run(...args: readonly string[]): Promise<ToolRun>;
  /** Runs to the end, expects success and gives what was printed. */
  succeed(...args: readonly string[]): Promise<string>;
}

export interface ToolOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const OUTPUT_SHOWN_MAX_CHARACTERS = 8_000;

export function tool(command: string, { env, cwd }: ToolOptions): Tool {
  const run = async (...args: readonly string[]): Promise<ToolRun> => {
    const child = spawn(command, args, {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', HOME: cwd, LC_ALL: 'C.UTF-8', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
    const [exitCode, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)]);
    return { exitCode, stdout, stderr };
  };
  const succeed = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await run(...args);
    if (exitCode === 0) return stdout;
    const said = `${stderr}${stdout}`.slice(-OUTPUT_SHOWN_MAX_CHARACTERS);
    throw new Error(`${command} ${args.join(' ').slice(0, 500)} ended with ${exitCode}\n${said}`);
  };
  return { run, succeed };
}
