import { endTree } from '../session/sessions.ts';
import { Status } from '../statuses.ts';
import { bodyOf } from '../wire/message.ts';
import { type Command, EMPTY_BODY } from './command.ts';

/** TREE_DISCONNECT: closes everything that is open in it. */
export const treeDisconnect: Command<void> = {
  decode(message) {
    bodyOf(message, 4);
  },
  async handle({ door, tree }) {
    await endTree(door, tree);
    return { status: Status.SUCCESS, body: [EMPTY_BODY] };
  },
};
