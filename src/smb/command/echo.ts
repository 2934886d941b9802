import { bodyOf } from '../wire/message.ts';
import { type Command, EMPTY_BODY, succeed } from './command.ts';

/** ECHO: says that the server is there. */
export const echo: Command<void> = {
  decode(message) {
    bodyOf(message, 4);
  },
  handle: () => succeed(EMPTY_BODY),
};
