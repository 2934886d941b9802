/**
 * What is told of changes to whoever watches a directory ([MS-SMB2] 2.2.35, [MS-FSCC] 2.7.1): which changes concern which
 * bits of a filter, and what of an act a watch hears.
 */
import type { EntryKind } from './file-attributes.ts';

/** FILE_NOTIFY_CHANGE_…: what a watch wants to hear of, and what a change is a change of. */
export const ChangeFilter = {
  FILE_NAME: 0x1,
  DIR_NAME: 0x2,
  ATTRIBUTES: 0x4,
  SIZE: 0x8,
  LAST_WRITE: 0x10,
  LAST_ACCESS: 0x20,
  CREATION: 0x40,
  EA: 0x80,
  SECURITY: 0x100,
} as const;

/** Bytes were written, or cut. */
export const WRITTEN = ChangeFilter.SIZE | ChangeFilter.LAST_WRITE;

export type ChangeKind = 'added' | 'removed' | 'modified' | 'renamed from' | 'renamed to';

export interface FileChange {
  readonly kind: ChangeKind;
  /** The bits that it concerns. */
  readonly filter: number;
  /** The directories above it, the nearest first: up to the root, or as far as they are known. */
  readonly parentIds: readonly string[];
  /** The names on the way from the last of those, its own at the end. */
  readonly path: readonly string[];
}

export const nameFilterOf = (entry: EntryKind): number =>
  entry === 'file' ? ChangeFilter.FILE_NAME : ChangeFilter.DIR_NAME;

/** One step of an act: what happened to the name before it, or after it. */
export interface ActStep {
  readonly kind: ChangeKind;
  readonly filter: number;
  readonly at: 'from' | 'to';
}

/**
 * From one directory to another it is gone here and new there. A file's new name is also told to those who want to hear of
 * attributes only.
 */
export function renameSteps(entry: EntryKind, isSameDirectory: boolean): readonly ActStep[] {
  const filter = nameFilterOf(entry);
  const steps: ActStep[] = [
    { kind: isSameDirectory ? 'renamed from' : 'removed', filter, at: 'from' },
    { kind: isSameDirectory ? 'renamed to' : 'added', filter, at: 'to' },
  ];
  const attributes = ChangeFilter.ATTRIBUTES | ChangeFilter.CREATION;
  return entry === 'file' ? [...steps, { kind: 'modified', filter: attributes, at: 'to' }] : steps;
}

/** What a watch is set on. */
export interface WatchScope {
  readonly directoryId: string;
  /** Everything below it, and not only what is in it. */
  readonly isTree: boolean;
  readonly filter: number;
}

export interface ToldChange {
  readonly kind: ChangeKind;
  /** On the way from the watched directory. */
  readonly path: readonly string[];
}

/** Of the changes of one act. Whoever hears of a name is not told of its attributes as well. */
export function toldOf(changes: readonly FileChange[], scope: WatchScope): readonly ToldChange[] {
  const told: ToldChange[] = [];
  const named = new Set<string>();
  for (const { kind, filter, parentIds, path } of changes) {
    const depth = parentIds.indexOf(scope.directoryId);
    if ((filter & scope.filter) === 0 || depth < 0 || (depth > 0 && !scope.isTree)) continue;
    const below = path.slice(-(depth + 1));
    const name = below.join('\\');
    if (kind === 'modified' && named.has(name)) continue;
    named.add(name);
    told.push({ kind, path: below });
  }
  return told;
}
