/**
 * Durable opens ([MS-SMB2] 3.3.5.9.6-3.3.5.9.12): one whose client caches its handle, and loses its connection, stays open with
 * all that it locks and shares until the client comes back, somebody else needs what it caches, or its time is over.
 */
import { cachesHandle } from '../../rules/oplock.ts';
import type { ClientInfo } from '../../service/file/opens/use-record.ts';
import type { DurableContext } from '../wire/create-contexts.ts';
import { closeOpen } from './close-open.ts';
import type { Door } from './door.ts';
import type { FileOpen, Open } from './open.ts';
import type { Durability } from './oplocks.ts';
import type { Session, Tree } from './session.ts';

const TIMEOUT_USUAL_MS = 60_000;
const TIMEOUT_MAX_MS = 300_000;

export const durabilityOf = (asked: DurableContext, clientGuid: string): Durability => ({
  version: asked.version,
  createGuid: asked.version === 2 ? asked.createGuid : null,
  clientGuid,
  timeoutMs:
    asked.version === 1 || asked.timeoutMs === 0 ? TIMEOUT_USUAL_MS : Math.min(asked.timeoutMs, TIMEOUT_MAX_MS),
  isBreaking: false,
  timer: null,
});

/** `keepsDurable`: the connection or session is lost, and clients may come back. What fails to be closed is closed later by itself. */
export async function endOpens(
  door: Door,
  opens: Iterable<Open>,
  { keepsDurable }: { keepsDurable: boolean },
): Promise<void> {
  const ended = [...opens].map((open) => {
    if (keepsDurable && open.kind !== 'pipe' && mayComeBack(open)) return leave(door, open, open.durability);
    return closeOpen(door, open);
  });
  const failed = (await Promise.allSettled(ended)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** The server stops: nobody comes back. */
export const endDurable = (door: Door): Promise<void> =>
  endOpens(
    door,
    [...door.opens.values()].filter(({ tree }) => tree === null),
    { keepsDurable: false },
  );

type DurableOpen = FileOpen & { readonly durability: Durability };

const mayComeBack = (open: FileOpen): open is DurableOpen =>
  !open.isClosed &&
  open.durability !== null &&
  !open.durability.isBreaking &&
  open.lease?.isBreaking !== true &&
  cachesHandle(open.caching);

async function leave(door: Door, open: FileOpen, durability: Durability): Promise<void> {
  open.tree?.session.opens.delete(open.fileId.volatile);
  open.tree = null;
  const end = (): void => {
    void closeOpen(door, open).catch((error: unknown) => {
      door.log.error('SMB: a file that a lost client left open could not be closed', error);
    });
  };
  durability.timer = setTimeout(end, durability.timeoutMs);
  durability.timer.unref();
}

/** The client is back. Throws OpenClosed where it has come too late. */
export async function comeBack(
  door: Door,
  open: FileOpen,
  { tree, client }: { tree: Tree; client: ClientInfo },
): Promise<void> {
  const { durability } = open;
  if (durability !== null) {
    clearTimeout(durability.timer ?? undefined);
    durability.timer = null;
  }
  open.tree = tree;
  tree.session.opens.set(open.fileId.volatile, open);
  try {
    await door.storage.opens.reconnect(open.openId, client);
  } catch (error) {
    await closeOpen(door, open);
    throw error;
  }
}

/** As List Handles tells. */
export const clientInfoOf = ({ connection, clientName, id }: Session): ClientInfo => ({
  ip: connection.remote,
  name: clientName,
  sessionId: String(id),
});
