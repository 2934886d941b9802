/**
 * The admin door: whether the server lives and whether it is ready, for load balancers, orchestrators and people. It
 * tells nothing else, so it asks nobody who they are.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Readiness } from './readiness.ts';

export interface AdminServerOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** PEM. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  readonly readiness: Pick<Readiness, 'reasonAgainst'>;
}

export interface AdminServer {
  /** `http://127.0.0.1:10004`. */
  readonly origin: string;
  /** Resolves when the answers under way are given, or their askers were cut off because they did not take them. */
  close(): Promise<void>;
}

const SETTINGS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 60_000,
  // Some probes name no host.
  requireHostHeader: false,
};
const CLOSE_LIMIT_MS = 500;
const RETRY_AFTER_SECONDS = 1;

export async function openAdminServer({ host, port, tls, readiness }: AdminServerOptions): Promise<AdminServer> {
  const server = tls === undefined ? createServer(SETTINGS) : createTlsServer({ ...SETTINGS, ...tls });
  let isClosing = false;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // Whoever sends a body has it thrown away with the connection.
    const mayStay = request.method === 'GET' || request.method === 'HEAD';
    void answer(request, readiness).then((reply) => send(response, reply, { closes: isClosing || !mayStay }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port: opened } = server.address() as AddressInfo;
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${opened}`,
    close() {
      isClosing = true;
      return closeServer(server);
    },
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), CLOSE_LIMIT_MS);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
  });
}

interface AdminReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: { readonly status: string; readonly reason?: string };
}

type Question = (readiness: Pick<Readiness, 'reasonAgainst'>) => Promise<AdminReply>;

const alive: Question = async () => ({ status: 200, body: { status: 'alive' } });

const ready: Question = async (readiness) => {
  const reason = await readiness.reasonAgainst();
  if (reason === null) return { status: 200, body: { status: 'ready' } };
  const headers = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
  return { status: 503, headers, body: { status: 'not ready', reason } };
};

/** The second and third spellings are Kubernetes'. */
const QUESTIONS: ReadonlyMap<string, Question> = new Map([
  ['/health', alive],
  ['/healthz', alive],
  ['/livez', alive],
  ['/ready', ready],
  ['/readyz', ready],
]);

async function answer(
  { method, url = '' }: IncomingMessage,
  readiness: Pick<Readiness, 'reasonAgainst'>,
): Promise<AdminReply> {
  const question = QUESTIONS.get(url.split('?', 1)[0] as string);
  if (question === undefined) return { status: 404, body: { status: 'not found' } };
  if (method === 'GET' || method === 'HEAD') return question(readiness);
  return { status: 405, headers: { Allow: 'GET, HEAD' }, body: { status: 'method not allowed' } };
}

function send(response: ServerResponse, { status, headers, body }: AdminReply, { closes }: { closes: boolean }): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...headers,
    ...(closes ? { Connection: 'close' } : {}),
  });
  response.end(text);
}
