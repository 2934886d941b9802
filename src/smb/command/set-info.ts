/** SET_INFO ([MS-SMB2] 3.3.5.21): by what is set, of files (set-file-info.ts) or of their security. */
import { ChangeFilter } from '../../rules/file-change.ts';
import { setOpenSecurity } from '../../service/file/opens/set-open.ts';
import { noteChange } from '../session/note-change.ts';
import type { FileOpen } from '../session/open.ts';
import { SmbError, Status } from '../statuses.ts';
import { ACCESS_SYSTEM_SECURITY, WRITE_DAC, WRITE_OWNER } from '../wire/access.ts';
import { decodeSetInfo, InfoType, SET_INFO_RESPONSE, type SetInfoRequest } from '../wire/set-info.ts';
import { type Command, type Context, succeed, waiterOf } from './command.ts';
import { refuseWithoutAll } from './granted.ts';
import { setFileInfo } from './set-file-info.ts';

export const setInfo: Command<SetInfoRequest> = {
  decode: decodeSetInfo,
  async handle(context, request) {
    const open = context.open(request.fileId);
    switch (request.infoType) {
      case InfoType.FILE:
        await setFileInfo(context, open, request);
        break;
      case InfoType.SECURITY:
        await setSecurity(context, open, request);
        break;
      case InfoType.FILESYSTEM:
        throw new SmbError(FS_CLASSES.has(request.infoClass) ? Status.NOT_SUPPORTED : Status.INVALID_INFO_CLASS);
      case InfoType.QUOTA:
        throw new SmbError(Status.NOT_SUPPORTED);
      default:
        throw new SmbError(Status.INVALID_PARAMETER);
    }
    return succeed(SET_INFO_RESPONSE);
  },
};

/** Those of a volume that [MS-FSCC] 2.5 has for setting: its label, quotas, object id. */
const FS_CLASSES: ReadonlySet<number> = new Set([2, 6, 8]);

const OWNER = 0x1;
const GROUP = 0x2;
const DACL = 0x4;
const SACL = 0x8;
/** Integrity labels, resource attributes and central policies by themselves. */
const OTHER_PARTS = 0x70;

async function setSecurity(
  context: Context,
  open: FileOpen,
  { additionalInformation, buffer }: SetInfoRequest,
): Promise<void> {
  const asksFor = (part: number): boolean => (additionalInformation & part) !== 0;
  if (asksFor(OWNER | GROUP)) refuseWithoutAll(open, WRITE_OWNER);
  if (asksFor(DACL)) refuseWithoutAll(open, WRITE_DAC);
  if (asksFor(SACL)) refuseWithoutAll(open, ACCESS_SYSTEM_SECURITY);
  if (!asksFor(OWNER | GROUP | DACL | SACL)) {
    if (asksFor(OTHER_PARTS)) throw new SmbError(Status.NOT_SUPPORTED);
    return;
  }
  const parts = { owner: asksFor(OWNER), group: asksFor(GROUP), dacl: asksFor(DACL), sacl: asksFor(SACL) };
  const set = { parts, descriptor: buffer, keepsChangedAt: open.frozen.changedAt };
  await setOpenSecurity(context.door.storage, open, set, waiterOf(context));
  noteChange(context.door, { what: 'modified', at: open, filter: ChangeFilter.SECURITY });
}
