/** What an FSCTL is: a request of its own inside IOCTL. Whatever it throws becomes the status of the response. */
import { SmbError, Status } from '../../statuses.ts';
import { type IoctlRequest, isNoFile } from '../../wire/ioctl.ts';
import type { Context } from '../command.ts';

/** Also some failures come with an output. */
export interface FsctlAnswer {
  readonly status: Status;
  readonly output: Uint8Array;
}

export type Fsctl = (context: Context, request: IoctlRequest) => Promise<FsctlAnswer> | FsctlAnswer;

const NO_OUTPUT = new Uint8Array(0);

export const answer = (output: Uint8Array = NO_OUTPUT): FsctlAnswer => ({ status: Status.SUCCESS, output });

/** For what means no file. */
export function refuseFile({ fileId }: IoctlRequest): void {
  if (!isNoFile(fileId)) throw new SmbError(Status.INVALID_PARAMETER);
}

export function refuseShortOutput({ outputBytesMax }: IoctlRequest, outputBytes: number): void {
  if (outputBytesMax < outputBytes) throw new SmbError(Status.INVALID_PARAMETER);
}
