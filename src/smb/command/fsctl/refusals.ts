/** What this server does not have: referrals of DFS, more than one connection of a session, reparse points. */
import { SmbError, Status } from '../../statuses.ts';
import { type Fsctl, refuseFile } from './fsctl.ts';

export const getReferrals: Fsctl = (_context, request) => {
  refuseFile(request);
  throw new SmbError(Status.FS_DRIVER_REQUIRED);
};

export const queryNetworkInterfaceInfo: Fsctl = (_context, request) => {
  refuseFile(request);
  throw new SmbError(Status.NOT_SUPPORTED);
};

export const getReparsePoint: Fsctl = (context, { fileId }) => {
  context.open(fileId);
  throw new SmbError(Status.NOT_A_REPARSE_POINT);
};

/** Of a file or directory that is open: said to clients once, who then do without. */
export const notSupported: Fsctl = (context, { fileId }) => {
  context.open(fileId);
  throw new SmbError(Status.NOT_SUPPORTED);
};
