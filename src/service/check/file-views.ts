/**
 * The tree of a share as it is and as each snapshot sees it: in every view a directory stands at one place, whatever
 * stands in one finds it there, and from everywhere the way up leads to the root. Only directories are remembered, and of
 * what is in them, in which views there is something: files may be very many.
 */
import { type NodeId, ROOT_ID } from '../records/node-record.ts';

/** The tree as it is; any other view is an epoch that a snapshot keeps. */
export const NOW = Number.POSITIVE_INFINITY;

/** A state of a node, as long as it lasted. */
export interface Standing {
  readonly parentId: NodeId;
  readonly since: number;
  /** `NOW`: it is the current one. */
  readonly last: number;
}

interface Directory extends Standing {
  readonly id: NodeId;
}

export class FileViews {
  /** Ascending, with `NOW`. */
  readonly #views: readonly number[];
  readonly #directories: Directory[] = [];
  /** By directory: the views in which something is in it. */
  readonly #used = new Map<NodeId, Set<number>>();
  readonly #rootViews = new Set<number>();

  constructor(snapshotEpochs: readonly number[]) {
    this.#views = [...snapshotEpochs, NOW];
  }

  /** Whether a view has it. */
  isSeen(standing: Pick<Standing, 'since' | 'last'>): boolean {
    return this.#views.some((view) => isIn(standing, view));
  }

  root(standing: Pick<Standing, 'since' | 'last'>): void {
    for (const view of this.#viewsOf(standing)) this.#rootViews.add(view);
  }

  file(standing: Standing): void {
    this.#use(standing);
  }

  directory(directory: Directory): void {
    this.#directories.push(directory);
    this.#use(directory);
  }

  /** What is wrong, a sentence each, that goes on after the name of the share. */
  problems(): string[] {
    return this.#views.flatMap((view) => this.#problemsIn(view));
  }

  #problemsIn(view: number): string[] {
    const where = view === NOW ? '' : `, in the snapshot of epoch ${view}`;
    const parents = new Map<NodeId, NodeId>();
    const problems: string[] = this.#rootViews.has(view) ? [] : [`has no root${where}`];
    for (const { id, parentId, ...standing } of this.#directories) {
      if (!isIn(standing, view)) continue;
      if (parents.has(id)) problems.push(`has directory ${id} in two places${where}`);
      parents.set(id, parentId);
    }
    for (const [id, views] of this.#used) {
      if (id !== ROOT_ID && views.has(view) && !parents.has(id)) {
        problems.push(`has an entry in directory ${id}, which does not exist${where}`);
      }
    }
    const rooted = new Set<NodeId>([ROOT_ID]);
    for (const id of parents.keys()) {
      if (!isRooted(id, parents, rooted)) problems.push(`has directory ${id} inside itself${where}`);
    }
    return problems;
  }

  #use(standing: Standing): void {
    const used = this.#used.get(standing.parentId) ?? new Set();
    this.#used.set(standing.parentId, used);
    for (const view of this.#viewsOf(standing)) used.add(view);
  }

  #viewsOf(standing: Pick<Standing, 'since' | 'last'>): number[] {
    return this.#views.filter((view) => isIn(standing, view));
  }
}

const isIn = ({ since, last }: Pick<Standing, 'since' | 'last'>, view: number): boolean =>
  since <= view && view <= last;

/** Whether the way up from here ends; where it ends is another question. Notes in `rooted` what it learns. */
function isRooted(id: NodeId, parents: ReadonlyMap<NodeId, NodeId>, rooted: Set<NodeId>): boolean {
  const way = new Set<NodeId>();
  for (let at: NodeId | undefined = id; at !== undefined && !rooted.has(at); at = parents.get(at)) {
    if (way.has(at)) {
      // Said once for each ring.
      for (const each of way) rooted.add(each);
      return false;
    }
    way.add(at);
  }
  for (const each of way) rooted.add(each);
  return true;
}
