/** SRV_ENUMERATE_SNAPSHOTS ([MS-SMB2] 3.3.5.15.1): the snapshots of the share in which something is open. */
import { formatGmtToken } from '../../../rules/gmt-token.ts';
import { listSnapshots } from '../../../service/file/list-snapshots.ts';
import { encodeSnapshots, SNAPSHOTS_BYTES_MIN } from '../../wire/snapshots.ts';
import { answer, type Fsctl, refuseShortOutput } from './fsctl.ts';

export const enumerateSnapshots: Fsctl = async (context, request) => {
  const { name } = context.open(request.fileId);
  refuseShortOutput(request, SNAPSHOTS_BYTES_MIN);
  const moments = await listSnapshots(context.door.storage, name);
  return answer(encodeSnapshots(moments.map(formatGmtToken), request.outputBytesMax));
};
