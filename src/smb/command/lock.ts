/**
 * LOCK ([MS-SMB2] 3.3.5.14): locks all of the ranges of a request or none of them, and waits for others if it may; unlocks one
 * range after the other. What is in a snapshot of a share does not change, and what is locked there locks nobody out.
 */
import { type ByteLock, isLockable } from '../../rules/byte-lock.ts';
import { OpenClosed } from '../../service/file/opens/use-open.ts';
import { WaitCancelled } from '../../service/file/opens/waits.ts';
import { StorageError } from '../../service/storage-error.ts';
import type { FileOpen } from '../session/open.ts';
import { SmbError, Status } from '../statuses.ts';
import { READ_DATA, WRITE_DATA } from '../wire/access.ts';
import {
  decodeLock,
  LOCK_EXCLUSIVE,
  LOCK_FAIL_IMMEDIATELY,
  LOCK_SHARED,
  LOCK_UNLOCK,
  type LockElement,
  type LockRequest,
} from '../wire/lock.ts';
import { type Command, type Context, EMPTY_BODY, succeed } from './command.ts';
import { refuseWithoutAny } from './granted.ts';

/** Of one request. */
const ELEMENT_COUNT_MAX = 1_024;
const SEQUENCE_INDEX_MAX = 64;

export const lock: Command<LockRequest> = {
  decode: decodeLock,
  async handle(context, request) {
    const open = context.open(request.fileId);
    const { elements } = request;
    if (open.kind === 'directory' || elements.length > ELEMENT_COUNT_MAX) throw new SmbError(Status.INVALID_PARAMETER);
    refuseWithoutAny(open, READ_DATA | WRITE_DATA);
    if (isReplayed(open, request)) return succeed(EMPTY_BODY);
    if (elements[0]?.flags === LOCK_UNLOCK) await unlockEach(context, open, elements);
    else await lockAll(context, open, elements);
    if (hasSequence(open, request)) open.lockSequences.set(request.sequenceIndex, request.sequenceNumber);
    return succeed(EMPTY_BODY);
  },
};

/** Whoever may lose its connection sends again what it has got no answer to: it was done already, and is not done twice. */
function isReplayed(open: FileOpen, request: LockRequest): boolean {
  if (!hasSequence(open, request)) return false;
  if (open.lockSequences.get(request.sequenceIndex) === request.sequenceNumber) return true;
  open.lockSequences.delete(request.sequenceIndex);
  return false;
}

const hasSequence = ({ durability }: FileOpen, { sequenceIndex }: LockRequest): boolean =>
  durability !== null && sequenceIndex > 0 && sequenceIndex <= SEQUENCE_INDEX_MAX;

/** What was unlocked before one that cannot be stays so. */
async function unlockEach({ door }: Context, open: FileOpen, elements: readonly LockElement[]): Promise<void> {
  for (const { offset, length, flags } of elements) {
    if (flags !== LOCK_UNLOCK) throw new SmbError(Status.INVALID_PARAMETER);
    const range = { offsetBytes: offset, lengthBytes: length };
    const isUnlocked = open.place === null || (await door.storage.opens.unlock(open.openId, [range]));
    if (!isUnlocked) throw new SmbError(Status.RANGE_NOT_LOCKED);
  }
}

async function lockAll(context: Context, open: FileOpen, elements: readonly LockElement[]): Promise<void> {
  const locks = elements.map((element) => lockOf(element, elements.length));
  if (!locks.every(isLockable)) throw new SmbError(Status.INVALID_LOCK_RANGE);
  if (open.place === null) return;
  const mayWait = elements.every(({ flags }) => (flags & LOCK_FAIL_IMMEDIATELY) === 0);
  let hasWaited = false;
  const waiter = {
    waitMs: mayWait ? Number.POSITIVE_INFINITY : 0,
    signal: context.cancelled,
    onWait(): void {
      hasWaited = true;
      context.pend();
    },
  };
  try {
    await context.door.storage.opens.lock(open.openId, locks, waiter);
  } catch (error) {
    if (error instanceof StorageError && error.code === 'FileLockConflict') throw new SmbError(Status.LOCK_NOT_GRANTED);
    const isClosed = error instanceof OpenClosed || (error instanceof WaitCancelled && isGone(context));
    throw isClosed && hasWaited ? new SmbError(Status.RANGE_NOT_LOCKED) : error;
  }
}

/** Whatever is open goes with its session and tree. */
const isGone = ({ session, tree }: Context): boolean => session.isEnded || !session.trees.has(tree.id);

function lockOf({ offset, length, flags }: LockElement, count: number): ByteLock {
  const kind = flags & ~LOCK_FAIL_IMMEDIATELY;
  const isKnown = kind === LOCK_SHARED || kind === LOCK_EXCLUSIVE;
  // Several do not wait for each other.
  const waitsAmongOthers = count > 1 && kind === flags;
  if (!isKnown || waitsAmongOthers) throw new SmbError(Status.INVALID_PARAMETER);
  return { offsetBytes: offset, lengthBytes: length, isExclusive: kind === LOCK_EXCLUSIVE };
}
