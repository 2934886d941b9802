/** Short forms of the operations that change or show the tree of a TestShare, and a picture of all of it. */
import type { EntryKind } from '../../src/rules/file-attributes.ts';
import { foldName } from '../../src/rules/file-names.ts';
import type { Moment } from '../../src/rules/moment.ts';
import { deleteDirectory } from '../../src/service/file/delete-directory.ts';
import { deleteFile } from '../../src/service/file/delete-file.ts';
import { type ListedNode, listEntries } from '../../src/service/file/list-entries.ts';
import { NO_CHANGES } from '../../src/service/file/properties.ts';
import { type RenameRequest, renameNode } from '../../src/service/file/rename.ts';
import type { NodeRecord } from '../../src/service/records/node-record.ts';
import type { TestShare } from './file-store.ts';

const LIMIT_MAX = 5_000;

interface Place {
  readonly kind: EntryKind;
  readonly source: string;
  readonly destination: string;
}

export function renameRequest(
  share: TestShare,
  { kind, source, destination }: Place,
  options: Partial<RenameRequest> = {},
): RenameRequest {
  return {
    kind,
    source: share.nameOf(source),
    destination: share.nameOf(destination),
    replaces: false,
    ignoresReadOnly: false,
    sourceLeaseId: null,
    destinationLeaseId: null,
    properties: NO_CHANGES,
    metadata: null,
    contentType: null,
    waitMs: 0,
    ...options,
  };
}

export async function renameFile(
  share: TestShare,
  source: string,
  destination: string,
  options?: Partial<RenameRequest>,
): Promise<NodeRecord> {
  const request = renameRequest(share, { kind: 'file', source, destination }, options);
  return (await renameNode(share.store.storage, request)).node;
}

export async function renameDirectory(
  share: TestShare,
  source: string,
  destination: string,
  options?: Partial<RenameRequest>,
): Promise<NodeRecord> {
  const request = renameRequest(share, { kind: 'directory', source, destination }, options);
  return (await renameNode(share.store.storage, request)).node;
}

export const removeFile = (share: TestShare, path: string, leaseId: string | null = null): Promise<void> =>
  deleteFile(share.store.storage, share.requestOf(path, { leaseId }));

export const removeDirectory = (share: TestShare, path: string): Promise<void> =>
  deleteDirectory(share.store.storage, share.requestOf(path));

export interface Listing {
  readonly snapshot?: Moment | null;
  readonly prefix?: string;
  readonly from?: string | null;
  readonly limit?: number;
}

/** All of it, page by page. */
export async function listAll(
  share: TestShare,
  path = '',
  { snapshot = null, prefix = '', from: first = null, limit = LIMIT_MAX }: Listing = {},
): Promise<{ entries: ListedNode[]; pageSizes: number[] }> {
  const entries: ListedNode[] = [];
  const pageSizes: number[] = [];
  for (let from = first; ; ) {
    const request = { name: share.nameOf(path, snapshot), waitMs: 0, prefix, from, limit };
    const page = await listEntries(share.store.storage, request);
    entries.push(...page.entries);
    pageSizes.push(page.entries.length);
    if (page.next === null) return { entries, pageSizes };
    from = page.next;
  }
}

export const namesIn = async (share: TestShare, path = '', listing: Listing = {}): Promise<string[]> =>
  (await listAll(share, path, listing)).entries.map(({ name }) => name);

/** Every path: of directories with a slash behind it, of files with what they hold. */
export async function pictureOf(share: TestShare, snapshot: Moment | null = null, path = ''): Promise<string[]> {
  const lines: string[] = [];
  for (const node of (await listAll(share, path, { snapshot })).entries) {
    const inside = path === '' ? node.name : `${path}/${node.name}`;
    if (node.kind === 'file') {
      lines.push(`${inside} ${(await share.read(inside, snapshot)).toString('latin1')}`);
    } else {
      lines.push(`${inside}/`, ...(await pictureOf(share, snapshot, inside)));
    }
  }
  return lines;
}

/** As a listing orders them. */
export const byName = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(foldName(a)), Buffer.from(foldName(b)));
