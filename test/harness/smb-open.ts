/** What a CREATE leaves behind, without one: something that a client of smb-context.ts has open. */

import { ALL_ACCESS } from '../../src/rules/share-mode.ts';
import type { Opened } from '../../src/service/file/opens/open-node.ts';
import type { OpenClient } from '../../src/service/file/opens/open-table.ts';
import type { FileOpen } from '../../src/smb/session/open.ts';
import { FULL_ACCESS } from '../../src/smb/wire/access.ts';
import type { TestShare } from './file-store.ts';
import type { TestClient } from './smb-context.ts';

const HEARS_NOTHING: OpenClient = { breakCaching() {}, closed() {} };

export async function openPath(
  client: TestClient,
  share: TestShare,
  path: string,
  { access = FULL_ACCESS, snapshot = null }: { access?: number; snapshot?: string | null } = {},
): Promise<FileOpen> {
  const name = share.nameOf(path, snapshot);
  const opened: Opened = await client.door.storage.opens.open(
    name,
    {
      access: ALL_ACCESS,
      share: ALL_ACCESS,
      client: { ip: '10.0.0.5:50312', name: 'desktop', sessionId: String(client.session.id) },
    },
    HEARS_NOTHING,
  );
  const id = BigInt(opened.handleId);
  const open: FileOpen = {
    fileId: { persistent: id, volatile: id },
    tree: client.tree,
    isClosed: false,
    kind: opened.node.kind,
    openId: opened.id,
    place: opened.place,
    name,
    access,
    mode: 0,
    deletesOnClose: false,
    caching: '',
    lease: null,
    durability: null,
    hasWritten: false,
    positionBytes: 0n,
    reservedBytes: 0,
    frozen: { writtenAt: false, changedAt: false },
    cursor: null,
    watch: null,
    lockSequences: new Map(),
    resumeKey: null,
  };
  client.session.opens.set(id, open);
  return open;
}
