import { WRITTEN } from '../../rules/file-change.ts';
import { writeOpen } from '../../service/file/opens/write-open.ts';
import { noteChange } from '../session/note-change.ts';
import type { FileOpen } from '../session/open.ts';
import { SmbError, Status } from '../statuses.ts';
import { APPEND_DATA, WRITE_DATA } from '../wire/access.ts';
import { ALL_ONES_64 } from '../wire/message.ts';
import { decodeWrite, encodeWrite, type WriteRequest } from '../wire/write.ts';
import { type Command, type Context, succeed, waiterOf } from './command.ts';
import { refuseWithoutAny } from './granted.ts';
import { writePipe } from './pipe-io.ts';
import { refuseTransfer } from './transfer-range.ts';
import { writingThrough } from './writing-through.ts';

/** The longest file of NTFS: clients take no more for an offset. What is longer than our own is a matter of space. */
const END_MAX = 0xfff_ffff_0000n;

/** WRITE ([MS-SMB2] 3.3.5.13): durable when it is answered, whether that is asked for or not. */
export const write: Command<WriteRequest> = {
  decode: decodeWrite,
  async handle(context, request) {
    const open = context.anyOpen(request.fileId);
    if (open.kind === 'pipe') return writePipe(context, open, request);
    const { data, channel, offset } = request;
    const appendsOnly = (open.access & WRITE_DATA) === 0;
    const isAtEnd = appendsOnly && offset === ALL_ONES_64;
    refuseTransfer(open, { channel, offset: isAtEnd ? 0n : offset, length: data.length });
    refuseWithoutAny(open, WRITE_DATA | APPEND_DATA);
    if (data.length === 0) return succeed(encodeWrite(0));
    if (!isAtEnd && offset + BigInt(data.length) > END_MAX) throw new SmbError(Status.INVALID_PARAMETER);
    await writeBytes(context, open, { data, offsetBytes: isAtEnd ? 'end' : Number(offset), appendsOnly });
    if (!isAtEnd) open.positionBytes = offset + BigInt(data.length);
    return succeed(encodeWrite(data.length));
  },
};

async function writeBytes(
  context: Context,
  open: FileOpen,
  { data, offsetBytes, appendsOnly }: { data: Buffer; offsetBytes: number | 'end'; appendsOnly: boolean },
): Promise<void> {
  const isFirst = !open.hasWritten;
  const asked = { offsetBytes, bytes: data, appendsOnly, ...writingThrough(open) };
  await writeOpen(context.door.storage, open, asked, waiterOf(context));
  // Whoever watches is told once: every write would have to be looked up.
  if (isFirst) noteChange(context.door, { what: 'modified', at: open, filter: WRITTEN });
}
