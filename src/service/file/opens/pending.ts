/** Deletions that wait for the last SMB client to close: what is marked so is left out of listings. */
import { parseUseKey, shareUsesRange, type TreeAddress } from '../../records/file-keys.ts';
import type { NodeId } from '../../records/node-record.ts';
import { type RangeReader, scanSteps } from '../../records/scan.ts';

const STEP_RECORDS = 1_000;

/** What in a share is marked for deletion. Where nobody uses the share, that is one read that finds nothing. */
export async function pendingIn(
  reader: RangeReader,
  { shareId }: Pick<TreeAddress, 'shareId'>,
): Promise<ReadonlySet<NodeId>> {
  const pending = new Set<NodeId>();
  for await (const entries of scanSteps(reader, shareUsesRange(shareId), STEP_RECORDS)) {
    for (const { key } of entries) {
      const { kind, nodeId } = parseUseKey(key);
      if (kind === 'pending') pending.add(nodeId);
    }
  }
  return pending;
}
