import { endSession } from '../session/sessions.ts';
import { Status } from '../statuses.ts';
import { bodyOf } from '../wire/message.ts';
import { type Command, EMPTY_BODY } from './command.ts';

/** LOGOFF ([MS-SMB2] 3.3.5.6): closes what the session has open, but for durable opens: its user may come back to those. */
export const logoff: Command<void> = {
  decode(message) {
    bodyOf(message, 4);
  },
  async handle({ door, session }) {
    await endSession(door, session, { keepsDurable: true });
    return { status: Status.SUCCESS, body: [EMPTY_BODY] };
  },
};
