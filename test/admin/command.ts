/** The command line, run to its end or until it is stopped, with all that it prints. */
import { type ChildProcess, spawn } from 'node:child_process';
import { LARIMAR_COMMAND } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';

const LIMIT_SECONDS = 60;

export interface Ending {
  /** The exit code, or the signal. */
  readonly ended: number | string | null;
  /** Of standard output and standard error. */
  readonly output: string;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class Command {
  readonly #child: ChildProcess;
  readonly ending: Promise<Ending>;
  output = '';

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(process.execPath, ['--enable-source-maps', LARIMAR_COMMAND, ...args], {
      // Several commands run side by side, and the ports that websites and SMB have by themselves are one each.
      env: { ...process.env, LARIMAR_WEB_PORT: 'off', LARIMAR_SMB_PORT: 'off', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    running.add(child);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.ending = new Promise((resolve, reject) => {
      child.once('error', reject).once('close', (code, signal) => {
        running.delete(child);
        resolve({ ended: code ?? signal, output: this.output });
      });
    });
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The first match in what was printed, as soon as it is; fails when the command ends without it. */
  async printed(form: RegExp): Promise<RegExpExecArray> {
    return until({ what: `${form} is printed`, limitSeconds: LIMIT_SECONDS }, () => {
      const found = form.exec(this.output);
      if (found === null && !running.has(this.#child)) throw new Error(`it ended without ${form}:\n${this.output}`);
      return found;
    });
  }

  /** For a test's end: whatever it is doing. */
  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ending;
  }
}

export const runCommand = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ending> =>
  new Command(args, env).ending;
