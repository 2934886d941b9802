/**
 * A few threads that hash bodies, started when first needed. They keep the process alive only while somebody waits for
 * them. Chunks of memory travel to a thread and back instead of being allocated for every piece.
 */

import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { HashReply, HashRequest } from './body-hash-worker.ts';
import type { BodyDigests, DigestChoice } from './digests.ts';

export const CHUNK_BYTES = 256 * 1024;
const SPARE_CHUNK_COUNT_MAX = 16;
const WORKER_COUNT_MAX = Math.max(1, Math.min(2, availableParallelism() - 1));
// Compiled output is .js; where Node runs the sources as they are, it is .ts.
const WORKER_URL = new URL(`./body-hash-worker${extname(import.meta.url)}`, import.meta.url);

const workers = new Set<HashWorker>();
const spareChunks: Uint8Array[] = [];
let bodyCount = 0;

/** What a body hears from its thread. */
export interface HashListener {
  onChunkBack(): void;
  onDigests(digests: BodyDigests): void;
  onError(error: Error): void;
}

/** One body in one of the threads. */
export interface RemoteBody {
  /** Takes the chunk away. */
  add(chunk: Uint8Array, lengthBytes: number): void;
  end(): void;
  drop(): void;
  /** Between these two, the process stays alive for the thread's answer. */
  beginWait(): void;
  endWait(): void;
}

export function beginRemoteBody(choice: DigestChoice, listener: HashListener): RemoteBody {
  return leastBusyWorker().begin(choice, listener);
}

export const takeChunk = (): Uint8Array => spareChunks.pop() ?? new Uint8Array(CHUNK_BYTES);

function leastBusyWorker(): HashWorker {
  const [leastBusy] = [...workers].sort((a, b) => a.bodyCount - b.bodyCount);
  if (leastBusy !== undefined && (leastBusy.bodyCount === 0 || workers.size >= WORKER_COUNT_MAX)) return leastBusy;
  const worker = new HashWorker();
  workers.add(worker);
  return worker;
}

class HashWorker {
  readonly #thread = new Worker(WORKER_URL);
  readonly #listeners = new Map<number, HashListener>();
  #waitCount = 0;

  constructor() {
    this.#thread.unref();
    this.#thread.on('message', (reply: HashReply) => this.#hear(reply));
    this.#thread.on('error', (error) => this.#fail(error));
    this.#thread.on('exit', () => this.#fail(new Error('the hashing thread ended')));
  }

  get bodyCount(): number {
    return this.#listeners.size;
  }

  begin(choice: DigestChoice, listener: HashListener): RemoteBody {
    const body = ++bodyCount;
    this.#listeners.set(body, listener);
    this.#send({ kind: 'begin', body, choice });
    return {
      add: (chunk, lengthBytes) =>
        this.#send({ kind: 'chunk', body, chunk, lengthBytes }, [chunk.buffer as ArrayBuffer]),
      end: () => this.#send({ kind: 'end', body }),
      drop: () => {
        this.#listeners.delete(body);
        this.#send({ kind: 'drop', body });
      },
      beginWait: () => {
        if (this.#waitCount++ === 0) this.#thread.ref();
      },
      endWait: () => {
        if (--this.#waitCount === 0) this.#thread.unref();
      },
    };
  }

  #send(request: HashRequest, transfer: ArrayBuffer[] = []): void {
    this.#thread.postMessage(request, transfer);
  }

  #hear(reply: HashReply): void {
    const listener = this.#listeners.get(reply.body);
    if (reply.kind === 'chunk') {
      if (spareChunks.length < SPARE_CHUNK_COUNT_MAX) spareChunks.push(reply.chunk);
      listener?.onChunkBack();
    } else {
      this.#listeners.delete(reply.body);
      listener?.onDigests({ md5: asBuffer(reply.md5), crc64: asBuffer(reply.crc64) });
    }
  }

  #fail(error: Error): void {
    workers.delete(this);
    for (const listener of this.#listeners.values()) listener.onError(error);
    this.#listeners.clear();
  }
}

const asBuffer = (bytes: Uint8Array | null): Buffer | null => bytes && Buffer.from(bytes);
