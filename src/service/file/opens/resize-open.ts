/** Cutting a file, growing it, and clearing a part of it, through an open. */
import { endOf, type Span, spanOf } from '../../../rules/page-ranges.ts';
import { judgeResize, judgeWrite } from '../../../rules/smb-io.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { FILE_BYTES_MAX } from '../create-file.ts';
import { clearBytes, resizeBytes } from '../file-bytes.ts';
import { editFile, type FileEdit, type KeptTimes } from './edit-file.ts';
import type { ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

/** What is new is zeros. Refused as writing is. */
export async function resizeOpen(
  storage: Storage,
  open: ThroughOpen,
  { toBytes, ...kept }: KeptTimes & { readonly toBytes: number },
  waiter: Waiter,
): Promise<void> {
  await edit(storage, open, waiter, ({ inUse, own, admit }, fromBytes) => {
    if (toBytes > FILE_BYTES_MAX) throw new StorageError('ShareSizeLimitReached');
    admit(judgeResize(inUse, own, lockRangeOf(spanOf(toBytes, Math.max(toBytes, fromBytes)))));
    if (toBytes === fromBytes) return null;
    return {
      ...kept,
      lengthBytes: toBytes,
      apply: (tx, content, old) => resizeBytes(tx, storage, content, { fromBytes, toBytes, old }),
    };
  });
}

/** Makes zeros of a range, as far as the file goes; whole pages are given back. */
export async function zeroOpen(
  storage: Storage,
  open: ThroughOpen,
  { offsetBytes, lengthBytes, ...kept }: KeptTimes & Span,
  waiter: Waiter,
): Promise<void> {
  await edit(storage, open, waiter, ({ inUse, own, admit }, fileBytes) => {
    const range = spanOf(offsetBytes, Math.max(offsetBytes, Math.min(endOf({ offsetBytes, lengthBytes }), fileBytes)));
    admit(judgeWrite(inUse, own, lockRangeOf(range)));
    if (range.lengthBytes === 0) return null;
    return {
      ...kept,
      lengthBytes: fileBytes,
      apply: (tx, content, old) => clearBytes(tx, storage, content, { range, old }),
    };
  });
}

const edit = (storage: Storage, open: ThroughOpen, waiter: Waiter, plan: FileEdit['plan']): Promise<void> =>
  editFile(storage, open, async () => ({ open, staged: null, plan }), waiter);

const lockRangeOf = ({ offsetBytes, lengthBytes }: Span) => ({
  offsetBytes: BigInt(offsetBytes),
  lengthBytes: BigInt(lengthBytes),
});
