/**
 * Raw requests to the table door, signed by the published recipe of that service, which is shorter than that of the
 * others: verb, MD5, type, date and resource, with no header and of the query nothing but `comp`.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';
import { type RawRequest, type RawResponse, send } from './http.ts';

export interface TableResponse extends RawResponse {
  /** The body, where it is JSON. */
  readonly json: unknown;
  /** The value of `odata.error`. */
  readonly error: ODataError | null;
}

export interface ODataError {
  readonly code: string;
  readonly message: { readonly lang: string; readonly value: string };
}

/** The request with its date and, unless it has one, its Authorization. A body is JSON where nothing else is said. */
export function signedForTable(request: RawRequest): RawRequest {
  const account = request.account === undefined ? DEVELOPMENT_ACCOUNT : request.account;
  const pathAccount = request.pathAccount ?? (account ?? DEVELOPMENT_ACCOUNT).name;
  const headers: Record<string, string | readonly string[]> = { ...request.headers };
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  if (request.body !== undefined && !names.has('content-type')) headers['content-type'] = 'application/json';
  if (!names.has('x-ms-date')) headers['x-ms-date'] = new Date().toUTCString();
  // Whoever completes the headers has nothing left to sign.
  const signed = { ...request, headers, pathAccount, account: null };
  if (account !== null && !names.has('authorization')) headers['authorization'] = sharedKey(account, signed);
  return signed;
}

function sharedKey(account: TestAccount, { method, path, pathAccount, headers = {} }: RawRequest): string {
  const valueOf = (wanted: string): string =>
    Object.entries(headers)
      .filter(([name]) => name.toLowerCase() === wanted)
      .flatMap(([, value]) => value)
      .join(',');
  const [encodedPath = '', query = ''] = path.split(/\?(.*)/s);
  const comp = /(?:^|&)comp=([^&]*)/.exec(query)?.[1];
  const resource = `/${account.name}/${pathAccount}${encodedPath}${comp === undefined ? '' : `?comp=${comp}`}`;
  const text = [method, valueOf('content-md5'), valueOf('content-type'), valueOf('x-ms-date'), resource].join('\n');
  const signature = createHmac('sha256', Buffer.from(account.key, 'base64')).update(text, 'utf8').digest('base64');
  return `SharedKey ${account.name}:${signature}`;
}

export async function sendTable(url: string, request: RawRequest): Promise<TableResponse> {
  const response = await send(url, signedForTable(request));
  const isJson = response.headers['content-type']?.startsWith('application/json') === true;
  const json: unknown = isJson && response.body.length > 0 ? JSON.parse(response.body.toString()) : null;
  return { ...response, json, error: (json as { 'odata.error'?: ODataError } | null)?.['odata.error'] ?? null };
}

/** A refusal as this service writes all of them: JSON with a code, a sentence, the request's id and the time. */
export function assertRefused(answer: TableResponse, want: string, what?: string): void {
  assert.equal(answer.outcome, want, what ?? answer.body.toString());
  assert.match(answer.headers['content-type'] ?? '', /^application\/json;odata=minimalmetadata/);
  assert.equal(answer.error?.code, want.slice('400 '.length));
  assert.equal(answer.error.message.lang, 'en-US');
  const [sentence, id, time] = answer.error.message.value.split('\n');
  assert.match(sentence ?? '', /^\S.*\S$/);
  assert.equal(id, `RequestId:${answer.headers['x-ms-request-id'] as string}`);
  assert.match(time ?? '', /^Time:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
}

/** A key or a name as it stands in a path, between its quotes. */
export const inPath = (text: string): string => encodeURIComponent(text.replaceAll("'", "''"));

/** The path of an entity, behind the account. */
export const entityPath = (table: string, partitionKey: string, rowKey: string): string =>
  `/${table}(PartitionKey='${inPath(partitionKey)}',RowKey='${inPath(rowKey)}')`;
