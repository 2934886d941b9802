/**
 * The little of DER (X.690) that SPNEGO is written in: elements with one byte of tag and a definite length. Nothing is
 * decoded deeper than a caller asks for.
 */
import { Malformed } from '../wire/message.ts';

export const Tag = {
  OCTET_STRING: 0x04,
  OBJECT_ID: 0x06,
  ENUMERATED: 0x0a,
  GENERAL_STRING: 0x1b,
  SEQUENCE: 0x30,
  /** Of the token of a security mechanism, [APPLICATION 0]. */
  APPLICATION: 0x60,
} as const;

/** Constructed. */
export const contextTag = (number: number): number => 0xa0 | number;

const LENGTH_BYTES_MAX = 4;
/** Of siblings: more than any token has. */
const ELEMENT_COUNT_MAX = 32;

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** With its tag and length, as it was sent. */
  readonly whole: Buffer;
}

/** One after another, and nothing else. */
export function decodeElements(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    if (elements.length === ELEMENT_COUNT_MAX) throw new Malformed('too many elements');
    const element = decodeFirst(rest);
    elements.push(element);
    rest = rest.subarray(element.whole.length);
  }
  return elements;
}

/** The content of the one element that these bytes are. */
export function decodeOnly(bytes: Buffer, tag: number): Buffer {
  const [element, ...others] = decodeElements(bytes);
  if (element === undefined || others.length > 0 || element.tag !== tag) throw new Malformed('another element');
  return element.content;
}

function decodeFirst(bytes: Buffer): Element {
  const tag = bytes.readUInt8(0);
  if ((tag & 0x1f) === 0x1f) throw new Malformed('a tag of several bytes');
  const { lengthBytes, contentOffset } = decodeLength(bytes);
  const end = contentOffset + lengthBytes;
  if (end > bytes.length) throw new Malformed('an element that goes beyond the end');
  return { tag, content: bytes.subarray(contentOffset, end), whole: bytes.subarray(0, end) };
}

function decodeLength(bytes: Buffer): { lengthBytes: number; contentOffset: number } {
  const first = bytes.readUInt8(1);
  if (first < 0x80) return { lengthBytes: first, contentOffset: 2 };
  const count = first & 0x7f;
  if (count === 0 || count > LENGTH_BYTES_MAX) throw new Malformed('a length of another form');
  return { lengthBytes: bytes.readUIntBE(2, count), contentOffset: 2 + count };
}

export function encodeElement(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const lengthBytes = contents.reduce((sum, content) => sum + content.length, 0);
  return Buffer.concat([Buffer.from([tag, ...encodeLength(lengthBytes)]), ...contents]);
}

function encodeLength(lengthBytes: number): number[] {
  if (lengthBytes < 0x80) return [lengthBytes];
  const bytes: number[] = [];
  for (let rest = lengthBytes; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}
