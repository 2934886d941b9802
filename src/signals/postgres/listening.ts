/**
 * One connection that listens to a channel: asked now and then whether it is still there, and opened again when it is
 * not. What was sent meanwhile is missed, and said to be.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, type Database, sqlStateOf } from '../../postgres/database.ts';

const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 10_000;

export interface ListeningOptions {
  readonly database: Database;
  readonly channel: string;
  readonly onHeard: (text: string) => void;
  /** The connection was lost, and listens again. */
  readonly onMissed: () => void;
  /** How often the connection must prove that it is alive. */
  readonly heartbeatMs: number;
}

export class Listening {
  readonly #options: ListeningOptions;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #closing = new AbortController();
  #connection: Connection | null = null;

  private constructor(options: ListeningOptions) {
    this.#options = options;
    // An unanswered question ends the connection, and that is heard of elsewhere.
    const ask = (): void => void this.#connection?.query({ text: 'SELECT 1' }).catch(() => {});
    this.#heartbeat = setInterval(ask, options.heartbeatMs).unref();
  }

  /** Null when the database knows no LISTEN. Rejects when it cannot be reached. */
  static async open(options: ListeningOptions): Promise<Listening | null> {
    const listening = new Listening(options);
    const connection = await listening.#connect().catch(async (error: unknown) => {
      await listening.close();
      throw error;
    });
    if (connection !== null) {
      listening.#watch(connection);
      return listening;
    }
    await listening.close();
    return null;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#heartbeat);
    await this.#connection?.close();
  }

  /** Null when the statement is not supported, or not even understood. */
  async #connect(): Promise<Connection | null> {
    const { database, channel, onHeard, heartbeatMs } = this.#options;
    const connection = await database.connect(heartbeatMs);
    connection.onNotification((_channel, text) => onHeard(text));
    try {
      await connection.query({ text: `LISTEN "${channel}"` });
      return connection;
    } catch (error) {
      connection.destroy();
      if (/^(?:0A|42)/.test(sqlStateOf(error) ?? '')) return null;
      throw error;
    }
  }

  #watch(connection: Connection): void {
    this.#connection = connection;
    if (connection.isDead) void this.#reopen();
    else connection.onEnd(() => void this.#reopen());
  }

  /** Nodes that lost their database together come back one by one. */
  async #reopen(): Promise<void> {
    this.#connection = null;
    for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      const { signal } = this.#closing;
      await delay(Math.random() * pauseMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      // Whatever the reason, there is nobody to be told: those who wait for signals also look by themselves.
      const connection = await this.#connect().catch(() => null);
      if (connection === null) continue;
      if (signal.aborted) return connection.close();
      this.#watch(connection);
      this.#options.onMissed();
      return;
    }
  }
}
