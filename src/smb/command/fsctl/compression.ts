/** GET_COMPRESSION and SET_COMPRESSION ([MS-FSCC] 2.3.9, 2.3.67): nothing is compressed, and may be said to be so. */
import { SmbError, Status } from '../../statuses.ts';
import { WRITE_DATA } from '../../wire/access.ts';
import { decodeOrRefuse } from '../decode-or-refuse.ts';
import { answer, type Fsctl, refuseShortOutput } from './fsctl.ts';

const FORMAT_BYTES = 2;
const FORMAT_NONE = 0;
const FORMAT_LZNT1 = 2;

export const getCompression: Fsctl = (context, request) => {
  context.open(request.fileId);
  refuseShortOutput(request, FORMAT_BYTES);
  return answer(Uint8Array.of(FORMAT_NONE, 0));
};

export const setCompression: Fsctl = (context, { fileId, input }) => {
  const { access } = context.open(fileId);
  if ((access & WRITE_DATA) === 0) throw new SmbError(Status.ACCESS_DENIED);
  const format = decodeOrRefuse(() => input.readUInt16LE(0));
  if (format > FORMAT_LZNT1) throw new SmbError(Status.INVALID_PARAMETER);
  if (format !== FORMAT_NONE) throw new SmbError(Status.NOT_SUPPORTED);
  return answer();
};
