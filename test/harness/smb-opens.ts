/** Something that a TestClient has open, without CREATE: as the service opens it, with the rights that a test says. */
import { randomBytes } from 'node:crypto';
import type { Moment } from '../../src/rules/moment.ts';
import { ALL_ACCESS } from '../../src/rules/share-mode.ts';
import type { FileOpen } from '../../src/smb/session/open.ts';
import { FULL_ACCESS } from '../../src/smb/wire/access.ts';
import type { TestClient } from './smb-context.ts';
import { ACCOUNT } from './store.ts';

export async function openFor(
  client: TestClient,
  path: string,
  { access = FULL_ACCESS, snapshot = null }: { access?: number; snapshot?: Moment | null } = {},
): Promise<FileOpen> {
  const name = { account: ACCOUNT, share: 'share', path: path === '' ? [] : path.split('/'), snapshot };
  const request = {
    access: ALL_ACCESS,
    share: ALL_ACCESS,
    client: { ip: '10.0.0.5:50312', name: 'desktop', sessionId: String(client.session.id) },
  };
  const opened = await client.door.storage.opens.open(name, request, { breakCaching() {}, closed() {} });
  const open: FileOpen = {
    fileId: { persistent: BigInt(opened.handleId), volatile: randomBytes(8).readBigUInt64LE() },
    tree: client.tree,
    isClosed: false,
    kind: opened.node.kind,
    openId: opened.id,
    place: opened.place,
    name,
    access,
    mode: 0,
    deletesOnClose: false,
    caching: opened.caching,
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
  client.session.opens.set(open.fileId.volatile, open);
  client.door.opens.set(open.fileId.persistent, open);
  return open;
}
