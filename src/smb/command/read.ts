import { readOpen } from '../../service/file/opens/read-open.ts';
import { SmbError, Status } from '../statuses.ts';
import { EXECUTE, READ_DATA } from '../wire/access.ts';
import { decodeRead, encodeRead, type ReadRequest } from '../wire/read.ts';
import { type Command, succeed, waiterOf } from './command.ts';
import { refuseWithoutAny } from './granted.ts';
import { readPipe } from './pipe-io.ts';
import { refuseTransfer } from './transfer-range.ts';

/** READ ([MS-SMB2] 3.3.5.12). */
export const read: Command<ReadRequest> = {
  decode: decodeRead,
  async handle(context, request) {
    const open = context.anyOpen(request.fileId);
    if (open.kind === 'pipe') return readPipe(context, open, request);
    refuseTransfer(open, request);
    refuseWithoutAny(open, READ_DATA | EXECUTE);
    const { length, minimumCount } = request;
    // Beyond what can be counted exactly there is no file.
    const range = { offsetBytes: Number(request.offset), lengthBytes: length };
    const found = await readOpen(context.door.storage, open, range, waiterOf(context));
    if (found === null || found.lengthBytes < minimumCount) throw new SmbError(Status.END_OF_FILE);
    open.positionBytes = request.offset + BigInt(found.lengthBytes);
    return succeed(encodeRead(found.lengthBytes), ...found.bytes);
  },
};
