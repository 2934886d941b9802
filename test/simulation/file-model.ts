/**
 * What shares should hold, as nothing but trees of maps, never changed in place: a write gives another model, so that
 * several orders of the same writes can be tried out, and a snapshot is just the tree. Only what cannot be foretold comes
 * from the store: ids, ETags and moments.
 */
import { hash } from 'node:crypto';
import { foldName } from '../../src/rules/file-names.ts';
import { AVAILABLE, type Lease } from '../../src/rules/lease.ts';
import type { Moment } from '../../src/rules/moment.ts';
import type { Metadata } from '../../src/rules/names.ts';

interface Node {
  readonly id: string;
  readonly name: string;
  readonly etag: string;
  readonly metadata: Metadata;
}

export interface ModelFile extends Node {
  readonly kind: 'file';
  readonly bytes: Buffer;
  readonly lease: Lease;
}

export interface ModelDirectory extends Node {
  readonly kind: 'directory';
  /** By their folded names, in no order. */
  readonly entries: ReadonlyMap<string, ModelNode>;
}

export type ModelNode = ModelFile | ModelDirectory;

export interface ModelShare {
  readonly root: ModelDirectory;
  readonly snapshots: ReadonlyMap<Moment, ModelDirectory>;
}

export type Path = readonly string[];

export class FileModel {
  readonly shares: ReadonlyMap<string, ModelShare>;

  constructor(shares: ReadonlyMap<string, ModelShare> = new Map()) {
    this.shares = shares;
  }

  find(name: string): ModelShare | null {
    return this.shares.get(name) ?? null;
  }

  /** Null: the share, or this snapshot of it, is not there. */
  rootOf(name: string, snapshot: Moment | null): ModelDirectory | null {
    const share = this.find(name);
    return snapshot === null ? (share?.root ?? null) : (share?.snapshots.get(snapshot) ?? null);
  }

  with(name: string, share: Partial<ModelShare>): FileModel {
    const before = this.find(name) ?? { root: share.root as ModelDirectory, snapshots: new Map() };
    return new FileModel(new Map([...this.shares, [name, { ...before, ...share }]]));
  }

  without(name: string): FileModel {
    return new FileModel(new Map([...this.shares].filter(([other]) => other !== name)));
  }

  /** Null: nothing has this name any more. */
  put(name: string, path: Path, node: ModelNode | null): FileModel {
    const { root } = this.find(name) as ModelShare;
    return this.with(name, { root: placed(root, path, node) });
  }
}

/** What stands at the end of a way; or why there is no such way. Null: nothing. */
export type Met = { readonly refusal: string } | { readonly node: ModelNode | null };

export function meet(root: ModelDirectory | null, path: Path): Met {
  if (root === null) return { refusal: 'ShareNotFound' };
  let node: ModelNode | null = root;
  for (const name of path) {
    if (node?.kind !== 'directory') return { refusal: 'ParentNotFound' };
    node = node.entries.get(foldName(name)) ?? null;
  }
  return { node };
}

function placed(directory: ModelDirectory, [first = '', ...rest]: Path, node: ModelNode | null): ModelDirectory {
  if (first === '') return node as ModelDirectory;
  const entries = new Map(directory.entries);
  const name = foldName(first);
  if (rest.length > 0) entries.set(name, placed(entries.get(name) as ModelDirectory, rest, node));
  else if (node === null) entries.delete(name);
  else entries.set(name, node);
  return { ...directory, entries };
}

/** Every path below, with what stands there. */
export function* everything(directory: ModelDirectory, above: Path = []): Generator<readonly [Path, ModelNode]> {
  for (const node of directory.entries.values()) {
    const path = [...above, node.name];
    yield [path, node];
    if (node.kind === 'directory') yield* everything(node, path);
  }
}

/** As a directory lists them. */
export const inOrder = ({ entries }: ModelDirectory): ModelNode[] =>
  [...entries].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(([, node]) => node);

/** As a snapshot shows it: leases are the files' own. */
export function withoutLeases(directory: ModelDirectory): ModelDirectory {
  const entries = [...directory.entries].map(([key, node]): [string, ModelNode] => [
    key,
    node.kind === 'directory' ? withoutLeases(node) : { ...node, lease: AVAILABLE },
  ]);
  return { ...directory, entries: new Map(entries) };
}

/** A node with all that is in it, in words by which two of them are compared. */
export function told(node: ModelNode): string {
  const { id, name, etag, metadata } = node;
  const own = JSON.stringify([name, id, etag, metadata]);
  if (node.kind === 'directory') return `${own} { ${inOrder(node).map(told).join('; ')} }`;
  return `${own} ${node.bytes.length} ${hash('sha1', node.bytes)} ${toldLease(node.lease)}`;
}

export const toldLease = (lease: Lease): string => `${lease.state} ${'id' in lease ? lease.id : ''}`;
