/** PIPE_TRANSCEIVE and PIPE_WAIT ([MS-SMB2] 3.3.5.15.4, 3.3.5.15.10). There is always one more of a pipe: nobody waits. */
import { openRpcPipe } from '../../pipe/open-rpc-pipe.ts';
import { SmbError, Status } from '../../statuses.ts';
import { decodePipeWait } from '../../wire/pipe-wait.ts';
import { decodeOrRefuse } from '../decode-or-refuse.ts';
import { transceivePipe } from '../pipe-io.ts';
import { answer, type Fsctl, refuseFile } from './fsctl.ts';

export const pipeTransceive: Fsctl = async (context, { fileId, input, outputBytesMax }) => {
  const open = context.anyOpen(fileId);
  if (open.kind !== 'pipe') throw new SmbError(Status.INVALID_DEVICE_REQUEST);
  const { status, bytes } = await transceivePipe(context, open, input, outputBytesMax);
  return { status, output: bytes };
};

export const pipeWait: Fsctl = ({ door, session, tree }, request) => {
  refuseFile(request);
  if (tree.share !== null) throw new SmbError(Status.INVALID_DEVICE_REQUEST);
  const name = decodeOrRefuse(() => decodePipeWait(request.input));
  const caller = { storage: door.storage, account: session.account };
  if (openRpcPipe(name, caller) === null) throw new SmbError(Status.OBJECT_NAME_NOT_FOUND);
  return answer();
};
