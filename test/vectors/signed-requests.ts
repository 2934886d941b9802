/**
 * Requests as they stand on the wire, made into what authentication reads, and requests that a real client signed:
 * the Azure SDK runs its whole pipeline, and what it would send is kept instead of sent.
 */
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from '@azure/data-tables';
import { BlobServiceClient, type IHttpClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import type { Account, ServiceLetter } from '../../src/auth/identity.ts';
import type { SignedRequest } from '../../src/auth/signed-request.ts';
import { parseRequestTarget } from '../../src/http/request-target.ts';
import { StorageError } from '../../src/service/storage-error.ts';

export const FIRST_KEY = Buffer.from('the first of the two keys that every account may have, 64 bytes.');
export const SECOND_KEY = Buffer.from('the second of the two keys that every account may have, 64 bytes');

export const ACCOUNT: Account = { name: 'larimartest', keys: [FIRST_KEY, SECOND_KEY], loopbackOnly: false };
export const PATH_STYLE = `http://127.0.0.1:10000/${ACCOUNT.name}`;
export const HOST_STYLE = `https://${ACCOUNT.name}.blob.example.org`;

export interface WireRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly service?: ServiceLetter;
  readonly clientAddress?: string;
}

/** Read as the server reads it; without x-ms-version it is served as 2021-08-06. */
export function signedRequest({ method, url, headers = [], service = 'b', clientAddress = '127.0.0.1' }: WireRequest) {
  const { protocol, host, pathname, search } = new URL(url);
  const rawHeaders = headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  const header = (name: string): string | null => rawHeaders.find(([sent]) => sent === name)?.[1] ?? null;
  const target = parseRequestTarget({ url: pathname + search, host, accounts: new Set([ACCOUNT.name]) });
  return {
    service,
    method,
    target,
    header,
    rawHeaders,
    version: header('x-ms-version') ?? '2021-08-06',
    clientAddress,
    secure: protocol === 'https:',
  } satisfies SignedRequest;
}

export const credential = (key: Buffer = FIRST_KEY): StorageSharedKeyCredential =>
  new StorageSharedKeyCredential(ACCOUNT.name, key.toString('base64'));

/** What the SDK would send first for this call. */
export async function captureFromSdk(
  call: (client: BlobServiceClient) => Promise<unknown>,
  { endpoint = PATH_STYLE, key = FIRST_KEY }: { endpoint?: string; key?: Buffer } = {},
): Promise<WireRequest> {
  let captured: WireRequest | null = null;
  const httpClient: IHttpClient = {
    sendRequest: ({ method, url, headers }) => {
      captured ??= { method, url, headers: headers.headersArray().map(({ name, value }) => [name, value]) };
      return Promise.reject(new Error('captured'));
    },
  };
  const client = new BlobServiceClient(endpoint, credential(key), { httpClient, retryOptions: { maxTries: 1 } });
  await call(client).catch(() => undefined);
  if (captured === null) throw new Error('The call sent nothing');
  return captured;
}

export interface TableClients {
  readonly service: TableServiceClient;
  readonly table: TableClient;
}

/** The same of the SDK for tables. */
export async function captureFromTableSdk(
  call: (clients: TableClients) => Promise<unknown>,
  {
    endpoint = PATH_STYLE,
    key = FIRST_KEY,
    table = 'Things',
  }: { endpoint?: string; key?: Buffer; table?: string } = {},
): Promise<WireRequest> {
  let captured: WireRequest | null = null;
  const options = {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
    httpClient: {
      sendRequest: ({ method, url, headers }: { method: string; url: string; headers: Iterable<[string, string]> }) => {
        captured ??= { method, url, headers: [...headers] };
        return Promise.reject(new Error('captured'));
      },
    },
  };
  const signer = new AzureNamedKeyCredential(ACCOUNT.name, key.toString('base64'));
  const service = new TableServiceClient(endpoint, signer, options);
  await call({ service, table: new TableClient(endpoint, table, signer, options) }).catch(() => undefined);
  if (captured === null) throw new Error('The call sent nothing');
  return { ...(captured as WireRequest), service: 't' };
}

/** `accepted`, or the code of the refusal. */
export async function codeOf(judged: Promise<unknown>): Promise<string> {
  try {
    await judged;
    return 'accepted';
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
}
