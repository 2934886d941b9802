/**
 * One client of the crash test: random writes, each journalled before it is sent and again when it is acknowledged,
 * until the connection breaks. A client alone writes its names (what a name may hold after a crash is then known), and
 * all of them count up one shared counter.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type RawResponse, send } from '../harness/http.ts';
import type { Random } from '../harness/random.ts';
import {
  type BlobEntry,
  type BlobState,
  type Block,
  type CommittedBlob,
  type ContainerEntry,
  type Counter,
  NO_BLOB,
  newBlobEntry,
  newContainerEntry,
  type Piece,
  type Pool,
} from './journal.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The server was killed while a request was under way. */
class Cut extends Error {}

/** When the server is to be killed, and whether it has been: what all clients of a round share. */
export class Kill {
  readonly due: Promise<void>;
  done = false;
  acknowledgedCount = 0;
  readonly #dueAtCount: number;
  #makeDue: (() => void) | null = null;

  constructor(dueAtCount: number) {
    this.#dueAtCount = dueAtCount;
    this.due = new Promise((resolve) => {
      this.#makeDue = resolve;
    });
  }

  countAcknowledged(): void {
    this.acknowledgedCount += 1;
    if (this.acknowledgedCount === this.#dueAtCount) this.#makeDue?.();
  }
}

export interface LoadOptions {
  readonly url: string;
  readonly random: Random;
  readonly pool: Pool;
  /** The client's own container, which stays. */
  readonly container: ContainerEntry;
  /** The client's short-lived containers, the deleted ones too. */
  readonly passing: ContainerEntry[];
  readonly counter: Counter;
  readonly kill: Kill;
}

interface Write {
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly status: number;
}

export class Load {
  readonly #options: LoadOptions;
  readonly #random: Random;
  #serial = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#random = options.random;
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
    const dice = this.#random.next();
    if (dice < 0.06) return this.#count();
    if (dice < 0.12) return this.#passContainer();
    return this.#changeBlob(this.#options.container, this.#random.pick(this.#options.container.blobs));
  }

  async #changeBlob(container: ContainerEntry, blob: BlobEntry): Promise<void> {
    const { committed, staged } = blob.acknowledged;
    const dice = this.#random.next();
    if (staged.length > 0 && dice < 0.3) return this.#putBlockList(container, blob);
    if (committed === null) return dice < 0.7 ? this.#putBlob(container, blob) : this.#putBlock(container, blob);
    if (dice < 0.45) return this.#putBlob(container, blob);
    if (dice < 0.6) return this.#putBlock(container, blob);
    if (dice < 0.75) return this.#setMetadata(container, blob, committed);
    if (dice < 0.83) return this.#deleteBlob(container, blob, committed);
    if (dice < 0.93) return this.#lease(container, blob, committed);
    return this.#beRefused(container, blob, committed);
  }

  // --- One blob -----------------------------------------------------------------------------------------------------

  async #putBlob(container: ContainerEntry, blob: BlobEntry): Promise<void> {
    const piece = this.#newPiece(this.#blobLength());
    const next = this.#overwritten(blob, { content: [piece], blocks: [] });
    await this.#write(container, blob, next, {
      headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-turn': next.turn },
      body: this.#options.pool.cut(piece),
      status: 201,
    });
  }

  async #putBlock(container: ContainerEntry, blob: BlobEntry): Promise<void> {
    this.#serial += 1;
    const id = Buffer.from(`block ${String(this.#serial).padStart(6, '0')}`).toString('base64');
    const block: Block = { id, piece: this.#newPiece(1 + this.#blobLength()) };
    const { committed, staged } = blob.acknowledged;
    const next: BlobState = { committed, staged: [...staged.filter((one) => one.id !== id), block] };
    await this.#journalled(container, blob, next, {
      query: `comp=block&blockid=${encodeURIComponent(id)}`,
      body: this.#options.pool.cut(block.piece),
      status: 201,
    });
  }

  /** Some of the committed blocks, then all the staged ones. */
  async #putBlockList(container: ContainerEntry, blob: BlobEntry): Promise<void> {
    const { committed, staged } = blob.acknowledged;
    const stagedIds = new Set(staged.map(({ id }) => id));
    const kept = (committed?.blocks ?? []).filter(({ id }) => !stagedIds.has(id) && this.#random.chance(0.5));
    const blocks = [...kept, ...staged];
    const next = this.#overwritten(blob, { content: blocks.map(({ piece }) => piece), blocks });
    const lines = [
      ...kept.map(({ id }) => `<Committed>${id}</Committed>`),
      ...staged.map(({ id }) => `<Uncommitted>${id}</Uncommitted>`),
    ];
    await this.#write(container, blob, next, {
      query: 'comp=blocklist',
      headers: { 'x-ms-meta-turn': next.turn },
      body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${lines.join('')}</BlockList>`,
      status: 201,
    });
  }

  async #setMetadata(container: ContainerEntry, blob: BlobEntry, committed: CommittedBlob): Promise<void> {
    const next = { ...committed, etag: null, etagBefore: committed.etag, turn: this.#newTurn() };
    const write = {
      query: 'comp=metadata',
      headers: { 'x-ms-meta-turn': next.turn, 'if-match': committed.etag ?? '' },
      status: 200,
    };
    await this.#write(container, blob, next, write, blob.acknowledged.staged);
  }

  async #deleteBlob(container: ContainerEntry, blob: BlobEntry, committed: CommittedBlob): Promise<void> {
    const headers = this.#random.chance(0.5) ? { 'if-match': committed.etag ?? '' } : {};
    await this.#journalled(container, blob, NO_BLOB, { method: 'DELETE', headers, status: 202 });
  }

  async #lease(container: ContainerEntry, blob: BlobEntry, committed: CommittedBlob): Promise<void> {
    const leaseId = committed.leaseId === null ? randomUUID() : null;
    const next: BlobState = { ...blob.acknowledged, committed: { ...committed, leaseId } };
    const acquire = {
      'x-ms-lease-action': 'acquire',
      'x-ms-lease-duration': '-1',
      'x-ms-proposed-lease-id': leaseId ?? '',
    };
    await this.#journalled(container, blob, next, {
      query: 'comp=lease',
      headers: leaseId === null ? { 'x-ms-lease-action': 'release' } : acquire,
      status: leaseId === null ? 200 : 201,
    });
  }

  /** A write with an ETag or a lease id that never was: whatever the moment of the crash, it changes nothing. */
  async #beRefused(container: ContainerEntry, blob: BlobEntry, committed: CommittedBlob): Promise<void> {
    const stale = { 'if-match': '"0x8D0000000000000"' };
    const foreign = { 'x-ms-lease-id': randomUUID() };
    await this.#journalled(container, blob, blob.acknowledged, {
      query: 'comp=metadata',
      headers: { 'x-ms-meta-turn': 'refused', ...(committed.leaseId === null ? stale : foreign) },
      status: 412,
    });
  }

  // --- Containers and the counter -----------------------------------------------------------------------------------

  /** Makes a container with blobs in it, or deletes one with all that it holds. */
  async #passContainer(): Promise<void> {
    const { passing, container: own } = this.#options;
    const existing = passing.find((one) => one.exists);
    if (existing !== undefined) return this.#changeContainer(existing, { method: 'DELETE', exists: false });
    const container = newContainerEntry(`${own.name}-passing-${passing.length}`);
    passing.push(container);
    await this.#changeContainer(container, { method: 'PUT', exists: true });
    for (const name of ['one', 'two', 'three']) {
      const blob = newBlobEntry(name);
      container.blobs.push(blob);
      await this.#putBlob(container, blob);
    }
  }

  async #changeContainer(
    container: ContainerEntry,
    { method, exists }: { method: string; exists: boolean },
  ): Promise<void> {
    container.pendingExists = exists;
    const { outcome } = await this.#send({ method, path: `/${container.name}?restype=container` });
    assert.equal(outcome, exists ? '201' : '202');
    container.exists = exists;
    container.pendingExists = null;
    this.#options.kill.countAcknowledged();
  }

  async #count(): Promise<void> {
    const { counter } = this.#options;
    const path = `/${counter.container}/${counter.name}`;
    const { headers } = await this.#send({ method: 'HEAD', path });
    const count = Number(headers['x-ms-meta-count']);
    counter.pendingCount += 1;
    const { outcome } = await this.#send({
      method: 'PUT',
      path: `${path}?comp=metadata`,
      headers: { 'x-ms-meta-count': String(count + 1), 'if-match': headers.etag ?? '' },
    });
    counter.pendingCount -= 1;
    if (outcome === '200') counter.acknowledgedCount += 1;
    else assert.equal(outcome, '412 ConditionNotMet');
    this.#options.kill.countAcknowledged();
  }

  // --- What all of them share ---------------------------------------------------------------------------------------

  /** A new version of the blob's content; the lease outlives it, the staged blocks do not. */
  #overwritten(
    { acknowledged: { committed } }: BlobEntry,
    { content, blocks }: { content: readonly Piece[]; blocks: readonly Block[] },
  ): CommittedBlob {
    const leaseId = committed?.leaseId ?? null;
    return { etag: null, etagBefore: committed?.etag ?? null, content, blocks, turn: this.#newTurn(), leaseId };
  }

  /** A write that gives the blob a new ETag, which its answer tells. */
  async #write(
    container: ContainerEntry,
    blob: BlobEntry,
    next: CommittedBlob,
    write: Write,
    staged: readonly Block[] = [],
  ): Promise<void> {
    const response = await this.#journalled(container, blob, { committed: next, staged }, write);
    const etag = response.headers.etag ?? null;
    assert.ok(etag !== null && etag !== next.etagBefore, `a write must bring a new ETag, not ${etag}`);
    blob.acknowledged = { committed: { ...next, etag }, staged };
  }

  async #journalled(
    container: ContainerEntry,
    blob: BlobEntry,
    next: BlobState,
    { method = 'PUT', query, headers = {}, body, status }: Write,
  ): Promise<RawResponse> {
    blob.pending = next;
    const leaseId = blob.acknowledged.committed?.leaseId ?? null;
    const response = await this.#send({
      method,
      path: `/${container.name}/${blob.name}${query === undefined ? '' : `?${query}`}`,
      headers: { ...(leaseId === null ? {} : { 'x-ms-lease-id': leaseId }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const what = `${method} ${container.name}/${blob.name} ${query ?? ''}: ${response.outcome} ${response.body.toString()}`;
    assert.equal(response.status, status, what);
    blob.acknowledged = next;
    blob.pending = null;
    this.#options.kill.countAcknowledged();
    return response;
  }

  async #send(request: Parameters<typeof send>[1]): Promise<RawResponse> {
    try {
      return await send(this.#options.url, request);
    } catch (error) {
      if (this.#options.kill.done) throw new Cut();
      throw error;
    }
  }

  #newTurn(): string {
    return String(this.#random.below(1_000_000_000));
  }

  #newPiece(lengthBytes: number): Piece {
    return this.#options.pool.place(lengthBytes, this.#random.next());
  }

  /** Sizes on both sides of every point where content is likely to be kept in another way. */
  #blobLength(): number {
    const dice = this.#random.next();
    if (dice < 0.06) return 0;
    if (dice < 0.45) return this.#random.below(4 * KIB);
    if (dice < 0.6) return 64 * KIB - 1 + this.#random.below(3);
    if (dice < 0.82) return this.#random.below(MIB);
    if (dice < 0.9) return MIB - 1 + this.#random.below(3);
    return MIB + this.#random.below(2 * MIB);
  }
}
