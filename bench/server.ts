/** One process of a contestant, on a port of its own: started, held still while others are measured, and ended. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createServer, type Server as Listener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { Lane } from './load.ts';
import { onEnd } from './running.ts';

const startTimeoutMs = 120_000;
const stopTimeoutMs = 60_000;
const startPollMs = 2;

export interface Memory {
  residentMiB: number;
  /** Resident without pages of mapped files, which the system can take back; null where it does not say. */
  anonymousMiB: number | null;
}

export interface ServerOptions {
  port: number;
  /** Node, unless it is said. */
  program?: string;
  /** Of Node: its own options, the program and the program's words. */
  words: readonly string[];
  /** Whether it starts processes of its own, which are held still and ended with it. */
  forks?: boolean;
  environment: NodeJS.ProcessEnv;
  folder: string;
  logFile: string;
}

export class Server {
  readonly port: number;
  readonly #logFile: string;
  readonly #child: ChildProcess;
  readonly #forks: boolean;

  constructor(options: ServerOptions) {
    this.port = options.port;
    this.#logFile = options.logFile;
    const log = openSync(options.logFile, 'a');
    this.#forks = options.forks ?? false;
    const child = spawn(options.program ?? process.execPath, [...options.words], {
      stdio: ['ignore', log, log],
      cwd: options.folder,
      env: options.environment,
      detached: this.#forks,
    });
    closeSync(log);
    this.#child = child;
    // SIGKILL also ends a server that is stopped at the time.
    const hasEnded = onEnd(() => this.#signal('SIGKILL'));
    child.once('exit', hasEnded);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** How it ended, if it did. */
  get ended(): string | null {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) return null;
    const lastWords = readFileSync(this.#logFile, 'utf8').trim().slice(-500);
    return `the server ended with ${signalCode ?? exitCode}: ${lastWords}`;
  }

  /** Any answer will do: before the first container is made, a server that is up says 404. */
  async firstAnswer(path: string): Promise<void> {
    await this.untilAnswering(() => answers(this.port, path));
  }

  async untilAnswering(answers: () => Promise<boolean>): Promise<void> {
    const startedAtMs = performance.now();
    while (performance.now() - startedAtMs < startTimeoutMs) {
      if (this.ended !== null) break;
      if (await answers()) return;
      await new Promise((resolve) => setTimeout(resolve, startPollMs));
    }
    throw new Error(`the server did not start:\n${readFileSync(this.#logFile, 'utf8').slice(-2000)}`);
  }

  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.ended !== null) return;
    const exited = new Promise<void>((resolve) => {
      this.#child.once('exit', () => resolve());
    });
    this.#signal('SIGCONT');
    this.#signal('SIGTERM');
    const impatience = setTimeout(() => this.#signal('SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(impatience);
  }

  /** With SIGKILL, which leaves it no time to save anything. */
  async kill(): Promise<void> {
    if (this.ended !== null) return;
    const exited = new Promise<void>((resolve) => {
      this.#child.once('exit', () => resolve());
    });
    this.#signal('SIGKILL');
    await exited;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.ended !== null) return;
    if (this.#forks) process.kill(-this.pid, signal);
    else this.#child.kill(signal);
  }

  async memory(): Promise<Memory> {
    const statusFile = `/proc/${this.pid}/status`;
    if (!existsSync(statusFile)) {
      const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(this.pid)]);
      return { residentMiB: Number(stdout) / 1024, anonymousMiB: null };
    }
    const status = readFileSync(statusFile, 'utf8');
    const kibibytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
    return { residentMiB: kibibytes('VmRSS') / 1024, anonymousMiB: kibibytes('RssAnon') / 1024 };
  }
}

async function answers(port: number, path: string): Promise<boolean> {
  try {
    const lane = await Lane.open({ port, bufferBytes: 65_536 });
    await lane.send({ method: 'HEAD', path });
    lane.close();
    return true;
  } catch {
    return false;
  }
}

/** All are held until the last is found, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = await Promise.all(Array.from({ length: count }, listenAnywhere));
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return ports;
}

function listenAnywhere(): Promise<Listener> {
  const listener = createServer();
  return new Promise((resolve) => {
    listener.listen(0, '127.0.0.1', () => resolve(listener));
  });
}
