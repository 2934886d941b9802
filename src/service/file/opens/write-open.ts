/** Writing through an open. A file that is written beyond its end grows. */
import { judgeWrite } from '../../../rules/smb-io.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { FILE_BYTES_MAX } from '../create-file.ts';
import { PAGE_BYTES, type TakenBytes, writeBytes } from '../file-bytes.ts';
import { refuseUnlessFile } from '../load.ts';
import { cut, takeFew, takeMany } from '../take-range.ts';
import { type EditTerms, editFile, type FileEdit } from './edit-file.ts';
import { readThrough, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

export interface OpenWrite extends EditTerms {
  readonly offsetBytes: number | 'end';
  readonly bytes: Uint8Array;
  /** What is there may not be written over. */
  readonly appendsOnly?: boolean;
}

/** Refused, besides what every change through an open is: FileLockConflict, PendingCopyOperation, ShareSizeLimitReached. */
export async function writeOpen(storage: Storage, open: ThroughOpen, write: OpenWrite, waiter: Waiter): Promise<void> {
  const { bytes, offsetBytes } = write;
  if (bytes.length === 0) return;
  if (storage.extents.isSmall(bytes.length)) {
    await editFile(storage, open, async () => editOf(storage, open, write, null), waiter);
    return;
  }
  let at = offsetBytes === 'end' ? await lengthOf(storage, open, waiter) : offsetBytes;
  refuseTooLong(at + bytes.length);
  for (;;) {
    const prepare = async (): Promise<FileEdit> => editOf(storage, open, write, await takeMany(storage, at, bytes));
    try {
      await editFile(storage, open, prepare, waiter);
      return;
    } catch (error) {
      if (!(error instanceof EndMoved)) throw error;
      at = error.lengthBytes;
    }
  }
}

/** What is taken in already lies otherwise in pages than the end of the file does by now. */
class EndMoved extends Error {
  readonly lengthBytes: number;

  constructor(lengthBytes: number) {
    super('the file ends elsewhere by now');
    this.lengthBytes = lengthBytes;
  }
}

/** `taken`: null for a few bytes, which are put into pages wherever they come to lie. */
function editOf(storage: Storage, open: ThroughOpen, write: OpenWrite, taken: TakenBytes | null): FileEdit {
  const { offsetBytes, bytes, appendsOnly = false, keepsWriteTime, keepsChangeTime } = write;
  const extent = taken?.middle ?? null;
  return {
    open,
    onAdmitted: write.onAdmitted,
    staged: taken === null || extent === null ? null : { extent, bytes: cut(taken.offsetBytes, bytes).middle },
    plan({ inUse, own, admit }, lengthBytes) {
      const at = offsetBytes === 'end' ? lengthBytes : offsetBytes;
      const endBytes = at + bytes.length;
      refuseTooLong(endBytes);
      if (appendsOnly && at < lengthBytes) throw new StorageError('ReadOnlyAttribute');
      if (taken !== null && taken.offsetBytes % PAGE_BYTES !== at % PAGE_BYTES) throw new EndMoved(at);
      admit(judgeWrite(inUse, own, { offsetBytes: BigInt(at), lengthBytes: BigInt(bytes.length) }));
      return {
        lengthBytes: Math.max(lengthBytes, endBytes),
        keepsWriteTime,
        keepsChangeTime,
        apply: (tx, content, old) => {
          const placed = taken === null ? takeFew(storage, at, bytes) : { ...taken, offsetBytes: at };
          return writeBytes(tx, storage, content, { taken: placed, old });
        },
      };
    },
  };
}

function refuseTooLong(endBytes: number): void {
  if (endBytes > FILE_BYTES_MAX) throw new StorageError('ShareSizeLimitReached');
}

const lengthOf = (storage: Storage, open: ThroughOpen, waiter: Waiter): Promise<number> =>
  readThrough(storage, open, waiter, async (_snapshot, { found }) => {
    refuseUnlessFile(found);
    return found.node.lengthBytes;
  });
