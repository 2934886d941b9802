/** CLOSE ([MS-SMB2] 3.3.5.10). */
import { closeOpen } from '../session/close-open.ts';
import { type CloseRequest, decodeClose, encodeClose } from '../wire/close.ts';
import { summaryOf } from '../wire/create.ts';
import { type Command, succeed } from './command.ts';

export const close: Command<CloseRequest> = {
  decode: decodeClose,
  async handle(context, { fileId, asksForAttributes }) {
    const node = await closeOpen(context.door, context.anyOpen(fileId), { looks: asksForAttributes });
    return succeed(encodeClose(node === null || !asksForAttributes ? null : summaryOf(node)));
  },
};
