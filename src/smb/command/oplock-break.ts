/** OPLOCK_BREAK ([MS-SMB2] 3.3.5.22): a client says what it goes on to cache, after it was asked to cache less. */
import type { Caching } from '../../rules/oplock.ts';
import type { FileOpen } from '../session/open.ts';
import { cachingOfLevel, cachingOfState, setCaching } from '../session/oplocks.ts';
import { SmbError, Status } from '../statuses.ts';
import { OplockLevel } from '../wire/create.ts';
import {
  decodeOplockBreak,
  encodeLeaseAnswer,
  encodeOplockBreak,
  type OplockBreakRequest,
} from '../wire/oplock-break.ts';
import { type Command, type Context, type Reply, succeed } from './command.ts';

export const oplockBreak: Command<OplockBreakRequest> = {
  decode: decodeOplockBreak,
  handle: (context, request) =>
    request.kind === 'oplock' ? answerOplock(context, request) : answerLease(context, request),
};

async function answerOplock(
  context: Context,
  { fileId, level }: Extract<OplockBreakRequest, { kind: 'oplock' }>,
): Promise<Reply> {
  const open = context.open(fileId);
  if (level === OplockLevel.LEASE || open.lease !== null) throw new SmbError(Status.INVALID_PARAMETER);
  const isLevel = level === OplockLevel.NONE || level === OplockLevel.LEVEL_II;
  const answer = isLevel ? await keep(context, open, cachingOfLevel(level)) : 'too much';
  // Whoever answers so keeps nothing, and others wait no longer.
  if (answer === 'too much') await keep(context, open, '');
  if (answer !== 'acknowledged') throw new SmbError(Status.INVALID_OPLOCK_PROTOCOL);
  return succeed(encodeOplockBreak({ fileId: open.fileId, level }));
}

async function keep({ door }: Context, open: FileOpen, caching: Caching) {
  const answer = await door.storage.opens.acknowledge(open.openId, caching);
  if (answer === 'acknowledged') {
    open.caching = caching;
    if (open.durability !== null) open.durability.isBreaking = false;
  }
  return answer;
}

async function answerLease(
  { door, connection }: Context,
  { key, state }: Extract<OplockBreakRequest, { kind: 'lease' }>,
): Promise<Reply> {
  const lease = door.leases.find(connection.negotiated?.clientGuid ?? '', key);
  const [open] = lease?.opens ?? [];
  if (lease === null || open === undefined) throw new SmbError(Status.OBJECT_NAME_NOT_FOUND);
  const caching = cachingOfState(state);
  if (caching === null) throw new SmbError(lease.isBreaking ? Status.REQUEST_NOT_ACCEPTED : Status.UNSUCCESSFUL);
  const answer = await door.storage.opens.acknowledge(open.openId, caching);
  if (answer === 'not breaking') throw new SmbError(Status.UNSUCCESSFUL);
  if (answer === 'too much') throw new SmbError(Status.REQUEST_NOT_ACCEPTED);
  lease.isBreaking = false;
  setCaching(lease, caching);
  return succeed(encodeLeaseAnswer({ key, state }));
}
