/**
 * Puts a Reply on the wire: head and body in one go where the body is at hand, piece by piece at the client's pace where
 * it is a stream. Decides what becomes of the connection when a request's body was not read to its end.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { ClientGone } from './body.ts';
import type { Reply } from './exchange.ts';
import type { HttpExchange } from './http-exchange.ts';

export interface SendLimits {
  /** So much of an unread body is let pass, to keep the connection. */
  readonly unreadBytesMax: number;
  /** A closed connection takes in so much, for so long, before it is cut. */
  readonly lingerBytesMax: number;
  readonly lingerMs: number;
}

/**
 * `head` is the headers of every answer, to which the reply's are added; `closes` asks for the connection's end. Resolves,
 * once the last piece is handed to the connection, with the length of the body sent. Fails with ClientGone if nobody is left to read, and with the stream's
 * own error if that failed: the connection is then cut, so that the client cannot take a part for the whole.
 */
export async function sendReply(
  exchange: HttpExchange,
  reply: Reply,
  { head, closes, limits }: { readonly head: string[]; readonly closes: boolean; readonly limits: SendLimits },
): Promise<number> {
  const { response, socket } = exchange;
  const body = bodyToSend(exchange, reply);
  for (const text of reply.headers) head.push(text);
  const knownBytes =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array ? lengthOf(body) : null;
  if (knownBytes !== null && mayCarryLength(exchange, reply)) head.push('Content-Length', String(knownBytes));

  const lingers = exchange.isOutOfStep || exchange.outstandingBytes > (closes ? 0 : limits.unreadBytesMax);
  if (lingers || closes) head.push('Connection', 'close');
  if (lingers) socket.destroySoon = () => linger(socket, limits);
  if (socket.destroyed) {
    discard(reply.body);
    throw new ClientGone();
  }
  writeHead(response, reply.status, head);
  const sentBytes =
    knownBytes ?? (await sendStream(exchange, body as AsyncIterable<Uint8Array>, announcedLength(reply)));
  response.end(knownBytes === null ? undefined : body);
  exchange.discardBody();
  return sentBytes;
}

/** Answers with FIN and takes in what is still coming: closing at once would reset, and could lose, what we just said. */
export function linger(socket: Socket, { lingerBytesMax, lingerMs }: SendLimits): void {
  if (socket.writableEnded || socket.destroyed) return;
  socket.end();
  const bytesReadMax = socket.bytesRead + lingerBytesMax;
  const deadlineMs = performance.now() + lingerMs;
  const watch = setInterval(() => {
    if (socket.bytesRead > bytesReadMax || performance.now() > deadlineMs) socket.destroy();
  }, LINGER_CHECK_MS).unref();
  socket.once('close', () => clearInterval(watch));
  socket.resume();
}

const LINGER_CHECK_MS = 50;

/** HEAD and 304 have no body, whatever the operation gave. */
function bodyToSend(exchange: HttpExchange, { status, body }: Reply): Reply['body'] {
  if (exchange.method !== 'HEAD' && status !== 204 && status !== 304) return body;
  discard(body);
  return undefined;
}

/** The length of a body that HEAD leaves out is the operation's to tell; 204 and 304 have none. */
const mayCarryLength = (exchange: HttpExchange, { status }: Reply): boolean =>
  exchange.method !== 'HEAD' && status !== 204 && status !== 304;

const lengthOf = (body: string | Uint8Array | undefined): number => (body === undefined ? 0 : Buffer.byteLength(body));

function announcedLength({ headers }: Reply): number | null {
  for (let index = 0; index < headers.length; index += 2) {
    if ((headers[index] as string).toLowerCase() === 'content-length') return Number(headers[index + 1]);
  }
  return null;
}

/** Lets go of what a stream holds, though nobody will read it. */
function discard(body: Reply['body']): void {
  if (body instanceof Readable) body.destroy();
}

function writeHead(response: ServerResponse, status: number, head: string[]): void {
  try {
    response.writeHead(status, head);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_INVALID_CHAR') throw error;
    response.writeHead(status, head.map(headerText));
  }
}

/** Names beyond Latin-1 go out as UTF-8; line breaks and other controls cannot go out at all. */
const headerText = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
  Buffer.from(text.replaceAll(/[\u0000-\u0008\u000a-\u001f\u007f]/g, ' '), 'utf8').toString('latin1');

async function sendStream(
  { response, socket }: HttpExchange,
  pieces: AsyncIterable<Uint8Array>,
  announcedBytes: number | null,
): Promise<number> {
  let sentBytes = 0;
  for await (const piece of pieces) {
    if (socket.destroyed) throw new ClientGone();
    sentBytes += piece.length;
    if (announcedBytes !== null && sentBytes > announcedBytes) throw new WrongLength(sentBytes, announcedBytes);
    if (!response.write(piece)) await drained(response, socket);
  }
  if (socket.destroyed) throw new ClientGone();
  if (announcedBytes !== null && sentBytes !== announcedBytes) throw new WrongLength(sentBytes, announcedBytes);
  return sentBytes;
}

class WrongLength extends Error {
  override readonly name = 'WrongLength';

  constructor(sentBytes: number, announcedBytes: number) {
    super(`a body of ${announcedBytes} bytes was announced, and ${sentBytes} came`);
  }
}

/** Until the connection takes more, or is gone. */
function drained(response: ServerResponse, socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) {
      resolve();
      return;
    }
    const settle = (): void => {
      response.off('drain', settle);
      socket.off('close', settle);
      resolve();
    };
    response.on('drain', settle);
    socket.on('close', settle);
  });
}
