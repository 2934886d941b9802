/** Reading through an open: what the file holds at one moment, in the pieces that it comes in. */
import type { Snapshot } from '../../../engine/engine.ts';
import { endOf, type Span, spanOf } from '../../../rules/page-ranges.ts';
import { judgeRead } from '../../../rules/smb-io.ts';
import { zeros } from '../../pages/read-pages.ts';
import type { FileContent } from '../../records/node-record.ts';
import type { Storage } from '../../storage.ts';
import { refuseUnlessFile } from '../load.ts';
import { readThrough, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

export interface OpenRead {
  readonly bytes: readonly Uint8Array[];
  readonly lengthBytes: number;
}

/** Null: the file ends before it. Refused, besides what everything through an open is: FileLockConflict. */
export async function readOpen(
  storage: Storage,
  open: ThroughOpen,
  { offsetBytes, lengthBytes }: Span,
  waiter: Waiter,
): Promise<OpenRead | null> {
  const opened = await readThrough(storage, open, waiter, async (snapshot, { found, inUse, own, admit }) => {
    refuseUnlessFile(found);
    const { node } = found;
    admit(judgeRead(inUse, own, { offsetBytes: BigInt(offsetBytes), lengthBytes: BigInt(lengthBytes) }));
    if (lengthBytes === 0) return { lengthBytes, source: NOTHING };
    if (offsetBytes >= node.lengthBytes) return null;
    const range = spanOf(offsetBytes, Math.min(offsetBytes + lengthBytes, node.lengthBytes));
    return { lengthBytes: range.lengthBytes, source: await openRange(storage, snapshot, node.content, range) };
  });
  if (opened === null) return null;
  const bytes: Uint8Array[] = [];
  for await (const piece of opened.source) bytes.push(piece);
  return { bytes, lengthBytes: opened.lengthBytes };
}

type Source = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

const NOTHING: Source = [];

/** Of a stream nothing is read yet: whoever gets it reads it to its end. */
async function openRange(storage: Storage, snapshot: Snapshot, content: FileContent, range: Span): Promise<Source> {
  if (content.kind === 'empty') return zeros(range.lengthBytes);
  const bytes = await storage.readers.open(snapshot, content, range);
  if (bytes === null) return readInParts(storage, snapshot, content, range);
  return bytes instanceof Uint8Array ? [bytes] : bytes;
}

/** So many small pieces that they are not looked up all at once. */
async function readInParts(
  storage: Storage,
  snapshot: Snapshot,
  content: FileContent,
  range: Span,
): Promise<Uint8Array[]> {
  const middle = range.offsetBytes + Math.ceil(range.lengthBytes / 2);
  const all: Uint8Array[] = [];
  for (const part of [spanOf(range.offsetBytes, middle), spanOf(middle, endOf(range))]) {
    const bytes = await storage.readers.open(snapshot, content, part);
    if (bytes === null) all.push(...(await readInParts(storage, snapshot, content, part)));
    // A copy: each piece may be a small part of what was read for it.
    else for await (const piece of bytes instanceof Uint8Array ? [bytes] : bytes) all.push(Uint8Array.from(piece));
  }
  return all;
}
