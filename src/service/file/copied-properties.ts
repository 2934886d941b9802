/** The properties that a copy shares with SMB: what the request says, what the source has, or what is usual for a new file. */
import type { Transaction } from '../../engine/transact.ts';
import { ARCHIVE } from '../../rules/file-attributes.ts';
import type { FileTime } from '../../rules/file-time.ts';
import { UnreadableRecord } from '../records/codec.ts';
import { permissionKey } from '../records/file-keys.ts';
import type { FileRecord } from '../records/node-record.ts';
import type { Storage } from '../storage.ts';
import type { FoundFile } from './load.ts';
import type { PermissionChoice } from './permissions.ts';
import { type Common, newProperties, type TimeChoice } from './properties.ts';

/** `source`: as the source has it; what is no file has nothing of the kind, and then it is as for null. Null: as usual. */
export interface CopiedProperties {
  readonly attributes: number | 'source' | null;
  readonly createdAt: TimeChoice | 'source';
  readonly writtenAt: TimeChoice | 'source';
  readonly changedAt: TimeChoice | 'source';
  readonly permission: PermissionChoice | 'source';
  /** Marked to be archived, whatever the attributes are otherwise. */
  readonly setsArchive: boolean;
}

export async function copiedProperties(
  tx: Transaction,
  storage: Storage,
  at: Parameters<typeof newProperties>[2] & { readonly source: FoundFile | null },
  chosen: CopiedProperties,
): Promise<Common> {
  const { source } = at;
  const from = source?.node ?? null;
  const common = await newProperties(tx, storage, at, {
    attributes: null,
    createdAt: timeOf(chosen.createdAt, from?.createdAt),
    writtenAt: timeOf(chosen.writtenAt, from?.writtenAt),
    changedAt: changeTimeOf(chosen.changedAt, from?.changedAt),
    permission: await permissionFor(tx, at, chosen.permission),
  });
  const attributes = attributesOf(chosen, from) ?? common.attributes;
  return { ...common, attributes: chosen.setsArchive ? attributes | ARCHIVE : attributes };
}

const attributesOf = ({ attributes }: CopiedProperties, from: FileRecord | null): number | null =>
  attributes === 'source' ? (from?.attributes ?? null) : attributes;

function timeOf(chosen: TimeChoice | 'source', ofSource: FileTime | undefined): TimeChoice {
  if (chosen !== 'source') return chosen;
  return ofSource === undefined ? null : { at: ofSource };
}

/** What is not said is now. */
function changeTimeOf(chosen: CopiedProperties['changedAt'], ofSource: FileTime | undefined): FileTime | null {
  const time = timeOf(chosen, ofSource);
  return time === 'now' ? null : (time?.at ?? null);
}

/** Each share keeps its own descriptors. */
async function permissionFor(
  tx: Transaction,
  { tree, source }: { readonly tree: FoundFile['tree']; readonly source: FoundFile | null },
  chosen: PermissionChoice | 'source',
): Promise<PermissionChoice> {
  if (chosen !== 'source') return chosen;
  if (source === null) return { kind: 'unsaid' };
  const key = source.node.permission;
  if (source.tree.shareId === tree.shareId) return { kind: 'key', key };
  const descriptor = await tx.get(permissionKey(source.tree, key));
  if (descriptor === null) throw new UnreadableRecord(`no descriptor has the key ${key}`);
  return { kind: 'descriptor', descriptor };
}
