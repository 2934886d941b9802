/**
 * Sources outside this server over node:http and node:https: follows redirects, holds the source to what it was asked
 * for, and keeps away from addresses that no caller should reach through this server (addresses.ts). Each request has a
 * connection of its own, so that the address judged is the address asked.
 */
import { request as askHttp, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as askHttps } from 'node:https';
import { isIP } from 'node:net';
import {
  type Outside,
  type OutsideHead,
  type OutsideReply,
  type OutsideRequest,
  SourceUnreachable,
  showUrl,
} from '../service/copy/outside.ts';
import { guardedLookup, type Resolve, refuseAddress, resolveBySystem } from './addresses.ts';
import { requestHeaders } from './demands.ts';
import { readReply } from './read-reply.ts';

export interface HttpOutsideOptions {
  /** `none`: every request is refused. */
  readonly allow?: 'any' | 'none';
  /** Whether this server itself listens on a port: it is not asked by way of the loopback. */
  readonly isOwnPort?: (port: number) => boolean;
  /** From the name to the last header of an answer. */
  readonly headTimeoutMs?: number;
  /** In which a source must send something while it is waited for. */
  readonly idleTimeoutMs?: number;
  /** How long an answer may be that does not announce its length. It is held in memory. */
  readonly unannouncedBytesMax?: number;
  readonly resolve?: Resolve;
  /** PEM, in place of the authorities that Node trusts. */
  readonly ca?: string | Buffer;
}

const DEFAULTS: Required<Omit<HttpOutsideOptions, 'ca'>> = {
  allow: 'any',
  isOwnPort: () => false,
  headTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  unannouncedBytesMax: 4 * 1024 * 1024,
  resolve: resolveBySystem,
};

export const openHttpOutside = (options: HttpOutsideOptions = {}): Outside => new HttpOutside(options);

const REDIRECT_COUNT_MAX = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

class HttpOutside implements Outside {
  readonly #options: typeof DEFAULTS & HttpOutsideOptions;

  constructor(options: HttpOutsideOptions) {
    this.#options = { ...DEFAULTS, ...options };
  }

  async open(request: OutsideRequest): Promise<OutsideReply> {
    request.signal.throwIfAborted();
    if (this.#options.allow === 'none') {
      throw new SourceUnreachable('forbidden', 'This server copies from its own blobs only.');
    }
    const { idleTimeoutMs, unannouncedBytesMax } = this.#options;
    const terms = { idleTimeoutMs, unannouncedBytesMax, signal: request.signal, shown: showUrl(request.url) };
    const response = await this.#follow(request);
    try {
      return await readReply(response, request, terms);
    } catch (error) {
      response.destroy();
      throw error;
    }
  }

  /** Asks as for the bytes: a URL that is signed for one method is good for no other. */
  async head(request: OutsideRequest): Promise<OutsideHead> {
    const { body, ...head } = await this.open(request);
    await body.return();
    return head;
  }

  async #follow(request: OutsideRequest): Promise<IncomingMessage> {
    let url = parseSourceUrl(request.url);
    const headers = requestHeaders(request);
    for (let redirectCount = 0; ; redirectCount += 1) {
      const response = await this.#ask(url, headers, request.signal);
      const { location } = response.headers;
      if (!REDIRECTS.has(response.statusCode as number) || location === undefined) return response;
      response.destroy();
      if (redirectCount === REDIRECT_COUNT_MAX) {
        throw new SourceUnreachable('redirects', `${showUrl(request.url)} redirects more than ${redirectCount} times.`);
      }
      const next = parseSourceUrl(location, url);
      if (url.protocol === 'https:' && next.protocol !== 'https:') {
        throw new SourceUnreachable('redirects', `${showUrl(url.href)} redirects from HTTPS to HTTP.`);
      }
      if (next.origin !== url.origin) delete headers['authorization'];
      url = next;
    }
  }

  /** Resolves with the head of the answer. */
  async #ask(url: URL, headers: OutgoingHttpHeaders, signal: AbortSignal): Promise<IncomingMessage> {
    const { headTimeoutMs, isOwnPort, resolve: resolveName, ca } = this.#options;
    const isSecure = url.protocol === 'https:';
    const guard = { port: Number(url.port) || (isSecure ? 443 : 80), isOwnPort };
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const refusal = isIP(hostname) === 0 ? null : refuseAddress(hostname, guard);
    if (refusal !== null) throw refusal;
    return new Promise((resolve, reject) => {
      const sending = (isSecure ? askHttps : askHttp)(url, {
        agent: false,
        headers,
        lookup: guardedLookup(resolveName, guard),
        ...(ca === undefined ? {} : { ca }),
      });
      const impatience = setTimeout(() => {
        const message = `${showUrl(url.href)} has not answered in ${headTimeoutMs} ms.`;
        sending.destroy(new SourceUnreachable('timeout', message));
      }, headTimeoutMs);
      const onAbort = (): void => {
        sending.destroy();
      };
      const settle = (): void => {
        clearTimeout(impatience);
        signal.removeEventListener('abort', onAbort);
      };
      signal.addEventListener('abort', onAbort);
      sending.once('response', (response) => {
        settle();
        resolve(response);
      });
      sending.on('error', (error) => {
        settle();
        reject(signal.aborted ? signal.reason : asUnreachable(error, url));
      });
      sending.end();
    });
  }
}

function parseSourceUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new SourceUnreachable('malformed', `${showUrl(text)} is not a URL that this server can read from.`);
  }
  return url;
}

function asUnreachable(error: NodeJS.ErrnoException, url: URL): SourceUnreachable {
  if (error instanceof SourceUnreachable) return error;
  const message = `${showUrl(url.href)} cannot be reached: ${error.code ?? error.message}.`;
  return new SourceUnreachable('connection', message, { cause: error });
}
