/** How sessions and trees end. */
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

export async function endTree(door: Door, tree: Tree): Promise<void> {
  tree.session.trees.delete(tree.id);
  tree.session.connection.cancel(tree);
  const opens = [...tree.session.opens.values()].filter((open) => open.tree === tree);
  await endOpens(door, opens, { keepsDurable: false });
}
