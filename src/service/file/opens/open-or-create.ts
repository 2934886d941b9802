/**
 * CREATE of SMB ([MS-SMB2] 3.3.5.9, [MS-FSA] 2.1.5.1): finds what has the name, makes it where there is nothing, replaces its
 * content where that is asked for, and opens it, all in one transaction. Refused in this order: a directory on the way that is
 * not there; what is marked for deletion, or stands in what is; what the disposition does not allow; what `judgeOpen` refuses.
 */
import type { Transaction } from '../../../engine/transact.ts';
import { isPending } from '../../../rules/copy.ts';
import { type EntryKind, HIDDEN, isReadOnly, SYSTEM } from '../../../rules/file-attributes.ts';
import { fileTimeAt } from '../../../rules/file-time.ts';
import { AVAILABLE, afterWrite, leaseAt } from '../../../rules/lease.ts';
import { type Moment, parseMoment } from '../../../rules/moment.ts';
import { type Access, READS, WRITES } from '../../../rules/share-mode.ts';
import { snapshotMomentOf, snapshotsRange, useKey } from '../../records/file-keys.ts';
import type { DirectoryRecord, FileRecord, NodeId, NodeRecord } from '../../records/node-record.ts';
import { changedAt, type Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { addNode, letGoOfContent, putNode } from '../keep-past.ts';
import { type FileName, type Found, type FoundFile, type FoundNode, findNode, loadShare, treeOf } from '../load.ts';
import { NO_CHANGES, newNodeId, newProperties } from '../properties.ts';
import { SNAPSHOT_COUNT_MAX } from '../snapshot-share.ts';
import { changeUsage, refuseOverQuota } from '../usage.ts';
import type { UsedNode } from './node-uses.ts';
import type { Opened, OpenRequest } from './open-node.ts';
import { type OpenRefusal, OpenRefused } from './open-refused.ts';
import type { OpenClient } from './open-table.ts';
import type { Waiter } from './waits.ts';

export type Disposition = 'supersede' | 'open' | 'create' | 'open or create' | 'overwrite' | 'overwrite or create';

export type CreateAction = 'superseded' | 'opened' | 'created' | 'overwritten';

export interface OpenOrCreateRequest extends Omit<OpenRequest, 'overwrites' | 'isNew'> {
  /** `snapshot`: the one taken at that time, or in that second where it says no more. */
  readonly name: FileName;
  readonly disposition: Disposition;
  /** What it must be; null: either, and something new is a file. */
  readonly kind: EntryKind | null;
  /** The access is what is wished for at most: what cannot be is left out. */
  readonly isAtMost: boolean;
  /** Of something new, or of a file whose content is replaced. */
  readonly attributes: number;
  /** Of something new: self-relative; null, and what it does not say: inherited. */
  readonly descriptor: Uint8Array | null;
  /** What the client means to write: nothing is set aside for it, but it must fit into the share. */
  readonly allocationBytes: number;
  /** What the client already has a lease for with the key; null: nothing. */
  readonly leasedNode: () => UsedNode | null;
}

export interface OpenOrCreated extends Opened {
  readonly action: CreateAction;
  /** What was granted. */
  readonly access: Access;
  /** With the moment of the snapshot, to the tick. */
  readonly name: FileName;
  readonly parentId: NodeId | null;
}

export async function openOrCreate(
  storage: Storage,
  request: OpenOrCreateRequest,
  client: OpenClient,
  waiter: Waiter,
): Promise<OpenOrCreated> {
  const run = (shard: number): Promise<OpenOrCreated> =>
    storage.opens.opening(
      request.name.share,
      client,
      async (tx, open) => {
        const name = await resolveName(tx, request.name);
        const found = await findNode(tx, name, storage.known);
        const opening: OpeningIn = { tx, storage, shard, open, request: { ...request, name } };
        return found.node === null ? create(opening, found) : openExisting(opening, found as FoundNode);
      },
      waiter,
    );
  return overwrites(request) ? storage.counting.use(run) : run(0);
}

interface OpeningIn {
  readonly tx: Transaction;
  readonly storage: Storage;
  /** Counts the bytes of the share's files; of those who overwrite. */
  readonly shard: number;
  readonly open: (found: FoundNode, request: OpenRequest) => Promise<Opened>;
  readonly request: OpenOrCreateRequest;
}

const overwrites = ({ disposition }: OpenOrCreateRequest): boolean =>
  disposition === 'supersede' || disposition === 'overwrite' || disposition === 'overwrite or create';

const mustExist = ({ disposition }: OpenOrCreateRequest): boolean =>
  disposition === 'open' || disposition === 'overwrite';

// ---- what is there

async function openExisting(opening: OpeningIn, found: FoundNode): Promise<OpenOrCreated> {
  const { tx, open, request } = opening;
  const at = { shareId: found.tree.shareId, nodeId: found.node.id };
  const refusal = refuseExisting(found, request);
  if (refusal !== null) {
    if (found.snapshot === null) await refusePending(tx, at);
    throw refusal;
  }
  const asked: OpenRequest = { ...request, access: accessTo(found, request), overwrites: overwrites(request) };
  refuseOtherKey(request, at);
  const opened = await open(found, asked);
  const action = actionOn(request);
  const node = action === 'opened' ? found.node : await replaceContent(opening, found as FoundFile);
  return openedAs(opened, { found, node, action, access: asked.access, name: request.name });
}

function refuseExisting(found: FoundNode, request: OpenOrCreateRequest): Error | null {
  const { node, parent, snapshot } = found;
  const { disposition, kind, deletesOnClose } = request;
  if (disposition === 'create') return new StorageError('ResourceAlreadyExists');
  if (kind === 'directory' && node.kind === 'file') return refusedFor('not a directory');
  if (kind === 'file' && node.kind === 'directory') return refusedFor('is a directory');
  if (overwrites(request) && node.kind === 'directory') return refusedFor('overwrites a directory');
  if (snapshot !== null) return isBeyondReading(request) ? new StorageError('ReadOnlyAttribute') : null;
  if (deletesOnClose === true && parent === null) return new StorageError('CannotDeleteFileOrDirectory');
  if (!overwrites(request) || node.kind === 'directory') return null;
  const kept = node.attributes & (HIDDEN | SYSTEM);
  if ((kept & ~request.attributes) !== 0) return refusedFor('hidden or system');
  return isPending(node.copy) ? new StorageError('PendingCopyOperation') : null;
}

const refusedFor = (refusal: OpenRefusal): OpenRefused => new OpenRefused(refusal);

const isBeyondReading = (request: OpenOrCreateRequest): boolean =>
  overwrites(request) || (!request.isAtMost && (request.access & ~READS) !== 0);

function accessTo({ node, snapshot }: FoundNode, request: OpenOrCreateRequest): Access {
  const { access, isAtMost } = request;
  if (!isAtMost) return access;
  if (snapshot !== null) return access & READS;
  return node.kind === 'file' && isReadOnly(node.attributes) && !overwrites(request) ? access & ~WRITES : access;
}

function actionOn(request: OpenOrCreateRequest): CreateAction {
  if (request.disposition === 'supersede') return 'superseded';
  return overwrites(request) ? 'overwritten' : 'opened';
}

/** What REST has written about the file stays. */
async function replaceContent({ tx, storage, shard, request }: OpeningIn, found: FoundFile): Promise<FileRecord> {
  const { copy: _, ...before } = found.node;
  const nowMs = storage.clock.nowMs();
  const etag = storage.etags.next(before.etag, nowMs);
  await changeUsage(tx, shard, found, -before.lengthBytes);
  await refuseOverQuota(tx, found, request.allocationBytes);
  const file: FileRecord = {
    ...before,
    etag,
    lastModifiedMs: changedAt(before.lastModifiedMs, nowMs),
    attributes: request.attributes,
    writtenAt: fileTimeAt(nowMs),
    changedAt: fileTimeAt(nowMs),
    lengthBytes: 0,
    content: { kind: 'empty' },
    lease: afterWrite(leaseAt(before.lease, nowMs)),
    contentSince: etag,
  };
  await letGoOfContent(tx, storage, found);
  putNode(tx, found, file);
  return file;
}

// ---- what is not

async function create(opening: OpeningIn, found: Found): Promise<OpenOrCreated> {
  const { tx, open, request } = opening;
  const { parent, tree, snapshot } = found;
  if (mustExist(request) || parent === null) throw new StorageError('ResourceNotFound');
  if (snapshot !== null) throw new StorageError('ReadOnlyAttribute');
  await refusePending(tx, { shareId: tree.shareId, nodeId: parent.id });
  if (request.deletesOnClose === true && isReadOnly(request.attributes))
    throw new StorageError('CannotDeleteFileOrDirectory');
  const node = await newNode(opening, { ...found, parent });
  refuseOtherKey(request, { shareId: tree.shareId, nodeId: node.id });
  await refuseOverQuota(tx, found, request.allocationBytes);
  addNode(tx, found, node);
  const opened = await open({ ...found, node }, { ...request, isNew: true });
  return openedAs(opened, { found, node, action: 'created', access: request.access, name: request.name });
}

async function newNode(
  { tx, storage, request }: OpeningIn,
  found: Found & { readonly parent: DirectoryRecord },
): Promise<NodeRecord> {
  const { attributes, descriptor } = request;
  const kind = request.kind ?? 'file';
  const permission =
    descriptor === null ? NO_CHANGES.permission : ({ kind: 'partial descriptor', descriptor } as const);
  const at = { ...found, kind, previousEtag: null };
  const common = await newProperties(tx, storage, at, { ...NO_CHANGES, attributes, permission });
  const node = {
    id: await newNodeId(tx, found, common.etag),
    name: found.name,
    since: found.share.epoch,
    ...common,
    metadata: [],
  };
  if (kind === 'directory') return { kind, ...node };
  const content = { lengthBytes: 0, content: { kind: 'empty' }, contentSince: common.etag } as const;
  return { kind, ...node, ...content, headers: {}, lease: AVAILABLE };
}

// ---- what both have in common

function openedAs(
  opened: Opened,
  {
    found,
    ...rest
  }: Pick<OpenOrCreated, 'node' | 'action' | 'access' | 'name'> & {
    readonly found: Found;
  },
): OpenOrCreated {
  return { ...opened, ...rest, parentId: found.parent?.id ?? null };
}

async function refusePending(tx: Transaction, { shareId, nodeId }: UsedNode): Promise<void> {
  if ((await tx.get(useKey(shareId, nodeId, 'pending'))) !== null) throw new StorageError('SMBDeletePending');
}

/** One key stands for one file, whatever the client does. */
function refuseOtherKey({ leasedNode }: OpenOrCreateRequest, at: UsedNode): void {
  const leased = leasedNode();
  if (leased !== null && (leased.shareId !== at.shareId || leased.nodeId !== at.nodeId))
    throw new OpenRefused('key of another file');
}

/** Clients know snapshots by the second in which they were taken. */
async function resolveName(tx: Transaction, name: FileName): Promise<FileName> {
  if (name.snapshot === null) return name;
  const tree = treeOf(name, await loadShare(tx, name));
  const rows = await tx.range(snapshotsRange(tree), { limit: SNAPSHOT_COUNT_MAX });
  const moments = rows.map(({ key }) => snapshotMomentOf(key));
  const snapshot = moments.includes(name.snapshot) ? name.snapshot : inTheSecond(moments, name.snapshot);
  if (snapshot === null) throw new StorageError('ResourceNotFound');
  return { ...name, snapshot };
}

const TICKS_PER_SECOND = 10_000_000n;

/** The last of them. */
function inTheSecond(moments: readonly Moment[], wanted: Moment): Moment | null {
  const from = parseMoment(wanted);
  if (from === null || from % TICKS_PER_SECOND !== 0n) return null;
  const isWithin = (ticks: bigint | null): boolean =>
    ticks !== null && ticks >= from && ticks < from + TICKS_PER_SECOND;
  return moments.findLast((moment) => isWithin(parseMoment(moment))) ?? null;
}
