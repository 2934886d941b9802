/** What a verdict of the rules means in a transaction, or in a look at a snapshot. */
import type { Id } from '../../../base/ids.ts';
import type { Transaction } from '../../../engine/transact.ts';
import type { ErrorCode } from '../../../rules/error-code.ts';
import type { Verdict, WantedBreak } from '../../../rules/in-use.ts';
import { type Caching, commonCaching, isCachingWithin } from '../../../rules/oplock.ts';
import { encodeJson } from '../../records/codec.ts';
import { useKey } from '../../records/file-keys.ts';
import { StorageError } from '../../storage-error.ts';
import { MustWait } from './must-wait.ts';
import type { NodeUses } from './node-uses.ts';
import type { AskRecord, WantedOfOpen } from './use-record.ts';

/** What is to be asked for by whoever is admitted. */
export function follow(
  { at, state }: NodeUses,
  verdict: Verdict,
  code: ErrorCode = 'ClientCacheFlushDelay',
): readonly WantedBreak[] {
  if (verdict.verdict === 'refused') throw new StorageError(verdict.code);
  if (verdict.verdict === 'waits') throw new MustWait({ at, state, breaks: verdict.breaks, code });
  return verdict.breaks;
}

/** Leaves what is asked of clients for their nodes. False: all of it was asked before. */
export function putAsks(tx: Transaction, uses: NodeUses, by: Id, wanted: readonly WantedOfOpen[]): boolean {
  const isNew = wanted.map(({ openId, to }) => putAsk(tx, uses, { openId, by, to }));
  return isNew.includes(true);
}

/** Whatever one node asks of an open is one record. */
export function putAsk(
  tx: Transaction,
  { at, asks, opens }: NodeUses,
  { openId, by, to }: WantedOfOpen & { by: Id },
): boolean {
  const ofOpen = asks.filter((ask) => ask.openId === openId);
  if (ofOpen.some((ask) => covers(ask.to, to))) return false;
  const own = ofOpen.find((ask) => ask.by === by);
  const isMeanwhile = opens.get(openId)?.breaking !== undefined;
  const ask: AskRecord = {
    to: own === undefined ? to : both(own.to, to),
    ...(isMeanwhile ? { isMeanwhile } : {}),
  };
  tx.put(useKey(at.shareId, at.nodeId, 'break', openId, by), encodeJson(ask));
  return true;
}

const covers = (asked: AskRecord['to'], to: AskRecord['to']): boolean =>
  asked === 'close' || (to !== 'close' && isCachingWithin(asked, to));

const both = (one: AskRecord['to'], other: AskRecord['to']): AskRecord['to'] =>
  one === 'close' || other === 'close' ? 'close' : commonCaching(one satisfies Caching, other);
