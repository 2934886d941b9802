/** Closing what a client has open, whoever closes it. */
import type { NodeRecord } from '../../service/records/node-record.ts';
import { forgetCreateGuid } from './create-guids.ts';
import type { Door } from './door.ts';
import { changedNameOf, noteChange } from './note-change.ts';
import type { FileOpen, Open } from './open.ts';

/** Of what is closed already nothing happens. With `looks` the file or directory as it is left; null: gone, or a pipe. */
export async function closeOpen(
  door: Door,
  open: Open,
  { looks = false }: { looks?: boolean } = {},
): Promise<NodeRecord | null> {
  if (open.isClosed) return null;
  if (open.kind === 'pipe') {
    open.isClosed = true;
    open.tree?.session.opens.delete(open.fileId.volatile);
    return null;
  }
  forgetOpen(door, open);
  const { hasWritten, openId } = open;
  const { node, removed, isMarked } = await door.storage.opens.close(openId, { hasWritten, looks });
  if (removed !== null) noteChange(door, { what: 'removed', at: changedNameOf(removed, removed.node.kind) });
  if (isMarked) noteChange(door, { what: 'deleting', at: open });
  return node;
}

/** It is closed, or will be at once: requests find it no more. */
export function forgetOpen(door: Door, open: FileOpen): void {
  open.isClosed = true;
  open.tree?.session.opens.delete(open.fileId.volatile);
  door.opens.delete(open.fileId.persistent);
  open.watch?.end();
  if (open.lease !== null) door.leases.leave(open.lease, open);
  if (open.durability !== null) clearTimeout(open.durability.timer ?? undefined);
  forgetCreateGuid(door, open);
}
