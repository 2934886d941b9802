/** Cutting a file, growing it, and clearing a part of it, through an open. */
import { endOf, type Span, spanOf } from '../../../rules/page-ranges.ts';
import { judgeResize, judgeWrite } from '../../../rules/smb-io.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { FILE_BYTES_MAX } from '../create-file.ts';
import { clearBytes, resizeBytes } from '../file-bytes.ts';
import { type EditTerms, editFile, type FileEdit } from './edit-file.ts';
import type { ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

/** What is new is zeros. Refused as writing is. */
export async function resizeOpen(
  storage: Storage,
  open: ThroughOpen,
  { toBytes, onAdmitted, ...kept }: EditTerms & { readonly toBytes: number },
  waiter: Waiter,
): Promise<void> {
  const plan: FileEdit['plan'] = ({ inUse, own, admit }, fromBytes) => {
    if (toBytes > FILE_BYTES_MAX) throw new StorageError('ShareSizeLimitReached');
    admit(judgeResize(inUse, own, lockRangeOf(spanOf(toBytes, Math.max(toBytes, fromBytes)))));
    if (toBytes === fromBytes) return null;
    return {
      ...kept,
      lengthBytes: toBytes,
      apply: (tx, content, old) => resizeBytes(tx, storage, content, { fromBytes, toBytes, old }),
    };
  };
  await editFile(storage, open, async () => ({ open, onAdmitted, staged: null, plan }), waiter);
}

/** Makes zeros of a range, as far as the file goes; whole pages are given back. */
export async function zeroOpen(
  storage: Storage,
  open: ThroughOpen,
  { offsetBytes, lengthBytes, onAdmitted, ...kept }: EditTerms & Span,
  waiter: Waiter,
): Promise<void> {
  const plan: FileEdit['plan'] = ({ inUse, own, admit }, fileBytes) => {
    const range = spanOf(offsetBytes, Math.max(offsetBytes, Math.min(endOf({ offsetBytes, lengthBytes }), fileBytes)));
    admit(judgeWrite(inUse, own, lockRangeOf(range)));
    if (range.lengthBytes === 0) return null;
    return {
      ...kept,
      lengthBytes: fileBytes,
      apply: (tx, content, old) => clearBytes(tx, storage, content, { range, old }),
    };
  };
  await editFile(storage, open, async () => ({ open, onAdmitted, staged: null, plan }), waiter);
}

const lockRangeOf = ({ offsetBytes, lengthBytes }: Span) => ({
  offsetBytes: BigInt(offsetBytes),
  lengthBytes: BigInt(lengthBytes),
});
