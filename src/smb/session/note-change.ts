/**
 * Telling whoever watches directories what a client has done to files: called by the commands once it is done, before they
 * answer. It costs nothing where nobody watches the share, never fails and is not waited for; what is noted first is told
 * first.
 */
import type { Snapshot } from '../../engine/engine.ts';
import type { EntryKind } from '../../rules/file-attributes.ts';
import { type FileChange, nameFilterOf, renameSteps } from '../../rules/file-change.ts';
import type { Found } from '../../service/file/load.ts';
import type { FileNews } from '../../service/file/opens/changes.ts';
import type { UsedPlace } from '../../service/file/opens/open-node.ts';
import { PlaceReader } from '../../service/file/opens/place-reader.ts';
import type { TreeAddress } from '../../service/records/file-keys.ts';
import type { NodeId } from '../../service/records/node-record.ts';
import { snapshotReader } from '../../service/records/record-reader.ts';
import type { Door } from './door.ts';

/** Something that is there, by its id: a FileOpen is one. What is in a snapshot does not change. */
export interface ChangedNode {
  readonly kind: EntryKind;
  readonly place: UsedPlace | null;
}

/** Something by its directory and its name, as it is spelled: also what is gone. */
export interface ChangedName {
  readonly kind: EntryKind;
  readonly tree: TreeAddress;
  readonly parentId: NodeId;
  readonly name: string;
}

export type Change =
  | { readonly what: 'added' | 'removed'; readonly at: ChangedNode | ChangedName }
  /** `filter`: the bits of ChangeFilter (rules/file-change.ts) that it concerns. */
  | { readonly what: 'modified'; readonly at: ChangedNode | ChangedName; readonly filter: number }
  | { readonly what: 'renamed'; readonly from: ChangedName; readonly to: ChangedName }
  /** A directory is marked for deletion: whoever watches it is told so. Of files nothing is. */
  | { readonly what: 'deleting'; readonly at: ChangedNode };

/** What a path has led to. */
export const changedNameOf = ({ tree, place, name }: Found, kind: EntryKind): ChangedName => ({
  kind,
  tree,
  parentId: place.parentId,
  name,
});

export function noteChange({ storage }: Door, change: Change): void {
  const tree = treeOf(change);
  if (tree === null || !storage.fileChanges.isWatched(tree.shareId)) return;
  storage.fileChanges.say(tree.shareId, async () => {
    // The directories above may be gone with the client's next request.
    const snapshot = storage.engine.snapshot();
    return newsOf(snapshot, tree, change).finally(() => snapshot.close());
  });
}

function treeOf(change: Change): TreeAddress | null {
  const at = change.what === 'renamed' ? change.to : change.at;
  return 'parentId' in at ? at.tree : at.place;
}

async function newsOf(snapshot: Snapshot, tree: TreeAddress, change: Change): Promise<FileNews | null> {
  const { shareId } = tree;
  if (change.what === 'deleting') {
    const { kind, place } = change.at;
    return kind === 'file' || place === null ? null : { what: 'deleting', shareId, directoryId: place.nodeId };
  }
  const places = new PlaceReader(snapshotReader(snapshot), tree);
  const changes = change.what === 'renamed' ? await renameOf(places, change) : await changeOf(places, change);
  return changes.length === 0 ? null : { what: 'changes', shareId, changes };
}

async function changeOf(
  places: PlaceReader,
  change: Exclude<Change, { what: 'renamed' | 'deleting' }>,
): Promise<readonly FileChange[]> {
  const way = await wayTo(places, change.at);
  if (way === null) return [];
  const filter = change.what === 'modified' ? change.filter : nameFilterOf(change.at.kind);
  return [{ kind: change.what, filter, ...way }];
}

async function renameOf(
  places: PlaceReader,
  { from, to }: Extract<Change, { what: 'renamed' }>,
): Promise<readonly FileChange[]> {
  const ways = { from: await wayBelow(places, from), to: await wayBelow(places, to) };
  const steps = renameSteps(to.kind, from.parentId === to.parentId);
  return steps.map(({ kind, filter, at }) => ({ kind, filter, ...ways[at] }));
}

type Way = Pick<FileChange, 'parentIds' | 'path'>;

/** Null: it is gone by now, or the root, which is in no directory. */
async function wayTo(places: PlaceReader, at: ChangedNode | ChangedName): Promise<Way | null> {
  if ('parentId' in at) return wayBelow(places, at);
  return at.place === null ? null : places.wayTo(at.place.nodeId);
}

async function wayBelow(places: PlaceReader, { parentId, name }: ChangedName): Promise<Way> {
  const above = (await places.wayTo(parentId)) ?? { parentIds: [], path: [] };
  return { parentIds: [parentId, ...above.parentIds], path: [...above.path, name] };
}
