/**
 * One page of what is in a directory that an SMB client has open, from one snapshot of the engine, in the order of folded
 * names. What is marked for deletion is there until it is closed. The next page begins at a name, so that whatever stays in the
 * directory meanwhile is told once, however others come and go.
 */
import type { NamePattern } from '../../../rules/name-pattern.ts';
import type { DirectoryRecord } from '../../records/node-record.ts';
import type { RecordReader } from '../../records/record-reader.ts';
import type { Storage } from '../../storage.ts';
import { currentEntries, type Entry, pastEntries, type Walk } from '../entries.ts';
import { type FoundDirectory, refuseUnlessDirectory } from '../load.ts';
import { readThrough, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

/** Entries read at a time. */
const STEP_ROWS_MAX = 500;
const STEP_GROWTH = 4;
/** Entries looked at for a page, however few of them match: a snapshot is not held for longer. */
const PAGE_ROWS_MAX = 10_000;

export interface ListOpenRequest {
  readonly pattern: NamePattern;
  /** The folded name to begin at; null: the first. */
  readonly from: string | null;
  readonly limit: number;
}

export interface OpenPage {
  readonly directory: DirectoryRecord;
  /** The root is its own. */
  readonly parent: DirectoryRecord;
  readonly entries: readonly Entry[];
  /** The folded name to go on from; null at the end. */
  readonly next: string | null;
}

export async function listOpen(
  storage: Storage,
  open: ThroughOpen,
  { pattern, from, limit }: ListOpenRequest,
  waiter: Waiter = {},
): Promise<OpenPage> {
  return readThrough(storage, open, waiter, async (_snapshot, { found }, reader) => {
    refuseUnlessDirectory(found);
    const page = { directory: found.node, parent: found.parent ?? found.node };
    const entries: Entry[] = [];
    let rowCount = 0;
    for await (const entry of entriesFrom(reader, found, { pattern, from, limit: pattern.isName ? 1 : limit })) {
      if (entries.length === limit || rowCount++ === PAGE_ROWS_MAX) return { ...page, entries, next: entry.name };
      if (pattern.matches(entry.name)) entries.push(entry);
      // No other has this name, though there may be many that begin with it.
      if (pattern.isName) break;
    }
    return { ...page, entries, next: null };
  });
}

/** The first name behind this one: no name has a control character. */
export const nameAfter = (name: string): string => `${name}\x01`;

/** In steps that grow: a page needs as many rows as it has entries, or nearly all, if few of them match. */
async function* entriesFrom(
  reader: RecordReader,
  found: FoundDirectory,
  { pattern: { prefix }, from, limit }: ListOpenRequest,
): AsyncGenerator<Entry> {
  let start = from ?? '';
  // One more than the page: it tells whether there is a next one.
  let stepRows = Math.min(limit + 1, STEP_ROWS_MAX);
  for (;;) {
    let count = 0;
    for await (const entry of walk(reader, found, { prefix, from: start, stepRows })) {
      yield entry;
      start = nameAfter(entry.name);
      if (++count === stepRows) break;
    }
    if (count < stepRows) return;
    stepRows = Math.min(stepRows * STEP_GROWTH, STEP_ROWS_MAX);
  }
}

function walk(
  reader: RecordReader,
  { tree, node, snapshot }: FoundDirectory,
  span: Pick<Walk, 'prefix' | 'from' | 'stepRows'>,
): AsyncGenerator<Entry> {
  const within: Walk = { ...span, tree, parentId: node.id };
  return snapshot === null ? currentEntries(reader, within) : pastEntries(reader, within, snapshot.epoch);
}
