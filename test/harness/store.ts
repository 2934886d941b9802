/**
 * The services on an engine and a content store of the test's choosing, without any HTTP before them: short forms of
 * the blob operations, opening again as after a restart, sweeping to the end, and a look at every record.
 */
import { ManualClock } from '../../src/base/clock.ts';
import type { ContentStore } from '../../src/content/content.ts';
import { openMemoryContent } from '../../src/content/memory/memory-content.ts';
import { type Engine, type Entry, isVolatile } from '../../src/engine/engine.ts';
import { openMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import type { BlockListEntry } from '../../src/rules/block-list.ts';
import { NO_CONDITIONS } from '../../src/rules/conditions.ts';
import { NEWEST_VERSION } from '../../src/rules/versions.ts';
import { createContainer } from '../../src/service/blob/create-container.ts';
import { deleteBlob } from '../../src/service/blob/delete-blob.ts';
import { type BlobReadWithBytes, getBlob } from '../../src/service/blob/get-blob.ts';
import { putBlob } from '../../src/service/blob/put-blob.ts';
import { putBlock } from '../../src/service/blob/put-block.ts';
import { putBlockList } from '../../src/service/blob/put-block-list.ts';
import { deleteContainer } from '../../src/service/blob/use-container.ts';
import { NOTHING_OUTSIDE } from '../../src/service/copy/nothing-outside.ts';
import type { Outside } from '../../src/service/copy/outside.ts';
import type { Sweeper } from '../../src/service/extents/sweeper.ts';
import type { Body } from '../../src/service/extents/take-body.ts';
import type { Nodes } from '../../src/service/nodes/nodes.ts';
import { openStorage } from '../../src/service/open-storage.ts';
import { type AccountSettings, DEFAULT_SETTINGS, type Storage } from '../../src/service/storage.ts';
import { openLocalSignals } from '../../src/signals/local/local-signals.ts';
import type { Signals, Topic } from '../../src/signals/signals.ts';

export const ACCOUNT = 'account1';
const PASSES_MAX = 10;

export const blobRequest = (container: string, blob: string) => ({
  name: { account: ACCOUNT, container, blob },
  conditions: NO_CONDITIONS,
  leaseId: null,
  version: NEWEST_VERSION,
});

export const NEW_BLOB = {
  headers: {},
  metadata: [],
  tags: null,
  tier: null,
  immutability: null,
  encryptionScope: null,
};

const containerRequest = (container: string) => ({
  name: { account: ACCOUNT, container },
  conditions: NO_CONDITIONS,
  leaseId: null,
});

/** A block id of three bytes, as a client writes it. */
export const blockIdOf = (number: number): string => Buffer.from(String(number).padStart(3, '0')).toString('base64');

export async function gather(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<Buffer> {
  if (bytes instanceof Uint8Array) return Buffer.from(bytes);
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

export function bodyOf(bytes: Uint8Array): Body {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  return { stream: pieces, whole: async () => bytes, lengthBytes: bytes.length, md5: null, crc64: null };
}

export interface TestStoreParts {
  readonly engine: Engine;
  readonly content: ContentStore;
  readonly clock: ManualClock;
  readonly signals: Signals;
  readonly slot: () => number | null;
  readonly isShared: boolean;
  readonly settings: (account: string) => AccountSettings;
  readonly outside: Outside;
}

/** By itself it does nothing but sweep soon after something was let go of: a test calls `beat`. */
export class TestStore {
  readonly engine: Engine;
  readonly content: ContentStore;
  readonly clock: ManualClock;
  /** What was met in work that nobody waits for, such as passes of the sweeper's own. */
  readonly errors: unknown[] = [];
  readonly #parts: TestStoreParts;
  storage!: Storage;
  sweeper!: Sweeper;
  nodes!: Nodes;
  beat: () => Promise<void> = async () => {};
  #close: () => Promise<void> = async () => {};

  private constructor(parts: TestStoreParts) {
    this.engine = parts.engine;
    this.content = parts.content;
    this.clock = parts.clock;
    this.#parts = parts;
  }

  static async open(parts: Partial<TestStoreParts> = {}): Promise<TestStore> {
    const store = new TestStore({
      engine: parts.engine ?? openMemoryEngine(),
      content: parts.content ?? openMemoryContent(),
      clock: parts.clock ?? new ManualClock(),
      signals: parts.signals ?? openLocalSignals(),
      slot: parts.slot ?? (() => null),
      isShared: parts.isShared ?? false,
      settings: parts.settings ?? (() => DEFAULT_SETTINGS),
      outside: parts.outside ?? NOTHING_OUTSIDE,
    });
    await store.#start();
    return store;
  }

  async #start(): Promise<void> {
    const onError = (error: unknown): void => void this.errors.push(error);
    const opened = await openStorage({ ...this.#parts, beatMs: null, onError });
    this.storage = opened.storage;
    this.sweeper = opened.sweeper;
    this.nodes = opened.nodes;
    this.beat = opened.beat;
    this.#close = opened.close;
  }

  /** As after a restart, but on an engine and content that stayed open; content must allow that (memory does). */
  async reopen(): Promise<void> {
    await this.close();
    await this.#start();
  }

  async close(): Promise<void> {
    await this.#close();
  }

  /** Passes follow each other until one leaves nothing, or what is left is held by readers. */
  async sweep(): Promise<void> {
    let before = '';
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      await this.sweeper.sweep();
      const left = (await this.garbage()).join();
      if (left === before) return;
      before = left;
    }
  }

  async garbage(): Promise<string[]> {
    return (await this.records()).filter((key) => key.startsWith('G'));
  }

  /** Every key there is, printable; without the volatile ones, which tell of nodes and not of what is stored. */
  async records(): Promise<string[]> {
    return (await this.entries()).map(
      ({ key }) => `${String.fromCharCode(key[0] as number)} ${Buffer.from(key.subarray(1)).toString('hex')}`,
    );
  }

  async entries(): Promise<Entry[]> {
    const snapshot = this.engine.snapshot();
    const everything = { from: Buffer.from([0]), to: Buffer.from([0xff]) };
    const entries = await snapshot.range(everything, { limit: 1_000_000 }).finally(() => snapshot.close());
    return entries.filter(({ key }) => !isVolatile(key));
  }

  async createContainer(container: string): Promise<void> {
    const name = { account: ACCOUNT, container };
    await createContainer(this.storage, { name, metadata: [], publicAccess: null });
  }

  async deleteContainer(container: string): Promise<void> {
    await deleteContainer(this.storage, containerRequest(container));
  }

  async put(container: string, blob: string, bytes: Uint8Array): Promise<void> {
    const rest = { ...NEW_BLOB, mayOverwrite: true };
    await putBlob(this.storage, { ...blobRequest(container, blob), ...rest, body: bodyOf(bytes) });
  }

  async putBlock(container: string, blob: string, blockId: string, bytes: Uint8Array): Promise<void> {
    await putBlock(this.storage, { ...blobRequest(container, blob), blockId, body: bodyOf(bytes) });
  }

  async putBlockList(container: string, blob: string, entries: readonly BlockListEntry[]): Promise<void> {
    await putBlockList(this.storage, { ...blobRequest(container, blob), ...NEW_BLOB, entries });
  }

  async delete(container: string, blob: string): Promise<void> {
    await deleteBlob(this.storage, { ...blobRequest(container, blob), deleteSnapshots: null });
  }

  open(container: string, blob: string): Promise<BlobReadWithBytes> {
    return getBlob(this.storage, { ...blobRequest(container, blob), range: null });
  }

  async read(container: string, blob: string): Promise<Buffer> {
    return gather((await this.open(container, blob)).bytes);
  }
}

/** A place where something waits until the test lets it go on. */
export class Gate {
  readonly passed: Promise<void>;
  open!: () => void;

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/** A server's own timers keep no process alive; a test that waits for one does, until it is over. */
export function keepAwake(t: { after(end: () => void): void }): void {
  const timer = setInterval(() => {}, 60_000);
  t.after(() => clearInterval(timer));
}

/** One node's way to the signals that all share, which a test can cut and mend. Words said meanwhile are lost. */
export class Line implements Signals {
  readonly #all: Signals;
  isCut = false;

  constructor(all: Signals) {
    this.#all = all;
  }

  async send(topic: Topic, payload: string): Promise<void> {
    if (!this.isCut) await this.#all.send(topic, payload);
  }

  listen(topic: Topic, heard: (payload: string) => void): Promise<() => void> {
    return this.#all.listen(topic, (payload) => {
      if (!this.isCut) heard(payload);
    });
  }

  async close(): Promise<void> {}
}
