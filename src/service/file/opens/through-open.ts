/**
 * What an SMB client does through something that it has open: in one transaction or snapshot with the look at whether it is
 * still open, at where it stands by now, and at who else uses it. Where others have to give up first what they cache, it
 * is left, waits for them, and is run again.
 */
import type { Snapshot } from '../../../engine/engine.ts';
import { type Transaction, transact } from '../../../engine/transact.ts';
import {
  type InUse,
  NOT_IN_USE,
  type OpenId,
  type OpenUse,
  type Verdict,
  type WantedBreak,
} from '../../../rules/in-use.ts';
import { NO_ACCESS } from '../../../rules/share-mode.ts';
import { type RecordReader, snapshotReader } from '../../records/record-reader.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { type FileName, type FoundNode, findNode, refuseMissing } from '../load.ts';
import { findById } from './find-by-id.ts';
import { follow, putAsks } from './follow.ts';
import { loadUses, type NodeUses } from './node-uses.ts';
import type { UsedPlace } from './open-node.ts';
import { UNTIL_ANSWERED } from './open-table.ts';
import { OpenClosed } from './use-open.ts';
import type { Waiter } from './waits.ts';

/** Something open: what is in a snapshot of the share is found by its name, anything else by its id. */
export interface ThroughOpen {
  readonly openId: OpenId;
  /** As it was opened. */
  readonly name: FileName;
  /** Null: in a snapshot. */
  readonly place: UsedPlace | null;
}

export interface Seen {
  readonly found: FoundNode;
  /** Nobody's use, in a snapshot. */
  readonly inUse: InUse;
  /** The open itself. */
  readonly own: OpenUse;
  /** Throws what it is refused with, or waits; what others are asked for meanwhile is asked for with this commit. */
  readonly admit: (verdict: Verdict) => void;
}

/** Refused: OpenClosed, ShareNotFound, and in a snapshot ReadOnlyAttribute. */
export async function changeThrough<T>(
  storage: Storage,
  open: ThroughOpen,
  waiter: Waiter,
  body: (tx: Transaction, seen: Seen) => Promise<T>,
): Promise<T> {
  const { place } = open;
  if (place === null) throw new StorageError('ReadOnlyAttribute');
  const run = (): Promise<T> => changeOnce(storage, place, (tx, seenBy) => body(tx, seenBy(open.openId)));
  return storage.opens.waiting(UNTIL_ANSWERED, run, waiter);
}

/** Through any of the opens of a file, without waiting: `seenBy` and `admit` throw what concerns the one alone. */
export async function changeOnce<T>(
  { engine, opens }: Storage,
  place: UsedPlace,
  body: (tx: Transaction, seenBy: (openId: OpenId) => Seen) => Promise<T>,
): Promise<T> {
  let hasAsked = false;
  const result = await transact(engine, async (tx) => {
    hasAsked = false;
    const seenBy = await look(tx, place, (uses, breaks) => {
      if (putAsks(tx, uses, opens.owner, breaks)) hasAsked = true;
    });
    return body(tx, seenBy);
  });
  if (hasAsked) opens.say(place);
  return result;
}

/** The same for what only reads: it breaks nothing that it does not wait for. */
export async function readThrough<T>(
  storage: Storage,
  open: ThroughOpen,
  waiter: Waiter,
  body: (snapshot: Snapshot, seen: Seen, reader: RecordReader) => Promise<T>,
): Promise<T> {
  const run = (): Promise<T> =>
    storage.readers.inSnapshot(async (snapshot) => {
      const reader = snapshotReader(snapshot);
      const { place, openId } = open;
      const seen =
        place === null ? await lookBack(reader, storage, open) : (await look(reader, place, nothingAsked))(openId);
      return body(snapshot, seen, reader);
    });
  return storage.opens.waiting(UNTIL_ANSWERED, run, waiter);
}

type Ask = (uses: NodeUses, breaks: readonly WantedBreak[]) => void;

const nothingAsked: Ask = (_uses, breaks) => {
  if (breaks.length > 0) throw new Error('a read asks clients for something and does not wait for it');
};

async function look(reader: RecordReader, place: UsedPlace, ask: Ask): Promise<(openId: OpenId) => Seen> {
  const [uses, found] = await Promise.all([loadUses(reader, place), findById(reader, place)]);
  return (openId) => {
    const own = uses.inUse.opens.find(({ id }) => id === openId);
    // With a share all opens of it go.
    if (found === null) throw new StorageError('ShareNotFound');
    if (own === undefined) throw new OpenClosed(`${openId} is closed`);
    return { found, inUse: uses.inUse, own, admit: (verdict) => ask(uses, follow(uses, verdict)) };
  };
}

/** At what is in a snapshot: nobody disturbs anybody there. */
async function lookBack(reader: RecordReader, storage: Storage, { openId, name }: ThroughOpen): Promise<Seen> {
  const found = await findNode(reader, name, storage.known);
  refuseMissing(found);
  const own: OpenUse = {
    id: openId,
    access: NO_ACCESS,
    share: NO_ACCESS,
    caching: '',
    style: 'oplock',
    cacheKey: openId,
    breakingTo: null,
  };
  return { found, inUse: NOT_IN_USE, own, admit() {} };
}
