/**
 * One client of the crash test: random writes until the connection breaks. A client alone writes its own blobs, tables,
 * queues and shares, one of them over SMB, and makes and deletes containers, a table, a queue and a share; all of them count up
 * shared counters, append to one shared log over HTTP and another over SMB, move amounts between the accounts of one shared
 * table, put to and get from one shared queue, and write to one shared file.
 */
import assert from 'node:assert/strict';
import type { Random } from '../harness/random.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { BlobLoad } from './blob-load.ts';
import { Client, Cut, type Kill } from './client.ts';
import type { ShareEntry } from './file-journal.ts';
import { FileLoad } from './file-load.ts';
import { type ContainerEntry, type Counter, newBlobEntry, newContainerEntry, type Pool } from './journal.ts';
import type { QueueEntry } from './queue-journal.ts';
import { QueueLoad } from './queue-load.ts';
import type { SharedFile } from './shared-file.ts';
import type { SharedLog } from './shared-log.ts';
import type { SharedQueue } from './shared-queue.ts';
import type { SharedTable } from './shared-table.ts';
import type { SmbShareEntry } from './smb-journal.ts';
import { SmbLoad } from './smb-load.ts';
import { type SmbLog, SmbLogWriter } from './smb-log.ts';
import type { TableEntry } from './table-journal.ts';
import { TableLoad } from './table-load.ts';

export interface LoadOptions {
  readonly server: ServerProcess;
  readonly random: Random;
  readonly pool: Pool;
  /** The client's own container, which stays. */
  readonly container: ContainerEntry;
  /** The client's short-lived containers, the deleted ones too. */
  readonly passing: ContainerEntry[];
  /** The client's own table, which stays. */
  readonly table: TableEntry;
  /** One that it makes and deletes, always under the same name. */
  readonly passingTable: TableEntry;
  readonly sharedTable: SharedTable;
  /** The same for queues. */
  readonly queue: QueueEntry;
  readonly passingQueue: QueueEntry;
  readonly sharedQueue: SharedQueue;
  /** The same for shares. */
  readonly share: ShareEntry;
  readonly passingShare: ShareEntry;
  readonly sharedFile: SharedFile;
  /** One that the client uses over SMB alone. */
  readonly smbShare: SmbShareEntry;
  readonly smbLog: SmbLog;
  /** The client's own part of the shared file. */
  readonly slot: number;
  readonly counter: Counter;
  readonly log: SharedLog;
  readonly kill: Kill;
}

export class Load {
  readonly #options: LoadOptions;
  readonly #random: Random;
  readonly #client: Client;
  readonly #blobs: BlobLoad;
  readonly #tables: TableLoad;
  readonly #queues: QueueLoad;
  readonly #files: FileLoad;
  readonly #smb: SmbLoad;
  readonly #smbLog: SmbLogWriter;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#random = options.random;
    const { server, random, pool, kill, smbShare: entry, smbLog: log } = options;
    this.#client = new Client(server.url, kill);
    this.#blobs = new BlobLoad({ client: this.#client, random, pool });
    this.#tables = new TableLoad({ client: this.#client, random, server });
    this.#queues = new QueueLoad({ client: this.#client, random, server });
    this.#files = new FileLoad({ client: this.#client, random, server });
    this.#smb = new SmbLoad({ server, random, kill, entry });
    this.#smbLog = new SmbLogWriter({ log, server, kill });
  }

  /** Writes until the server is killed. */
  async run(): Promise<void> {
    try {
      while (!this.#options.kill.done) await this.#act();
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
    }
  }

  async #act(): Promise<void> {
    const { container, log } = this.#options;
    const dice = this.#random.next();
    if (dice < 0.05) return this.#count();
    if (dice < 0.09) return this.#passContainer();
    if (dice < 0.15) return log.append(this.#client, this.#random);
    if (dice < 0.29) return this.#changeTables();
    if (dice < 0.43) return this.#changeQueues();
    if (dice < 0.59) return this.#changeShares();
    if (dice < 0.62) return this.#smbLog.append(this.#random);
    if (dice < 0.76) return this.#smb.change();
    return this.#blobs.change({ container, blob: this.#random.pick(container.blobs) });
  }

  async #changeTables(): Promise<void> {
    const { server, table, passingTable, sharedTable } = this.#options;
    const dice = this.#random.next();
    if (dice < 0.2) return sharedTable.transfer(this.#client, server, this.#random);
    if (dice < 0.3) return sharedTable.count(this.#client, server);
    if (dice < 0.4) return this.#tables.pass(passingTable);
    if (dice < 0.5 && passingTable.exists) return this.#tables.change(passingTable);
    return this.#tables.change(table);
  }

  async #changeQueues(): Promise<void> {
    const { server, queue, passingQueue, sharedQueue } = this.#options;
    const dice = this.#random.next();
    if (dice < 0.3) return sharedQueue.act(this.#client, server, this.#random);
    if (dice < 0.36) return this.#queues.pass(passingQueue);
    if (dice < 0.5 && passingQueue.exists) return this.#queues.change(passingQueue);
    return this.#queues.change(queue);
  }

  async #changeShares(): Promise<void> {
    const { server, share, passingShare, sharedFile, slot } = this.#options;
    const dice = this.#random.next();
    if (dice < 0.2) return sharedFile.write(this.#client, server, slot);
    if (dice < 0.26) return this.#files.pass(passingShare);
    if (dice < 0.4 && passingShare.exists) return this.#files.change(passingShare);
    return this.#files.change(share);
  }

  /** Makes a container with blobs in it, or deletes one with all that it holds. */
  async #passContainer(): Promise<void> {
    const { passing, container: own } = this.#options;
    const existing = passing.find((one) => one.exists);
    if (existing !== undefined) return this.#changeContainer(existing, { method: 'DELETE', exists: false });
    const container = newContainerEntry(`${own.name}-passing-${passing.length}`, own);
    passing.push(container);
    await this.#changeContainer(container, { method: 'PUT', exists: true });
    for (const type of ['BlockBlob', 'AppendBlob', 'PageBlob'] as const) {
      const blob = newBlobEntry(type.toLowerCase(), type);
      container.blobs.push(blob);
      await this.#blobs.create({ container, blob });
      await this.#blobs.change({ container, blob });
    }
  }

  async #changeContainer(
    container: ContainerEntry,
    { method, exists }: { method: string; exists: boolean },
  ): Promise<void> {
    container.pendingExists = exists;
    const { account, name } = container;
    const { outcome } = await this.#client.send({ account, method, path: `/${name}?restype=container` });
    assert.equal(outcome, exists ? '201' : '202');
    container.exists = exists;
    container.pendingExists = null;
    this.#options.kill.countAcknowledged();
  }

  async #count(): Promise<void> {
    const { counter } = this.#options;
    const path = `/${counter.container}/${counter.name}`;
    const { headers } = await this.#client.send({ method: 'HEAD', path });
    const count = Number(headers['x-ms-meta-count']);
    counter.pendingCount += 1;
    const { outcome } = await this.#client.send({
      method: 'PUT',
      path: `${path}?comp=metadata`,
      headers: { 'x-ms-meta-count': String(count + 1), 'if-match': headers.etag ?? '' },
    });
    counter.pendingCount -= 1;
    if (outcome === '200') counter.acknowledgedCount += 1;
    else assert.equal(outcome, '412 ConditionNotMet');
    this.#options.kill.countAcknowledged();
  }
}
