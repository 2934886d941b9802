/**
 * Speaks to one bucket of an S3 server: signs (AWS Signature Version 4), sends, and sends again what may be sent
 * again. https://docs.aws.amazon.com/AmazonS3/latest/API/. The bucket is part of the path, which every server
 * understands. Failures come out as ContentUnavailable, with what the server said and never with a key.
 */
import http, { type Agent, type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import aws4 from 'aws4';
import { ContentUnavailable } from '../content.ts';
import { type Answer, ConnectionLost, Exchange } from './exchange.ts';
import type { S3Credentials, S3Place } from './s3-url.ts';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Of an object, in characters that need no encoding; absent for the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: readonly Uint8Array[];
}

/** An answer that has been read to its end. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What the server said no with. */
export class S3Refusal extends ContentUnavailable {
  readonly status: number;
  /** S3's own word for it (`AccessDenied`), or nothing: the answer to HEAD has none. */
  readonly code: string;

  constructor(sentence: string, { status, text }: Pick<WholeAnswer, 'status' | 'text'>) {
    const code = errorCodeIn(text) ?? '';
    super(`${sentence} (${code === '' ? status : `${status} ${code}`})`);
    this.status = status;
    this.code = code;
  }
}

export interface Patience {
  /** How long the server may be silent while it is waited for. */
  readonly stallLimitMs: number;
  readonly repeatCountMax: number;
  /** Before the first repetition; doubled for each further one, and never quite the same. */
  readonly repeatDelayMs: number;
}

const PATIENCE: Patience = { stallLimitMs: 60_000, repeatCountMax: 3, repeatDelayMs: 100 };

/** A reader holds its connection as long as its own client takes: a crowd of slow ones must leave room for others. */
const CONNECTION_COUNT_MAX = 512;
const IDLE_CONNECTION_COUNT_MAX = 64;
/** Shorter than servers keep theirs, so that a request rarely meets a connection that is just being closed. */
const IDLE_CONNECTION_LIMIT_MS = 4_000;
/** Far more than the longest page of a listing. */
const TEXT_BYTES_MAX = 8 * 1024 * 1024;

export class S3Client {
  readonly place: S3Place;
  readonly patience: Patience;
  readonly #credentials: S3Credentials;
  readonly #keptAgent: Agent;
  readonly #freshAgent: Agent;

  constructor(options: { place: S3Place; credentials: S3Credentials; patience?: Partial<Patience> | undefined }) {
    this.place = options.place;
    this.patience = { ...PATIENCE, ...options.patience };
    this.#credentials = options.credentials;
    const { Agent } = this.place.endpoint.protocol === 'https:' ? https : http;
    this.#keptAgent = new Agent({
      keepAlive: true,
      maxSockets: CONNECTION_COUNT_MAX,
      maxFreeSockets: IDLE_CONNECTION_COUNT_MAX,
      timeout: IDLE_CONNECTION_LIMIT_MS,
    });
    this.#freshAgent = new Agent({ maxSockets: CONNECTION_COUNT_MAX });
  }

  /**
   * The whole answer to a request that does no harm when it is sent twice. It is repeated while the server is busy or
   * the connection fails, but not after a silence, which has taken long enough.
   */
  async ask(request: S3Request): Promise<WholeAnswer> {
    return this.#repeat(request, readWhole);
  }

  /** The same for an answer whose body the caller takes as it comes: repeated until the body begins. */
  async open(request: S3Request): Promise<Answer> {
    return this.#repeat(request, async (answer) => answer);
  }

  /**
   * Sends a body that comes only once, on a connection of its own: a kept one could turn out to be closed when some of
   * the body is gone already. The pieces make up `lengthBytes`; when they fail, the server never gets them all.
   */
  async upload(key: string, pieces: AsyncIterable<Uint8Array>, lengthBytes: number): Promise<WholeAnswer> {
    const request: S3Request = { method: 'PUT', key, headers: bodyHeaders(lengthBytes) };
    let exchange: Exchange | null = null;
    let unsentBytes = lengthBytes;
    try {
      for await (const piece of pieces) {
        exchange ??= this.#begin(request, this.#freshAgent);
        unsentBytes -= piece.length;
        if (unsentBytes === 0) exchange.end([piece]);
        else if (!(await exchange.send(piece))) break;
      }
      if (exchange === null) throw new RangeError('a body without bytes');
      const answer = await readWhole(await exchange.answer());
      if (unsentBytes === 0) return answer;
      exchange.abandon();
      if (answer.status < 300) throw new ConnectionLost('it answered before everything was sent');
      return answer;
    } catch (error) {
      exchange?.abandon();
      throw this.#translate(error);
    }
  }

  /** For an answer that was not foreseen. */
  refusal({ method }: S3Request, answer: Pick<WholeAnswer, 'status' | 'text'>): S3Refusal {
    return new S3Refusal(`the S3 server at ${this.place.endpoint.origin} refused a ${method} request`, answer);
  }

  async pauseBefore(repeatCount: number): Promise<void> {
    await delay(this.patience.repeatDelayMs * 2 ** repeatCount * (0.5 + Math.random()));
  }

  /** What is under way goes on, each on its connection, which is then closed. */
  close(): void {
    this.#keptAgent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#keptAgent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  async #repeat<T>(request: S3Request, take: (answer: Answer) => Promise<T>): Promise<T> {
    for (let repeatCount = 0; ; repeatCount++) {
      const mayRepeat = repeatCount < this.patience.repeatCountMax;
      const exchange = this.#begin(request, this.#keptAgent);
      try {
        exchange.end(request.body ?? []);
        const answer = await exchange.answer();
        if (!mayRepeat || !isBusy(answer.status)) return await take(answer);
        await readWhole(answer);
      } catch (error) {
        exchange.abandon();
        const isBroken = error instanceof ConnectionLost && !error.isStall;
        if (!mayRepeat || !isBroken) throw this.#translate(error);
      }
      await this.pauseBefore(repeatCount);
    }
  }

  #begin({ method, key, query, headers, body }: S3Request, agent: Agent): Exchange {
    const { endpoint, bucket, region } = this.place;
    const path = `${endpoint.pathname.replace(/\/$/, '')}/${bucket}${key === undefined ? '' : `/${key}`}`;
    const bodyBytes = body?.reduce((sum, piece) => sum + piece.length, 0);
    const signed = aws4.sign(
      {
        service: 's3',
        region,
        method,
        path: query === undefined ? path : `${path}?${new URLSearchParams(query).toString()}`,
        headers: { host: endpoint.host, ...(bodyBytes !== undefined && bodyHeaders(bodyBytes)), ...headers },
      },
      this.#credentials,
    );
    const { request } = endpoint.protocol === 'https:' ? https : http;
    const sending = request({
      agent,
      protocol: endpoint.protocol,
      hostname: endpoint.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: endpoint.port,
      method,
      path: signed.path,
      headers: signed.headers,
    });
    return new Exchange(sending, this.patience);
  }

  #translate(error: unknown): unknown {
    if (!(error instanceof ConnectionLost)) return error;
    const { origin } = this.place.endpoint;
    return new ContentUnavailable(`no answer from the S3 server at ${origin}: ${error.message}`, { cause: error });
  }
}

/** The word by which S3 tells errors apart. */
export const errorCodeIn = (text: string): string | null =>
  /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(text)?.[1] ?? null;

async function readWhole(answer: Answer): Promise<WholeAnswer> {
  const { status, headers } = answer;
  return { status, headers, text: await answer.text({ bytesMax: TEXT_BYTES_MAX }) };
}

/** The body is not part of the signature: it is signed before it is known. */
const bodyHeaders = (lengthBytes: number): Record<string, string> => ({
  'content-length': String(lengthBytes),
  'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
});

const isBusy = (status: number): boolean => status >= 500 || status === 429;
