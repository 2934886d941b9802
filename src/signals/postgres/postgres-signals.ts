/**
 * Signals through the database: LISTEN on one channel per store, pg_notify to send. A node's own signals reach its own
 * listeners at once, and are known by their sender when they come back. Without LISTEN (CockroachDB) only these are
 * left. Sent one statement after the other, each with all that was waiting, so that their order stays.
 */
import { randomBytes } from 'node:crypto';
import { Database } from '../../postgres/database.ts';
import { Listeners, refuseSignal } from '../listeners.ts';
import type { Signals, Topic } from '../signals.ts';
import { Listening } from './listening.ts';

const HEARTBEAT_MS = 30_000;
/** A channel's name has 63 bytes at most. */
const STORE_ID_FORM = /^[0-9a-zA-Z-]{1,50}$/;

export interface PostgresSignalsOptions {
  readonly url: string;
  /** The nodes of one store hear each other. */
  readonly storeId: string;
  /** How often the listening connection must prove that it is alive. */
  readonly heartbeatMs?: number;
}

export async function openPostgresSignals(options: PostgresSignalsOptions): Promise<Signals> {
  const { url, storeId, heartbeatMs = HEARTBEAT_MS } = options;
  if (!STORE_ID_FORM.test(storeId)) throw new Error(`not a store's id: ${storeId}`);
  const database = new Database({ url, connectionCountMax: 1 });
  const channel = `larimar_${storeId.replaceAll('-', '_')}`;
  const senderId = randomBytes(8).toString('hex');
  const listeners = new Listeners();
  const onHeard = (text: string): void => {
    const signal = decodeSignal(text);
    if (signal !== null && signal.senderId !== senderId) listeners.tell(signal.topic, signal.payload);
  };
  const onMissed = (): void => listeners.tellAll();
  const listening = await Listening.open({ database, channel, onHeard, onMissed, heartbeatMs });
  return new PostgresSignals({ database, channel, senderId, listeners, listening });
}

interface Parts {
  readonly database: Database;
  readonly channel: string;
  readonly senderId: string;
  readonly listeners: Listeners;
  readonly listening: Listening | null;
}

class PostgresSignals implements Signals {
  readonly #parts: Parts;
  readonly #waiting: string[] = [];
  /** The statement that will take what is waiting; null when nothing is. */
  #next: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();
  #sentCount = 0;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  send(topic: Topic, payload: string): Promise<void> {
    refuseSignal(topic, payload);
    if (this.#closed) return Promise.resolve();
    const { senderId, listeners, listening } = this.#parts;
    listeners.tell(topic, payload);
    if (listening === null) return Promise.resolve();
    this.#waiting.push(encodeSignal({ senderId, number: this.#sentCount++, topic, payload }));
    if (this.#next === null) {
      this.#next = this.#last.then(() => this.#sendWaiting());
      this.#last = this.#next;
    }
    return this.#next;
  }

  async listen(topic: Topic, heard: (payload: string) => void): Promise<() => void> {
    refuseSignal(topic);
    return this.#closed ? () => {} : this.#parts.listeners.add(topic, heard);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#parts.listeners.clear();
    await this.#last;
    await this.#parts.listening?.close();
    await this.#parts.database.close();
  }

  async #sendWaiting(): Promise<void> {
    const texts = this.#waiting.splice(0).join(' ');
    this.#next = null;
    const text = `SELECT pg_notify($1, signal) FROM unnest(string_to_array($2, ' ')) AS signal`;
    // What is lost is lost: whoever waits for a signal also looks by itself.
    await this.#parts.database.query({ text, values: [this.#parts.channel, texts] }).catch(() => {});
  }
}

interface SentSignal {
  readonly senderId: string;
  /** Equal signals of one transaction would come as one. */
  readonly number: number;
  readonly topic: Topic;
  readonly payload: string;
}

/** The payload in base64url: a text of the database can neither hold a zero byte nor, in some, every character. */
function encodeSignal({ senderId, number, topic, payload }: SentSignal): string {
  return `${senderId}.${number}.${topic}.${Buffer.from(payload).toString('base64url')}`;
}

/** Null for what another release, or somebody else, sent. */
function decodeSignal(text: string): SentSignal | null {
  const [senderId, number, topic, payload, ...rest] = text.split('.');
  if (senderId === undefined || topic === undefined || payload === undefined || rest.length > 0) return null;
  return { senderId, number: Number(number), topic, payload: Buffer.from(payload, 'base64url').toString() };
}
