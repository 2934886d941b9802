/** CLOSE ([MS-SMB2] 3.3.5.10). */
import { closeOpen } from '../session/close-open.ts';
import { type CloseRequest, decodeClose, encodeClose } from '../wire/close.ts';
import { summaryOf } from '../wire/create.ts';
import { type Command, succeed } from './command.ts';

export const close: Command<CloseRequest> = {
  decode: decodeClose,
  async handle(context, { fileId, asksForAttributes }) {
    const open = context.anyOpen(fileId);
    await context.othersEnd(open);
    const node = await closeOpen(context.door, open, { looks: asksForAttributes });
    if (node === null || open.kind === 'pipe' || !asksForAttributes) return succeed(encodeClose(null));
    return succeed(encodeClose(summaryOf(node, open)));
  },
};
