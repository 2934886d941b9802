/**
 * Changes of a file's bytes and length through opens: writing, cutting, clearing. Those of one file that come at once, on
 * whatever connections of this process, share transactions (write-group.ts). Each is judged for itself, for the file as
 * those before it leave it, and is durable when it is answered. The file's ETag stays until an open that wrote is closed.
 */
import type { Transaction } from '../../../engine/transact.ts';
import { isPending } from '../../../rules/copy.ts';
import { fileTimeAt } from '../../../rules/file-time.ts';
import type { StagedExtent } from '../../extents/extents.ts';
import type { FileContent, FileRecord } from '../../records/node-record.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import { gatherNeeds, type OldBytes, withOldBytes } from '../file-bytes.ts';
import { changeNode } from '../keep-past.ts';
import { type FoundFile, refuseUnlessFile } from '../load.ts';
import { changeUsage } from '../usage.ts';
import { MustWait } from './must-wait.ts';
import type { UsedPlace } from './open-node.ts';
import { UNTIL_ANSWERED } from './open-table.ts';
import { changeOnce, type Seen, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';
import { nameOf } from './words.ts';
import { type Outcome, WriteGroup } from './write-group.ts';

export interface FileEdit {
  readonly open: ThroughOpen;
  /** What it brings, if that is in the content store already, and its bytes. */
  readonly staged: { readonly extent: StagedExtent; readonly bytes: Uint8Array } | null;
  readonly onAdmitted: EditTerms['onAdmitted'];
  /** Throws what it is refused with in a file of this length. Null: there is nothing to be done. */
  plan(seen: Seen, lengthBytes: number): PlannedEdit | null;
}

export interface PlannedEdit extends KeptTimes {
  /** Of the file afterwards. */
  readonly lengthBytes: number;
  apply(tx: Transaction, content: FileContent, old: OldBytes): Promise<FileContent>;
}

/** What a client says of a change of its bytes, whatever it is. */
export interface EditTerms extends KeptTimes {
  /** Called before anything is committed, once nothing of the file stands in the way; maybe several times. */
  readonly onAdmitted?: () => void;
}

/** Times that stay what they were. */
export interface KeptTimes {
  readonly keepsWriteTime?: boolean | undefined;
  readonly keepsChangeTime?: boolean | undefined;
}

/** `prepare` stages what the edit brings; that is given back where it is refused. */
export async function editFile(
  storage: Storage,
  open: ThroughOpen,
  prepare: () => Promise<FileEdit>,
  waiter: Waiter,
): Promise<void> {
  const { place } = open;
  if (place === null) throw new StorageError('ReadOnlyAttribute');
  const preparing = prepare();
  try {
    await groupOf(storage, place).add(preparing);
  } catch (error) {
    const edit = await preparing;
    // Whoever has to wait for others does so by itself.
    const again = async (): Promise<void> => {
      if (!(error instanceof MustWait)) throw error;
      await storage.opens.waiting(UNTIL_ANSWERED, () => editAlone(storage, place, edit), waiter);
    };
    await storage.extents.publishing(edit.staged?.extent ?? null, again);
  }
}

const groups = new WeakMap<Storage, Map<string, WriteGroup<FileEdit>>>();

function groupOf(storage: Storage, place: UsedPlace): WriteGroup<FileEdit> {
  const ofStorage = groups.get(storage) ?? new Map<string, WriteGroup<FileEdit>>();
  groups.set(storage, ofStorage);
  const name = nameOf(place);
  const group =
    ofStorage.get(name) ??
    new WriteGroup<FileEdit>(
      (edits) => editAll(storage, place, edits),
      () => ofStorage.delete(name),
    );
  ofStorage.set(name, group);
  return group;
}

async function editAll(storage: Storage, place: UsedPlace, edits: readonly FileEdit[]): Promise<readonly Outcome[]> {
  try {
    return await editTogether(storage, place, edits);
  } catch (error) {
    const isOverQuota = error instanceof StorageError && error.code === 'ShareSizeLimitReached';
    if (!isOverQuota || edits.length === 1) throw error;
    // What is too much together may not be too much for some.
    const outcomes: Outcome[] = [];
    for (const edit of edits) {
      const done = editAlone(storage, place, edit);
      outcomes.push(
        await done.then(
          () => null,
          (refusal: unknown) => ({ error: refusal }),
        ),
      );
    }
    return outcomes;
  }
}

async function editAlone(storage: Storage, place: UsedPlace, edit: FileEdit): Promise<void> {
  const [outcome] = await editTogether(storage, place, [edit]);
  if (outcome) throw outcome.error;
}

/** One transaction. What one of them is refused with is its own outcome. */
async function editTogether(
  storage: Storage,
  place: UsedPlace,
  edits: readonly FileEdit[],
): Promise<readonly Outcome[]> {
  const change = (shard: number, old: OldBytes): Promise<readonly Outcome[]> =>
    changeOnce(storage, place, async (tx, seenBy) => {
      const { found, planned, outcomes } = planAll(edits, (edit) => seenBy(edit.open.openId));
      if (found !== null) await applyAll(tx, storage, { found, planned, shard, old });
      return outcomes;
    });
  return storage.counting.use((shard) =>
    withOldBytes(storage, (old) => {
      for (const { staged } of edits) if (staged !== null) old.noteExtent(staged.extent.ref, staged.bytes);
      return change(shard, old);
    }),
  );
}

interface Plan {
  /** Null: nothing is to be done. */
  readonly found: FoundFile | null;
  readonly planned: readonly PlannedEdit[];
  readonly outcomes: readonly Outcome[];
}

function planAll(edits: readonly FileEdit[], seenBy: (edit: FileEdit) => Seen): Plan {
  const planned: PlannedEdit[] = [];
  let target: FoundFile | null = null;
  const outcomes = edits.map((edit): Outcome => {
    try {
      const seen = seenBy(edit);
      const { found } = seen;
      refuseUnlessFile(found);
      if (isPending(found.node.copy)) throw new StorageError('PendingCopyOperation');
      const plan = edit.plan(seen, planned.at(-1)?.lengthBytes ?? found.node.lengthBytes);
      edit.onAdmitted?.();
      if (plan === null) return null;
      planned.push(plan);
      target = found;
      return null;
    } catch (error) {
      return { error };
    }
  });
  return { found: target, planned, outcomes };
}

async function applyAll(
  tx: Transaction,
  storage: Storage,
  { found, planned, shard, old }: { found: FoundFile; planned: readonly PlannedEdit[]; shard: number; old: OldBytes },
): Promise<void> {
  await changeNode(tx, found, async (file): Promise<FileRecord> => {
    let { content } = file;
    await gatherNeeds(planned, async (edit) => {
      content = await edit.apply(tx, content, old);
    });
    const lengthBytes = planned.at(-1)?.lengthBytes ?? file.lengthBytes;
    await changeUsage(tx, shard, found, lengthBytes - file.lengthBytes);
    const now = fileTimeAt(storage.clock.nowMs());
    const writtenAt = planned.every(({ keepsWriteTime }) => keepsWriteTime === true) ? file.writtenAt : now;
    const changedAt = planned.every(({ keepsChangeTime }) => keepsChangeTime === true) ? file.changedAt : now;
    return { ...file, content, lengthBytes, writtenAt, changedAt };
  });
}
