/** Copies bytes from one open to another, as if the client had read and written them: locks and caches count for both. */
import type { Storage } from '../../storage.ts';
import type { EditTerms } from './edit-file.ts';
import { readOpen } from './read-open.ts';
import type { ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';
import { writeOpen } from './write-open.ts';

/** With what is said of the change to the target. */
export interface CopiedChunk extends EditTerms {
  readonly sourceBytes: number;
  readonly targetBytes: number;
  readonly lengthBytes: number;
}

/** All of it is read before any is written. False: the source ends before the chunk does, and nothing is written. */
export async function copyChunk(
  storage: Storage,
  { source, target }: { source: ThroughOpen; target: ThroughOpen },
  { sourceBytes, targetBytes, lengthBytes, ...terms }: CopiedChunk,
  waiter: Waiter,
): Promise<boolean> {
  const read = await readOpen(storage, source, { offsetBytes: sourceBytes, lengthBytes }, waiter);
  if (read === null || read.lengthBytes < lengthBytes) return false;
  const bytes = read.bytes.length === 1 ? (read.bytes[0] as Uint8Array) : Buffer.concat(read.bytes);
  await writeOpen(storage, target, { offsetBytes: targetBytes, bytes, ...terms }, waiter);
  return true;
}
