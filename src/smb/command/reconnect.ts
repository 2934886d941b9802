/**
 * CREATE by which a client comes back to what it had open when it lost its connection ([MS-SMB2] 3.3.5.9.7, 3.3.5.9.12), or asks
 * once more for what it has opened and never heard of.
 */
import { foldName } from '../../rules/file-names.ts';
import { lookAtOpen } from '../../service/file/opens/look-open.ts';
import { OpenClosed } from '../../service/file/opens/use-open.ts';
import type { CreatedOnce } from '../session/create-guids.ts';
import { clientInfoOf, comeBack } from '../session/durable.ts';
import type { FileOpen } from '../session/open.ts';
import { isVersion3 } from '../session/protocol.ts';
import { SmbError, Status } from '../statuses.ts';
import type { CreateRequest } from '../wire/create.ts';
import type { ReconnectContext } from '../wire/create-contexts.ts';
import type { Context, Reply } from './command.ts';
import { ACTIONS, replyTo } from './create-reply.ts';

export async function reconnect(context: Context, request: CreateRequest, asked: ReconnectContext): Promise<Reply> {
  const { door, tree, session } = context;
  const open = door.opens.get(asked.fileId.persistent) ?? null;
  const negotiated = context.connection.negotiated;
  if (negotiated === null || (asked.version === 2 && !isVersion3(negotiated.dialect))) {
    throw new SmbError(Status.INVALID_PARAMETER);
  }
  if (open === null || !isMeant(open, request, { asked, clientGuid: negotiated.clientGuid })) throw notFound();
  if (open.name.account !== session.account) throw new SmbError(Status.ACCESS_DENIED);
  if (open.name.share !== tree.share) throw notFound();
  const { path } = await lookAtOpen(door.storage, open).catch(lateAsNotFound);
  if (open.lease !== null && !isPath(request.name, path)) throw new SmbError(Status.INVALID_PARAMETER);
  // Another request may have been first.
  if (open.isClosed || open.tree !== null) throw notFound();
  await comeBack(door, open, { tree, client: clientInfoOf(session) }).catch(lateAsNotFound);
  context.opened(open);
  return answer(context, request, { open, action: ACTIONS.opened }, { isBack: true });
}

const notFound = (): SmbError => new SmbError(Status.OBJECT_NAME_NOT_FOUND);

function lateAsNotFound(error: unknown): never {
  throw error instanceof OpenClosed ? notFound() : error;
}

const NO_GUID = '0'.repeat(32);

/** Either version comes back to either. Of its lease the client says the key; of what it cached it need not say anything. */
function isMeant(
  { durability, tree, lease }: FileOpen,
  { contexts: { lease: wanted } }: CreateRequest,
  { asked, clientGuid }: { asked: ReconnectContext; clientGuid: string },
): boolean {
  if (durability === null || tree !== null) return false;
  if (asked.version === 2 && (durability.createGuid ?? NO_GUID) !== asked.createGuid) return false;
  if (lease === null || wanted === null) return lease === null && wanted === null;
  return lease.clientGuid === clientGuid && lease.key === wanted.key && lease.version === wanted.version;
}

const isPath = (name: string, path: readonly string[]): boolean => foldName(name) === foldName(path.join('\\'));

/** A request that was sent again: what it has opened may be without a connection by now. */
export async function replay(context: Context, request: CreateRequest, created: CreatedOnce): Promise<Reply> {
  const { door, tree, session } = context;
  const { open } = created;
  if (!isSameCache(open, request) || open.name.account !== session.account || open.name.share !== tree.share) {
    throw new SmbError(Status.ACCESS_DENIED);
  }
  if (open.tree === null) await comeBack(door, open, { tree, client: clientInfoOf(session) }).catch(lateAsNotFound);
  else if (open.tree !== tree) throw new SmbError(Status.DUPLICATE_OBJECTID);
  context.opened(open);
  return answer(context, request, created);
}

/** What was opened with an oplock is not asked for with a lease, nor with the key of another. */
function isSameCache({ lease, durability }: FileOpen, { contexts: { lease: wanted } }: CreateRequest): boolean {
  if (lease === null) return wanted === null || durability === null;
  return lease.key === wanted?.key;
}

async function answer(
  context: Context,
  request: CreateRequest,
  created: CreatedOnce,
  options: { isBack?: boolean } = {},
): Promise<Reply> {
  const { node } = await lookAtOpen(context.door.storage, created.open);
  const isBreaking = created.open.lease?.isBreaking ?? false;
  return replyTo(context, request, { ...created, node, isBreaking }, options);
}
