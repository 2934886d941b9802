/** CHANGE_NOTIFY: waits for something to happen in a directory ([MS-SMB2] 3.3.5.19). */
import { TRANSACT_BYTES_MAX } from '../session/protocol.ts';
import { CLEANED_UP, type Notice, type Watch } from '../session/watches.ts';
import { SmbError, Status, statusOf } from '../statuses.ts';
import { READ_DATA } from '../wire/access.ts';
import { type ChangeNotifyRequest, decodeChangeNotify, encodeChangeNotify } from '../wire/change-notify.ts';
import type { Command, Context, Reply } from './command.ts';
import { refuseWithoutAny } from './granted.ts';

export const changeNotify: Command<ChangeNotifyRequest> = {
  decode: decodeChangeNotify,

  async handle(context: Context, request: ChangeNotifyRequest): Promise<Reply> {
    const { outputBytesMax } = request;
    const open = context.open(request.fileId);
    if (outputBytesMax > TRANSACT_BYTES_MAX) throw new SmbError(Status.INVALID_PARAMETER);
    if (open.kind !== 'directory') throw new SmbError(Status.INVALID_PARAMETER);
    refuseWithoutAny(open, READ_DATA);
    open.watch ??= context.door.watches.begin(open.place, request);
    const notice = open.watch.take(outputBytesMax) ?? (await waitFor(context, open.watch, outputBytesMax));
    return { status: notice.status, body: [encodeChangeNotify(notice.changes)] };
  },
};

async function waitFor(context: Context, watch: Watch, outputBytesMax: number): Promise<Notice> {
  const next = watch.next(outputBytesMax, context.cancelled);
  context.pend();
  try {
    return await next;
  } catch (error) {
    // Nobody has cancelled it: the open is about to be closed with its session or tree.
    if (statusOf(error) === Status.CANCELLED && hasEnded(context)) return CLEANED_UP;
    throw error;
  }
}

const hasEnded = ({ session, tree }: Context): boolean => session.isEnded || session.trees.get(tree.id) !== tree;
