/** CREATE on IPC$: opens a pipe. */
import { type Context, type Reply, succeed } from '../command/command.ts';
import type { PipeOpen } from '../session/open.ts';
import type { Session } from '../session/session.ts';
import { newVolatileId } from '../session/volatile-id.ts';
import { SmbError, Status } from '../statuses.ts';
import { type CreateRequest, encodeCreate, OplockLevel } from '../wire/create.ts';
import { openRpcPipe } from './open-rpc-pipe.ts';

/** Of one session: each may hold a long answer that its client has not read. */
const PIPE_COUNT_MAX = 64;

const ACTION_OPENED = 1;
const ATTRIBUTE_NORMAL = 0x80;

export function openPipe(context: Context, { name }: Pick<CreateRequest, 'name'>): Reply {
  const { door, session, tree } = context;
  const pipe = openRpcPipe(name, { storage: door.storage, account: session.account });
  if (pipe === null) throw new SmbError(Status.OBJECT_NAME_NOT_FOUND);
  const isFull = session.opens.size >= door.limits.openCountMax || pipeCount(session) >= PIPE_COUNT_MAX;
  if (isFull) throw new SmbError(Status.TOO_MANY_OPENED_FILES);
  const volatile = newVolatileId(session);
  const fileId = { persistent: volatile, volatile };
  const open: PipeOpen = { kind: 'pipe', fileId, tree, isClosed: false, access: tree.maximalAccess, pipe };
  session.opens.set(volatile, open);
  context.opened(open);
  return succeed(
    encodeCreate({
      oplockLevel: OplockLevel.NONE,
      action: ACTION_OPENED,
      createdAt: 0n,
      accessedAt: 0n,
      writtenAt: 0n,
      changedAt: 0n,
      allocationBytes: 4_096,
      lengthBytes: 0,
      attributes: ATTRIBUTE_NORMAL,
      fileId,
      contexts: [],
    }),
  );
}

function pipeCount({ opens }: Session): number {
  let count = 0;
  for (const { kind } of opens.values()) if (kind === 'pipe') count++;
  return count;
}
