/** How sessions and trees end. */
import { lookUpShare } from '../../service/file/use-share.ts';
import type { Door } from './door.ts';
import { endOpens } from './durable.ts';
import type { Session, Tree } from './session.ts';

/** `keepsDurable`: the client may come back to what it had open so. */
export async function endSession(
  door: Door,
  session: Session,
  { keepsDurable }: { keepsDurable: boolean },
): Promise<void> {
  if (session.isEnded) return;
  session.isEnded = true;
  session.connection.sessions.delete(session.id);
  door.sessions.delete(session.id);
  session.connection.cancel(session);
  await endOpens(door, [...session.opens.values()], { keepsDurable });
  session.trees.clear();
}

/** Something in it was closed by others: perhaps the share was deleted, and nothing in the tree is there any more. */
export async function endTreeOfLostShare(door: Door, tree: Tree): Promise<void> {
  const { share, session, id } = tree;
  if (share === null || session.trees.get(id) !== tree) return;
  if ((await lookUpShare(door.storage, { account: session.account, share })) === null) await endTree(door, tree);
}

export async function endTree(door: Door, tree: Tree): Promise<void> {
  tree.session.trees.delete(tree.id);
  tree.session.connection.cancel(tree);
  const opens = [...tree.session.opens.values()].filter((open) => open.tree === tree);
  await endOpens(door, opens, { keepsDurable: false });
}
