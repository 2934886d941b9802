/**
 * What a request is addressed to: which account, which path, which query words. The account stands in the host name
 * (`account.blob.example.org`) or in the first segment of the path (`127.0.0.1:10000/account`); `-secondary` behind it
 * asks for the secondary location. Everything is read once, here; what cannot be read is refused as InvalidUri.
 */
import { isUtf8 } from 'node:buffer';
import { StorageError } from '../service/storage-error.ts';
import type { Query, RequestTarget } from './exchange.ts';

export interface AddressedTarget extends RequestTarget {
  /** Host and port as the client named them; empty where it named none. */
  readonly authority: string;
}

/** Whether an account of this name is configured: only then can a host name's first label be one. */
export interface AccountNames {
  has(name: string): boolean;
}

const SECONDARY = '-secondary';

/** `url` as on the request line; `host` as in the Host header (HTTP/1.0 may come without). */
export function parseRequestTarget({
  url,
  host,
  accounts,
}: {
  readonly url: string;
  readonly host: string | null;
  readonly accounts: AccountNames;
}): AddressedTarget {
  const { authority, pathAndQuery } = splitAuthority(asUtf8(url), host ?? '');
  const mark = pathAndQuery.indexOf('?');
  const rawPath = (mark < 0 ? pathAndQuery : pathAndQuery.slice(0, mark)) || '/';
  const query = mark < 0 ? EMPTY_QUERY : parseQuery(pathAndQuery.slice(mark + 1));

  const hostAccount = accountInHost(authority, accounts);
  const slash = hostAccount === null ? rawPath.indexOf('/', 1) : 0;
  const account = hostAccount ?? decodePercent(rawPath.slice(1, slash < 0 ? undefined : slash));
  const resourcePath = slash < 0 ? '' : rawPath.slice(slash + 1);
  decodePercent(resourcePath);
  const secondary = account.endsWith(SECONDARY);
  if (account === '') throw new StorageError('InvalidUri');
  return {
    authority,
    rawPath,
    account: secondary ? account.slice(0, -SECONDARY.length) : account,
    secondary,
    hostStyle: hostAccount !== null,
    resourcePath,
    query,
  };
}

/** The text behind its percent-encoding. */
export function decodePercent(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StorageError('InvalidUri');
  }
}

class ParsedQuery implements Query {
  readonly entries: readonly (readonly [name: string, value: string])[];

  constructor(entries: readonly (readonly [name: string, value: string])[]) {
    this.entries = entries;
  }

  get(name: string): string | null {
    const wanted = name.toLowerCase();
    for (const entry of this.entries) if (entry[0] === wanted) return entry[1];
    return null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }
}

const EMPTY_QUERY: Query = new ParsedQuery([]);

/** The words behind the question mark. */
export function parseQuery(text: string): Query {
  const entries: [name: string, value: string][] = [];
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeQueryText(equals < 0 ? pair : pair.slice(0, equals)).toLowerCase();
    const value = equals < 0 ? '' : pair.slice(equals + 1);
    // A signature is Base64: a plus sign that was sent as it is can only mean itself.
    entries.push([name, name === 'sig' ? decodePercent(value) : decodeQueryText(value)]);
  }
  return new ParsedQuery(entries);
}

/** Form encoding, as the service reads it: a plus sign is a space. */
const decodeQueryText = (text: string): string => decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text);

const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** Node gives the request line as Latin-1; a client that does not percent-encode sends UTF-8. */
export function asUtf8(url: string): string {
  if (!BEYOND_ASCII.test(url)) return url;
  const bytes = Buffer.from(url, 'latin1');
  if (!isUtf8(bytes)) throw new StorageError('InvalidUri');
  return bytes.toString('utf8');
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#@]+)([/?].*)?$/is;

/** A proxy's request line names the host too, and that name counts (RFC 9112, 3.2.2). */
function splitAuthority(url: string, host: string): { authority: string; pathAndQuery: string } {
  if (url.startsWith('/')) return { authority: host, pathAndQuery: url };
  const absolute = ABSOLUTE_FORM.exec(url);
  if (absolute === null) throw new StorageError('InvalidUri');
  return { authority: absolute[1] as string, pathAndQuery: absolute[2] ?? '/' };
}

const IPV4_ADDRESS = /^[\d.]+$/;

/** The host's first label (with its `-secondary`) where that names an account; null: look into the path. */
function accountInHost(authority: string, accounts: AccountNames): string | null {
  const dot = authority.indexOf('.');
  if (dot < 1 || authority.startsWith('[')) return null;
  const colon = authority.indexOf(':');
  const host = (colon < 0 ? authority : authority.slice(0, colon)).toLowerCase();
  if (IPV4_ADDRESS.test(host) || host === 'host.docker.internal') return null;
  const label = host.slice(0, dot);
  return accounts.has(label.endsWith(SECONDARY) ? label.slice(0, -SECONDARY.length) : label) ? label : null;
}
