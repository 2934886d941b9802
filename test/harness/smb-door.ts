/**
 * The SMB server by itself, over a store of the test's own with one share: for limits that a test sets, and for what the server
 * logs. An error that is logged is of the server's making: a test that ends well has none (`errors`).
 */
import { after } from 'node:test';
import type { Account } from '../../src/auth/identity.ts';
import type { SmbLimits } from '../../src/smb/session/limits.ts';
import { openSmbServer } from '../../src/smb/smb-server.ts';
import { TestShare } from './file-store.ts';
import type { WireTarget } from './smb-wire.ts';
import { ACCOUNT, type TestStoreParts } from './store.ts';

const KEY = Buffer.from('a key that only the tests know');

export interface TestDoor extends WireTarget {
  readonly share: TestShare;
  /** What it logged, a line each. */
  readonly notes: string[];
  readonly errors: unknown[];
  /** Once is enough; the end of the suite does it too. */
  close(): Promise<void>;
}

export async function openTestDoor({
  limits = {},
  parts = {},
}: {
  limits?: Partial<SmbLimits>;
  parts?: Partial<TestStoreParts>;
} = {}): Promise<TestDoor> {
  const share = await TestShare.create(parts);
  const account: Account = { name: ACCOUNT, keys: [KEY], loopbackOnly: false };
  const notes: string[] = [];
  const errors: unknown[] = [];
  // Outside of tests it would end the process.
  const unhandled = (error: unknown): void => void errors.push(error);
  process.on('unhandledRejection', unhandled);
  after(() => process.off('unhandledRejection', unhandled));
  const server = await openSmbServer({
    storage: share.store.storage,
    accounts: new Map([[ACCOUNT, account]]),
    host: '127.0.0.1',
    port: 0,
    encryption: 'auto',
    log: {
      info: (message) => notes.push(message),
      error: (message, error) => errors.push(new Error(message, { cause: error })),
    },
    limits,
  });
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closed ??= server.close().then(() => share.store.close());
    return closed;
  };
  after(close);
  return { port: server.port, user: ACCOUNT, password: KEY.toString('base64'), share, notes, errors, close };
}
