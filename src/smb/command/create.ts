/** CREATE ([MS-SMB2] 3.3.5.9): opens a file, directory or pipe, and makes it where that is asked for. */
import { ChangeFilter, WRITTEN } from '../../rules/file-change.ts';
import { type Caching, cachesHandle } from '../../rules/oplock.ts';
import { DELETES, WRITES } from '../../rules/share-mode.ts';
import { type CreateAction, type OpenOrCreated, openOrCreate } from '../../service/file/opens/open-or-create.ts';
import type { AppInstance } from '../../service/file/opens/use-record.ts';
import { openPipe } from '../pipe/open-pipe.ts';
import { closeOpen } from '../session/close-open.ts';
import { type CreatedOnce, type CreateGuid, creatingOnce, findCreated } from '../session/create-guids.ts';
import { clientInfoOf, durabilityOf } from '../session/durable.ts';
import { noteChange } from '../session/note-change.ts';
import type { FileOpen } from '../session/open.ts';
import { ClientOfOpen, cachingOfLevel, cachingOfState } from '../session/oplocks.ts';
import { isVersion3 } from '../session/protocol.ts';
import { newVolatileId } from '../session/volatile-id.ts';
import { SmbError, Status } from '../statuses.ts';
import { APPEND_DATA, DELETE, READING_ACCESS, shareAccessOf, WRITE_DATA } from '../wire/access.ts';
import { type CreateRequest, decodeCreate, OplockLevel } from '../wire/create.ts';
import type { DurableContext, LeaseContext } from '../wire/create-contexts.ts';
import { allocationOf } from '../wire/file-info.ts';
import { FLAG_REPLAY } from '../wire/header.ts';
import { type Command, type Context, waiterOf } from './command.ts';
import { ACTIONS, type Answered, replyTo } from './create-reply.ts';
import { type CreateTerms, termsOf } from './create-terms.ts';
import { reconnect, replay } from './reconnect.ts';

export const create: Command<CreateRequest> = {
  decode: decodeCreate,
  async handle(context, request) {
    const { tree, door, session } = context;
    if (tree.share === null) return openPipe(context, request);
    if (request.contexts.reconnect !== null) return reconnect(context, request, request.contexts.reconnect);
    const terms = termsOf(request, tree);
    const guid = createGuidOf(context, request);
    const replayed = guid === null ? null : replayOf(context, guid);
    if (replayed !== null) return replay(context, request, replayed);
    if (session.opens.size >= door.limits.openCountMax) throw new SmbError(Status.TOO_MANY_OPENED_FILES);
    const client = new ClientOfOpen(door);
    const made = await creatingOnce(door, guid, () => open(context, request, { terms, client }));
    context.opened(made.open);
    const reply = replyTo(context, request, made);
    return { ...reply, onEncoded: () => client.answered() };
  },
};

async function open(
  context: Context,
  request: CreateRequest,
  { terms, client }: { terms: CreateTerms; client: ClientOfOpen },
): Promise<Answered> {
  const { door, session, tree } = context;
  const { clientGuid } = negotiatedOf(context);
  const lease = leaseOf(context, request);
  const { path, snapshot, access, ...asked } = terms;
  const opened = await openOrCreate(
    door.storage,
    {
      ...asked,
      name: { account: session.account, share: tree.share as string, path, snapshot },
      access: shareAccessOf(access),
      share: request.shareAccess,
      descriptor: request.contexts.descriptor,
      allocationBytes: Number(request.contexts.allocationBytes ?? 0n),
      client: clientInfoOf(session),
      ...cachingOf(request, lease, clientGuid),
      ...instanceOf(context, request),
      leasedNode: () => (lease === null ? null : (door.leases.find(clientGuid, lease.key)?.at ?? null)),
    },
    client,
    waiterOf(context),
  );
  const made = register(context, { request, terms, lease, opened, client });
  note(context, made, opened.action);
  return { open: made, action: ACTIONS[opened.action], node: opened.node, isBreaking: opened.isBreaking };
}

const negotiatedOf = ({ connection }: Context): NonNullable<Context['connection']['negotiated']> => {
  if (connection.negotiated === null) throw new SmbError(Status.INVALID_PARAMETER);
  return connection.negotiated;
};

/** What was asked for of a lease, in the dialects that know such a one. */
function leaseOf(context: Context, { oplockLevel, contexts: { lease } }: CreateRequest): LeaseContext | null {
  if (lease === null || oplockLevel !== OplockLevel.LEASE) return null;
  return lease.version === 2 && !isVersion3(negotiatedOf(context).dialect) ? null : lease;
}

/** The same. */
function durableOf(context: Context, { contexts: { durable } }: CreateRequest): DurableContext | null {
  return durable?.version === 2 && !isVersion3(negotiatedOf(context).dialect) ? null : durable;
}

/** Of an open that is to be durable. */
function instanceOf(context: Context, request: CreateRequest): { instance?: AppInstance } {
  const id = request.contexts.appInstanceId;
  if (id === null || durableOf(context, request)?.version !== 2) return {};
  return { instance: { id, clientGuid: negotiatedOf(context).clientGuid } };
}

const LEASE_BITS = 0x7;

function cachingOf(
  { oplockLevel }: CreateRequest,
  lease: LeaseContext | null,
  clientGuid: string,
): { caching: Caching; leaseKey?: string } {
  if (lease === null) return { caching: cachingOfLevel(oplockLevel) };
  return { caching: cachingOfState(lease.state & LEASE_BITS) ?? '', leaseKey: `${clientGuid} ${lease.key}` };
}

// ---- what was opened

function register(
  context: Context,
  {
    request,
    terms,
    lease: asked,
    opened,
    client,
  }: {
    request: CreateRequest;
    terms: CreateTerms;
    lease: LeaseContext | null;
    opened: OpenOrCreated;
    client: ClientOfOpen;
  },
): FileOpen {
  const { door, session, tree } = context;
  const { clientGuid } = negotiatedOf(context);
  const { node, place, caching, isBreaking } = opened;
  const isLeasable = asked !== null && place !== null && node.kind === 'file';
  const lease = isLeasable ? door.leases.grant(asked, { clientGuid, at: place, caching, isBreaking }) : null;
  const open: FileOpen = {
    kind: node.kind,
    openId: opened.id,
    fileId: { persistent: BigInt(opened.handleId), volatile: newVolatileId(session) },
    tree,
    isClosed: false,
    place,
    name: opened.name,
    access: grantedOf(terms, opened),
    mode: request.options,
    deletesOnClose: terms.deletesOnClose,
    caching,
    lease,
    durability: null,
    hasWritten: false,
    positionBytes: 0n,
    reservedBytes: reservedOf(request, opened),
    frozen: { writtenAt: false, changedAt: false },
    cursor: null,
    watch: null,
    lockSequences: new Map(),
    resumeKey: null,
  };
  const durable = durableOf(context, request);
  if (durable !== null && isDurable(open)) open.durability = durabilityOf(durable, clientGuid);
  session.opens.set(open.fileId.volatile, open);
  door.opens.set(open.fileId.persistent, open);
  lease?.opens.add(open);
  refuseVain(context, open, { client, isMisled: isLeasable && lease === null });
  return open;
}

/** The first version of leases and the oplocks before them know nothing else that keeps a handle. */
const isDurable = ({ kind, place, caching, lease }: FileOpen): boolean =>
  kind === 'file' && place !== null && (lease === null ? caching === 'RWH' : cachesHandle(caching));

/** Whatever ended while it was opened took it along, and of two who took one key for two files one is too late. */
function refuseVain(
  { door, session, tree }: Context,
  open: FileOpen,
  { client, isMisled }: { client: ClientOfOpen; isMisled: boolean },
): void {
  const isOver = session.isEnded || session.trees.get(tree.id) !== tree;
  const isHeld = client.opened(open);
  if (isHeld && !isOver && !isMisled) return;
  void closeOpen(door, open).catch((error: unknown) =>
    door.log.error('SMB: a file that was opened in vain could not be closed', error),
  );
  if (isMisled) throw new SmbError(Status.INVALID_PARAMETER);
  throw new SmbError(isOver ? Status.NETWORK_NAME_DELETED : Status.FILE_CLOSED);
}

/** Of what is opened as it is, nobody asks for more. */
const reservedOf = ({ contexts: { allocationBytes } }: CreateRequest, { node, action }: OpenOrCreated): number =>
  node.kind === 'file' && action !== 'opened' ? allocationOf(Number(allocationBytes ?? 0n)) : 0;

function grantedOf({ access, isAtMost }: CreateTerms, { access: granted, name }: OpenOrCreated): number {
  if (!isAtMost) return access;
  if (name.snapshot !== null) return access & READING_ACCESS;
  return (
    access & ~((granted & WRITES) === 0 ? WRITE_DATA | APPEND_DATA : 0) & ~((granted & DELETES) === 0 ? DELETE : 0)
  );
}

function note({ door }: Context, open: FileOpen, action: CreateAction): void {
  if (action === 'opened') return;
  if (action === 'created') noteChange(door, { what: 'added', at: open });
  else noteChange(door, { what: 'modified', at: open, filter: WRITTEN | ChangeFilter.ATTRIBUTES });
}

// ---- requests that are sent again

function createGuidOf(context: Context, request: CreateRequest): CreateGuid | null {
  const durable = durableOf(context, request);
  if (durable?.version !== 2) return null;
  return { clientGuid: negotiatedOf(context).clientGuid, createGuid: durable.createGuid };
}

function replayOf({ door, header }: Context, guid: CreateGuid): CreatedOnce | null {
  const created = findCreated(door, guid);
  if (created === undefined) return null;
  if ((header.flags & FLAG_REPLAY) === 0) throw new SmbError(Status.DUPLICATE_OBJECTID);
  if (created === null) throw new SmbError(Status.FILE_NOT_AVAILABLE);
  return created;
}
