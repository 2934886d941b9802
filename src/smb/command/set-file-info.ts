/** SET_INFO of a file or directory, by class ([MS-FSA] 2.1.5.15): what an open must be allowed for it, and what it does. */
import { ChangeFilter, WRITTEN } from '../../rules/file-change.ts';
import { allocateOpen } from '../../service/file/opens/allocate-open.ts';
import { renameOpen } from '../../service/file/opens/rename-open.ts';
import { resizeOpen } from '../../service/file/opens/resize-open.ts';
import { setOpenProperties } from '../../service/file/opens/set-open.ts';
import { changedNameOf, noteChange } from '../session/note-change.ts';
import type { FileOpen } from '../session/open.ts';
import { SmbError, Status } from '../statuses.ts';
import { DELETE, WRITE_ATTRIBUTES, WRITE_DATA, WRITE_EA } from '../wire/access.ts';
import type { BasicInfo, TimeSetting } from '../wire/basic-info.ts';
import { allocationOf } from '../wire/file-info.ts';
import type { RenameInfo } from '../wire/rename-info.ts';
import { decodeFileSetting } from '../wire/set-file-info.ts';
import type { SetInfoRequest } from '../wire/set-info.ts';
import { type Context, waiterOf } from './command.ts';
import { refuseWithoutAll } from './granted.ts';
import { writingThrough } from './writing-through.ts';

export async function setFileInfo(
  context: Context,
  open: FileOpen,
  { infoClass, buffer }: SetInfoRequest,
): Promise<void> {
  const setting = decodeFileSetting(infoClass, buffer);
  switch (setting.what) {
    case 'basic':
      refuseWithoutAll(open, WRITE_ATTRIBUTES);
      return setBasicInfo(context, open, setting.info);
    case 'rename':
      refuseWithoutAll(open, DELETE);
      return rename(context, open, setting.info);
    case 'disposition':
      refuseWithoutAll(open, DELETE);
      return setDisposition(context, open, setting.isMarked);
    case 'end of file':
      refuseUnlessWritable(open);
      return resize(context, open, setting.lengthBytes);
    case 'allocation':
      refuseUnlessWritable(open);
      return allocate(context, open, setting.allocationBytes);
    case 'position':
      open.positionBytes = setting.positionBytes;
      return;
    case 'mode':
      return setMode(open, setting.mode);
    case 'extended attributes':
      refuseWithoutAll(open, WRITE_EA);
      if (!setting.isEmpty) throw new SmbError(Status.EAS_NOT_SUPPORTED);
      return;
    case 'valid data length':
      refuseUnlessWritable(open);
      throw new SmbError(Status.PRIVILEGE_NOT_HELD);
  }
}

function refuseUnlessWritable(open: FileOpen): void {
  refuseWithoutAll(open, WRITE_DATA);
  if (open.kind === 'directory') throw new SmbError(Status.INVALID_PARAMETER);
}

// ---- attributes and times

async function setBasicInfo(context: Context, open: FileOpen, info: BasicInfo): Promise<void> {
  const set = {
    attributes: info.attributes === 0 ? null : info.attributes,
    createdAt: timeOf(info.createdAt),
    accessedAt: timeOf(info.accessedAt),
    writtenAt: timeOf(info.writtenAt),
    changedAt: timeOf(info.changedAt),
  };
  const keepsChangedAt = isFrozen(open.frozen.changedAt, info.changedAt);
  if (Object.values(set).some((value) => value !== null)) {
    await setOpenProperties(context.door.storage, open, { ...set, keepsChangedAt }, waiterOf(context));
  }
  open.frozen.changedAt = keepsChangedAt;
  open.frozen.writtenAt = isFrozen(open.frozen.writtenAt, info.writtenAt);
  const filter =
    (set.attributes === null ? 0 : ChangeFilter.ATTRIBUTES) |
    (set.createdAt === null ? 0 : ChangeFilter.CREATION) |
    (set.accessedAt === null ? 0 : ChangeFilter.LAST_ACCESS) |
    (set.writtenAt === null ? 0 : ChangeFilter.LAST_WRITE);
  if (filter !== 0) noteChange(context.door, { what: 'modified', at: open, filter });
}

const timeOf = (time: TimeSetting): string | null => (typeof time === 'string' ? null : time.at);

/** A time that is set stays what it was set to, whatever is written through the same open. */
const isFrozen = (isNow: boolean, time: TimeSetting): boolean => (time === 'keep' ? isNow : time !== 'thaw');

// ---- names

async function rename(context: Context, open: FileOpen, info: RenameInfo): Promise<void> {
  const { door } = context;
  const { source, destination, replaced } = await renameOpen(door.storage, open, info, waiterOf(context));
  const to = changedNameOf(destination, open.kind);
  if (replaced !== null) {
    noteChange(door, { what: 'removed', at: { ...to, kind: replaced.kind, name: replaced.name } });
  }
  noteChange(door, { what: 'renamed', from: changedNameOf(source, open.kind), to });
}

async function setDisposition(context: Context, open: FileOpen, isMarked: boolean): Promise<void> {
  const { door } = context;
  if (open.place === null) throw new SmbError(Status.ACCESS_DENIED);
  await door.storage.opens.markForDeletion(open.openId, isMarked, waiterOf(context));
  if (isMarked) noteChange(door, { what: 'deleting', at: open });
}

// ---- sizes

async function resize(context: Context, open: FileOpen, toBytes: number): Promise<void> {
  await resizeOpen(context.door.storage, open, { toBytes, ...writingThrough(open) }, waiterOf(context));
  open.reservedBytes = 0;
  noteChange(context.door, { what: 'modified', at: open, filter: WRITTEN });
}

async function allocate(context: Context, open: FileOpen, allocationBytes: number): Promise<void> {
  const wish = { allocationBytes, keepsChangedAt: open.frozen.changedAt };
  const isRoom = await allocateOpen(context.door.storage, open, wish, waiterOf(context));
  if (!isRoom) await resize(context, open, allocationBytes);
  open.reservedBytes = allocationOf(allocationBytes);
}

// ---- what is the open's own

const WRITE_THROUGH = 0x2;
const SEQUENTIAL_ONLY = 0x4;
const NO_INTERMEDIATE_BUFFERING = 0x8;
const SYNCHRONOUS_ALERT = 0x10;
const SYNCHRONOUS_NONALERT = 0x20;
const SYNCHRONOUS = SYNCHRONOUS_ALERT | SYNCHRONOUS_NONALERT;
const MODES = WRITE_THROUGH | SEQUENTIAL_ONLY | NO_INTERMEDIATE_BUFFERING | SYNCHRONOUS;

function setMode(open: FileOpen, mode: number): void {
  if ((mode & ~MODES) !== 0 || (mode & SYNCHRONOUS) === SYNCHRONOUS) throw new SmbError(Status.INVALID_PARAMETER);
  open.mode = (open.mode & ~MODES) | mode;
}
