/**
 * Query Blob Contents: the request's XML as a query and two formats, the blob as a stream through `src/query`, and the
 * answer as a stream of Avro. What is wrong with the query is refused here; what is wrong with the data stands in the
 * answer. https://learn.microsoft.com/rest/api/storageservices/query-blob-contents
 */
import { randomBytes } from 'node:crypto';
import { blobNeeds } from '../../auth/needs.ts';
import { SYNC_MARKER_BYTES } from '../../query/avro.ts';
import { DEFAULT_DELIMITED, DEFAULT_JSON, type Format, formatFault } from '../../query/formats.ts';
import { parseQuery } from '../../query/parse-query.ts';
import { QueryRefused } from '../../query/query-error.ts';
import { runQuery } from '../../query/run-query.ts';
import type { Query } from '../../query/syntax.ts';
import { type BlobReadWithBytes, getBlob } from '../../service/blob/get-blob.ts';
import { StorageError } from '../../service/storage-error.ts';
import { readWhole } from '../body.ts';
import type { AuthorizedExchange } from '../exchange.ts';
import { childNamed, parseXml, type XmlNode } from '../xml.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest } from './request-headers.ts';
import { blobHeaders } from './response-headers.ts';

const BODY_BYTES_MAX = 512 * 1024;
const EXPRESSION_BYTES_MAX = 256 * 1024;

export const queryBlobContents: Operation = {
  name: 'Query Blob Contents',
  need: blobNeeds.queryBlobContents,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const request = parseBlobRequest(exchange, resource);
    const body = await readWhole(exchange, { maxBytes: BODY_BYTES_MAX });
    const query = parseQueryRequest(parseXml(body));
    const read = await getBlob(storage, { ...request, range: null });
    return { status: 200, headers: queryHeaders(exchange, read), body: await begun(query, read) };
  },
};

interface ParsedRequest {
  readonly query: Query;
  readonly input: Format;
  readonly output: Format;
}

/**
 * The answer from its first piece on: a query that the data's header refuses is refused before anything is sent, and a
 * stream that has begun lets go of the blob whenever it is given up.
 */
async function begun(request: ParsedRequest, read: BlobReadWithBytes): Promise<AsyncIterable<Uint8Array>> {
  const { blob, bytes, nowMs } = read;
  if (blob.type !== 'BlockBlob') {
    if (!(bytes instanceof Uint8Array)) await bytes[Symbol.asyncIterator]().return?.();
    throw new StorageError('InvalidBlobType');
  }
  const syncMarker = randomBytes(SYNC_MARKER_BYTES);
  const answer = runQuery({ ...request, bytes, totalBytes: blob.lengthBytes, nowMs, syncMarker });
  try {
    return beginningWith(await answer.next(), answer);
  } catch (error) {
    throw translated(error);
  }
}

function beginningWith(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  let isFirst = true;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      if (!isFirst) return rest.next();
      isFirst = false;
      return Promise.resolve(first);
    },
    return: () => rest.return(undefined),
  };
}

/** The headers of Get Blob, save those that tell of the blob's bytes as they are. */
function queryHeaders(exchange: AuthorizedExchange, read: BlobReadWithBytes): string[] {
  const headers = ['Content-Type', 'avro/binary'];
  const ofBlob = blobHeaders(exchange, read);
  for (let index = 0; index < ofBlob.length; index += 2) {
    const [name, value] = [ofBlob[index] as string, ofBlob[index + 1] as string];
    if (name !== 'Content-Type' && name !== 'Content-Encoding') headers.push(name, value);
  }
  const md5 = read.blob.headers.contentMd5;
  if (md5 !== undefined) headers.push('x-ms-blob-content-md5', md5);
  return headers;
}

function parseQueryRequest(root: XmlNode): ParsedRequest {
  if (root.name !== 'QueryRequest') {
    throw new StorageError('InvalidXmlDocument', {
      elements: { Reason: `The element ${root.name} is not allowed here.` },
    });
  }
  const type = requiredChild(root, 'QueryType');
  if (type.text.trim().toUpperCase() !== 'SQL') throw invalidNode(type, 'The query type must be SQL.');
  const expression = requiredChild(root, 'Expression');
  if (Buffer.byteLength(expression.text) > EXPRESSION_BYTES_MAX) {
    throw new StorageError('InvalidXmlNodeValue', {
      message: `An expression can have up to ${EXPRESSION_BYTES_MAX} bytes.`,
      elements: { XmlNodeName: 'Expression' },
    });
  }
  return {
    input: parseFormat(childNamed(root, 'InputSerialization')),
    output: parseFormat(childNamed(root, 'OutputSerialization')),
    query: parseExpression(expression.text),
  };
}

function parseExpression(text: string): Query {
  try {
    return parseQuery(text);
  } catch (error) {
    throw translated(error);
  }
}

function translated(error: unknown): unknown {
  if (!(error instanceof QueryRefused)) return error;
  return new StorageError('ErrorProcessingQueryExpression', {
    message: `${error.message}.`,
    elements: { Position: String(error.position) },
  });
}

/** Delimited text, as it is by default, where nothing is said. */
function parseFormat(serialization: XmlNode | null): Format {
  const node = serialization === null ? null : childNamed(serialization, 'Format');
  if (node === null) return DEFAULT_DELIMITED;
  const format = parseFormatNode(node);
  const fault = formatFault(format);
  if (fault !== null) throw invalidNode({ name: 'Format', text: '' }, fault);
  return format;
}

function parseFormatNode(node: XmlNode): Format {
  const type = requiredChild(node, 'Type');
  switch (type.text.trim().toLowerCase()) {
    case 'delimited':
    case 'csv':
      return parseDelimited(childNamed(node, 'DelimitedTextConfiguration'));
    case 'json':
      return parseJson(childNamed(node, 'JsonTextConfiguration'));
    default:
      throw invalidNode(type, 'This server supports the formats delimited and json.');
  }
}

function parseDelimited(node: XmlNode | null): Format {
  if (node === null) return DEFAULT_DELIMITED;
  return {
    kind: 'delimited',
    columnSeparator: textOf(node, 'ColumnSeparator') ?? DEFAULT_DELIMITED.columnSeparator,
    recordSeparator: textOf(node, 'RecordSeparator') ?? DEFAULT_DELIMITED.recordSeparator,
    fieldQuote: characterOf(node, 'FieldQuote', DEFAULT_DELIMITED.fieldQuote),
    escape: characterOf(node, 'EscapeChar', DEFAULT_DELIMITED.escape),
    hasHeaders: parseHasHeaders(childNamed(node, 'HasHeaders')),
  };
}

function parseJson(node: XmlNode | null): Format {
  if (node === null) return DEFAULT_JSON;
  return { kind: 'json', recordSeparator: textOf(node, 'RecordSeparator') ?? DEFAULT_JSON.recordSeparator };
}

/** Null: absent or empty. White space counts: it may well be the separator. */
function textOf(node: XmlNode, name: string): string | null {
  return childNamed(node, name)?.text || null;
}

/** An element that is there and empty says that there is no such character. */
function characterOf(node: XmlNode, name: string, absent: string | null): string | null {
  const child = childNamed(node, name);
  return child === null ? absent : child.text || null;
}

function parseHasHeaders(node: XmlNode | null): boolean {
  const text = node?.text.trim().toLowerCase() ?? '';
  if (text === 'true') return true;
  if (text === 'false' || text === '' || node === null) return false;
  throw invalidNode(node, 'It must be true or false.');
}

function requiredChild(node: XmlNode, name: string): XmlNode {
  const child = childNamed(node, name);
  if (child === null) throw new StorageError('MissingRequiredXmlNode', { elements: { XmlNodeName: name } });
  return child;
}

const invalidNode = ({ name, text }: Pick<XmlNode, 'name' | 'text'>, message: string): StorageError =>
  new StorageError('InvalidXmlNodeValue', { message, elements: { XmlNodeName: name, XmlNodeValue: text.trim() } });
