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
 * `head` is the headers of every answer, to which the reply's are added; `closes` asks for the connection's end.
 * Resolves with the length of the body, once its last piece is handed to the connection. Fails with ClientGone if nobody
 * is left to read, and with a stream's own error if that failed: then the connection must be cut, so that the client
 * cannot take a part for the whole.
 */
export async function sendReply(
  exchange: HttpExchange,
  reply: Reply,
  { head, closes, limits }: { readonly head: string[]; readonly closes: boolean; readonly limits: SendLimits },
): Promise<number> {
  const { response, socket } = exchange;
  for (const text of reply.headers) head.push(text);
  const hasNoBody = exchange.method === 'HEAD' || reply.status === 204 || reply.status === 304;
  const body = hasNoBody ? '' : (reply.body ?? '');
  const isStream = typeof body !== 'string' && !(body instanceof Uint8Array);
  // What a HEAD leaves out has the length that the operation tells.
  if (!isStream && !hasNoBody) head.push('Content-Length', String(Buffer.byteLength(body)));

  const lingers = exchange.isOutOfStep || exchange.outstandingBytes > (closes ? 0 : limits.unreadBytesMax);
  if (lingers || closes) head.push('Connection', 'close');
  if (lingers) socket.destroySoon = () => linger(socket, limits);
  if (hasNoBody || socket.destroyed) await discard(reply.body);
  if (socket.destroyed) throw new ClientGone();
  writeHead(response, reply.status, head);
  const sentBytes = isStream ? await sendStream(exchange, body, announcedLength(reply)) : Buffer.byteLength(body);
  response.end(isStream ? undefined : body);
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

function announcedLength({ headers }: Reply): number | null {
  for (let index = 0; index < headers.length; index += 2) {
    if ((headers[index] as string).toLowerCase() === 'content-length') return Number(headers[index + 1]);
  }
  return null;
}

/** Lets go of what a stream holds, since nobody will read it. */
async function discard(body: Reply['body']): Promise<void> {
  if (body instanceof Readable) body.destroy();
  else if (typeof body === 'object' && !(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.();
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
    super(`a body of ${announcedBytes} bytes was announced, but ${sentBytes} were sent`);
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
