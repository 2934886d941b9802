/** Copies a blob of this server by giving the copy a share of its content: no byte is moved, however many there are. */
import type { Transaction } from '../../engine/transact.ts';
import type { LoadedToWrite } from '../blob/load.ts';
import type { Held } from '../extents/extents.ts';
import { encodeJson } from '../records/codec.ts';
import type { Storage } from '../storage.ts';
import type { LoadedSource } from './inside-source.ts';

/**
 * The source notes that it shares, without a new ETag. Where it is the destination as well, that is for the caller to
 * replace: `destination` is what it has become.
 */
export async function shareSource(
  tx: Transaction,
  storage: Storage,
  { loaded, blob }: LoadedSource,
  destination: LoadedToWrite,
): Promise<{ held: Held; destination: LoadedToWrite }> {
  const { own, other } = await storage.extents.share(tx, blob);
  const sharing = { ...blob, ...own };
  if (Buffer.compare(loaded.keys.blob, destination.keys.blob) === 0) {
    return { held: other, destination: { ...destination, blob: sharing } };
  }
  tx.put(loaded.keys.blob, encodeJson(sharing));
  return { held: other, destination };
}
