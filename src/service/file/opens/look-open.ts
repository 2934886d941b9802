/**
 * A look at something that an SMB client has open, as it is now, or in a snapshot as it was: nobody has to give up for that
 * what they cache.
 */
import { decodeDescriptor, type SecurityDescriptor } from '../../../rules/security-descriptor.ts';
import { UnreadableRecord } from '../../records/codec.ts';
import { permissionKey } from '../../records/file-keys.ts';
import type { NodeRecord } from '../../records/node-record.ts';
import type { RecordReader } from '../../records/record-reader.ts';
import type { ShareRecord } from '../../records/share-record.ts';
import type { Storage } from '../../storage.ts';
import { StorageError } from '../../storage-error.ts';
import type { Path } from '../load.ts';
import { usedBytes } from '../usage.ts';
import { PlaceReader } from './place-reader.ts';
import { readThrough, type Seen, type ThroughOpen } from './through-open.ts';
import type { Waiter } from './waits.ts';

export interface NodeLook {
  readonly share: ShareRecord;
  readonly node: NodeRecord;
  /** Marked for deletion. */
  readonly isPending: boolean;
}

export interface OpenLook extends NodeLook {
  /** From the root, as names are written; in a snapshot as it was asked for. */
  readonly path: Path;
}

const lookOf = ({ found: { share, node }, inUse: { isPending } }: Seen): NodeLook => ({ share, node, isPending });

/** Without its path, which takes a read for each directory above it. */
export async function lookAtNode(storage: Storage, open: ThroughOpen, waiter: Waiter = {}): Promise<NodeLook> {
  return readThrough(storage, open, waiter, async (_snapshot, seen) => lookOf(seen));
}

export async function lookAtOpen(storage: Storage, open: ThroughOpen, waiter: Waiter = {}): Promise<OpenLook> {
  return readThrough(storage, open, waiter, async (_snapshot, seen, reader) => ({
    ...lookOf(seen),
    path: await pathOf(reader, open, seen),
  }));
}

async function pathOf(reader: RecordReader, { name }: ThroughOpen, { found }: Seen): Promise<Path> {
  const { tree, node, snapshot } = found;
  if (snapshot !== null) return name.path.map((asked, index) => (index + 1 < name.path.length ? asked : node.name));
  const placed = await new PlaceReader(reader, tree).pathOf(node.id);
  if (placed === null) throw new StorageError('ResourceNotFound');
  return placed.path;
}

export async function lookAtDescriptor(
  storage: Storage,
  open: ThroughOpen,
  waiter: Waiter = {},
): Promise<SecurityDescriptor> {
  return readThrough(storage, open, waiter, async (_snapshot, { found: { tree, node } }, reader) => {
    const [value] = await reader.getMany([permissionKey(tree, node.permission)]);
    const descriptor = value ? decodeDescriptor(value) : null;
    if (descriptor === null || 'refusal' in descriptor) {
      throw new UnreadableRecord(`no descriptor has the key ${node.permission}`);
    }
    return descriptor;
  });
}

export interface ShareLook {
  readonly share: ShareRecord;
  /** What the lengths of its files sum up to. */
  readonly usedBytes: number;
}

/** At the share that it is in. */
export async function lookAtShare(storage: Storage, open: ThroughOpen, waiter: Waiter = {}): Promise<ShareLook> {
  return readThrough(storage, open, waiter, async (_snapshot, { found: { share, tree } }, reader) => ({
    share,
    usedBytes: await usedBytes(reader, tree),
  }));
}
