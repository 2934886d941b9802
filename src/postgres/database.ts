/**
 * The way to a PostgreSQL database, or to one that speaks its protocol: connections that are opened when needed and
 * opened again when lost, and the words by which its failures are told apart. What is asked of it stands in the adapters.
 */
import type { Duplex } from 'node:stream';
import { Client } from 'pg';

/** Sent in binary where it is a Buffer; see binary.ts. */
export type Parameter = Buffer | string | number | null;

export interface Statement {
  /** Prepared once per connection under this name. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly Parameter[];
}

/** Values in the order of the columns: bytea as Buffer, bigint as text. */
export type Row = readonly unknown[];

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database?sslmode=…`, as libpq takes it. */
  readonly url: string;
  /** Connections for statements that stand alone. */
  readonly connectionCountMax?: number;
}

const CONNECT_LIMIT_MS = 5_000;
/** A statement that is not answered by then has lost its connection, and the connection is closed. */
const ANSWER_LIMIT_MS = 60_000;
const CONNECTION_COUNT_MAX = 4;

/**
 * A connection whose statements follow each other without waiting for answers. It is dead after the first failure of
 * the connection itself: whatever is under way and whatever is asked later rejects.
 */
export class Connection {
  readonly #client: Client;
  #isDead = false;
  #pendingCount = 0;
  #isGathering = false;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(url: string, answerLimitMs: number = ANSWER_LIMIT_MS): Promise<Connection> {
    const client = new Client({
      connectionString: url,
      pipeline: true,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      query_timeout: answerLimitMs,
      keepAlive: true,
      application_name: 'larimar',
    });
    const connection = new Connection(client);
    client.on('error', () => {
      connection.#isDead = true;
    });
    client.on('end', () => {
      connection.#isDead = true;
    });
    try {
      await client.connect();
    } catch (error) {
      connection.destroy();
      throw error;
    }
    return connection;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get pendingCount(): number {
    return this.#pendingCount;
  }

  async query(statement: Statement): Promise<readonly Row[]> {
    return (await this.run(statement)).rows;
  }

  /** The rows, and the word the server confirms with: `ROLLBACK` for a COMMIT of what had failed. */
  async run({ name, text, values = [] }: Statement): Promise<{ rows: readonly Row[]; command: string }> {
    this.#pendingCount++;
    this.#gatherWrites();
    try {
      const config = { text, values: values as unknown[], rowMode: 'array' as const };
      const { rows, command } = await this.#client.query<unknown[]>(name === undefined ? config : { ...config, name });
      return { rows, command };
    } catch (error) {
      if (isLost(error)) this.#isDead = true;
      throw error;
    } finally {
      this.#pendingCount--;
    }
  }

  /** Calls back with each notification on the channels that this connection listens to. */
  onNotification(listener: (channel: string, payload: string) => void): void {
    this.#client.on('notification', ({ channel, payload = '' }) => listener(channel, payload));
  }

  /** Calls back once when the connection is lost or closed. */
  onEnd(listener: () => void): void {
    this.#client.once('end', listener);
  }

  /** Waits for what is under way, unless the connection is dead. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => {});
  }

  /** Waits for nothing: the server rolls back what was open. */
  destroy(): void {
    this.#isDead = true;
    this.#socket.destroy();
  }

  /** Statements that are asked together leave in one system call. */
  #gatherWrites(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#socket.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      this.#socket.uncork();
    });
  }

  /** The library's own; TLS puts another in its place while it connects. */
  get #socket(): Duplex {
    return (this.#client as unknown as { connection: { stream: Duplex } }).connection.stream;
  }
}

export class Database {
  readonly url: string;
  readonly #connectionCountMax: number;
  readonly #connections: Connection[] = [];
  readonly #opening = new Set<Promise<void>>();
  #closed = false;

  constructor({ url, connectionCountMax = CONNECTION_COUNT_MAX }: DatabaseOptions) {
    this.url = url;
    this.#connectionCountMax = connectionCountMax;
  }

  /** A connection of the caller's own, for a transaction or to listen; the caller closes it. */
  async connect(answerLimitMs?: number): Promise<Connection> {
    return Connection.open(this.url, answerLimitMs);
  }

  /** One statement that stands alone, on the connection with the least to do. */
  async query(statement: Statement): Promise<readonly Row[]> {
    return (await this.#idlest()).query(statement);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#connections.splice(0).map((connection) => connection.close()));
  }

  async #idlest(): Promise<Connection> {
    for (;;) {
      if (this.#closed) throw new Error('the database was closed');
      for (let at = this.#connections.length - 1; at >= 0; at--) {
        if (this.#connections[at]?.isDead) this.#connections.splice(at, 1);
      }
      let idlest: Connection | undefined;
      for (const one of this.#connections) if (!idlest || one.pendingCount < idlest.pendingCount) idlest = one;
      const mayOpen = this.#connections.length + this.#opening.size < this.#connectionCountMax;
      if (idlest !== undefined && (idlest.pendingCount === 0 || !mayOpen)) return idlest;
      await (mayOpen ? this.#open() : Promise.race(this.#opening));
    }
  }

  /** Others may wait for it as well. */
  #open(): Promise<void> {
    const opening = this.connect().then(async (opened) => {
      if (this.#closed) await opened.close();
      else this.#connections.push(opened);
    });
    this.#opening.add(opening);
    return opening.finally(() => this.#opening.delete(opening));
  }
}

/** Null: the error is not the database's word, but that of the way there. */
export const sqlStateOf = (error: unknown): string | null => {
  const code = (error as { code?: unknown }).code;
  // EPIPE, of a socket, has five capitals too; every state has a digit.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : null;
};

/** A serialization failure or a deadlock: nothing was changed, and the same may succeed when tried again. */
export function isContended(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40001' || state === '40P01';
}

/** What a statement says about itself (a wrong word, a missing table): everything that is neither lost nor contended. */
export function isLost(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state === null) return true;
  // Connection failures, shutting down or starting up, out of resources; 25006: demoted to a read-only standby; 40003:
  // CockroachDB cannot tell whether a commit took effect.
  return /^(?:08|57P|53)/.test(state) || state === '25006' || state === '40003';
}

/** For start-up and logs: what went wrong with the database, without its URL. */
export function describeFailure(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message === undefined || message === '' ? (code ?? String(error)) : message;
}
