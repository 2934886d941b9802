/**
 * What the test process knows of a client's own shares. A client changes a share by one request at a time, and each changes all
 * that it changes at once: so there is the last acknowledged state and, while a request is under way, the one that it would
 * lead to; after a crash the share, with its snapshots, is in one of the two.
 */
import type { TestAccount } from '../harness/accounts.ts';

interface KnownNode {
  /** In the metadata: which request made or changed it. */
  readonly turn: string;
  /** Null: given in an answer that never came. */
  readonly etag: string | null;
  /** What a new ETag must differ from; null: nothing. */
  readonly etagBefore: string | null;
}

export interface KnownFile extends KnownNode {
  readonly kind: 'file';
  readonly bytes: Buffer;
}

export interface KnownDirectory extends KnownNode {
  readonly kind: 'directory';
}

export type Known = KnownFile | KnownDirectory;

/** By path, from the root. */
export type Tree = ReadonlyMap<string, Known>;

export interface KnownSnapshot {
  /** Null: given in an answer that never came. */
  readonly moment: string | null;
  readonly tree: Tree;
}

export interface ShareContent {
  readonly tree: Tree;
  /** Oldest first. */
  readonly snapshots: readonly KnownSnapshot[];
}

export const NO_CONTENT: ShareContent = { tree: new Map(), snapshots: [] };

export interface ShareEntry {
  readonly account: TestAccount;
  readonly name: string;
  exists: boolean;
  pendingExists: boolean | null;
  acknowledged: ShareContent;
  pending: ShareContent | null;
}

export const newShareEntry = (name: string, account: TestAccount): ShareEntry => ({
  account,
  name,
  exists: false,
  pendingExists: null,
  acknowledged: NO_CONTENT,
  pending: null,
});

export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

export const isBelow = (path: string, directory: string): boolean => path.startsWith(`${directory}/`);

export const withNode = (tree: Tree, path: string, node: Known): Tree => new Map([...tree, [path, node]]);

export const withoutNode = (tree: Tree, path: string): Tree => new Map([...tree].filter(([other]) => other !== path));

/** With all that is in it. */
export function moved(tree: Tree, path: string, to: string): Tree {
  const isMoving = (each: string): boolean => each === path || isBelow(each, path);
  const staying = [...tree].filter(([each]) => !isMoving(each) && each !== to);
  const moving = [...tree].filter(([each]) => isMoving(each));
  return new Map([...staying, ...moving.map(([each, node]) => [to + each.slice(path.length), node] as const)]);
}
