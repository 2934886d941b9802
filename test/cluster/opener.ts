/**
 * A node with SMB clients and no door, in a process of its own: `opener DATABASE_URL CLIENT_IP CLIENT_NAME`. It does what it
 * is told on its standard input, a line of JSON each, and says on its standard output what became of it and what its clients are
 * told, with no buffer in between: what was said has happened. It leaves when its input ends.
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { systemClock } from '../../src/base/clock.ts';
import { transact } from '../../src/engine/transact.ts';
import { openStore } from '../../src/main.ts';
import type { OpenId } from '../../src/rules/in-use.ts';
import type { Caching } from '../../src/rules/oplock.ts';
import { type Access, ALL_ACCESS, NO_ACCESS } from '../../src/rules/share-mode.ts';
import { withOldBytes, writeBytes } from '../../src/service/file/file-bytes.ts';
import { changeNode } from '../../src/service/file/keep-past.ts';
import { type FileName, type FoundFile, findNode, refuseUnlessFile } from '../../src/service/file/load.ts';
import { OpenClosed } from '../../src/service/file/opens/use-open.ts';
import { changedProperties, NO_CHANGES } from '../../src/service/file/properties.ts';
import { takeRange } from '../../src/service/file/take-range.ts';
import { openStorage } from '../../src/service/open-storage.ts';
import { type RecordReader, snapshotReader } from '../../src/service/records/record-reader.ts';
import { StorageError } from '../../src/service/storage-error.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { bodyOf } from '../harness/store.ts';

/** Files are named with their share: `share/dir/file`. */
export type Order =
  | {
      readonly do: 'open';
      readonly file: string;
      /** Everything, unless it is said. */
      readonly access?: Access;
      readonly share?: Access;
      readonly caching?: Caching;
      readonly deletesOnClose?: boolean;
    }
  | { readonly do: 'close'; readonly openId: OpenId }
  | {
      readonly do: 'lock' | 'unlock';
      readonly openId: OpenId;
      readonly range: readonly [offset: number, length: number];
    }
  | { readonly do: 'mark'; readonly openId: OpenId; readonly isMarked: boolean }
  /** Bytes that a client has cached are written, at the start of the file. */
  | { readonly do: 'flush'; readonly file: string; readonly text: string }
  | { readonly do: 'acknowledge'; readonly openId: OpenId; readonly caching: Caching }
  | { readonly do: 'visit'; readonly file: string; readonly manner: Manner; readonly times: number };

/** What keeps writers from a file while it is visited; a visitor that caches leaves when it is asked to. */
export type Manner = 'shares nothing' | 'locks a range' | 'marks it for deletion' | 'caches writes';

export interface OpenedThere {
  readonly openId: OpenId;
  readonly handleId: string;
  readonly caching: Caching;
}

/** The ETags that the file had while it was visited, as they were seen one after the other. */
export type Visit = readonly string[];

export type Said =
  | { readonly to: number; readonly done: unknown }
  | { readonly to: number; readonly refused: string }
  | { readonly event: 'ready' }
  | { readonly event: 'break'; readonly openId: OpenId; readonly what: string }
  | { readonly event: 'closed'; readonly openId: OpenId }
  | { readonly event: 'failed'; readonly what: string };

const LOOKS_PER_VISIT = 5;

const say = (said: Said): void => void writeSync(1, `${JSON.stringify(said)}\n`);
const fail = (error: unknown): void =>
  say({ event: 'failed', what: error instanceof Error ? String(error.stack) : '?' });

const [url = '', ip = '', name = ''] = process.argv.slice(2);
const store = await openStore({ engine: url, content: 'postgres' });
const services = await openStorage({ ...store, clock: store.clock ?? systemClock, onError: fail });
const { storage } = services;
const { opens } = storage;

/** Visits that were asked to end. */
const unwelcome = new Set<OpenId>();

const client: Parameters<typeof opens.open>[2] = {
  breakCaching(openId, { from, to, mustAnswer }) {
    unwelcome.add(openId);
    say({ event: 'break', openId, what: `${from} to ${to || 'none'}${mustAnswer ? '' : ', unanswered'}` });
  },
  closed: (openId) => say({ event: 'closed', openId }),
};

function nameOf(file: string): FileName {
  const [share = '', ...path] = file.split('/');
  return { account: DEVELOPMENT_ACCOUNT.name, share, path, snapshot: null };
}

async function open({ file, access, share, ...rest }: Order & { do: 'open' }): Promise<OpenedThere> {
  const request = {
    access: access ?? ALL_ACCESS,
    share: share ?? ALL_ACCESS,
    client: { ip, name, sessionId: '1' },
    ...rest,
  };
  const { id, handleId, caching } = await opens.open(nameOf(file), request, client);
  return { openId: id, handleId, caching };
}

async function findFile(reader: RecordReader, file: string): Promise<FoundFile> {
  const found = await findNode(reader, nameOf(file), storage.known);
  refuseUnlessFile(found);
  return found;
}

/** As one writes through an open that is there: nobody is asked for admission. */
async function flush({ file, text }: Order & { do: 'flush' }): Promise<void> {
  const taken = await takeRange(storage, 0, bodyOf(Buffer.from(text)));
  const properties = { ...NO_CHANGES, writtenAt: 'now' } as const;
  await storage.extents.publishing(taken.bytes.middle, () =>
    withOldBytes(storage, (old) =>
      transact(storage.engine, async (tx) => {
        const found = await findFile(tx, file);
        const common = await changedProperties(tx, storage, found, properties);
        await changeNode(tx, found, async (before) => ({
          ...before,
          ...common,
          content: await writeBytes(tx, storage, before.content, { taken: taken.bytes, old }),
        }));
      }),
    ),
  );
}

const etagOf = (file: string): Promise<string> =>
  storage.readers.inSnapshot(async (snapshot) => (await findFile(snapshotReader(snapshot), file)).node.etag);

async function visitOnce(file: string, manner: Manner): Promise<Visit> {
  const share = manner === 'shares nothing' ? NO_ACCESS : ALL_ACCESS;
  const { openId } = await open({ do: 'open', file, share, ...(manner === 'caches writes' ? { caching: 'RWH' } : {}) });
  if (manner === 'locks a range') await opens.lock(openId, [lockOf([0, 1])], { waitMs: 0 });
  if (manner === 'marks it for deletion') await opens.markForDeletion(openId, true);
  const etags = [await etagOf(file)];
  while (etags.length < LOOKS_PER_VISIT && !unwelcome.has(openId)) etags.push(await etagOf(file));
  etags.push(await etagOf(file));
  if (manner === 'marks it for deletion') await opens.markForDeletion(openId, false);
  await opens.close(openId);
  unwelcome.delete(openId);
  return etags;
}

async function visit({ file, manner, times }: Order & { do: 'visit' }): Promise<Visit[]> {
  const visits: Visit[] = [];
  while (visits.length < times) {
    visits.push(await visitOnce(file, manner));
    // Leaves others some time.
    await etagOf(file);
  }
  return visits;
}

const lockOf = ([offset, length]: readonly [number, number]) => ({
  offsetBytes: BigInt(offset),
  lengthBytes: BigInt(length),
  isExclusive: true,
});

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'open':
      return open(order);
    case 'close':
      return opens.close(order.openId);
    case 'lock':
      return opens.lock(order.openId, [lockOf(order.range)], { waitMs: 0 });
    case 'unlock':
      return opens.unlock(order.openId, [lockOf(order.range)]);
    case 'mark':
      return opens.markForDeletion(order.openId, order.isMarked);
    case 'flush':
      return flush(order);
    case 'acknowledge':
      return opens.acknowledge(order.openId, order.caching);
    case 'visit':
      return visit(order);
  }
}

async function answer({ to, ...order }: Order & { readonly to: number }): Promise<void> {
  try {
    say({ to, done: (await obey(order)) ?? null });
  } catch (error) {
    if (error instanceof StorageError) say({ to, refused: error.code });
    else if (error instanceof OpenClosed) say({ to, refused: error.name });
    else fail(error);
  }
}

say({ event: 'ready' });
const underWay = new Set<Promise<void>>();
for await (const line of createInterface({ input: process.stdin })) {
  const answering = answer(JSON.parse(line) as Order & { to: number }).finally(() => underWay.delete(answering));
  underWay.add(answering);
}
await Promise.all(underWay);
await services.close();
await store.close();
