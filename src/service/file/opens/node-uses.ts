/** All that is known of one file or directory that is in use, as of one transaction or snapshot: one read of a range. */
import type { Id } from '../../../base/ids.ts';
import type { Entry } from '../../../engine/engine.ts';
import type { HeldLock } from '../../../rules/byte-lock.ts';
import type { InUse, OpenId } from '../../../rules/in-use.ts';
import { decodeJson } from '../../records/codec.ts';
import { parseUseKey, usesRange } from '../../records/file-keys.ts';
import type { NodeId } from '../../records/node-record.ts';
import { type RangeReader, scanSteps } from '../../records/scan.ts';
import type { AskRecord, LockRecord, OpenRecord, PendingRecord } from './use-record.ts';

const STEP_RECORDS = 1_000;

/** What is used. */
export interface UsedNode {
  readonly shareId: Id;
  readonly nodeId: NodeId;
}

export interface Lock extends HeldLock<OpenId> {
  readonly id: Id;
}

export interface Ask extends AskRecord {
  readonly openId: OpenId;
  /** The node that asks. */
  readonly by: Id;
}

export interface NodeUses {
  readonly at: UsedNode;
  readonly inUse: InUse;
  readonly locks: readonly Lock[];
  readonly opens: ReadonlyMap<OpenId, OpenRecord>;
  readonly pending: PendingRecord | null;
  readonly asks: readonly Ask[];
  /** Differs once anything of it has changed. */
  readonly state: string;
}

export async function loadUses(reader: RangeReader, at: UsedNode): Promise<NodeUses> {
  const entries: Entry[] = [];
  for await (const step of scanSteps(reader, usesRange(at.shareId, at.nodeId), STEP_RECORDS)) entries.push(...step);
  return usesOf(at, entries);
}

export function usesOf(at: UsedNode, entries: readonly Entry[]): NodeUses {
  const opens = new Map<OpenId, OpenRecord>();
  const locks: Lock[] = [];
  const asks: Ask[] = [];
  let pending: PendingRecord | null = null;
  for (const { key, value } of entries) {
    const { kind, ids } = parseUseKey(key);
    const [openId = '', id = ''] = ids;
    if (kind === 'open') opens.set(openId, decodeJson<OpenRecord>(value));
    else if (kind === 'lock') locks.push({ id, owner: openId, ...lockOf(decodeJson<LockRecord>(value)) });
    else if (kind === 'break') asks.push({ openId, by: id, ...decodeJson<AskRecord>(value) });
    else pending = decodeJson<PendingRecord>(value);
  }
  return {
    at,
    inUse: {
      opens: [...opens].map(([id, { breaking, ...open }]) => ({
        ...open,
        id,
        breakingTo: breaking?.to ?? null,
        isBreakingOn: breaking?.isContinued ?? false,
      })),
      locks,
      isPending: pending !== null,
    },
    opens,
    locks,
    pending,
    asks,
    state: entries.map(({ key, version }) => `${Buffer.from(key).toString('latin1')}:${version}`).join(),
  };
}

const lockOf = ({ offsetBytes, lengthBytes, isExclusive }: LockRecord) => ({
  offsetBytes: BigInt(offsetBytes),
  lengthBytes: BigInt(lengthBytes),
  isExclusive,
});
