/**
 * Two nodes over one store in the test's own process: one with the HTTP door of files, and another on which SMB clients open
 * files, as they will through a door of their own. Over a database each has its own connection to it.
 */
import { after } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { makeAccounts } from '../../src/config/accounts.ts';
import type { SourceOptions } from '../../src/http/copy-source-resolver.ts';
import { fileDoor } from '../../src/http/file/file-door.ts';
import { openLog } from '../../src/http/log.ts';
import { type HttpServer, openHttpServer } from '../../src/http/server.ts';
import { openStore, type Store } from '../../src/main.ts';
import { type OpenStorage, openStorage } from '../../src/service/open-storage.ts';
import type { Storage } from '../../src/service/storage.ts';
import { connectionStringOf, DEVELOPMENT_ACCOUNT } from './accounts.ts';
import type { Reachable } from './clients.ts';
import { freshPlace, givenEngine } from './engines.ts';

export interface FileNodes extends Reachable {
  readonly clock: ManualClock;
  readonly fileUrl: string;
  /** Of the node with the HTTP door. */
  readonly storage: Storage;
  /** Of the other. */
  readonly smb: Storage;
  /** What both do every few seconds. */
  beat(): Promise<void>;
}

export async function startFileNodes(): Promise<FileNodes> {
  const clock = new ManualClock();
  const place = await freshPlace();
  const first = await openStore(place.store);
  const second = givenEngine() === 'postgres' ? await openStore(place.store) : null;
  const errors: unknown[] = [];
  const open = ({ engine, content, signals, slot }: Store): Promise<OpenStorage> =>
    openStorage({
      engine,
      content,
      signals,
      slot,
      clock,
      isShared: true,
      beatMs: null,
      onError: (error) => errors.push(error),
    });
  const [rest, smb] = [await open(first), await open(second ?? first)];
  const accounts = makeAccounts([{ name: DEVELOPMENT_ACCOUNT.name, keys: [DEVELOPMENT_ACCOUNT.key] }], {
    allowDevelopmentAccount: false,
  });
  const sources: SourceOptions = {
    accounts,
    bearer: null,
    isOurs: (url, service) => service === 'f' && url.origin === server.origin,
    origin: () => server.origin,
  };
  const server: HttpServer = await openHttpServer({
    host: '127.0.0.1',
    port: 0,
    door: fileDoor(rest.storage, sources),
    accounts,
    clock,
    log: openLog({ mode: 'silent', sink: process.stdout }),
  });
  after(async () => {
    await server.close();
    await rest.close();
    await smb.close();
    await second?.close();
    await first.close();
    await place.remove();
    if (errors.length > 0) throw new AggregateError(errors, 'work that nobody waited for failed');
  });
  const { origin } = server;
  const urls = { blob: origin, queue: origin, table: origin, file: origin };
  return {
    clock,
    fileUrl: origin,
    storage: rest.storage,
    smb: smb.storage,
    connectionString: (account = DEVELOPMENT_ACCOUNT) => connectionStringOf(urls, account),
    async beat() {
      await rest.beat();
      await smb.beat();
    },
  };
}
