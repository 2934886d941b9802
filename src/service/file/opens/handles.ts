/** List Handles and Force Close Handles: what SMB clients have open, on any node. Both also of what is marked for deletion. */
import type { OpenId } from '../../../rules/in-use.ts';
import { type AccessRight, accessRights } from '../../../rules/share-mode.ts';
import { fileIdOf, type NodeId } from '../../records/node-record.ts';
import { type RecordReader, snapshotReader } from '../../records/record-reader.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { type FileName, findNode, refuseMissing } from '../load.ts';
import { loadUses, type NodeUses, type UsedNode } from './node-uses.ts';
import { PlaceReader } from './place-reader.ts';
import { shareUses } from './share-uses.ts';
import type { OpenRecord } from './use-record.ts';

/** A request closes so many at most, and says where to go on. */
const CLOSED_AT_ONCE_MAX = 1_000;
/** A node that does not close within this has failed to. */
const CLOSE_LIMIT_MS = 10_000;

const MARKER_FORM = /^([0-9a-f]{16})-([0-9a-f]{24})$/;

export interface Handle {
  /** A number of 64 bits, in decimal; so are the ids of the file and of the directory that it is in. */
  readonly id: string;
  /** From the root, with slashes between; empty for the root itself. */
  readonly path: string;
  readonly fileId: string;
  readonly parentId: string;
  readonly sessionId: string;
  readonly clientIp: string;
  readonly clientName: string;
  readonly openedMs: number;
  /** Null: its client never lost it. */
  readonly reconnectedMs: number | null;
  readonly accessRights: readonly AccessRight[];
}

export interface HandlesRequest {
  readonly name: FileName;
  /** Also of what is in the directory, at any depth. */
  readonly recursive: boolean;
  /** Where an earlier request ended. */
  readonly marker: string | null;
}

export async function listHandles(
  storage: Storage,
  request: HandlesRequest & { readonly limit: number },
): Promise<{ handles: readonly Handle[]; next: string | null }> {
  const { opens, next } = await gather(storage, request, { limit: request.limit, handleId: null });
  return { handles: opens.map(handleOf), next };
}

export async function forceCloseHandles(
  storage: Storage,
  request: HandlesRequest & { /** Null: all of them. */ readonly handleId: string | null },
): Promise<{ closedCount: number; failedCount: number; next: string | null }> {
  const limit = CLOSED_AT_ONCE_MAX;
  const { opens, next } = await gather(storage, request, { limit, handleId: request.handleId });
  const byNode = new Map<NodeId, { at: UsedNode; openIds: OpenId[] }>();
  for (const { at, openId } of opens) {
    const ofNode = byNode.get(at.nodeId) ?? { at, openIds: [] };
    ofNode.openIds.push(openId);
    byNode.set(at.nodeId, ofNode);
  }
  const closed = await Promise.all(
    [...byNode.values()].map(({ at, openIds }) => storage.opens.askToClose(at, openIds, CLOSE_LIMIT_MS)),
  );
  const closedCount = closed.flat().length;
  return { closedCount, failedCount: opens.length - closedCount, next };
}

interface OpenThere {
  readonly at: UsedNode;
  readonly openId: OpenId;
  readonly open: OpenRecord;
  readonly path: readonly string[];
  readonly parentId: NodeId;
}

/** Up to `limit` opens, in the order of their files' ids and their own; and the marker of the next. */
async function gather(
  storage: Storage,
  { name, recursive, marker }: HandlesRequest,
  { limit, handleId }: { limit: number; handleId: string | null },
): Promise<{ opens: OpenThere[]; next: string | null }> {
  const from = marker === null ? null : parseMarker(marker);
  return storage.readers.inSnapshot(async (snapshot) => {
    const reader = snapshotReader(snapshot);
    const found = await findNode(reader, name, storage.known);
    refuseMissing(found);
    const opens: OpenThere[] = [];
    // What is open in a snapshot locks nothing, and nothing is known of it.
    if (found.snapshot !== null) return { opens, next: null };
    const places = new PlaceReader(reader, found.tree);
    const at = { shareId: found.tree.shareId, nodeId: found.node.id };
    for await (const { at: used, opens: there } of usesToLookAt(reader, at, recursive, from?.nodeId)) {
      if (used.nodeId !== at.nodeId && !(await places.isBelow(used.nodeId, at.nodeId))) continue;
      const placed = await places.pathOf(used.nodeId);
      for (const [openId, open] of there) {
        if (placed === null || (handleId !== null && open.handleId !== handleId)) continue;
        if (from !== null && used.nodeId === from.nodeId && openId < from.openId) continue;
        if (opens.length === limit) return { opens, next: `${used.nodeId}-${openId}` };
        opens.push({ at: used, openId, open, ...placed });
      }
    }
    return { opens, next: null };
  });
}

async function* usesToLookAt(
  reader: RecordReader,
  at: UsedNode,
  recursive: boolean,
  from: NodeId | undefined,
): AsyncGenerator<NodeUses> {
  if (recursive) yield* shareUses(reader, at.shareId, from);
  else yield await loadUses(reader, at);
}

function parseMarker(marker: string): { nodeId: NodeId; openId: OpenId } {
  const match = MARKER_FORM.exec(marker);
  if (match === null) throw new StorageError('InvalidQueryParameterValue');
  return { nodeId: match[1] as NodeId, openId: match[2] as OpenId };
}

const handleOf = ({ at, open, path, parentId }: OpenThere): Handle => ({
  id: open.handleId,
  path: path.join('/'),
  fileId: fileIdOf(at.nodeId),
  parentId: fileIdOf(parentId),
  sessionId: open.client.sessionId,
  clientIp: open.client.ip,
  clientName: open.client.name,
  openedMs: open.openedAtMs,
  reconnectedMs: open.reconnectedAtMs ?? null,
  accessRights: accessRights(open.access),
});
