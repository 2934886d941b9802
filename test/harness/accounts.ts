/** The accounts that tests sign in with, and the connection strings that point a client at a server. */

export interface TestAccount {
  readonly name: string;
  /** Base64, as in a connection string. */
  readonly key: string;
}

/** The account that every emulator of this protocol has, with its published key. */
export const DEVELOPMENT_ACCOUNT: TestAccount = {
  name: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
};

/** An account that no client treats in a special way. */
export const SECOND_ACCOUNT: TestAccount = {
  name: 'secondaccount',
  key: Buffer.from('a key that is known to the tests and to nobody else, 64 bytes it').toString('base64'),
};

/** The account's address behind a door, path-style: http://127.0.0.1:10000/devstoreaccount1 */
export const accountEndpoint = (url: string, account: TestAccount): string => `${url}/${account.name}`;

/** `urls`: of the doors. */
export function connectionStringOf(
  urls: { readonly blob: string; readonly queue: string; readonly table: string; readonly file: string },
  account: TestAccount,
): string {
  return [
    `DefaultEndpointsProtocol=${new URL(urls.blob).protocol.slice(0, -1)}`,
    `AccountName=${account.name}`,
    `AccountKey=${account.key}`,
    `BlobEndpoint=${accountEndpoint(urls.blob, account)}`,
    `QueueEndpoint=${accountEndpoint(urls.queue, account)}`,
    `TableEndpoint=${accountEndpoint(urls.table, account)}`,
    `FileEndpoint=${accountEndpoint(urls.file, account)}`,
  ].join(';');
}
