import { SmbError, Status } from '../statuses.ts';
import { APPEND_DATA, WRITE_DATA } from '../wire/access.ts';
import { decodeFlush, type FlushRequest } from '../wire/flush.ts';
import { type Command, EMPTY_BODY, succeed } from './command.ts';

/** FLUSH ([MS-SMB2] 3.3.5.11): whatever was answered is durable already. */
export const flush: Command<FlushRequest> = {
  decode: decodeFlush,
  handle(context, { fileId }) {
    const open = context.anyOpen(fileId);
    const writes = open.kind === 'pipe' || (open.access & (WRITE_DATA | APPEND_DATA)) !== 0;
    if (!writes) throw new SmbError(Status.ACCESS_DENIED);
    return succeed(EMPTY_BODY);
  },
};
