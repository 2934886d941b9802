/**
 * List Directories and Files: one page of what is in a directory, from one snapshot of the engine. Files and directories stand
 * together, in the order of their folded names. What SMB clients have marked for deletion is left out.
 */
import { foldName } from '../../rules/file-names.ts';
import type { DirectoryRecord, FileRecord, NodeRecord } from '../records/node-record.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { Storage } from '../storage.ts';
import { currentEntries, type Entry, pastEntries, type Walk } from './entries.ts';
import { type FoundDirectory, findNode, refuseNoDirectory } from './load.ts';
import { reading } from './opens/admit.ts';
import { pendingIn } from './opens/pending.ts';
import type { NodeRequest } from './request.ts';

/** Entries read at a time. */
const STEP_ROWS = 500;

export interface ListEntriesRequest extends NodeRequest {
  /** In any case. */
  readonly prefix: string;
  /** The folded name to begin at; null: the first. */
  readonly from: string | null;
  readonly limit: number;
}

/** Without what can be long and no listing shows: a page of it would take many times as much as what is told. */
export type ListedNode = Omit<DirectoryRecord, 'metadata'> | Omit<FileRecord, 'metadata' | 'headers' | 'copy'>;

export interface EntryPage {
  readonly directory: DirectoryRecord;
  readonly entries: readonly ListedNode[];
  /** The folded name that the next page begins at; null at the end. */
  readonly next: string | null;
}

export async function listEntries(storage: Storage, request: ListEntriesRequest): Promise<EntryPage> {
  return reading(storage, request, async (_snapshot, reader) => {
    const found = await findNode(reader, request.name, storage.known);
    refuseNoDirectory(found);
    const entries: ListedNode[] = [];
    for await (const { name, node } of entriesOf(reader, found, request)) {
      if (entries.length === request.limit) return { directory: found.node, entries, next: name };
      entries.push(asListed(node));
    }
    return { directory: found.node, entries, next: null };
  });
}

function asListed(record: NodeRecord): ListedNode {
  const { metadata: _metadata, ...node } = record;
  if (node.kind === 'directory') return node;
  const { headers: _headers, copy: _copy, ...listed } = node;
  return listed;
}

async function* entriesOf(
  reader: RecordReader,
  { tree, node, snapshot }: FoundDirectory,
  { prefix, from, limit }: ListEntriesRequest,
): AsyncGenerator<Entry> {
  const walk: Walk = {
    tree,
    parentId: node.id,
    prefix: foldName(prefix),
    from: from ?? '',
    // One more than the page: it tells whether there is a next one.
    stepRows: Math.min(STEP_ROWS, limit + 1),
  };
  if (snapshot !== null) {
    yield* pastEntries(reader, walk, snapshot.epoch);
    return;
  }
  const pending = await pendingIn(reader, tree);
  for await (const entry of currentEntries(reader, walk)) if (!pending.has(entry.node.id)) yield entry;
}
