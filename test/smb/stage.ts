/**
 * Where REST and SMB meet in these tests: one server with a share, the official client on the REST side and impacket on the SMB
 * side. Each cell of a table gets a file of its own, so that cells do not meet.
 */
import { type ShareClient, type ShareFileClient, ShareSASPermissions } from '@azure/storage-file-share';
import { fileAt, putFile } from '../file/racing.ts';
import { outcome } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { startImpacket } from '../harness/impacket.ts';
import type { Dialect, ImpacketClient } from '../harness/impacket-client.ts';
import { type InProcessServer, startInProcess } from '../harness/in-process.ts';

export const VIOLATION = '409 SharingViolation';
export const PENDING = '409 SMBDeletePending';
export const LOCKED = '409 FileLockConflict';
export const READ_ONLY_FILE = '409 ReadOnlyAttribute';
export const DELAY = '408 ClientCacheFlushDelay';
export const LEASED = '412 LeaseIdMissing';

export const TEXT = 'some text';

/** All subsets of reading, writing and deleting. */
export const ACCESSES = ['', 'R', 'W', 'D', 'RW', 'RD', 'WD', 'RWD'] as const;

export interface Scene {
  readonly stage: Stage;
  readonly share: ShareClient;
  readonly file: ShareFileClient;
  readonly path: string;
}

/** An answer to a request that the client does not send. */
export class RawRefusal extends Error {}

export class Stage {
  readonly server: InProcessServer;
  readonly share: ShareClient;
  readonly #connect: (name: string, share: string) => Promise<ImpacketClient>;
  readonly #clients = new Map<string, Promise<ImpacketClient>>();
  #fileCount = 0;

  constructor(
    server: InProcessServer,
    share: ShareClient,
    connect: (name: string, share: string) => Promise<ImpacketClient>,
  ) {
    this.server = server;
    this.share = share;
    this.#connect = connect;
  }

  /** An SMB client with a connection of its own, the same for the same name. */
  smb(name = 'first'): Promise<ImpacketClient> {
    const client = this.#clients.get(name) ?? this.#connect(name, this.share.name);
    this.#clients.set(name, client);
    return client;
  }

  /** One for a test that ends its connection, or uses another share. */
  freshSmb(share = this.share.name): Promise<ImpacketClient> {
    return this.#connect(`client ${this.#fileCount++}`, share);
  }

  freshPath(): string {
    return `file-${this.#fileCount++}`;
  }

  async scene(text = TEXT): Promise<Scene> {
    const path = this.freshPath();
    return { stage: this, share: this.share, file: await putFile(this.share, path, text), path };
  }

  /** The client leaves the account out of the destination where it is a part of the path. */
  async rename(from: string, to: string, { kind = 'file', headers = {} } = {}): Promise<void> {
    const restype = kind === 'directory' ? '&restype=directory' : '';
    const { outcome: result } = await send(this.server.fileUrl, {
      method: 'PUT',
      path: `/${this.share.name}/${to}?comp=rename${restype}`,
      headers: {
        'x-ms-file-rename-source': `${this.share.url}/${from}`,
        'x-ms-file-rename-replace-if-exists': 'true',
        ...headers,
      },
    });
    if (result !== '200') throw new RawRefusal(result);
  }

  /** A URL that opens the file to anybody. */
  signed(file: ShareFileClient): string {
    const expiresOn = new Date(this.server.clock.nowMs() + 3_600_000);
    return file.generateSasUrl({ permissions: ShareSASPermissions.parse('r'), expiresOn });
  }

  /** What a copy or a range is taken from. */
  async source(): Promise<ShareFileClient> {
    return putFile(this.share, this.freshPath(), TEXT);
  }

  at(path: string): ShareFileClient {
    return fileAt(this.share, path);
  }
}

/** `ok`, or the refusal, also of requests that the client does not send. */
export async function resultOf(request: Promise<unknown>): Promise<string> {
  return outcome(request).catch((error: unknown) => {
    if (error instanceof RawRefusal) return error.message;
    throw error;
  });
}

/** `dialect`: of the SMB clients. */
export async function openStage({ dialect = '3.0' }: { dialect?: Dialect } = {}): Promise<Stage> {
  // Before the server, so that it outlives no connection of these clients.
  const impacket = startImpacket();
  const server = await startInProcess({ smb: 'optional' });
  const { smbPort: port } = server;
  return new Stage(server, await freshShare(server), (name, share) => impacket.connect(name, { port, share, dialect }));
}
