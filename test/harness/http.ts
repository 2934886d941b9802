/**
 * Requests that the official client will not send: any method, path, header and body, signed here with Shared Key by
 * the published recipe and not by the server's own code.
 */
import { createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';

export interface RawRequest {
  readonly method: string;
  /** As on the request line behind the account, already encoded: `/container/blob?comp=metadata`. */
  readonly path: string;
  /** Names to values; a list is sent as that many headers. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
  /** Who signs; null: nobody. */
  readonly account?: TestAccount | null;
  /** The account in the path, where it is not the one that signs. */
  readonly pathAccount?: string;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** `412 ConditionNotMet`, or the status alone. */
  readonly outcome: string;
}

export const RAW_VERSION = '2024-11-04';

type HeaderList = [name: string, value: string][];

const SIGNED_LINES = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
];

function valuesByName(headers: HeaderList): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const earlier = values.get(key);
    values.set(key, earlier === undefined ? value : `${earlier},${value}`);
  }
  return values;
}

function signedLine(name: string, values: ReadonlyMap<string, string>): string {
  const value = values.get(name) ?? '';
  if (name === 'content-length' && value === '0') return '';
  return name === 'date' && values.has('x-ms-date') ? '' : value;
}

function cut(text: string, separator: string): { before: string; behind: string } {
  const at = text.indexOf(separator);
  return at < 0 ? { before: text, behind: '' } : { before: text.slice(0, at), behind: text.slice(at + 1) };
}

function canonicalQuery(query: string): string {
  const values = new Map<string, string[]>();
  for (const pair of query === '' ? [] : query.split('&')) {
    const { before: name, behind: value } = cut(pair, '=');
    const key = decodeURIComponent(name).toLowerCase();
    values.set(key, [...(values.get(key) ?? []), decodeURIComponent(value)]);
  }
  return [...values]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, several]) => `\n${name}:${several.sort().join(',')}`)
    .join('');
}

/** The Authorization header for a request whose headers are complete. `target` is the whole path, account included. */
export function sharedKey(
  account: TestAccount,
  { method, target, headers }: { method: string; target: string; headers: HeaderList },
): string {
  const values = valuesByName(headers);
  const { before: path, behind: query } = cut(target, '?');
  const canonicalHeaders = [...values]
    .filter(([name]) => name.startsWith('x-ms-'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${value.trimStart()}\n`)
    .join('');
  const text = [
    method,
    ...SIGNED_LINES.map((name) => signedLine(name, values)),
    `${canonicalHeaders}/${account.name}${path}${canonicalQuery(query)}`,
  ].join('\n');
  const signature = createHmac('sha256', Buffer.from(account.key, 'base64')).update(text, 'utf8').digest('base64');
  return `SharedKey ${account.name}:${signature}`;
}

/** A request's complete headers: those given, and where missing a date, a version, the body's length and the signature. */
export function completeHeaders(url: string, request: RawRequest): { target: string; headers: HeaderList } {
  const account = request.account === undefined ? DEVELOPMENT_ACCOUNT : request.account;
  const target = `/${request.pathAccount ?? account?.name ?? DEVELOPMENT_ACCOUNT.name}${request.path}`;
  const headers: HeaderList = Object.entries(request.headers ?? {}).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one): [string, string] => [name, one]),
  );
  const present = valuesByName(headers);
  const addMissing = (name: string, value: string): void => {
    if (!present.has(name)) headers.push([name, value]);
  };
  addMissing('host', new URL(url).host);
  addMissing('x-ms-version', RAW_VERSION);
  addMissing('x-ms-date', new Date().toUTCString());
  if (!present.has('transfer-encoding') && (request.body !== undefined || !['GET', 'HEAD'].includes(request.method))) {
    addMissing('content-length', String(Buffer.byteLength(request.body ?? '')));
  }
  if (account !== null) addMissing('authorization', sharedKey(account, { method: request.method, target, headers }));
  return { target, headers };
}

export async function send(url: string, request: RawRequest): Promise<RawResponse> {
  const { target, headers } = completeHeaders(url, request);
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        hostname,
        port,
        method: request.method,
        path: target,
        headers: headers.flat() as unknown as IncomingHttpHeaders,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const status = response.statusCode as number;
          const code = response.headers['x-ms-error-code'];
          resolve({
            status,
            headers: response.headers,
            body: Buffer.concat(chunks),
            outcome: typeof code === 'string' ? `${status} ${code}` : String(status),
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(request.body);
  });
}

/**
 * Bytes straight onto a connection, well-formed or not; resolves with everything that came back once the server has
 * closed it, or once nothing has come for `quietMs`.
 */
export async function sendBytes(
  url: string,
  bytes: string | Uint8Array,
  { quietMs = 2000, halfClose = false }: { quietMs?: number; halfClose?: boolean } = {},
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let received = '';
    const finish = (): void => {
      socket.destroy();
      resolve(received);
    };
    socket.setTimeout(quietMs, finish);
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    socket.on('close', finish);
    socket.on('error', finish);
    if (halfClose) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** The request line and headers of a signed request, for sendBytes; the body is the caller's. */
export function headOf(url: string, request: RawRequest): string {
  const { target, headers } = completeHeaders(url, request);
  return `${request.method} ${target} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** The status of the first answer in what came back; 0: none. */
export const firstStatus = (received: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0);
