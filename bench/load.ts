/**
 * The two ways to load a server: `wrk`, for requests that do not depend on an earlier answer, and lanes of raw sockets
 * in this process, for those that do. A lane has one request in flight, and reads no more of an answer than it must, so
 * that the client takes as little as possible of the cores that it shares with the server.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Outcome {
  value: number;
  /** Answers other than the expected one, and broken connections. A row with any is no measurement. */
  failureCount: number;
  failure: string | null;
}

export function outcome(value: number): Outcome {
  return { value, failureCount: 0, failure: null };
}

/** The checkout: wrk's script and the peer's cache are found from here, wherever the compiled files lie. */
export const projectFolder = findProjectFolder(dirname(fileURLToPath(import.meta.url)));

function findProjectFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findProjectFolder(dirname(folder));
}

export interface WrkLoad {
  /** Of one contestant; connections are divided among them. */
  ports: readonly number[];
  seconds: number;
  connections: number;
  method: 'GET' | 'HEAD' | 'PUT' | 'POST';
  path: string;
  /** What stands behind a name in the path, if names are walked through. */
  pathEnd?: string;
  query: string;
  headers?: readonly string[];
  /** A text, or so many bytes of one letter. */
  body?: string;
  bodyBytes?: number;
  /** How many names to walk through; without it every request goes to `path` itself. */
  nameCount?: number;
  /** In any order, in place of one after the other. */
  anyName?: boolean;
}

/** Requests per second, of one wrk per port, all at the same time. */
export async function wrk(load: WrkLoad): Promise<Outcome> {
  const shares = divide(load.connections, load.ports);
  // Each begins elsewhere among the names, so that they do not all write the same blob at once.
  const nameStep = Math.floor((load.nameCount ?? 0) / shares.length);
  const parts = await Promise.all(
    shares.map(({ port, count }, index) => wrkOnPort(load, { port, connections: count, firstName: index * nameStep })),
  );
  return sumOf(parts);
}

export function sumOf(parts: readonly Outcome[]): Outcome {
  return parts.reduce((sum, part) => ({
    value: sum.value + part.value,
    failureCount: sum.failureCount + part.failureCount,
    failure: sum.failure ?? part.failure,
  }));
}

/** As evenly as it goes; without the ports for which nothing is left. */
export function divide(count: number, ports: readonly number[]): { port: number; count: number }[] {
  return ports
    .map((port, index) => ({ port, count: Math.floor((count + ports.length - 1 - index) / ports.length) }))
    .filter((share) => share.count > 0);
}

async function wrkOnPort(
  load: WrkLoad,
  part: { port: number; connections: number; firstName: number },
): Promise<Outcome> {
  const { stdout } = await runWrk([
    '--threads=1',
    `--connections=${part.connections}`,
    `--duration=${load.seconds}s`,
    '--timeout=30s',
    `--script=${join(projectFolder, 'bench', 'requests.lua')}`,
    `http://127.0.0.1:${part.port}`,
    '--',
    load.method,
    load.path,
    `${load.pathEnd ?? ''}?${load.query}`,
    load.body ?? String(load.bodyBytes ?? 0),
    String(load.nameCount ?? 0),
    load.anyName === true ? 'any' : String(part.firstName),
    ...(load.headers ?? []),
  ]);
  const result = /^RESULT (\d+) ([\d.]+) (\d+) (\d+)$/m.exec(stdout);
  if (result === null) throw new Error(`wrk printed no result: ${stdout}`);
  const [requests, seconds, refused, broken] = result.slice(1).map(Number) as [number, number, number, number];
  return {
    value: requests / seconds,
    failureCount: refused + broken,
    failure: refused + broken === 0 ? null : `${refused} answers of 400 or more, ${broken} socket errors`,
  };
}

async function runWrk(words: readonly string[]): Promise<{ stdout: string }> {
  try {
    return await promisify(execFile)('wrk', [...words]);
  } catch (error) {
    // The error's own message would repeat the whole command.
    throw new Error(`wrk: ${(error as { stderr: string }).stderr.trim()}`, { cause: error });
  }
}

export async function wrkIsInstalled(): Promise<boolean> {
  // `wrk --version` exits with 1, so only "no such program" counts as missing.
  return promisify(execFile)('wrk', ['--version']).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

export interface Answer {
  status: number;
  /** The status line and headers as they came. */
  head: string;
  bodyBytes: number;
  /** Without the frames of chunks; null where the request did not ask for it. */
  body: string | null;
}

export function headerOf(answer: Answer, name: string): string | null {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(answer.head)?.[1] ?? null;
}

export interface LaneRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'MERGE' | 'DELETE';
  path: string;
  headers?: readonly string[];
  body?: Buffer;
  /** The body of the answer is wanted, as Latin-1. */
  keepsBody?: boolean;
}

interface Waiting {
  method: string;
  keepsBody: boolean;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}

const answerTimeoutMs = 120_000;

/** The end of a chunked body without trailers. */
const lastChunk = '\r\n0\r\n\r\n';

/** One connection with one request in flight. Bodies are counted and, unless they are asked for, thrown away. */
export class Lane {
  readonly #socket: Socket;
  #waiting: Waiting | null = null;
  #unread = '';
  #answer: Answer | null = null;
  #bodyBytesLeft = 0;
  /** As much of a body as came, if it is kept. */
  #keptBody = '';
  /** Of a chunked body: how the part that came so far ends; null for one with a length. */
  #tail: string | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(answerTimeoutMs, () => socket.destroy(new Error(`no answer for ${answerTimeoutMs} ms`)));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  static open(options: { port: number; bufferBytes: number }): Promise<Lane> {
    return new Promise((resolve, reject) => {
      // One reused buffer: a fresh one per read would make the client the slower side of a download.
      const socket = connect({
        port: options.port,
        host: '127.0.0.1',
        onread: {
          buffer: Buffer.allocUnsafe(options.bufferBytes),
          callback: (count: number, bytes: Uint8Array): boolean => {
            lane.#read(bytes as Buffer, count);
            return true;
          },
        },
      });
      const lane = new Lane(socket);
      socket.once('error', reject);
      socket.once('connect', () => resolve(lane));
    });
  }

  send(request: LaneRequest): Promise<Answer> {
    const hasBody = request.body !== undefined || request.method === 'PUT';
    const length = hasBody ? [`Content-Length: ${request.body?.length ?? 0}`] : [];
    const lines = [`${request.method} ${request.path} HTTP/1.1`, 'Host: 127.0.0.1', ...length];
    const head = `${[...lines, ...(request.headers ?? [])].join('\r\n')}\r\n\r\n`;
    return new Promise((resolve, reject) => {
      this.#waiting = { method: request.method, keepsBody: request.keepsBody ?? false, resolve, reject };
      if (this.#socket.destroyed) return this.#fail(new Error('the connection is closed'));
      if (request.body === undefined) {
        this.#socket.write(head, 'latin1');
        return;
      }
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(request.body);
      this.#socket.uncork();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer, count: number): void {
    if (this.#answer !== null) this.#keep(() => bytes.toString('latin1', 0, count));
    if (this.#tail !== null)
      return this.#readChunks(bytes.toString('latin1', Math.max(0, count - lastChunk.length), count), count);
    if (this.#answer !== null) return this.#readBody(count);
    this.#unread += bytes.toString('latin1', 0, count);
    const headLength = this.#unread.indexOf('\r\n\r\n');
    if (headLength === -1) return;
    const head = this.#unread.slice(0, headLength);
    this.#answer = { status: Number(head.slice(9, 12)), head, bodyBytes: 0, body: null };
    const body = this.#unread.slice(headLength + 4);
    this.#unread = '';
    this.#keep(() => body);
    const bodyBytes = this.#announcedBodyBytes(this.#answer);
    if (bodyBytes === null && !isChunked(this.#answer)) {
      this.#fail(new Error(`an answer has no length: ${this.#answer.head}`));
      this.#socket.destroy();
      return;
    }
    if (bodyBytes === null) {
      // An empty body has no line before its last chunk.
      this.#tail = '\r\n';
      return this.#readChunks(body, body.length);
    }
    this.#answer.bodyBytes = bodyBytes;
    this.#bodyBytesLeft = bodyBytes;
    this.#readBody(body.length);
  }

  /** Counted with their frames, and taken for the whole when they end as the last one does. */
  #readChunks(end: string, count: number): void {
    const answer = this.#answer as Answer;
    answer.bodyBytes += count;
    this.#tail = `${this.#tail}${end}`.slice(-lastChunk.length);
    if (this.#tail !== lastChunk) return;
    this.#tail = null;
    this.#readBody(0);
  }

  /** Null for a chunked body. */
  #announcedBodyBytes(answer: Answer): number | null {
    if (this.#waiting?.method === 'HEAD' || answer.status === 204 || answer.status === 304) return 0;
    const length = headerOf(answer, 'content-length');
    return length === null ? null : Number(length);
  }

  #keep(text: () => string): void {
    if (this.#waiting?.keepsBody === true) this.#keptBody += text();
  }

  #readBody(count: number): void {
    this.#bodyBytesLeft -= count;
    if (this.#bodyBytesLeft > 0) return;
    const { resolve, keepsBody } = this.#waiting as Waiting;
    const answer = this.#answer as Answer;
    if (keepsBody) answer.body = isChunked(answer) ? unchunked(this.#keptBody) : this.#keptBody;
    this.#keptBody = '';
    this.#waiting = null;
    this.#answer = null;
    resolve(answer);
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}

const isChunked = (answer: Answer): boolean => headerOf(answer, 'transfer-encoding') === 'chunked';

function unchunked(framed: string): string {
  let body = '';
  for (let at = 0; ; ) {
    const lineEnd = framed.indexOf('\r\n', at);
    const length = Number.parseInt(framed.slice(at, lineEnd), 16);
    if (!(length > 0)) return body;
    body += framed.slice(lineEnd + 2, lineEnd + 2 + length);
    at = lineEnd + 2 + length + 2;
  }
}

export interface LaneLoad {
  /** Of one contestant; connections are dealt out to them in turn. */
  ports: readonly number[];
  connections: number;
  bufferBytes?: number;
}

/** Runs `body` once on each of several connections at once. */
export async function inLanes(load: LaneLoad, body: (lane: Lane, index: number) => Promise<void>): Promise<void> {
  const bufferBytes = load.bufferBytes ?? 65_536;
  const lanes = await Promise.all(
    Array.from({ length: load.connections }, (_, index) =>
      Lane.open({ port: load.ports[index % load.ports.length] as number, bufferBytes }),
    ),
  );
  try {
    await Promise.all(lanes.map(body));
  } finally {
    for (const lane of lanes) lane.close();
  }
}

export interface RateLoad extends LaneLoad {
  seconds: number;
  /** For steps that use something up: of all connections together. */
  stepCountMax?: number;
}

/** Repeats `step` on every connection until the time is up; the value is steps per second. */
export async function rateInLanes(
  load: RateLoad,
  step: (lane: Lane, index: number) => Promise<string | null>,
): Promise<Outcome> {
  const total = outcome(0);
  const { stepCountMax = Number.POSITIVE_INFINITY } = load;
  let steps = 0;
  let startedAtMs = 0;
  await inLanes(load, async (lane, index) => {
    startedAtMs ||= performance.now();
    while (steps < stepCountMax && performance.now() - startedAtMs < load.seconds * 1000) {
      steps += 1;
      const failure = await step(lane, index);
      if (failure === null) continue;
      total.failureCount += 1;
      total.failure ??= failure;
    }
  });
  return { ...total, value: steps / ((performance.now() - startedAtMs) / 1000) };
}

/** Null for a success, else a line that says what came instead. */
export function failureOf(answer: Answer): string | null {
  if (answer.status >= 200 && answer.status < 300) return null;
  const statusLine = answer.head.split('\r\n', 1)[0];
  return `${statusLine} (${headerOf(answer, 'x-ms-error-code') ?? 'no error code'})`;
}

/** For the steps of a preparation, where there is nothing to measure if one fails. */
export function expectSuccess(answer: Answer): Answer {
  const failure = failureOf(answer);
  if (failure !== null) throw new Error(failure);
  return answer;
}
