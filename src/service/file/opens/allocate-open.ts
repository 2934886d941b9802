/**
 * Room that an SMB client asks for in advance, through an open: bytes take room here when they are written, so all there is
 * to say is whether there is enough of it, and when it was asked.
 */
import { fileTimeAt } from '../../../rules/file-time.ts';
import { judgeResize } from '../../../rules/smb-io.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { FILE_BYTES_MAX } from '../create-file.ts';
import { changeNode } from '../keep-past.ts';
import { refuseUnlessFile } from '../load.ts';
import { quotaBytesOf, usedBytes } from '../usage.ts';
import { changeThrough, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

const NO_BYTES = { offsetBytes: 0n, lengthBytes: 0n };

/** False: the file is longer than that, and is to be cut. Refused with ShareSizeLimitReached, by what is used just then. */
export async function allocateOpen(
  storage: Storage,
  open: ThroughOpen,
  { allocationBytes, keepsChangedAt }: { allocationBytes: number; keepsChangedAt: boolean },
  waiter: Waiter,
): Promise<boolean> {
  return changeThrough(storage, open, waiter, async (tx, { found, inUse, own, admit }) => {
    refuseUnlessFile(found);
    const { share, tree, node } = found;
    if (allocationBytes < node.lengthBytes) return false;
    const used = await usedBytes({ range: (...asked) => tx.glance(...asked) }, tree);
    const isTooMuch = used + allocationBytes - node.lengthBytes > quotaBytesOf(share);
    if (isTooMuch || allocationBytes > FILE_BYTES_MAX) throw new StorageError('ShareSizeLimitReached');
    admit(judgeResize(inUse, own, NO_BYTES));
    if (!keepsChangedAt) {
      const changedAt = fileTimeAt(storage.clock.nowMs());
      await changeNode(tx, found, (before) => ({ ...before, changedAt }));
    }
    return true;
  });
}
