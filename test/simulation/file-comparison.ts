/** Holds the store against the model: every share and every snapshot, with all names, bytes and leases, as reads give them. */

import { foldName } from '../../src/rules/file-names.ts';
import { leaseAt } from '../../src/rules/lease.ts';
import type { Moment } from '../../src/rules/moment.ts';
import { getFile } from '../../src/service/file/get-file.ts';
import { listEntries } from '../../src/service/file/list-entries.ts';
import { listShares } from '../../src/service/file/list-shares.ts';
import { getDirectory } from '../../src/service/file/use-directory.ts';
import type { Storage } from '../../src/service/storage.ts';
import { ACCOUNT, gather } from '../harness/store.ts';
import { fileNameOf, requestOf } from './file-action.ts';
import { type FileModel, type ModelDirectory, type ModelNode, type Path, told } from './file-model.ts';

/** So that the marks between pages are tried, too. */
const PAGE_ENTRIES = 2;

/** Shares and snapshots by their names, in words. */
export type StoredShares = ReadonlyMap<string, string>;

export async function storedShares(storage: Storage): Promise<StoredShares> {
  const stored = new Map<string, string>();
  for (const { name, snapshot } of await allShares(storage)) {
    stored.set(nameOf(name, snapshot), told(await readDirectory(storage, { share: name, snapshot }, [])));
  }
  return stored;
}

export function isStored(model: FileModel, stored: StoredShares): boolean {
  const wanted = new Map<string, string>();
  for (const [name, { root, snapshots }] of model.shares) {
    wanted.set(nameOf(name, null), told(root));
    for (const [moment, tree] of snapshots) wanted.set(nameOf(name, moment), told(tree));
  }
  return wanted.size === stored.size && [...wanted].every(([name, words]) => stored.get(name) === words);
}

const nameOf = (share: string, snapshot: Moment | null): string => `${share} ${snapshot ?? 'now'}`;

async function allShares(storage: Storage): Promise<{ name: string; snapshot: Moment | null }[]> {
  const request = { account: ACCOUNT, prefix: '', limit: PAGE_ENTRIES, includeSnapshots: true, includeDeleted: true };
  const shares: { name: string; snapshot: Moment | null }[] = [];
  for (let from: string | null = ''; from !== null; ) {
    const page: Awaited<ReturnType<typeof listShares>> = await listShares(storage, { ...request, from });
    shares.push(...page.shares);
    from = page.next;
  }
  return shares;
}

interface Where {
  readonly share: string;
  readonly snapshot: Moment | null;
}

async function readDirectory(storage: Storage, where: Where, path: Path): Promise<ModelDirectory> {
  const name = fileNameOf(where.share, path, where.snapshot);
  const { node } = await getDirectory(storage, { name, waitMs: 0 });
  const entries = new Map<string, ModelNode>();
  for (let from: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof listEntries>> = await listEntries(storage, {
      name,
      waitMs: 0,
      prefix: '',
      from,
      limit: PAGE_ENTRIES,
    });
    for (const entry of page.entries) {
      const below = [...path, entry.name];
      const read = entry.kind === 'file' ? readFile(storage, where, below) : readDirectory(storage, where, below);
      entries.set(foldName(entry.name), await read);
    }
    if (page.next === null) break;
    from = page.next;
  }
  const { id, etag, metadata } = node;
  return { kind: 'directory', id, name: node.name, etag, metadata, entries };
}

async function readFile(storage: Storage, { share, snapshot }: Where, path: Path): Promise<ModelNode> {
  const request = { ...requestOf(share, path), name: fileNameOf(share, path, snapshot), range: null };
  const { node, nowMs, bytes } = await getFile(storage, request);
  const { id, name, etag, metadata } = node;
  return { kind: 'file', id, name, etag, metadata, bytes: await gather(bytes), lease: leaseAt(node.lease, nowMs) };
}
