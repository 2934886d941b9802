/** READ and WRITE of a pipe, and both at once, as most clients have it (FSCTL_PIPE_TRANSCEIVE). */
import type { PipeOpen } from '../session/open.ts';
import type { PipeData } from '../session/pipe.ts';
import { SmbError, Status } from '../statuses.ts';
import { encodeRead, type ReadRequest } from '../wire/read.ts';
import { encodeWrite, type WriteRequest } from '../wire/write.ts';
import { type Context, type Reply, succeed } from './command.ts';

export async function readPipe(
  _: Context,
  { pipe }: PipeOpen,
  { length }: Pick<ReadRequest, 'length'>,
): Promise<Reply> {
  const data = await pipe.read(length);
  if (data === null) throw new SmbError(Status.PIPE_EMPTY);
  return { status: statusAfter(data), body: [encodeRead(data.bytes.length), data.bytes] };
}

export async function writePipe(_: Context, { pipe }: PipeOpen, { data }: Pick<WriteRequest, 'data'>): Promise<Reply> {
  await pipe.write(data);
  return succeed(encodeWrite(data.length));
}

export async function transceivePipe(
  _: Context,
  { pipe }: PipeOpen,
  input: Buffer,
  lengthMax: number,
): Promise<{ readonly bytes: Uint8Array; readonly status: Status }> {
  const data = await pipe.transceive(input, lengthMax);
  if (data === null) throw new SmbError(Status.PIPE_EMPTY);
  return { bytes: data.bytes, status: statusAfter(data) };
}

const statusAfter = ({ hasMore }: PipeData): Status => (hasMore ? Status.BUFFER_OVERFLOW : Status.SUCCESS);
