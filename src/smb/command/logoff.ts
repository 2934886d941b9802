import { endSession } from '../session/sessions.ts';
import { Status } from '../statuses.ts';
import { bodyOf } from '../wire/message.ts';
import { type Command, EMPTY_BODY } from './command.ts';

/** LOGOFF: closes everything that the session has open. */
export const logoff: Command<void> = {
  decode(message) {
    bodyOf(message, 4);
  },
  async handle({ door, session }) {
    await endSession(door, session, { keepsDurable: false });
    return { status: Status.SUCCESS, body: [EMPTY_BODY] };
  },
};
