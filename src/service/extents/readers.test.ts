import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { blockIdOf, Gate, gather, TestStore } from '../../../test/harness/store.ts';
import { type ByteRange, type ContentStore, ExtentMissing } from '../../content/content.ts';
import { openMemoryContent } from '../../content/memory/memory-content.ts';
import type { Entry } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { decodeJson, encodeJson } from '../records/codec.ts';
import type { PlacedRecord } from '../records/extent-record.ts';
import { idOf } from '../records/keys.ts';
import { Readers } from './readers.ts';

const KIB = 1024;
const large = (fill: string): Buffer => Buffer.alloc(40 * KIB, fill);
const small = (fill: string): Buffer => Buffer.alloc(100, fill);

type Stream = AsyncIterableIterator<Uint8Array>;

let store: TestStore;
beforeEach(async () => {
  store = await TestStore.open();
  await store.createContainer('box');
});
afterEach(() => store.close());

const openStream = async (blob: string): Promise<Stream> => {
  const { bytes } = await store.open('box', blob);
  assert.ok(!(bytes instanceof Uint8Array), 'it is streamed');
  return bytes[Symbol.asyncIterator]() as Stream;
};

async function putBlocks(blob: string, blocks: readonly Buffer[]): Promise<void> {
  for (const [index, bytes] of blocks.entries()) await store.putBlock('box', blob, blockIdOf(index), bytes);
  await store.putBlockList(
    'box',
    blob,
    blocks.map((_, index) => ({ kind: 'uncommitted', id: blockIdOf(index) })),
  );
}

const blocks = [large('1'), small('2'), large('3'), small('4')];
/** Each kind of content that is streamed. */
const CONTENTS: readonly (readonly [string, Buffer, () => Promise<void>])[] = [
  ['one extent', large('a'), () => store.put('box', 'blob', large('a'))],
  ['blocks', Buffer.concat(blocks), () => putBlocks('blob', blocks)],
];
const CHANGES: readonly (readonly [string, () => Promise<void>])[] = [
  ['is overwritten', () => store.put('box', 'blob', large('z'))],
  ['is overwritten by other blocks', () => putBlocks('blob', [large('y'), small('x')])],
  ['is deleted', () => store.delete('box', 'blob')],
  ['goes with its container', () => store.deleteContainer('box')],
];

for (const [kind, expected, put] of CONTENTS) {
  for (const [what, change] of CHANGES) {
    test(`a stream of ${kind} gives the old bytes though the blob ${what} and is swept`, async () => {
      await put();
      const stream = await openStream('blob');
      await change();
      await store.sweep();
      assert.ok((await store.garbage()).length > 0, 'what the stream holds waits');
      assert.deepEqual(await gather(stream), expected);
      await store.sweep();
      assert.deepEqual(await store.garbage(), []);
    });
  }

  test(`a stream of ${kind} that is given up before its first piece holds nothing any more`, async () => {
    await put();
    const stream = await openStream('blob');
    await store.delete('box', 'blob');
    await stream.return?.();
    await store.sweep();
    assert.deepEqual(await store.garbage(), []);
  });

  test(`a stream of ${kind} that is given up half-way holds nothing any more`, async () => {
    await put();
    const stream = await openStream('blob');
    await stream.next();
    await store.delete('box', 'blob');
    await store.sweep();
    assert.notDeepEqual(await store.garbage(), []);
    await stream.return?.();
    await stream.return?.();
    await store.sweep();
    assert.deepEqual(await store.garbage(), []);
  });

  test(`of two streams of ${kind}, the second still holds what the first let go of`, async () => {
    await put();
    const [first, second] = [await openStream('blob'), await openStream('blob')];
    await store.delete('box', 'blob');
    assert.deepEqual(await gather(first), expected);
    await store.sweep();
    assert.deepEqual(await gather(second), expected);
    await store.sweep();
    assert.deepEqual(await store.garbage(), []);
  });
}

test('a stream whose bytes are gone fails, and holds nothing any more', async () => {
  await store.put('box', 'blob', large('a'));
  const stream = await openStream('blob');
  for (const { key, value } of await store.entries()) {
    if (key[0] !== 'X'.charCodeAt(0)) continue;
    const { placement, lengthBytes } = decodeJson<PlacedRecord>(value);
    await store.content.free(placement, lengthBytes);
    assert.ok(store.storage.readers.isPinned(idOf(key)));
    await assert.rejects(gather(stream), ExtentMissing);
    assert.ok(!store.storage.readers.isPinned(idOf(key)));
  }
});

test('bytes that stand in the engine are given at once and hold nothing', async () => {
  await store.put('box', 'blob', small('s'));
  const { bytes } = await store.open('box', 'blob');
  assert.ok(bytes instanceof Uint8Array);
  await store.delete('box', 'blob');
  await store.sweep();
  assert.deepEqual(Buffer.from(bytes), small('s'));
});

test('an extent that was moved since it was looked up is read from its new place', async () => {
  await store.put('box', 'blob', large('a'));
  const stream = await openStream('blob');
  await moveEverything(store);
  assert.deepEqual(await gather(stream), large('a'));
});

test('blocks that are moved while the first is read are read from their new places', async () => {
  await putBlocks('blob', blocks);
  const stream = await openStream('blob');
  const { value: first } = (await stream.next()) as { value: Uint8Array };
  await moveEverything(store);
  assert.deepEqual(Buffer.concat([first, await gather(stream)]), Buffer.concat(blocks));
});

test('an extent that goes missing after some of its pieces were given is continued from its new place', async () => {
  const content = new LosesPlaces();
  store = await TestStore.open({ content });
  await store.createContainer('box');
  const bytes = Buffer.concat(['a', 'b', 'c', 'd'].map((fill) => Buffer.alloc(256 * KIB, fill)));
  await store.put('box', 'blob', bytes);
  const stream = await openStream('blob');
  const { value: first } = (await stream.next()) as { value: Uint8Array };
  assert.ok(first.length < bytes.length);
  await moveEverything(store);
  content.loseNow = true;
  assert.deepEqual(Buffer.concat([first, await gather(stream)]), bytes);
});

/** Whether it is still unsettled when everything that could settle it has had its turn. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  void promise.then(() => {
    pending = false;
  });
  await nextTurn();
  return pending;
}

describe('settled', () => {
  test('waits for every look-up that is under way, and for none that starts later', async () => {
    const { readers } = store.storage;
    const first = new Gate();
    const second = new Gate();
    const later = new Gate();
    const looking = [readers.inSnapshot(() => first.passed), readers.inSnapshot(() => second.passed)];
    const settled = readers.settled();
    looking.push(readers.inSnapshot(() => later.passed));
    assert.ok(await isPending(settled));
    first.open();
    assert.ok(await isPending(settled));
    second.open();
    assert.ok(!(await isPending(settled)));
    later.open();
    await Promise.all(looking);
  });

  test('does not wait for a look-up that failed', async () => {
    const { readers } = store.storage;
    await assert.rejects(
      readers.inSnapshot(async () => {
        throw new Error('no');
      }),
    );
    assert.ok(!(await isPending(readers.settled())));
  });

  test('does not wait for a look-up whose snapshot the engine refused', async () => {
    const engine = openMemoryEngine();
    const readers = new Readers({ engine, content: openMemoryContent() });
    await engine.close();
    await assert.rejects(readers.inSnapshot(async () => {}));
    assert.ok(!(await isPending(readers.settled())));
  });
});

test('a sweep waits for readers that look records up, then leaves alone what they pinned', async () => {
  await store.put('box', 'blob', large('a'));
  const snapshotTaken = new Gate();
  const mayOpen = new Gate();
  const reading = store.storage.readers.inSnapshot(async (snapshot) => {
    snapshotTaken.open();
    await mayOpen.passed;
    const [entry] = await snapshot.range({ from: Buffer.from('X'), to: Buffer.from('Y') }, { limit: 1 });
    const range = { offsetBytes: 0, lengthBytes: 40 * KIB };
    return store.storage.readers.open(snapshot, { kind: 'extent', id: idOf((entry as Entry).key) }, range);
  });
  await snapshotTaken.passed;
  await store.delete('box', 'blob');
  const sweeping = store.sweeper.sweep();
  await nextTurn();
  mayOpen.open();
  await sweeping;
  assert.deepEqual(await gather((await reading) as AsyncIterable<Uint8Array>), large('a'));
});

/** What the sweeper does with the survivors of a sparse segment, done with every extent. */
async function moveEverything(store: TestStore): Promise<void> {
  const { engine, content } = store;
  for (const { key, value } of await store.entries()) {
    if (key[0] !== 'X'.charCodeAt(0)) continue;
    const { placement, lengthBytes } = decodeJson<PlacedRecord>(value);
    const whole = content.read(placement, { offsetBytes: 0, lengthBytes });
    const moved = await content.write(idOf(key), whole, lengthBytes);
    await engine.commit({
      checks: [],
      puts: [{ key, value: encodeJson({ placement: moved, lengthBytes }) }],
      deletes: [],
    });
    await content.free(placement, lengthBytes);
  }
}

/** A store that notices in the middle of a read that the extent was moved, as one across a network does. */
class LosesPlaces implements ContentStore {
  readonly #inner = openMemoryContent();
  readonly #freed = new Set<string>();
  loseNow = false;

  write: ContentStore['write'] = (...args) => this.#inner.write(...args);
  verify: ContentStore['verify'] = (...args) => this.#inner.verify(...args);
  recover: ContentStore['recover'] = (...args) => this.#inner.recover(...args);
  strays: ContentStore['strays'] = (...args) => this.#inner.strays(...args);
  worthMoving: ContentStore['worthMoving'] = () => this.#inner.worthMoving();
  close: ContentStore['close'] = () => this.#inner.close();

  async free(placement: string): Promise<void> {
    this.#freed.add(placement);
  }

  async *read(placement: string, range: ByteRange): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#inner.read(placement, range)) {
      if (this.loseNow && this.#freed.has(placement)) throw new ExtentMissing(placement);
      yield piece;
    }
  }
}
