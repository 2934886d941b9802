/**
 * The server inside the test's own process, with a clock that the test moves. It is closed, and its data removed, when
 * the suite that started it ends (or the file, when started outside every suite), whatever became of its tests.
 */
import { after } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import type { SmbEncryption } from '../../src/config/config.ts';
import { type AccountSettingOptions, startServer } from '../../src/main.ts';
import { accountEndpoint, connectionStringOf, DEVELOPMENT_ACCOUNT, type TestAccount } from './accounts.ts';
import { freshPlace, type Place, type PlaceOptions } from './engines.ts';

export interface InProcessServer {
  readonly clock: ManualClock;
  /** http://127.0.0.1:PORT of the blob door. */
  readonly url: string;
  /** The same of the other doors. */
  readonly queueUrl: string;
  readonly tableUrl: string;
  readonly fileUrl: string;
  /** Of files over SMB, where it was asked for. */
  readonly smbPort: number;
  endpoint(account?: TestAccount): string;
  queueEndpoint(account?: TestAccount): string;
  tableEndpoint(account?: TestAccount): string;
  fileEndpoint(account?: TestAccount): string;
  connectionString(account?: TestAccount): string;
}

export interface InProcessOptions extends PlaceOptions {
  /** Beside the development account. */
  readonly accounts?: readonly TestAccount[];
  /** Versions, retention of containers and the like. */
  readonly settings?: AccountSettingOptions;
  /** Open a port for SMB too; who must encrypt there. */
  readonly smb?: SmbEncryption;
  /** A place of the caller's, which is then not removed. */
  readonly place?: Place;
  /** Shared by several servers. */
  readonly clock?: ManualClock;
}

export async function startInProcess(options: InProcessOptions = {}): Promise<InProcessServer> {
  const { accounts = [], clock = new ManualClock() } = options;
  const place = options.place ?? (await freshPlace(options));
  const removePlace = async (): Promise<void> => {
    if (options.place === undefined) await place.remove();
  };
  try {
    const server = await startServer({
      ...place.store,
      ...options.settings,
      accounts: [DEVELOPMENT_ACCOUNT, ...accounts].map(({ name, key }) => ({ name, keys: [key] })),
      blobPort: 0,
      ...(options.smb === undefined ? {} : { smbPort: 0, smbEncryption: options.smb }),
      clock,
      log: 'silent',
    });
    after(async () => {
      await server.close();
      await removePlace();
    });
    const { blob: url, queue: queueUrl, table: tableUrl, file: fileUrl, smb } = server.origins;
    return {
      clock,
      url,
      queueUrl,
      tableUrl,
      fileUrl,
      get smbPort() {
        if (smb === null) throw new Error('this server was started without smb');
        return Number(new URL(smb).port);
      },
      endpoint: (account = DEVELOPMENT_ACCOUNT) => accountEndpoint(url, account),
      queueEndpoint: (account = DEVELOPMENT_ACCOUNT) => accountEndpoint(queueUrl, account),
      tableEndpoint: (account = DEVELOPMENT_ACCOUNT) => accountEndpoint(tableUrl, account),
      fileEndpoint: (account = DEVELOPMENT_ACCOUNT) => accountEndpoint(fileUrl, account),
      connectionString: (account = DEVELOPMENT_ACCOUNT) => connectionStringOf(server.origins, account),
    };
  } catch (error) {
    await removePlace();
    throw error;
  }
}
