/**
 * A temporary folder and the programs that run on it beside a test: servers that the product talks to. They run as a
 * user who is not root, hold nobody's event loop, and end with the process that started them, whatever becomes of it:
 * a keeper waits for the end of a pipe that only this process holds, ends what still runs and removes the folder.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Reads the ids of what runs, a line each time they change; the last one counts. */
const KEEPER = `
pids=
while read -r line; do pids=$line; done
if [ -n "$pids" ]; then
  kill -s "$2" $pids
  for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 $pids || break
    sleep 0.1
  done
  kill -s KILL $pids
fi
rm -rf "$1"
`;

/** Beside this process's own. */
type Environment = Readonly<Record<string, string>>;

const LOG_SHOWN_MAX_CHARACTERS = 4000;

export interface DaemonFolderOptions {
  /** Part of the folder's name. */
  readonly name: string;
  /** Whom the programs run as when this process is root's; `nobody` where there is no such user. */
  readonly user: string;
  /** What ends them at once, without any clearing up of theirs. */
  readonly endSignal: 'SIGKILL' | 'SIGQUIT';
}

export class Daemon {
  readonly #child: ChildProcess;
  readonly #logFile: string;
  /** Resolves when the program has ended or could not be started. */
  readonly ended: Promise<void>;
  #hasEnded = false;

  constructor(child: ChildProcess, logFile: string) {
    this.#child = child;
    this.#logFile = logFile;
    this.ended = new Promise((resolve) => {
      for (const event of ['exit', 'error']) child.once(event, () => resolve());
    });
    void this.ended.then(() => {
      this.#hasEnded = true;
    });
    child.unref();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The end of what it printed. */
  get log(): string {
    return readFileSync(this.#logFile, 'utf8').slice(-LOG_SHOWN_MAX_CHARACTERS);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    // Whoever awaits this must not find the event loop empty.
    this.#child.ref();
    this.signal(signal);
    await this.ended;
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

function idsOf(user: string): Owner | null {
  const ids = spawnSync('sh', ['-c', 'id -u "$1" && id -g "$1"', 'sh', user], { encoding: 'utf8' });
  const [uid, gid] = ids.stdout.trim().split('\n').map(Number);
  return uid === undefined || gid === undefined ? null : { uid, gid };
}

function ownerOf(user: string): Owner | null {
  return process.getuid?.() === 0 ? (idsOf(user) ?? idsOf('nobody')) : null;
}

export class DaemonFolder {
  readonly path: string;
  readonly #options: DaemonFolderOptions;
  readonly #owner: Owner | null;
  readonly #keeper: ChildProcess;
  readonly #running = new Set<Daemon>();

  constructor(options: DaemonFolderOptions) {
    this.#options = options;
    this.#owner = ownerOf(options.user);
    this.path = mkdtempSync(join(tmpdir(), `larimar-${options.name}-`));
    this.#own(this.path);
    this.#keeper = spawn('sh', ['-c', KEEPER, 'keeper', this.path, options.endSignal.slice('SIG'.length)], {
      cwd: '/',
      // Out of reach of a Ctrl-C, and of a signal to the process group.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#keeper.unref();
    // A socket, whatever its type says. One who ended the keeper wants everything left as it is.
    const pipe = this.#keeper.stdin as Socket;
    pipe.unref();
    pipe.on('error', () => {});
  }

  /** Of what runs. */
  get pids(): number[] {
    return [...this.#running].map(({ pid }) => pid).filter((pid) => pid > 0);
  }

  write(name: string, text: string): string {
    const path = join(this.path, name);
    writeFileSync(path, text);
    this.#own(path);
    return path;
  }

  makeFolder(name: string): void {
    const path = join(this.path, name);
    mkdirSync(path);
    this.#own(path);
  }

  /** Runs a program to its end, and gives what it wrote to its standard output. */
  run(program: string, args: readonly string[], env: Environment = {}): Promise<string> {
    const [file, argv] = this.#command(program, args);
    return new Promise((resolve, reject) => {
      execFile(file, argv, { cwd: this.path, env: { ...process.env, ...env } }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${program} ${args.join(' ')}: ${error.message}\n${stdout}${stderr}`));
      });
    });
  }

  /** Starts a program that stays in the foreground. */
  start(program: string, args: readonly string[], env: Environment = {}): Daemon {
    const logFile = join(this.path, `${program.slice(program.lastIndexOf('/') + 1)}.log`);
    const log = openSync(logFile, 'a');
    const [file, argv] = this.#command(program, args);
    const child = spawn(file, argv, {
      cwd: this.path,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const daemon = new Daemon(child, logFile);
    this.#running.add(daemon);
    this.#tellKeeper();
    void daemon.ended.then(() => {
      this.#running.delete(daemon);
      this.#tellKeeper();
    });
    return daemon;
  }

  /** Ends what still runs, at once, and removes the folder. */
  async remove(): Promise<void> {
    await Promise.all([...this.#running].map((daemon) => daemon.end(this.#options.endSignal)));
    rmSync(this.path, { recursive: true, force: true });
    this.#keeper.stdin?.end();
  }

  #own(path: string): void {
    if (this.#owner !== null) chownSync(path, this.#owner.uid, this.#owner.gid);
  }

  #command(program: string, args: readonly string[]): [string, string[]] {
    if (this.#owner === null) return [program, [...args]];
    const { uid, gid } = this.#owner;
    return ['setpriv', [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--', program, ...args]];
  }

  #tellKeeper(): void {
    this.#keeper.stdin?.write(`${this.pids.join(' ')}\n`);
  }
}
