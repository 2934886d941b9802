/**
 * REST requests beside SMB clients: a request is a very short open (rules/rest-open.ts), judged against what is known of those who have
 * the file open, in the same transaction or snapshot in which the operation reads and writes.
 */
import type { Snapshot } from '../../../engine/engine.ts';
import { type Transaction, transact } from '../../../engine/transact.ts';
import type { Slice } from '../../../rules/range-header.ts';
import { usesRange } from '../../records/file-keys.ts';
import { type RecordReader, snapshotReader } from '../../records/record-reader.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import type { Found } from '../load.ts';

export type RestOperation =
  | 'get file'
  | 'get properties'
  | 'list ranges'
  | 'copy from'
  | 'set properties'
  | 'resize'
  | 'put range'
  | 'overwrite'
  | 'abort copy'
  | 'delete file'
  | 'acquire lease'
  | 'other lease action'
  | 'rename file'
  | 'replace by rename'
  | 'get directory properties'
  | 'set directory properties'
  | 'delete directory'
  | 'rename directory';

/** What others do with files while an operation looks at them. A snapshot's files, and what is not there, nobody uses. */
export interface Uses {
  /** Throws SMBDeletePending where the file or directory is marked for deletion: asked first, before leases. */
  refusePending(found: Found): Promise<void>;
  /** Throws what the operation is refused with: asked last. `range`: what is read. */
  admit(found: Found, operation: RestOperation, range?: Slice): Promise<void>;
}

/** Where it was asked a moment ago. */
export const NOBODY: Uses = { async refusePending() {}, async admit() {} };

/** How long a request waits for SMB clients to give up what they cache. */
export interface Patience {
  readonly waitMs: number;
}

/** A transaction whose body asks for admission before it writes; runs again after a wait. */
export async function changing<T>(
  storage: Storage,
  _patience: Patience,
  body: (tx: Transaction, uses: Uses) => Promise<T>,
): Promise<T> {
  return transact(storage.engine, (tx) => body(tx, usesIn(tx)));
}

/** The same for what only reads, in one snapshot of the engine. */
export async function reading<T>(
  storage: Storage,
  _patience: Patience,
  body: (snapshot: Snapshot, reader: RecordReader, uses: Uses) => Promise<T>,
): Promise<T> {
  return storage.readers.inSnapshot((snapshot) => {
    const reader = snapshotReader(snapshot);
    return body(snapshot, reader, usesIn(reader));
  });
}

const usesIn = (reader: RecordReader): Uses => ({
  async refusePending() {},
  admit: (found) => refuseUsed(reader, found),
});

async function refuseUsed(reader: RecordReader, { tree, node, snapshot }: Found): Promise<void> {
  if (snapshot !== null || node === null) return;
  const uses = await reader.range(usesRange(tree.shareId, node.id), { limit: 1 });
  if (uses.length > 0) throw new StorageError('SharingViolation');
}
