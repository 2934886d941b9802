/** Copies a blob of this server by giving the copy a share of its content: no byte is moved, however many there are. */
import type { Transaction } from '../../engine/transact.ts';
import type { LoadedToWrite } from '../blob/load.ts';
import type { Held } from '../extents/extents.ts';
import { encodeJson } from '../records/codec.ts';
import type { Storage } from '../storage.ts';
import type { LoadedSource } from './inside-source.ts';

/**
 * The source notes that it shares, without a new ETag. Where it is the destination as well, the copy goes on with what the
 * source had, and what is about to be replaced gets the other share: `destination` is what that has become.
 */
export async function shareSource(
  tx: Transaction,
  storage: Storage,
  source: LoadedSource,
  destination: LoadedToWrite,
): Promise<{ held: Held; destination: LoadedToWrite }> {
  const { loaded, blob } = source;
  const { own, other } = await storage.extents.share(tx, blob);
  if (isInPlace(source, destination)) {
    return { held: own, destination: { ...destination, blob: { ...blob, ...other } } };
  }
  tx.put(loaded.keys.blob, encodeJson({ ...blob, ...own }));
  return { held: other, destination };
}

export const isInPlace = ({ loaded }: LoadedSource, destination: LoadedToWrite): boolean =>
  Buffer.compare(loaded.keys.blob, destination.keys.blob) === 0;
