/**
 * One client of the crash test: random writes until the connection breaks. A client alone writes its own blobs, and
 * makes and deletes containers; all of them count up one shared counter and append to one shared log.
 */
import assert from 'node:assert/strict';
import type { Random } from '../harness/random.ts';
import { BlobLoad } from './blob-load.ts';
import { Client, Cut, type Kill } from './client.ts';
import { type ContainerEntry, type Counter, newBlobEntry, newContainerEntry, type Pool } from './journal.ts';
import type { SharedLog } from './shared-log.ts';

export interface LoadOptions {
  readonly url: string;
  readonly random: Random;
  readonly pool: Pool;
  /** The client's own container, which stays. */
  readonly container: ContainerEntry;
  /** The client's short-lived containers, the deleted ones too. */
  readonly passing: ContainerEntry[];
  readonly counter: Counter;
  readonly log: SharedLog;
  readonly kill: Kill;
}

export class Load {
  readonly #options: LoadOptions;
  readonly #random: Random;
  readonly #client: Client;
  readonly #blobs: BlobLoad;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#client = new Client(options.url, options.kill);
    this.#blobs = new BlobLoad({ client: this.#client, random: options.random, pool: options.pool });
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
    if (dice < 0.06) return this.#count();
    if (dice < 0.12) return this.#passContainer();
    if (dice < 0.2) return log.append(this.#client, this.#random);
    return this.#blobs.change({ container, blob: this.#random.pick(container.blobs) });
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
