/**
 * The objects below a prefix, in pages and in the order of their keys (ListObjectsV2). A page carries the server's own
 * time, by which the age of its objects can be told.
 */
import { parseXml, XmlElement } from '@rgrove/parse-xml';
import { parseHttpDate, parseIso8601 } from '../../base/http-date.ts';
import { ContentUnavailable } from '../content.ts';
import type { S3Client, S3Request } from './s3-client.ts';

export interface ListedObject {
  /** The key without the prefix. */
  readonly name: string;
  readonly lastModifiedMs: number;
}

export interface ListingPage {
  /** Null when the server does not say. Whole seconds. */
  readonly serverTimeMs: number | null;
  readonly objects: readonly ListedObject[];
}

export async function* listObjects(
  client: S3Client,
  { prefix, pageObjectCountMax }: { readonly prefix: string; readonly pageObjectCountMax?: number | undefined },
): AsyncGenerator<ListingPage> {
  for (let token: string | null = ''; token !== null; ) {
    const request: S3Request = {
      method: 'GET',
      query: {
        'list-type': '2',
        // A name that is not ours may hold what XML cannot carry.
        'encoding-type': 'url',
        prefix,
        ...(pageObjectCountMax !== undefined && { 'max-keys': String(pageObjectCountMax) }),
        ...(token !== '' && { 'continuation-token': token }),
      },
    };
    const answer = await client.ask(request);
    if (answer.status !== 200) throw client.refusal(request, answer);
    const { objects, nextToken } = parseListing(answer.text, prefix);
    yield { serverTimeMs: parseHttpDate(answer.headers.date ?? ''), objects };
    token = nextToken;
  }
}

export function parseListing(xml: string, prefix: string): { objects: ListedObject[]; nextToken: string | null } {
  const root = rootOf(xml);
  const isEncoded = textIn(root, 'EncodingType') === 'url';
  const objects = childrenNamed(root, 'Contents').map((entry) => {
    const key = textIn(entry, 'Key') ?? '';
    const name = (isEncoded ? decoded(key) : key).slice(prefix.length);
    const lastModifiedMs = parseIso8601(textIn(entry, 'LastModified') ?? '');
    if (lastModifiedMs === null) throw malformed('an object has no LastModified');
    return { name, lastModifiedMs };
  });
  if (textIn(root, 'IsTruncated') !== 'true') return { objects, nextToken: null };
  const nextToken = textIn(root, 'NextContinuationToken') ?? '';
  if (nextToken === '') throw malformed('it is truncated and has no NextContinuationToken');
  return { objects, nextToken };
}

function rootOf(xml: string): XmlElement {
  let root: XmlElement | null;
  try {
    root = parseXml(xml).root;
  } catch (error) {
    throw malformed('it is not XML', error);
  }
  if (root?.name !== 'ListBucketResult') throw malformed('it is not a ListBucketResult');
  return root;
}

/** A name that cannot be decoded is none of ours, and stays as it is. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

const childrenNamed = (parent: XmlElement, name: string): XmlElement[] =>
  parent.children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name);

const textIn = (parent: XmlElement, name: string): string | null => childrenNamed(parent, name)[0]?.text ?? null;

const malformed = (what: string, cause?: unknown): ContentUnavailable =>
  new ContentUnavailable(`the S3 server's listing is malformed: ${what}`, { cause });
