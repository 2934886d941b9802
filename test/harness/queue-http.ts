/**
 * Raw requests to the queue door, signed as for blobs, and what its XML says: messages by the names of their elements, and
 * refusals with the elements that tell what was wrong.
 */
import assert from 'node:assert/strict';
import { parseXml, XmlElement } from '@rgrove/parse-xml';
import { type RawRequest, type RawResponse, send } from './http.ts';

/** In the order in which they came. */
export type Elements = Readonly<Record<string, string>>;

export interface QueueResponse extends RawResponse {
  /** Of a list of messages; none where the answer is anything else. */
  readonly messages: readonly Elements[];
}

export async function sendQueue(url: string, request: RawRequest): Promise<QueueResponse> {
  const response = await send(url, request);
  return { ...response, messages: messagesIn(response) };
}

function messagesIn({ headers, body }: RawResponse): Elements[] {
  if (body.length === 0 || headers['content-type']?.startsWith('application/xml') !== true) return [];
  const root = rootOf(body);
  return root.name === 'QueueMessagesList' ? elementsOf(root).map(textsIn) : [];
}

export const rootOf = (body: Uint8Array): XmlElement => parseXml(Buffer.from(body).toString()).root as XmlElement;

const elementsOf = ({ children }: XmlElement): XmlElement[] =>
  children.filter((child): child is XmlElement => child instanceof XmlElement);

export const textsIn = (element: XmlElement): Elements =>
  Object.fromEntries(elementsOf(element).map(({ name, text }) => [name, text]));

/** A refusal as this service writes all of them: XML with a code, a sentence, the request's id, the time, and `elements`. */
export function assertRefused(answer: RawResponse, want: string, elements: Elements = {}): void {
  assert.equal(answer.outcome, want, answer.body.toString());
  assert.match(answer.headers['content-type'] ?? '', /^application\/xml/);
  const { Code, Message = '', ...others } = textsIn(rootOf(answer.body));
  assert.equal(Code, want.slice('400 '.length));
  const [sentence, id, time] = Message.split('\n');
  assert.match(sentence ?? '', /^\S.*\S$/);
  assert.equal(id, `RequestId:${answer.headers['x-ms-request-id'] as string}`);
  assert.match(time ?? '', /^Time:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
  for (const [name, text] of Object.entries(elements)) assert.equal(others[name], text, name);
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' };

/** The body of Put Message and Update Message. */
export const messageOf = (text: string): string =>
  `<QueueMessage><MessageText>${text.replaceAll(/[&<>\r]/g, (found) => ESCAPES[found] as string)}</MessageText></QueueMessage>`;

/** The path of a queue's messages, or of one of them, behind the account. */
export function messagesPath(queue: string, query: Readonly<Record<string, string | number>> = {}, id = ''): string {
  const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `/${queue}/messages${id === '' ? '' : `/${id}`}${words.length === 0 ? '' : `?${words.join('&')}`}`;
}
