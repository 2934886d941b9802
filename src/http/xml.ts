/**
 * XML in and out. Reading gives a small tree and refuses what is malformed or carries a document type (so no entity is
 * ever declared, let alone expanded). Writing concatenates: listings are long, and their shape is known.
 */
import { isUtf8 } from 'node:buffer';
import { parseXml as parseDocument, XmlDocumentType, XmlElement, XmlError, XmlText } from '@rgrove/parse-xml';
import { StorageError } from '../service/storage-error.ts';

export interface XmlNode {
  readonly name: string;
  /** The text directly inside, white space included. */
  readonly text: string;
  readonly children: readonly XmlNode[];
}

/** Deeper than any body of the protocol, and far from where the parser's recursion would end. */
const DEPTH_MAX = 64;

/** The root element. Malformed, too long or too deep: InvalidXmlDocument. */
export function parseXml(source: string | Uint8Array, { maxBytes }: { readonly maxBytes?: number } = {}): XmlNode {
  if (maxBytes !== undefined && Buffer.byteLength(source) > maxBytes) throw invalidXml('The document is too long.');
  const text = typeof source === 'string' ? source : decodeUtf8(source);
  const document = parseOrRefuse(text);
  if (document.children.some((child) => child instanceof XmlDocumentType)) {
    throw invalidXml('A document type is not allowed.');
  }
  return toNode(document.root as XmlElement, 1);
}

export function childNamed(node: XmlNode, name: string): XmlNode | null {
  return node.children.find((child) => child.name === name) ?? null;
}

function decodeUtf8(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw invalidXml('The document is not UTF-8.');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function parseOrRefuse(text: string): ReturnType<typeof parseDocument> {
  try {
    return parseDocument(text, { preserveDocumentType: true });
  } catch (error) {
    if (error instanceof XmlError) throw invalidXml(firstLine(error.message), error.line, error.column);
    // The parser descends by recursion: a document of nothing but opening tags exhausts the stack.
    if (error instanceof RangeError) throw invalidXml('The document is nested too deeply.');
    throw error;
  }
}

function toNode(element: XmlElement, depth: number): XmlNode {
  if (depth > DEPTH_MAX) throw invalidXml('The document is nested too deeply.');
  const children: XmlNode[] = [];
  let text = '';
  for (const child of element.children) {
    if (child instanceof XmlElement) children.push(toNode(child, depth + 1));
    else if (child instanceof XmlText) text += child.text;
  }
  return { name: element.name, text, children };
}

const firstLine = (message: string): string => message.split('\n', 1)[0] as string;

function invalidXml(reason: string, line = 1, column = 1): StorageError {
  return new StorageError('InvalidXmlDocument', {
    elements: { LineNumber: String(line), LinePosition: String(column), Reason: reason },
  });
}

/** Characters that XML 1.0 cannot carry in any form, lone surrogates among them. */
const FORBIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
// oxlint-disable-next-line no-control-regex -- the same
const SUSPECT = /[&<>"\u0000-\u001f\ud800-\udfff\ufffe\uffff]/;
const REPLACEMENT = '\ufffd';

/** Text for inside an element or a quoted attribute; what XML forbids becomes U+FFFD. */
export function escapeXml(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#xD;')
    .replaceAll(FORBIDDEN, REPLACEMENT);
}

/** One document, written from its root down. Names are ours and stand as they are; texts and attributes are escaped. */
export class XmlWriter {
  #text = '<?xml version="1.0" encoding="utf-8"?>';
  readonly #open: string[] = [];

  open(name: string, attributes?: Readonly<Record<string, string>>): this {
    this.#text += `<${name}${renderAttributes(attributes)}>`;
    this.#open.push(name);
    return this;
  }

  close(): this {
    this.#text += `</${this.#open.pop()}>`;
    return this;
  }

  /** An element with text only; an empty one is `<Name />`. */
  leaf(name: string, text: string | number | boolean = '', attributes?: Readonly<Record<string, string>>): this {
    const inside = typeof text === 'string' ? escapeXml(text) : String(text);
    const start = `<${name}${renderAttributes(attributes)}`;
    this.#text += inside === '' ? `${start} />` : `${start}>${inside}</${name}>`;
    return this;
  }

  /** The same, or nothing at all where there is no text. */
  leafIf(name: string, text: string | number | boolean | null | undefined): this {
    return text === null || text === undefined ? this : this.leaf(name, text);
  }

  /** Closes what is open. */
  toString(): string {
    while (this.#open.length > 0) this.close();
    return this.#text;
  }
}

function renderAttributes(attributes: Readonly<Record<string, string>> | undefined): string {
  if (attributes === undefined) return '';
  let text = '';
  for (const name in attributes) text += ` ${name}="${escapeXml(attributes[name] as string)}"`;
  return text;
}
