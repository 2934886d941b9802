/**
 * What a node does about its own opens of one file or directory, in one transaction: it takes what others ask of its
 * clients, ends breaks that no client answered in time, and carries out deletions that nobody is left to carry out.
 */
import type { Id } from '../../../base/ids.ts';
import type { Transaction } from '../../../engine/transact.ts';
import type { OpenId } from '../../../rules/in-use.ts';
import { type Caching, commonCaching, mustAnswer } from '../../../rules/oplock.ts';
import { useKey } from '../../records/file-keys.ts';
import { type Closing, closeOpen, deletePending } from './close-open.ts';
import { type Ask, loadUses, type NodeUses } from './node-uses.ts';
import { putOpen, type UsedPlace } from './open-node.ts';
import type { OpenRecord } from './use-record.ts';

/** How long a client may take to answer ([MS-SMB2]: 35 seconds). */
export const BREAK_LIMIT_MS = 35_000;

export interface CachingBreak {
  readonly from: Caching;
  readonly to: Caching;
  /** The client must say what it keeps, once it has written what it has to write. */
  readonly mustAnswer: boolean;
  /** It goes on from what the client has answered a moment ago. */
  readonly isContinued: boolean;
}

interface ToldBreak extends CachingBreak {
  readonly id: Id;
  readonly openIds: readonly OpenId[];
}

/** What clients are to be told. */
export interface Attended {
  /** For each lease or oplock with all its opens; `id`: the same break is told once. */
  readonly breaks: readonly ToldBreak[];
  /** Closed by REST, or lost with the engine's memory of this node. */
  readonly closed: readonly OpenId[];
  /** Whether others may want to look. */
  readonly isChanged: boolean;
  /** Whether nothing of this node's is left there. */
  readonly isOver: boolean;
}

export interface Own {
  /** The opens that this node has there. */
  readonly openIds: ReadonlySet<OpenId>;
  /** Whether this node has the open at this moment. */
  readonly isHeld: (openId: OpenId) => boolean;
  /** Whether it is just being opened or closed. */
  readonly isUnderWay: (openId: OpenId) => boolean;
  /** Whether its client has written through it. */
  readonly hasWritten: (openId: OpenId) => boolean;
}

export async function attend(tx: Transaction, closing: Closing, place: UsedPlace, own: Own): Promise<Attended> {
  // What is opened while this reads may be missing in what it reads.
  const before = [...own.openIds];
  const first = await loadUses(tx, place);
  const closed = before.filter((id) => !first.opens.has(id));
  let isChanged = false;
  for (const [openId, { owner }] of first.opens) {
    if (owner !== closing.owner) continue;
    const isForced = first.asks.some((ask) => ask.openId === openId && ask.to === 'close');
    // What is nobody's was opened or closed in a commit of which nobody knew whether it took effect.
    if (!isForced && (own.isHeld(openId) || own.isUnderWay(openId))) continue;
    await closeOpen(tx, closing, { place, openId, isForced, hasWritten: own.hasWritten(openId) });
    closed.push(openId);
    isChanged = true;
  }
  const uses = isChanged ? await loadUses(tx, place) : first;
  if (uses.pending?.owner === closing.owner && uses.opens.size === 0) {
    await deletePending(tx, closing, place);
    isChanged = true;
  }
  const breaks = leasesOf(uses, own.isHeld).map((opens) => attendLease(tx, closing, { uses, opens }));
  return {
    breaks: breaks.flatMap(({ told }) => (told === null ? [] : [told])),
    closed,
    isChanged: isChanged || breaks.some((each) => each.isChanged),
    isOver:
      uses.pending?.owner !== closing.owner && ![...uses.opens.values()].some(({ owner }) => owner === closing.owner),
  };
}

type OwnOpen = readonly [OpenId, OpenRecord];

/** Opens with one key, of which each says the same about their cache, and at least one has a client that can be told. */
function leasesOf({ opens }: NodeUses, isHeld: Own['isHeld']): OwnOpen[][] {
  const leases = new Map<string, OwnOpen[]>();
  for (const open of opens) {
    const [, { cacheKey }] = open;
    leases.set(cacheKey, [...(leases.get(cacheKey) ?? []), open]);
  }
  return [...leases.values()].filter((lease) => lease.some(([openId]) => isHeld(openId)));
}

function attendLease(
  tx: Transaction,
  { storage }: Closing,
  { uses, opens }: { uses: NodeUses; opens: readonly OwnOpen[] },
): { told: ToldBreak | null; isChanged: boolean } {
  const [[, { caching, breaking }]] = opens as [OwnOpen, ...OwnOpen[]];
  const openIds = opens.map(([id]) => id);
  const nowMs = storage.clock.nowMs();
  const asks = uses.asks.filter((ask) => openIds.includes(ask.openId));
  if (breaking !== undefined && nowMs - breaking.sinceMs < BREAK_LIMIT_MS) {
    const { id, to, isContinued = false } = breaking;
    return { told: { id, openIds, from: caching, to, mustAnswer: true, isContinued }, isChanged: false };
  }
  // Whoever does not answer in time keeps nothing.
  const left = breaking === undefined ? caching : '';
  const to = leastAsked(left, asks);
  removeAsks(tx, uses, asks);
  if (breaking === undefined && to === left) return { told: null, isChanged: asks.length > 0 };
  if (to === left) {
    putCaching(tx, uses, opens, { caching: left });
    return { told: null, isChanged: true };
  }
  const id = storage.ids.next();
  const isContinued = asks.some(({ isMeanwhile = false }) => isMeanwhile);
  const told = { id, openIds, from: left, to, mustAnswer: mustAnswer(left), isContinued };
  if (told.mustAnswer) putCaching(tx, uses, opens, { caching: left, breaking: { id, to, sinceMs: nowMs } });
  else putCaching(tx, uses, opens, { caching: to });
  return { told, isChanged: true };
}

/** What is left of a cache where all of that is asked of its client. */
export const leastAsked = (caching: Caching, asks: readonly Ask[]): Caching =>
  asks.reduce((least, { to }) => (to === 'close' ? least : commonCaching(least, to)), caching);

/** Of all opens with one key. */
export function putCaching(
  tx: Transaction,
  { at }: NodeUses,
  opens: readonly OwnOpen[],
  state: Pick<OpenRecord, 'caching' | 'breaking'>,
): void {
  for (const [openId, { breaking: _, ...open }] of opens) putOpen(tx, at, openId, { ...open, ...state });
}

function removeAsks(tx: Transaction, { at: { shareId, nodeId } }: NodeUses, asks: readonly Ask[]): void {
  for (const { openId, by } of asks) tx.delete(useKey(shareId, nodeId, 'break', openId, by));
}
