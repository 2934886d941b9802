/** What CREATE is answered with ([MS-SMB2] 3.3.5.9): what was opened, and the contexts that were asked for. */
import type { CreateAction } from '../../service/file/opens/open-or-create.ts';
import type { NodeRecord } from '../../service/records/node-record.ts';
import type { FileOpen } from '../session/open.ts';
import { leaseStateOf, oplockLevelOf } from '../session/oplocks.ts';
import { Status } from '../statuses.ts';
import { READING_ACCESS } from '../wire/access.ts';
import { type CreateRequest, encodeCreate, OplockLevel, summaryOf } from '../wire/create.ts';
import {
  type ContextAnswer,
  encodeDiskId,
  encodeDurable1,
  encodeDurable2,
  encodeLease,
  encodeMaximalAccess,
  LEASE_BREAK_IN_PROGRESS,
  LEASE_PARENT_KEY_SET,
} from '../wire/create-contexts.ts';
import { indexNumberOf } from '../wire/file-info.ts';
import { volumeIdOf } from '../wire/fs-info.ts';
import { type Context, type Reply, succeed } from './command.ts';

export const ACTIONS: Readonly<Record<CreateAction, number>> = { superseded: 0, opened: 1, created: 2, overwritten: 3 };

export interface Answered {
  readonly open: FileOpen;
  readonly node: NodeRecord;
  readonly action: number;
  /** The client was asked to cache less, and has not answered. */
  readonly isBreaking: boolean;
}

/** A client that comes back is told of its lease, and of nothing else that it has asked for. */
export function replyTo(
  context: Context,
  request: CreateRequest,
  answered: Answered,
  { isBack = false }: { isBack?: boolean } = {},
): Reply {
  const { open, node, action } = answered;
  const contexts = isBack ? [] : [...durableContexts(open), ...askedContexts(context, request, answered)];
  return succeed(
    encodeCreate({
      ...summaryOf(node, open),
      oplockLevel: open.lease === null ? oplockLevelOf(open.caching) : OplockLevel.LEASE,
      action,
      fileId: open.fileId,
      contexts: [...contexts, ...leaseContexts(request, answered)],
    }),
  );
}

function leaseContexts({ contexts }: CreateRequest, { open, isBreaking }: Answered): ContextAnswer[] {
  const { lease, caching } = open;
  if (lease === null) return [];
  const { version, key, epoch } = lease;
  const hasParent = version === 2 && ((contexts.lease?.flags ?? 0) & LEASE_PARENT_KEY_SET) !== 0;
  const flags = (isBreaking ? LEASE_BREAK_IN_PROGRESS : 0) | (hasParent ? LEASE_PARENT_KEY_SET : 0);
  const parentKey = hasParent ? (contexts.lease?.parentKey ?? '') : '';
  return [encodeLease({ version, key, state: leaseStateOf(caching), flags, parentKey, epoch })];
}

function durableContexts({ durability }: FileOpen): ContextAnswer[] {
  if (durability === null) return [];
  return [durability.version === 1 ? encodeDurable1() : encodeDurable2(durability.timeoutMs)];
}

function askedContexts({ tree }: Context, { contexts }: CreateRequest, { open, node }: Answered): ContextAnswer[] {
  const { maximalAccess: asked, asksForDiskId } = contexts;
  const answers: ContextAnswer[] = [];
  if (asked !== null) {
    const isUnchanged = asked.writtenAt === BigInt(node.writtenAt);
    const access = open.place === null ? tree.maximalAccess & READING_ACCESS : tree.maximalAccess;
    answers.push(
      encodeMaximalAccess(isUnchanged ? { status: Status.NONE_MAPPED, access: 0 } : { status: Status.SUCCESS, access }),
    );
  }
  if (asksForDiskId) {
    const volume = open.place === null ? 0n : volumeIdOf(open.place.shareId);
    answers.push(encodeDiskId({ file: indexNumberOf(node), volume }));
  }
  return answers;
}
