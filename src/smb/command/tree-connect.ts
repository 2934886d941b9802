import { lookUpShare } from '../../service/file/use-share.ts';
import type { Session, Tree } from '../session/session.ts';
import { SmbError, Status } from '../statuses.ts';
import { FULL_ACCESS } from '../wire/access.ts';
import { decodeTreeConnect, encodeTreeConnect } from '../wire/tree-connect.ts';
import type { Command } from './command.ts';

const PIPES = 'ipc$';
const TREE_ID_MAX = 0xffff_fffe;

/** TREE_CONNECT: to a share of the account that has signed in, whatever host the client calls the server by. */
export const treeConnect: Command<{ readonly path: string }> = {
  decode: decodeTreeConnect,
  async handle({ door, session, connection }, { path }) {
    const name = nameOf(path);
    const isPipe = name === PIPES;
    if (!isPipe && (await lookUpShare(door.storage, { account: session.account, share: name })) === null) {
      throw new SmbError(Status.BAD_NETWORK_NAME);
    }
    if (session.isEnded || connection.isClosed) throw new SmbError(Status.USER_SESSION_DELETED);
    if (session.trees.size >= door.limits.treeCountMax) throw new SmbError(Status.INSUFFICIENT_RESOURCES);
    const tree: Tree = { id: newTreeId(session), session, share: isPipe ? null : name, maximalAccess: FULL_ACCESS };
    session.trees.set(tree.id, tree);
    const body = encodeTreeConnect({ isPipe, maximalAccess: tree.maximalAccess });
    return { status: Status.SUCCESS, body: [body], treeId: tree.id };
  },
};

function nameOf(path: string): string {
  const parts = /^\\\\[^\\]*\\([^\\]+)$/.exec(path);
  if (parts === null) throw new SmbError(Status.BAD_NETWORK_NAME);
  return (parts[1] as string).toLowerCase();
}

const lastTreeIds = new WeakMap<Session, number>();

function newTreeId(session: Session): number {
  let id = lastTreeIds.get(session) ?? 0;
  do id = id >= TREE_ID_MAX ? 1 : id + 1;
  while (session.trees.has(id));
  lastTreeIds.set(session, id);
  return id;
}
