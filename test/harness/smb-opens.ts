/** Something that a TestClient has open, without CREATE: as the service opens it, with the rights that a test says. */
import { randomBytes } from 'node:crypto';
import type { Moment } from '../../src/rules/moment.ts';
import { type Access, ALL_ACCESS } from '../../src/rules/share-mode.ts';
import type { FileName } from '../../src/service/file/load.ts';
import type { FileOpen } from '../../src/smb/session/open.ts';
import { FULL_ACCESS } from '../../src/smb/wire/access.ts';
import type { TestShare } from './file-store.ts';
import type { TestClient } from './smb-context.ts';
import { ACCOUNT } from './store.ts';

interface OpenedAs {
  readonly access?: number;
  readonly snapshot?: Moment | null;
}

/** In the share that is called so. */
export const openFor = (
  client: TestClient,
  path: string,
  { snapshot = null, ...as }: OpenedAs = {},
): Promise<FileOpen> =>
  openNamed(client, { account: ACCOUNT, share: 'share', path: path === '' ? [] : path.split('/'), snapshot }, as);

export const openPath = (
  client: TestClient,
  share: TestShare,
  path: string,
  { snapshot = null, ...as }: OpenedAs = {},
): Promise<FileOpen> => openNamed(client, share.nameOf(path, snapshot), as);

/** `uses`: what it does with the file, as far as others are concerned; all, if it is not said. */
export async function openNamed(
  client: TestClient,
  name: FileName,
  { access = FULL_ACCESS, uses = ALL_ACCESS, mode = 0 }: { access?: number; uses?: Access; mode?: number } = {},
): Promise<FileOpen> {
  const request = {
    access: uses,
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
    mode,
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
