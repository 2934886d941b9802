/**
 * One request inside another: a part of a batch. It has its own credentials, headers and request id, and shares the
 * version, the account and the connection of the request around it. It is routed, authenticated, authorized, refused and
 * logged as if it had come alone.
 */
import { Readable } from 'node:stream';
import type { Identity, ServiceLetter } from '../auth/identity.ts';
import {
  type AnswerContext,
  admit,
  asRefusal,
  readClientRequestId,
  refuseLongUrl,
  refuseRepeatedHeaders,
} from './answer.ts';
import type { Part, PartRequest } from './door.ts';
import type { AuthorizedExchange, Exchange, Reply, RequestTarget } from './exchange.ts';
import { renderFault } from './faults.ts';
import type { Log } from './log.ts';
import { nextRequestId } from './request-ids.ts';
import { type AccountNames, parseRequestTarget } from './request-target.ts';
import { refuseTimeout } from './routing.ts';

const NO_BYTES = new Uint8Array(0);

const NOBODY: Identity = { kind: 'anonymous', publicAccess: null };

export function openPart(outer: Exchange, request: PartRequest, context: AnswerContext & { readonly log: Log }): Part {
  refuseLongUrl(request.url, context.urlCharactersMax);
  const exchange = new PartExchange(outer, request, locatePart(outer, request.url, context.accounts));
  return { exchange, answer: () => answerPart(exchange, request, context) };
}

/** A path that does not begin with the account counts from the account on: so some clients write it, and sign it. */
function locatePart(outer: Exchange, url: string, accounts: AccountNames): RequestTarget {
  const { account, hostStyle } = outer.target;
  const target = parseRequestTarget({ url, host: null, accounts });
  if (!hostStyle && target.account === account && !target.secondary) return target;
  return { ...target, account, secondary: false, hostStyle: true, resourcePath: target.rawPath.slice(1) };
}

class PartExchange implements AuthorizedExchange {
  readonly service: ServiceLetter;
  readonly method: string;
  readonly target: RequestTarget;
  readonly rawHeaders: readonly (readonly [name: string, value: string])[];
  readonly version: string;
  readonly requestId: string = nextRequestId();
  readonly clientAddress: string;
  readonly secure: boolean;
  readonly origin: string;
  readonly contentLengthBytes = 0;
  identity: Identity = NOBODY;

  readonly #headers: PartRequest['headers'];

  constructor(outer: Exchange, request: PartRequest, target: RequestTarget) {
    this.service = outer.service;
    this.version = outer.version;
    this.clientAddress = outer.clientAddress;
    this.secure = outer.secure;
    this.origin = outer.origin;
    this.method = request.method;
    this.target = target;
    this.#headers = request.headers;
    this.rawHeaders = request.headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  }

  header(name: string): string | null {
    const values = this.rawHeaders.filter(([candidate]) => candidate === name).map(([, value]) => value);
    return values.length === 0 ? null : values.join(', ');
  }

  headersWithPrefix(prefix: string): readonly (readonly [name: string, value: string])[] {
    return this.#headers.filter(([name]) => name.toLowerCase().startsWith(prefix));
  }

  body(): Readable {
    return Readable.from([]);
  }

  wholeBody(): Promise<Uint8Array> {
    return Promise.resolve(NO_BYTES);
  }
}

async function answerPart(
  exchange: PartExchange,
  { method, url }: PartRequest,
  context: AnswerContext & { readonly log: Log },
): Promise<Reply> {
  const { log, clock } = context;
  const { requestId } = exchange;
  const startedMs = performance.now();
  const heard: Heard = { operation: null, clientRequestId: null };
  let errorCode: string | null = null;
  const reply = await perform(exchange, heard, context).catch((error: unknown) => {
    const refusal = asRefusal(error, () => log.error(`${heard.operation ?? 'part'} ${requestId} failed`, error));
    errorCode = refusal.code;
    return renderFault(refusal, { method, requestId, nowMs: clock.nowMs() });
  });
  log.access({
    atMs: clock.nowMs(),
    remote: exchange.clientAddress || '-',
    method,
    url,
    status: reply.status,
    errorCode,
    operation: heard.operation,
    receivedBytes: 0,
    sentBytes: typeof reply.body === 'string' ? Buffer.byteLength(reply.body) : 0,
    durationMs: performance.now() - startedMs,
    requestId,
  });
  const head = ['x-ms-request-id', requestId, 'x-ms-version', exchange.version];
  if (heard.clientRequestId !== null) head.push('x-ms-client-request-id', heard.clientRequestId);
  return { ...reply, headers: [...head, ...reply.headers] };
}

/** What was learned of a part before it was refused. */
interface Heard {
  operation: string | null;
  clientRequestId: string | null;
}

async function perform(exchange: PartExchange, heard: Heard, context: AnswerContext): Promise<Reply> {
  heard.clientRequestId = readClientRequestId(exchange);
  refuseRepeatedHeaders(exchange);
  refuseTimeout(exchange);
  const route = context.door.route(exchange);
  heard.operation = route.operation;
  await admit(exchange, route, context);
  return route.handle(exchange, (inner) => context.openPart(exchange, inner));
}
