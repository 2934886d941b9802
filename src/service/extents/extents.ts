/**
 * How bytes come in and are let go of. A body is first staged (durable, named by nothing), then published by the
 * transaction that names it; what a change replaces is dropped in the same transaction and swept later (sweeper.ts).
 */
import type { Clock } from '../../base/clock.ts';
import type { Id, IdSource } from '../../base/ids.ts';
import type { ContentStore, Placement } from '../../content/content.ts';
import { EngineUnavailable } from '../../engine/engine.ts';
import type { Transaction } from '../../engine/transact.ts';
import { dropPages, freezePages } from '../pages/page-map.ts';
import type { BlobContent, BlobRecord } from '../records/blob-record.ts';
import { encodeJson } from '../records/codec.ts';
import { type ExtentRef, encodeInline } from '../records/extent-record.ts';
import type { GarbageRecord } from '../records/garbage-record.ts';
import { extentKey, garbageKey } from '../records/keys.ts';
import { type CustomerKey, sealBytes, sealStream } from './customer-key.ts';
import { release, share } from './references.ts';

/** Up to here a body rides in the engine's commit (measured: docs/decisions/0003-content.md). */
export const INLINE_BYTES_MAX = 8 * 1024;

export type StagedExtent = {
  readonly ref: ExtentRef;
  readonly lengthBytes: number;
  /** Where it is, while nothing names it: here, or already in the content store. */
  readonly body: { readonly bytes: Uint8Array } | { readonly placement: Placement; readonly begunMs: number };
};

/** The part of a blob's record that says what it holds. */
export type Held = Pick<BlobRecord, 'content' | 'isShared'>;

export class Extents {
  readonly #content: ContentStore;
  readonly #ids: IdSource;
  readonly #clock: Clock;
  readonly #publishLimitMs: number;
  readonly #onGarbage: () => void;

  constructor(options: {
    content: ContentStore;
    ids: IdSource;
    clock: Clock;
    /** How long after its writing began an extent may still be published: less than what a recovery spares. */
    publishLimitMs: number;
    onGarbage: () => void;
  }) {
    this.#content = options.content;
    this.#ids = options.ids;
    this.#clock = options.clock;
    this.#publishLimitMs = options.publishLimitMs;
    this.#onGarbage = options.onGarbage;
  }

  /** Whether a body of this length is gathered in memory and handed to `stageSmall`. */
  isSmall(lengthBytes: number): boolean {
    return lengthBytes <= INLINE_BYTES_MAX;
  }

  stageSmall(bytes: Uint8Array, key: CustomerKey | null = null): StagedExtent {
    const id = this.#ids.next();
    const sealed = key === null ? bytes : sealBytes(key, { extentId: id, offsetBytes: 0 }, bytes);
    return { ref: { id, inline: true }, lengthBytes: bytes.length, body: { bytes: sealed } };
  }

  /** Streams a body into the content store; resolves once it is durable. */
  async stageLarge(
    source: AsyncIterable<Uint8Array>,
    lengthBytes: number,
    key: CustomerKey | null = null,
  ): Promise<StagedExtent> {
    const id = this.#ids.next();
    const begunMs = this.#clock.nowMs();
    const bytes = key === null ? source : sealStream(key, { extentId: id, offsetBytes: 0 }, source);
    const placement = await this.#content.write(id, bytes, lengthBytes);
    return { ref: { id, inline: false }, lengthBytes, body: { placement, begunMs } };
  }

  publish(tx: Transaction, extent: StagedExtent): void {
    const { body, lengthBytes } = extent;
    if ('placement' in body && this.#clock.nowMs() - body.begunMs > this.#publishLimitMs) {
      // This node was paused, or its client was: a recovery may have taken the bytes for what a crash left.
      throw new EngineUnavailable('the upload took so long that its content may have been swept');
    }
    tx.put(
      extentKey(extent.ref),
      'bytes' in body ? encodeInline(body.bytes) : encodeJson({ placement: body.placement, lengthBytes }),
    );
  }

  /**
   * Runs what publishes a staged extent; gives the bytes back if it was refused. After EngineUnavailable nobody knows
   * whether the commit took effect, so the bytes stay: the content store's next recovery (open-storage.ts) gives them
   * back if nothing names them.
   */
  async publishing<T>(extent: StagedExtent | null, publish: () => Promise<T>): Promise<T> {
    try {
      return await publish();
    } catch (error) {
      if (extent !== null && !(error instanceof EngineUnavailable)) await this.discard(extent);
      throw error;
    }
  }

  async discard(extent: StagedExtent): Promise<void> {
    if ('placement' in extent.body) await this.#content.free(extent.body.placement, extent.lengthBytes);
  }

  /**
   * Lets go of what a record held; what others hold too lives on with them. `keeping` is the layout that took over some
   * of its extents.
   */
  async drop(tx: Transaction, held: Held, keeping: Id | null = null): Promise<void> {
    const { content, isShared = false } = held;
    if (content.kind === 'empty') return;
    if (content.kind === 'pages') {
      dropPages(tx, this, content);
      return;
    }
    const ids = countedIdsOf(content);
    const gone = isShared ? await release(tx, ids) : ids;
    if (gone.length === 0) this.keepBeside(tx, held, keeping);
    for (const id of gone) this.#dropContent(tx, { content, id, keeping, mayShare: isShared });
  }

  /** The same for several records, some of which may hold the same: who else holds it is looked up for all at once. */
  async dropAll(tx: Transaction, all: readonly Held[]): Promise<void> {
    const shared = all.filter(({ isShared }) => isShared === true);
    const gone = new Set(
      await release(
        tx,
        shared.flatMap(({ content }) => countedIdsOf(content)),
      ),
    );
    for (const { content, isShared = false } of all) {
      if (content.kind === 'pages') dropPages(tx, this, content);
      for (const id of countedIdsOf(content)) {
        if (isShared && !gone.delete(id)) continue;
        this.#dropContent(tx, { content, id, keeping: null, mayShare: isShared });
      }
    }
  }

  #dropContent(
    tx: Transaction,
    { content, id, keeping, mayShare }: { content: BlobContent; id: Id; keeping: Id | null; mayShare: boolean },
  ): void {
    switch (content.kind) {
      case 'inline':
        // Nobody can be reading it later than in the snapshot that still has it.
        tx.delete(extentKey({ id, inline: true }));
        return;
      case 'extent':
        this.dropExtent(tx, { id, inline: false });
        return;
      case 'layout':
        this.discardLater(tx, { kind: 'layout', id, keeping, ...(mayShare ? { mayShare: true } : {}) });
        return;
      case 'appended':
        this.discardLater(tx, { kind: 'list', id });
        return;
      case 'empty':
      case 'pages':
        return;
    }
  }

  /**
   * The record's content lives on beside the layout that took over some of its extents, if there is one: those have two
   * owners from now on. The result belongs into the record.
   */
  keepBeside(tx: Transaction, { content }: Held, keeping: Id | null): { isShared?: true } {
    if (keeping === null || content.kind !== 'layout') return {};
    this.discardLater(tx, { kind: 'share', id: keeping, with: content.id, done: 0 });
    return { isShared: true };
  }

  /** Gives a second holder the same content: no byte is copied. `own` replaces what the first one held. */
  async share(tx: Transaction, { content }: Held): Promise<{ own: Held; other: Held }> {
    if (content.kind === 'empty') return { own: { content }, other: { content } };
    if (content.kind === 'pages') {
      const { current, frozen } = freezePages(tx, content);
      return { own: { content: current }, other: { content: frozen } };
    }
    await share(tx, countedIdsOf(content));
    const other: BlobContent = content.kind === 'appended' ? { ...content, isBorrowed: true } : content;
    return { own: { content, isShared: true }, other: { content: other, isShared: true } };
  }

  dropStaging(tx: Transaction, stagingId: Id, keeping: Id | null = null): void {
    this.discardLater(tx, { kind: 'staging', id: stagingId, keeping });
  }

  dropExtent(tx: Transaction, extent: ExtentRef): void {
    this.discardLater(tx, { kind: 'extent', extent });
  }

  dropContainer(tx: Transaction, account: string, containerId: Id): void {
    this.discardLater(tx, { kind: 'container', account, id: containerId });
  }

  discardLater(tx: Transaction, garbage: GarbageRecord): void {
    tx.put(garbageKey(this.#ids.next()), encodeJson(garbage));
    this.#onGarbage();
  }
}

/** What may have several holders; pages have their own way (service/pages/). */
function countedIdsOf(content: BlobContent): readonly Id[] {
  if (content.kind === 'empty' || content.kind === 'pages') return [];
  return content.kind === 'appended' ? content.lists.map((list) => list.id) : [content.id];
}

export const contentOf = (extent: StagedExtent | null): BlobContent =>
  extent === null ? { kind: 'empty' } : { kind: extent.ref.inline ? 'inline' : 'extent', id: extent.ref.id };
