/**
 * A real SMB client that knows nothing of this server: impacket, in a Python process of its own that does what it is told
 * (smb-driver.py) and reports what happens. One process serves all clients of a test file; what they do is in impacket-client.ts.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { after } from 'node:test';
import { DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';
import { type Dialect, type DriverEvent, ImpacketClient } from './impacket-client.ts';
import { SmbConnectionLost, SmbRefusal } from './smb-refusal.ts';

/** Debian's own: a Python from elsewhere does not see Debian's packages. */
const PYTHON = '/usr/bin/python3';
/** Tests run in the folder of the project. */
const SCRIPT = join('test', 'harness', 'smb-driver.py');

type Answer =
  | { readonly to: number; readonly done: unknown }
  | { readonly to: number; readonly refused: string }
  /** The connection went before the answer came. */
  | { readonly to: number; readonly lost: string }
  /** The driver itself failed. */
  | { readonly to: number; readonly broken: string };

type Said = Answer | ({ readonly client: string } & DriverEvent);

export interface ConnectOptions {
  readonly port: number;
  /** Connected to as soon as the session is there. */
  readonly share: string;
  readonly host?: string;
  readonly account?: TestAccount;
  readonly domain?: string;
  /** Without it 3.0, in which everything is encrypted where the server can; in 2.1 everything is signed. */
  readonly dialect?: Dialect;
  /** False: signed only. */
  readonly encrypts?: boolean;
}

/** An order that was given: its number, and what becomes of it. */
export interface Order<T> {
  readonly number: number;
  readonly answer: Promise<T>;
}

const running = new Set<Impacket>();
process.on('exit', () => {
  for (const impacket of running) impacket.kill();
});

interface DriverProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly exit: Promise<unknown[]>;
}

export class Impacket {
  /** Started with the first order. */
  #driver: DriverProcess | null = null;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #clients = new Map<string, ImpacketClient>();
  #orderCount = 0;

  /** `name`: what the driver calls it, of its own. */
  async connect(name: string, options: ConnectOptions): Promise<ImpacketClient> {
    const { account = DEVELOPMENT_ACCOUNT, share, port, host = '127.0.0.1', domain = 'WORKGROUP', ...rest } = options;
    const { dialect = '3.0' } = rest;
    const client = new ImpacketClient(this, name, dialect);
    this.#clients.set(name, client);
    const login = { host, port, domain, user: account.name, password: account.key, ...rest, dialect };
    await this.order(name, 'connect', login).answer;
    await client.useShare(share);
    return client;
  }

  /** Fails with SmbRefusal where the server refuses it. */
  order<T>(client: string, what: string, values: object = {}): Order<T> {
    const { child, exit } = this.#driver ?? this.#start();
    const number = this.#orderCount++;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(number, resolve));
    child.stdin.write(`${JSON.stringify({ to: number, client, do: what, ...values })}\n`);
    const gone = exit.then((): Answer => ({ to: number, broken: 'the driver has ended' }));
    return { number, answer: Promise.race([answered, gone]).then((answer) => resultOf<T>(answer, what)) };
  }

  /** Connections that are left are closed as by a power cut. */
  async close(): Promise<void> {
    running.delete(this);
    this.#driver?.child.stdin.end();
    await this.#driver?.exit;
  }

  kill(): void {
    this.#driver?.child.kill('SIGKILL');
  }

  #start(): DriverProcess {
    const child = spawn(PYTHON, ['-u', SCRIPT], {
      env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8', PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    running.add(this);
    createInterface({ input: child.stdout }).on('line', (line) => this.#hear(JSON.parse(line) as Said));
    this.#driver = { child, exit: once(child, 'exit') };
    return this.#driver;
  }

  #hear(said: Said): void {
    if ('event' in said) return this.#clients.get(said.client)?.hear(said);
    this.#waiting.get(said.to)?.(said);
    this.#waiting.delete(said.to);
  }
}

function resultOf<T>(answer: Answer, what: string): T {
  if ('done' in answer) return answer.done as T;
  if ('refused' in answer) throw new SmbRefusal(answer.refused, what);
  if ('lost' in answer) throw new SmbConnectionLost(`${what}: ${answer.lost}`);
  throw new Error(`${what}: ${answer.broken}`);
}

/** Ends with the suite that it is started in, or with the file. */
export function startImpacket(): Impacket {
  const impacket = new Impacket();
  after(() => impacket.close());
  return impacket;
}
