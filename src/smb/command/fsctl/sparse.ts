/**
 * SET_SPARSE, SET_ZERO_DATA and QUERY_ALLOCATED_RANGES ([MS-FSCC] 2.3.69, 2.3.71, 2.3.50). Every file is sparse: what was
 * never written takes no room, and no attribute says so.
 */
import { WRITTEN } from '../../../rules/file-change.ts';
import { rangesOfOpen } from '../../../service/file/opens/ranges-open.ts';
import { zeroOpen } from '../../../service/file/opens/resize-open.ts';
import { noteChange } from '../../session/note-change.ts';
import type { FileOpen } from '../../session/open.ts';
import { SmbError, Status } from '../../statuses.ts';
import { APPEND_DATA, READ_DATA, WRITE_ATTRIBUTES, WRITE_DATA } from '../../wire/access.ts';
import { decodeRange, decodeZeroData, encodeRanges, FILE_RANGE_BYTES } from '../../wire/file-ranges.ts';
import { waiterOf } from '../command.ts';
import { decodeOrRefuse } from '../decode-or-refuse.ts';
import { refuseWithoutAny } from '../granted.ts';
import { writingThrough } from '../writing-through.ts';
import { answer, type Fsctl } from './fsctl.ts';

export const setSparse: Fsctl = (context, { fileId }) => {
  refuse(context.open(fileId), WRITE_DATA | APPEND_DATA | WRITE_ATTRIBUTES);
  return answer();
};

export const setZeroData: Fsctl = async (context, { fileId, input }) => {
  const open = context.open(fileId);
  refuse(open, WRITE_DATA);
  const range = decodeOrRefuse(() => decodeZeroData(input));
  if (range.lengthBytes === 0) return answer();
  await zeroOpen(context.door.storage, open, { ...range, ...writingThrough(open) }, waiterOf(context));
  noteChange(context.door, { what: 'modified', at: open, filter: WRITTEN });
  return answer();
};

export const queryAllocatedRanges: Fsctl = async (context, { fileId, input, outputBytesMax }) => {
  const open = context.open(fileId);
  refuse(open, READ_DATA);
  const span = decodeOrRefuse(() => decodeRange(input));
  const countMax = Math.floor(outputBytesMax / FILE_RANGE_BYTES);
  const { ranges, hasMore } = await rangesOfOpen(context.door.storage, open, { span, countMax }, waiterOf(context));
  if (countMax === 0 && hasMore) throw new SmbError(Status.BUFFER_TOO_SMALL);
  return { status: hasMore ? Status.BUFFER_OVERFLOW : Status.SUCCESS, output: encodeRanges(ranges) };
};

/** Unless one of these was granted. */
function refuse(open: FileOpen, access: number): void {
  if (open.kind === 'directory') throw new SmbError(Status.INVALID_PARAMETER);
  refuseWithoutAny(open, access);
}
