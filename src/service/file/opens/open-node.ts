/** Opening a file or directory for an SMB client: judged and noted in the transaction that found or made it. */
import type { Id } from '../../../base/ids.ts';
import type { Transaction } from '../../../engine/transact.ts';
import { isReadOnly } from '../../../rules/file-attributes.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import { leaseAt } from '../../../rules/lease.ts';
import type { Caching, CachingStyle, Reach } from '../../../rules/oplock.ts';
import { NO_ACCESS, type ShareMode } from '../../../rules/share-mode.ts';
import { judgeOpen, type Openable, resolveCaching, type SmbOpen } from '../../../rules/smb-open.ts';
import { encodeJson } from '../../records/codec.ts';
import { useKey } from '../../records/file-keys.ts';
import type { NodeRecord } from '../../records/node-record.ts';
import type { Storage } from '../../storage.ts';
import type { FoundNode } from '../load.ts';
import { follow, putAsks } from './follow.ts';
import { MustWait } from './must-wait.ts';
import { loadUses, type NodeUses, type UsedNode } from './node-uses.ts';
import { OpenRefused } from './open-refused.ts';
import type { AppInstance, ClientInfo, OpenRecord } from './use-record.ts';

/** Of one file or directory. */
export const HANDLE_COUNT_MAX = 2_000;

export interface OpenRequest extends ShareMode {
  /** Absent: what goes with the access. */
  readonly reach?: Reach;
  /** It was made in the same transaction: what it is made as does not bind whoever makes it. */
  readonly isNew?: boolean;
  /** The content is replaced: by the caller, in the same transaction. */
  readonly overwrites?: boolean;
  readonly deletesOnClose?: boolean;
  /** What the client wishes to cache, with an oplock, or with a lease whose key stands for the client and the file. */
  readonly caching?: Caching;
  readonly leaseKey?: string;
  readonly instance?: AppInstance;
  readonly client: ClientInfo;
}

export interface Opened {
  readonly id: OpenId;
  /** A number of 64 bits, in decimal. */
  readonly handleId: string;
  readonly node: NodeRecord;
  readonly caching: Caching;
  /** Its client was asked to give up some of it, and has not answered. */
  readonly isBreaking: boolean;
  /** Where the use is noted, and the name of the share; null: something in a snapshot, which is never locked. */
  readonly place: UsedPlace | null;
  /** Others were asked to give something up, and it is not waited for. */
  readonly hasAsked: boolean;
}

export interface UsedPlace extends UsedNode {
  readonly account: string;
  readonly share: string;
}

export interface Opening {
  readonly storage: Storage;
  readonly owner: Id;
  readonly openId: OpenId;
  /** The name of the share in which the node was found. */
  readonly share: string;
}

export async function openNode(
  tx: Transaction,
  { storage, owner, openId, share }: Opening,
  { tree, node, snapshot }: FoundNode,
  request: OpenRequest,
): Promise<Opened> {
  const nowMs = storage.clock.nowMs();
  const handleId = String(BigInt(storage.etags.next(null, nowMs)));
  if (snapshot !== null)
    return { id: openId, handleId, node, caching: '', isBreaking: false, place: null, hasAsked: false };
  const place = { account: tree.account, share, shareId: tree.shareId, nodeId: node.id };
  const uses = await loadUses(tx, place);
  waitForOlder(uses, request);
  const open = smbOpenOf(request, { owner, openId });
  const openable = openableOf(node, nowMs, request);
  const hasAsked = putAsks(tx, uses, owner, follow(uses, judgeOpen(uses.inUse, openable, open)));
  if (uses.opens.size >= HANDLE_COUNT_MAX) throw new OpenRefused('too many handles');
  const { access, share: shared, style, cacheKey, deletesOnClose } = open;
  const caching = resolveCaching(uses.inUse, openable, open);
  const sameCache = [...uses.opens].filter(([, other]) => other.cacheKey === cacheKey);
  for (const [id, other] of sameCache) if (other.caching !== caching) putOpen(tx, place, id, { ...other, caching });
  const breaking = sameCache[0]?.[1].breaking;
  putOpen(tx, place, openId, {
    owner,
    handleId,
    kind: node.kind,
    access,
    share: shared,
    caching,
    style,
    cacheKey,
    ...(breaking === undefined ? {} : { breaking }),
    deletesOnClose,
    ...(request.instance === undefined ? {} : { instance: request.instance }),
    client: request.client,
    openedAtMs: nowMs,
  });
  return { id: openId, handleId, node, caching, isBreaking: breaking !== undefined, place, hasAsked };
}

/** What the same application has open from elsewhere is closed by force. */
function waitForOlder({ at, state, opens }: NodeUses, { instance }: OpenRequest): void {
  if (instance === undefined) return;
  const breaks = [...opens]
    .filter(([, { instance: older }]) => older?.id === instance.id && older.clientGuid !== instance.clientGuid)
    .map(([openId]) => ({ openId, to: 'close' as const }));
  if (breaks.length > 0) throw new MustWait({ at, state, breaks, code: 'SharingViolation' });
}

export function putOpen(tx: Transaction, { shareId, nodeId }: UsedNode, id: OpenId, record: OpenRecord): void {
  tx.put(useKey(shareId, nodeId, 'open', id), encodeJson(record));
}

/** A lease belongs to the node that its client is connected to. */
function smbOpenOf(
  { access, share, reach, overwrites = false, deletesOnClose = false, caching = '', leaseKey }: OpenRequest,
  { owner, openId }: { owner: Id; openId: OpenId },
): SmbOpen {
  const style: CachingStyle = leaseKey === undefined ? 'oplock' : 'lease';
  const cacheKey = leaseKey === undefined ? openId : `${owner} ${leaseKey}`;
  return {
    access,
    share,
    overwrites,
    deletesOnClose,
    reach: reach ?? (access === NO_ACCESS ? 'attributes' : 'all'),
    caching,
    style,
    cacheKey,
  };
}

function openableOf(node: NodeRecord, nowMs: number, { isNew = false }: OpenRequest): Openable {
  const lease = node.kind === 'file' ? leaseAt(node.lease, nowMs).state : 'available';
  return {
    isDirectory: node.kind === 'directory',
    isReadOnly: !isNew && isReadOnly(node.attributes),
    isLeased: lease === 'leased' || lease === 'breaking',
  };
}
