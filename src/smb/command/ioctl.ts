/** IOCTL: what is asked for by a code ([MS-SMB2] 3.3.5.15), each in a file of its own (fsctl/). */
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { SmbError, Status } from '../statuses.ts';
import { decodeIoctl, encodeIoctl, FsctlCode, type IoctlRequest } from '../wire/ioctl.ts';
import type { Command, Context, Reply } from './command.ts';
import { getCompression, setCompression } from './fsctl/compression.ts';
import { copyChunks, copyChunksWrite } from './fsctl/copy-chunk.ts';
import { enumerateSnapshots } from './fsctl/enumerate-snapshots.ts';
import type { Fsctl } from './fsctl/fsctl.ts';
import { createOrGetObjectId } from './fsctl/object-id.ts';
import { pipeTransceive, pipeWait } from './fsctl/pipe.ts';
import { getReferrals, getReparsePoint, notSupported, queryNetworkInterfaceInfo } from './fsctl/refusals.ts';
import { requestResumeKey } from './fsctl/resume-key.ts';
import { queryAllocatedRanges, setSparse, setZeroData } from './fsctl/sparse.ts';
import { validateNegotiateInfo } from './fsctl/validate-negotiate-info.ts';

const FSCTLS: ReadonlyMap<number, Fsctl> = new Map<number, Fsctl>([
  [FsctlCode.DFS_GET_REFERRALS, getReferrals],
  [FsctlCode.DFS_GET_REFERRALS_EX, getReferrals],
  [FsctlCode.GET_COMPRESSION, getCompression],
  [FsctlCode.SET_REPARSE_POINT, notSupported],
  [FsctlCode.GET_REPARSE_POINT, getReparsePoint],
  [FsctlCode.DELETE_REPARSE_POINT, getReparsePoint],
  [FsctlCode.CREATE_OR_GET_OBJECT_ID, createOrGetObjectId],
  [FsctlCode.SET_SPARSE, setSparse],
  [FsctlCode.QUERY_ALLOCATED_RANGES, queryAllocatedRanges],
  [FsctlCode.SET_ZERO_DATA, setZeroData],
  [FsctlCode.SET_COMPRESSION, setCompression],
  [FsctlCode.PIPE_WAIT, pipeWait],
  [FsctlCode.PIPE_TRANSCEIVE, pipeTransceive],
  [FsctlCode.SRV_REQUEST_RESUME_KEY, requestResumeKey],
  [FsctlCode.LMR_REQUEST_RESILIENCY, notSupported],
  [FsctlCode.QUERY_NETWORK_INTERFACE_INFO, queryNetworkInterfaceInfo],
  [FsctlCode.VALIDATE_NEGOTIATE_INFO, validateNegotiateInfo],
  [FsctlCode.SRV_ENUMERATE_SNAPSHOTS, enumerateSnapshots],
  [FsctlCode.SRV_COPYCHUNK, copyChunks],
  [FsctlCode.SRV_COPYCHUNK_WRITE, copyChunksWrite],
]);

export const ioctl: Command<IoctlRequest> = {
  decode: decodeIoctl,

  async handle(context: Context, request: IoctlRequest): Promise<Reply> {
    if (!request.isFsctl) throw new SmbError(Status.NOT_SUPPORTED);
    const lengths = [request.input.length, request.inputBytesMax, request.outputBytesMax];
    if (lengths.some((lengthBytes) => lengthBytes > TRANSACT_BYTES_MAX)) throw new SmbError(Status.INVALID_PARAMETER);
    const fsctl = FSCTLS.get(request.code);
    if (fsctl === undefined) throw new SmbError(Status.INVALID_DEVICE_REQUEST);
    const { status, output } = await fsctl(context, request);
    return { status, body: [encodeIoctl(request, output.length), output] };
  },
};
