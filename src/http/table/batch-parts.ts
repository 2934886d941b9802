/**
 * The parts of a multipart body, as bytes: what stands between its boundaries. Lines may end with CR LF or with LF alone,
 * as some clients write them, and blank lines may stand before the first boundary and behind the last; any other text
 * there is refused. Nothing is copied, and everything is looked at once.
 * RFC 2046, section 5.1.
 */
import { StorageError } from '../../service/storage-error.ts';

export interface SplitOptions {
  readonly boundary: string;
  /** Reading ends with the first part that is too many; the caller refuses. */
  readonly partCountMax: number;
  /** Whether the last boundary may lack its two dashes at the end: old clients write that of a batch so. */
  readonly mayEndOpen: boolean;
}

export function splitParts(section: Buffer, { boundary, partCountMax, mayEndOpen }: SplitOptions): Buffer[] {
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  let mark = nextMark(section, delimiter, 0);
  if (mark === null) throw malformedBatch('The boundary in the Content-Type does not occur in the body.');
  if (!isBlank(section, 0, mark.startBytes)) throw malformedBatch('There is text before the first part.');
  const parts: Buffer[] = [];
  while (!mark.isLast) {
    const next = nextMark(section, delimiter, mark.endBytes);
    if (next === null) {
      if (mayEndOpen && parts.length > 0 && isBlank(section, mark.endBytes, section.length)) return parts;
      throw malformedBatch('The last boundary is missing.');
    }
    parts.push(section.subarray(mark.endBytes, withoutBreak(section, mark.endBytes, next.startBytes)));
    if (parts.length > partCountMax) return parts;
    mark = next;
  }
  if (!isBlank(section, mark.endBytes, section.length)) throw malformedBatch('There is text after the last part.');
  return parts;
}

/** A line that is a boundary. */
interface Mark {
  readonly startBytes: number;
  /** Behind its line break. */
  readonly endBytes: number;
  readonly isLast: boolean;
}

const [TAB, LF, CR, SPACE, DASH] = [0x09, 0x0a, 0x0d, 0x20, 0x2d];

function nextMark(section: Buffer, delimiter: Buffer, fromBytes: number): Mark | null {
  let start = section.indexOf(delimiter, fromBytes);
  while (start >= 0) {
    const mark = start === 0 || section[start - 1] === LF ? markAt(section, start, start + delimiter.length) : null;
    if (mark !== null) return mark;
    start = section.indexOf(delimiter, start + 1);
  }
  return null;
}

function markAt(section: Buffer, startBytes: number, behindBoundary: number): Mark | null {
  const isLast = section[behindBoundary] === DASH && section[behindBoundary + 1] === DASH;
  let end = isLast ? behindBoundary + 2 : behindBoundary;
  while (section[end] === SPACE || section[end] === TAB) end++;
  if (end === section.length) return { startBytes, endBytes: end, isLast };
  if (section[end] === CR) end++;
  return section[end] === LF ? { startBytes, endBytes: end + 1, isLast } : null;
}

function isBlank(section: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = section[at];
    if (byte !== CR && byte !== LF && byte !== SPACE && byte !== TAB) return false;
  }
  return true;
}

/** The line break before a boundary belongs to the boundary. */
function withoutBreak(section: Buffer, from: number, to: number): number {
  if (to === from) return to;
  const end = to - 1;
  return end > from && section[end - 1] === CR ? end - 1 : end;
}

const HEAD_BYTES_MAX = 64 * 1024;

export interface Head {
  readonly lines: readonly string[];
  /** Where what follows the empty line begins, or the part's end. */
  readonly endBytes: number;
}

/** Lines up to an empty one, or to the end. Latin-1, as Node reads the head of a request; turned into text all at once. */
export function readHead(part: Buffer, fromBytes: number): Head {
  const endBytes = headEnd(part, fromBytes);
  const text = part.toString('latin1', fromBytes, endBytes);
  if (CONTROL.test(text)) throw malformedBatch('The headers of a part contain control characters.');
  const lines: string[] = [];
  for (let start = 0; start < text.length; ) {
    const lineFeed = text.indexOf('\n', start);
    const end = lineFeed < 0 ? text.length : lineFeed;
    const line = text.slice(start, text.charCodeAt(end - 1) === CR ? end - 1 : end);
    if (line !== '') lines.push(line);
    start = end + 1;
  }
  return { lines, endBytes };
}

/** Behind the first empty line. */
function headEnd(part: Buffer, fromBytes: number): number {
  let lineStart = fromBytes;
  const limit = Math.min(part.length, fromBytes + HEAD_BYTES_MAX);
  for (let at = fromBytes; at < limit; at++) {
    if (part[at] !== LF) continue;
    if (at === lineStart || (at === lineStart + 1 && part[lineStart] === CR)) return at + 1;
    lineStart = at + 1;
  }
  if (limit < part.length) throw malformedBatch(`The headers of a part are longer than ${HEAD_BYTES_MAX} bytes.`);
  return part.length;
}

const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)/;

/** A batch that cannot be read: nothing in it is, and the sentence says why. */
export const malformedBatch = (reason: string): StorageError => new StorageError('InvalidInput', { message: reason });
