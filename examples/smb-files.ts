/**
 * Files that an SMB client keeps open. The client is @tryjsky/v9u-smb2, from npm. Its own methods open and close a file
 * in one go, so this module sends the single requests itself.
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

/** Others may delete the file, but neither read nor write it. (This client would replace 0, "nothing", by "all".) */
const SHARES_NEARLY_NOTHING = 4;
const SHARES_ALL = 7;
const OPENS = 1;

export interface SmbFiles {
  /** Opens a file for reading, writing and deleting. With `isShared`, others may do the same meanwhile. */
  open(path: string, options: { isShared: boolean }): Promise<OpenFile>;
  /** Marks the file, or takes the mark back. A marked file is deleted when nobody has it open any more. */
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
