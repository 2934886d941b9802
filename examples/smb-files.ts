/**
 * Files that an SMB client holds open. The client is @tryjsky/v9u-smb2, from npm; what it does by itself opens and closes in one go, so
 * the requests that it is made of are sent one by one here.
 */
import { createRequire } from 'node:module';

interface SmbClient {
  exists(path: string): Promise<boolean>;
  disconnect(): void;
}

interface OpenFile {
  readonly FileId: Buffer;
}

type Send = (
  message: string,
  parameters: object,
  client: SmbClient,
  done: (error: Error | null, answer: OpenFile) => void,
) => void;

const require = createRequire(import.meta.url);
const Client = require('@tryjsky/v9u-smb2') as new (options: object) => SmbClient;
const { request: send } = require('@tryjsky/v9u-smb2/lib/tools/smb2-forge.js') as { request: Send };

/** This client takes 0 for everything; with deletion alone others can neither read nor write. */
const SHARES_NEARLY_NOTHING = 4;
const SHARES_ALL = 7;
const OPENS = 1;

export interface SmbFiles {
  /** For reading, writing and deleting. `isShared`: others may do so too meanwhile. */
  open(path: string, options: { isShared: boolean }): Promise<OpenFile>;
  /** Deleted when the last who has it open closes it; or not, if the mark is taken back. */
  markForDeletion(file: OpenFile, isMarked: boolean): Promise<void>;
  close(file: OpenFile): Promise<void>;
  end(): void;
}

export async function connectSmb({
  share,
  port,
  account,
  key,
}: {
  share: string;
  port: number;
  account: string;
  key: string;
}): Promise<SmbFiles> {
  const options = { port, domain: 'AZURE', username: account, password: key, autoCloseTimeout: 0 };
  const client = new Client({ share: `\\\\127.0.0.1\\${share}`, ...options });
  await client.exists('');
  const ask = (message: string, parameters: object): Promise<OpenFile> =>
    new Promise((resolve, reject) => {
      send(message, parameters, client, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  return {
    open: (path, { isShared }) => {
      const shareAccess = isShared ? SHARES_ALL : SHARES_NEARLY_NOTHING;
      return ask('create', { path, shareAccess, createDisposition: OPENS });
    },
    markForDeletion: async (file, isMarked) => {
      const mark = Buffer.from([isMarked ? 1 : 0]);
      await ask('set_info', { FileId: file.FileId, FileInfoClass: 'FileDispositionInformation', Buffer: mark });
    },
    close: async (file) => {
      await ask('close', file);
    },
    end: () => client.disconnect(),
  };
}
