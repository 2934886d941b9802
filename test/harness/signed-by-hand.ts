/**
 * Requests signed with an account's key by the published recipes of all schemes and versions, or by another than the
 * right one: what is signed need not be what is sent.
 */
import { createHmac } from 'node:crypto';
import { DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';
import { RAW_VERSION, type RawRequest } from './http.ts';

export const SCHEMES = ['SharedKey', 'SharedKeyLite'] as const;

export type Scheme = (typeof SCHEMES)[number];

type Headers = Readonly<Record<string, string>>;

interface Signable {
  readonly method: string;
  /** Behind the account. */
  readonly path: string;
  readonly headers: Headers;
}

/** The text that is signed for a request of an account by the scheme of that version. */
export type Recipe = (request: Signable, by: { account: string; scheme: Scheme; version: string }) => string;

export interface HandSigned extends Partial<Signable> {
  readonly path: string;
  readonly scheme?: Scheme;
  readonly version?: string;
  readonly body?: string;
  readonly date?: string;
  /** The header that has the date. */
  readonly datedBy?: 'date' | 'x-ms-date';
  readonly account?: TestAccount;
  readonly key?: string;
  /** What is signed in place of what is sent, or by the recipe of which version. */
  readonly signed?: Partial<Signable> & { readonly asOf?: string };
}

/** Of `x-ms-` headers. Empty ones count since 2016-05-31. */
const extensionLines = (headers: Headers, version: string): string =>
  Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-') && (headers[name] !== '' || version >= '2016-05-31'))
    .sort()
    .map((name) => `${name}:${headers[name]}\n`)
    .join('');

function pathAndComp(path: string, account: string): string {
  const [bare = '', query = ''] = path.split('?');
  const comp = new URLSearchParams(query).get('comp');
  return `/${account}/${account}${bare}${comp === null ? '' : `?comp=${comp}`}`;
}

/** Of blobs, queues and files. Before 2009-09-19 Shared Key signed no more than Shared Key Lite does. */
export const recipeOfMost: Recipe = ({ method, path, headers }, { account, scheme, version }) => {
  const { 'content-length': length = '', 'content-type': type = '', date = '', range = '' } = headers;
  const extensions = extensionLines(headers, version);
  if (scheme === 'SharedKeyLite' || version < '2009-09-19') {
    return `${method}\n\n${type}\n${date}\n${extensions}${pathAndComp(path, account)}`;
  }
  // The length of an empty body is 0 before 2015-02-21, and nothing since.
  const lengthLine = length === '0' && version >= '2015-02-21' ? '' : length;
  const [bare = '', query = ''] = path.split('?');
  const words = new URLSearchParams(query);
  words.sort();
  const parameters = [...words].map(([name, value]) => `\n${name}:${value}`);
  const head = `${method}\n\n\n${lengthLine}\n\n${type}\n${date}\n\n\n\n\n${range}\n`;
  return `${head}${extensions}/${account}/${account}${bare}${parameters.join('')}`;
};

export const recipeOfTables: Recipe = ({ method, path, headers }, { account, scheme }) => {
  const { 'content-type': type = '', date = '', 'x-ms-date': extensionDate = date } = headers;
  const head = scheme === 'SharedKey' ? `${method}\n\n${type}\n` : '';
  return `${head}${extensionDate}\n${pathAndComp(path, account)}`;
};

/** For `send`; with `account: null`, since there is nothing left to sign. */
export function signByHand(recipe: Recipe, asked: HandSigned): RawRequest & { readonly headers: Headers } {
  const { method = 'GET', path, scheme = 'SharedKey', version = RAW_VERSION, body, datedBy = 'x-ms-date' } = asked;
  const { account = DEVELOPMENT_ACCOUNT, key = account.key, date = new Date().toUTCString() } = asked;
  const hasLength = method !== 'GET' || body !== undefined;
  const headers: Headers = {
    ...asked.headers,
    ...(hasLength ? { 'content-length': String(Buffer.byteLength(body ?? '')) } : {}),
    [datedBy]: date,
    'x-ms-version': version,
  };
  const { asOf = version, ...instead } = asked.signed ?? {};
  const signable = { method, path, ...instead, headers: { ...headers, ...instead.headers } };
  const text = recipe(signable, { account: account.name, scheme, version: asOf });
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');
  return {
    method,
    path,
    account: null,
    pathAccount: account.name,
    headers: { ...headers, authorization: `${scheme} ${account.name}:${signature}` },
    ...(body === undefined ? {} : { body }),
  };
}
