/**
 * REST requests beside SMB clients: a request is a very short open (rules/rest-open.ts), judged against what is known of those who have
 * the file open, in the same transaction or snapshot in which the operation reads and writes. Where clients have to give up
 * first what they cache, the operation is left, waits for them, and is run again.
 */
import type { Snapshot } from '../../../engine/engine.ts';
import { type Transaction, transact } from '../../../engine/transact.ts';
import type { WantedBreak } from '../../../rules/in-use.ts';
import type { Slice } from '../../../rules/range-header.ts';
import { judgeRest, type RestOperation } from '../../../rules/rest-open.ts';
import { useKey } from '../../records/file-keys.ts';
import type { NodeId } from '../../records/node-record.ts';
import { type RecordReader, snapshotReader } from '../../records/record-reader.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import type { Found } from '../load.ts';
import { follow, putAsks } from './follow.ts';
import { loadUses, type NodeUses, type UsedNode } from './node-uses.ts';
import type { WaitLimits } from './waits.ts';

export type { RestOperation } from '../../../rules/rest-open.ts';

/** A request waits no longer than this, however patient it says it is. */
const WAIT_MAX_MS = 30_000;

/** What others do with files while an operation looks at them. A snapshot's files, and what is not there, nobody uses. */
export interface Uses {
  /**
   * Throws SMBDeletePending where the file or directory is marked for deletion, or the directory in which it would be
   * made: asked first, before leases.
   */
  refusePending(found: Found): Promise<void>;
  /** Throws what the operation is refused with: asked last. `range`: what is read. */
  admit(found: Found, operation: RestOperation, range?: Slice): Promise<void>;
}

/** Where it was asked a moment ago. */
export const NOBODY: Uses = { async refusePending() {}, async admit() {} };

/** How long a request waits for SMB clients to give up what they cache. */
export interface Patience {
  readonly waitMs: number;
}

/** A transaction whose body asks for admission before it writes; runs again after a wait. */
export async function changing<T>(
  storage: Storage,
  patience: Patience,
  body: (tx: Transaction, uses: Uses) => Promise<T>,
): Promise<T> {
  const { engine, opens } = storage;
  let asked: UsedNode[] = [];
  const result = await opens.waiting(limitsOf(patience), () =>
    transact(engine, (tx) => {
      asked = [];
      const ask = (uses: NodeUses, breaks: readonly WantedBreak[]): void => {
        if (putAsks(tx, uses, opens.owner, breaks)) asked.push(uses.at);
      };
      return body(tx, new UsesIn(tx, ask));
    }),
  );
  for (const at of asked) opens.say(at);
  return result;
}

/** The same for what only reads, in one snapshot of the engine: it shows every open that was answered before. */
export async function reading<T>(
  storage: Storage,
  patience: Patience,
  body: (snapshot: Snapshot, reader: RecordReader, uses: Uses) => Promise<T>,
): Promise<T> {
  return storage.opens.waiting(limitsOf(patience), () =>
    storage.readers.inSnapshot((snapshot) => {
      const reader = snapshotReader(snapshot);
      return body(snapshot, reader, new UsesIn(reader, nothingAsked));
    }),
  );
}

const limitsOf = ({ waitMs }: Patience): WaitLimits => ({ answersMs: Math.min(waitMs, WAIT_MAX_MS), locksMs: 0 });

/** Whoever only reads breaks nothing that it does not wait for. */
function nothingAsked(_uses: NodeUses, breaks: readonly WantedBreak[]): void {
  if (breaks.length > 0) throw new Error('a read asks clients for something and does not wait for it');
}

class UsesIn implements Uses {
  readonly #reader: RecordReader;
  readonly #ask: (uses: NodeUses, breaks: readonly WantedBreak[]) => void;
  /** Each is read once. */
  readonly #read = new Map<NodeId, Promise<NodeUses>>();

  constructor(reader: RecordReader, ask: (uses: NodeUses, breaks: readonly WantedBreak[]) => void) {
    this.#reader = reader;
    this.#ask = ask;
  }

  async refusePending({ tree: { shareId }, node, parent, snapshot }: Found): Promise<void> {
    if (snapshot !== null) return;
    if (node === null) return this.#refusePendingParent(shareId, parent?.id ?? null);
    const { inUse } = await this.#usesOf({ shareId, nodeId: node.id });
    if (inUse.isPending) throw new StorageError('SMBDeletePending');
  }

  async admit({ tree: { shareId }, node, snapshot }: Found, operation: RestOperation, range?: Slice): Promise<void> {
    if (snapshot !== null || node === null) return;
    const uses = await this.#usesOf({ shareId, nodeId: node.id });
    this.#ask(uses, follow(uses, judgeRest(uses.inUse, operation, range)));
  }

  async #refusePendingParent(shareId: UsedNode['shareId'], parentId: NodeId | null): Promise<void> {
    if (parentId === null) return;
    const [pending] = await this.#reader.getMany([useKey(shareId, parentId, 'pending')]);
    if (pending) throw new StorageError('SMBDeletePending');
  }

  #usesOf(at: UsedNode): Promise<NodeUses> {
    const read = this.#read.get(at.nodeId) ?? loadUses(this.#reader, at);
    this.#read.set(at.nodeId, read);
    return read;
  }
}
