/**
 * After a restart: whether every share is in a state that the journal allows, with every file in it and in each of its
 * snapshots, to the byte. What a request under way at the crash did is then known, and the journal goes on.
 */
import type { ShareClient, ShareDirectoryClient } from '@azure/storage-file-share';
import { type Reachable, refusalOf } from '../harness/clients.ts';
import { shareClient, shareService } from '../harness/file-clients.ts';
import {
  type Known,
  type KnownSnapshot,
  NO_CONTENT,
  type ShareContent,
  type ShareEntry,
  type Tree,
} from './file-journal.ts';

export interface ReadNode {
  readonly turn: string | undefined;
  readonly etag: string | undefined;
  /** Null: a directory. */
  readonly bytes: Buffer | null;
}

export type ReadTree = ReadonlyMap<string, ReadNode>;

interface ReadShare {
  readonly tree: ReadTree;
  /** By their moments, oldest first. */
  readonly snapshots: ReadonlyMap<string, ReadTree>;
}

export class FileVerification {
  readonly #server: Reachable;
  readonly findings: string[] = [];
  /** How many shares were found as a request under way at the crash had left them. */
  tookEffectCount = 0;

  constructor(server: Reachable) {
    this.#server = server;
  }

  async share(share: ShareEntry): Promise<void> {
    const read = await this.#read(share);
    const exists = read !== null;
    if (exists !== share.exists && exists !== share.pendingExists) {
      this.findings.push(`share ${share.name}: expected it to ${share.exists ? '' : 'not '}exist`);
    }
    if (exists !== share.exists) this.tookEffectCount += 1;
    share.exists = exists;
    share.pendingExists = null;
    // All or nothing: a share goes with everything in it.
    if (read === null) share.acknowledged = NO_CONTENT;
    else this.#settle(share, read);
    share.pending = null;
  }

  #settle(share: ShareEntry, read: ReadShare): void {
    const { acknowledged, pending } = share;
    const differences: string[] = [];
    for (const candidate of pending === null ? [acknowledged] : [acknowledged, pending]) {
      const difference = shareDifference(candidate, read);
      if (difference === null) {
        if (candidate !== acknowledged) this.tookEffectCount += 1;
        share.acknowledged = withAnswers(candidate, read);
        return;
      }
      differences.push(difference);
    }
    const sentence = differences.join('; and as the request under way would have left it: ');
    this.findings.push(`share ${share.name}: ${sentence}`);
  }

  /** Null: there is no such share. */
  async #read({ name, account }: ShareEntry): Promise<ReadShare | null> {
    const client = shareClient(this.#server, name, account);
    const tree = await client
      .getProperties()
      .then(() => readTree(client))
      .catch((error: unknown) => {
        if (refusalOf(error).code === 'ShareNotFound') return null;
        throw error;
      });
    if (tree === null) return null;
    const snapshots = new Map<string, ReadTree>();
    for await (const listed of shareService(this.#server, account).listShares({
      prefix: name,
      includeSnapshots: true,
    })) {
      if (listed.name !== name || listed.snapshot === undefined) continue;
      snapshots.set(listed.snapshot, await readTree(client.withSnapshot(listed.snapshot)));
    }
    return { tree, snapshots };
  }
}

export async function readTree(share: ShareClient): Promise<ReadTree> {
  const tree = new Map<string, ReadNode>();
  const walk = async (directory: ShareDirectoryClient, above: string): Promise<void> => {
    for await (const { kind, name } of directory.listFilesAndDirectories()) {
      const path = above === '' ? name : `${above}/${name}`;
      if (kind === 'directory') {
        const inner = directory.getDirectoryClient(name);
        const { metadata, etag } = await inner.getProperties();
        tree.set(path, { turn: metadata?.['turn'], etag, bytes: null });
        await walk(inner, path);
        continue;
      }
      const file = directory.getFileClient(name);
      const { metadata, etag, readableStreamBody } = await file.download();
      const pieces: Uint8Array[] = [];
      for await (const piece of readableStreamBody ?? []) pieces.push(Buffer.from(piece));
      tree.set(path, { turn: metadata?.['turn'], etag, bytes: Buffer.concat(pieces) });
    }
  };
  await walk(share.rootDirectoryClient, '');
  return tree;
}

/** Where what was read departs from a state; null where it does not. */
function shareDifference(wanted: ShareContent, read: ReadShare): string | null {
  const difference = treeDifference(wanted.tree, read.tree);
  if (difference !== null) return difference;
  const matched = matchSnapshots(wanted.snapshots, read);
  if (matched === null) {
    const moments = wanted.snapshots.map(({ moment }) => moment ?? 'one more');
    return `snapshots [${[...read.snapshots.keys()].join()}], expected [${moments.join()}]`;
  }
  for (const [{ tree }, moment] of matched) {
    const inside = treeDifference(tree, read.snapshots.get(moment) as ReadTree);
    if (inside !== null) return `in snapshot ${moment}: ${inside}`;
  }
  return null;
}

/** One whose answer never came is the newest, under any moment. Null: they differ. */
function matchSnapshots(
  wanted: readonly KnownSnapshot[],
  { snapshots }: ReadShare,
): (readonly [KnownSnapshot, string])[] | null {
  const moments = [...snapshots.keys()].sort();
  if (moments.length !== wanted.length) return null;
  const matched = wanted.map((snapshot, index) => [snapshot, moments[index] as string] as const);
  return matched.every(([{ moment }, found]) => moment === null || moment === found) ? matched : null;
}

function treeDifference(wanted: Tree, read: ReadTree): string | null {
  for (const path of read.keys()) if (!wanted.has(path)) return `${path} is there`;
  for (const [path, node] of wanted) {
    const difference = nodeDifference(node, read.get(path) ?? null);
    if (difference !== null) return `${path} ${difference}`;
  }
  return null;
}

function nodeDifference(node: Known, read: ReadNode | null): string | null {
  if (read === null) return 'is missing';
  if ((read.bytes === null) !== (node.kind === 'directory')) return `is no ${node.kind}`;
  if (read.turn !== node.turn) return `is of turn ${read.turn}, expected ${node.turn}`;
  if (node.etag === null ? read.etag === node.etagBefore : read.etag !== node.etag) {
    return `has ETag ${read.etag}, expected ${node.etag ?? `any but ${node.etagBefore}`}`;
  }
  if (node.kind === 'directory' || read.bytes === null || read.bytes.equals(node.bytes)) return null;
  return `has ${read.bytes.length} bytes, expected ${node.bytes.length}, or others`;
}

const answered = (tree: Tree, found: ReadTree): Tree =>
  new Map([...tree].map(([path, node]) => [path, { ...node, etag: found.get(path)?.etag ?? null }]));

/** The state with what the answer would have told that never came. */
function withAnswers(state: ShareContent, read: ReadShare): ShareContent {
  return {
    tree: answered(state.tree, read.tree),
    snapshots: (matchSnapshots(state.snapshots, read) ?? []).map(([{ tree }, moment]) => ({
      moment,
      tree: answered(tree, read.snapshots.get(moment) as ReadTree),
    })),
  };
}
