import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { PageStore } from '../../../test/harness/page-store.ts';
import { transact } from '../../engine/transact.ts';
import type { PagesContent } from '../records/blob-record.ts';
import { copyPages, MapGone } from './copy-pages.ts';
import { createPages, dropPages } from './page-map.ts';
import { PAGE_SETTINGS } from './page-settings.ts';

const SETTINGS = { ...PAGE_SETTINGS, stepRows: 3 };
const { chunkBytes: CHUNK_BYTES } = SETTINGS;
const CHUNK_COUNT = 10;
const LENGTH_BYTES = CHUNK_COUNT * CHUNK_BYTES - 512;

describe('a copy of a map', () => {
  let store: PageStore;
  let bytes: Buffer;

  beforeEach(async () => {
    store = new PageStore({ settings: SETTINGS });
    await store.create('blob', LENGTH_BYTES);
    bytes = Buffer.alloc(LENGTH_BYTES);
    for (let chunk = 0; chunk < CHUNK_COUNT; chunk += 2) {
      bytes.write(`chunk ${chunk}`, chunk * CHUNK_BYTES);
      await store.write('blob', chunk * CHUNK_BYTES, bytes.subarray(chunk * CHUNK_BYTES, chunk * CHUNK_BYTES + 512));
    }
  });

  const create = (): Promise<PagesContent> => transact(store.engine, async (tx) => createPages(tx, store.ids));

  async function copyOf(from: PagesContent, to: PagesContent, fromBytes = 0, stepsMax = Infinity): Promise<number[]> {
    const reached: number[] = [];
    const copy = { engine: store.engine, from, to, lengthBytes: LENGTH_BYTES, fromBytes, settings: SETTINGS };
    for await (const doneBytes of copyPages(copy)) if (reached.push(doneBytes) >= stepsMax) break;
    return reached;
  }

  async function frozen(): Promise<PagesContent> {
    await store.freeze('blob', 'snapshot');
    return (await store.load('snapshot')).content;
  }

  const put = (name: string, content: PagesContent): Promise<void> =>
    store.put(name, { content, lengthBytes: LENGTH_BYTES, revision: 0 });

  test('has the same bytes, and stores none anew', async () => {
    const to = await create();
    assert.deepEqual(await copyOf(await frozen(), to), [6 * CHUNK_BYTES, LENGTH_BYTES]);
    await put('copy', to);
    assert.ok((await store.read('copy')).equals(bytes));
    assert.equal((await store.entries()).filter(({ key }) => key[0] === 'I'.charCodeAt(0)).length, CHUNK_COUNT / 2);
  });

  for (const changed of ['blob', 'copy']) {
    test(`is not changed by writes to its source, nor the other way round: ${changed}`, async () => {
      // Held only while it is copied: the source is then written to at the epoch that was copied.
      const { hold } = await store.open('blob', { always: true });
      const to = await create();
      await copyOf((hold as { content: PagesContent }).content, to);
      await hold?.release();
      await put('copy', to);
      await store.write(changed, 0, Buffer.alloc(LENGTH_BYTES, 'new'), false);
      await store.sweep();
      assert.ok((await store.read(changed === 'blob' ? 'copy' : 'blob')).equals(bytes));
      await store.drop(changed);
      await store.sweep();
      assert.ok((await store.read(changed === 'blob' ? 'copy' : 'blob')).equals(bytes));
      await store.drop(changed === 'blob' ? 'copy' : 'blob');
      await store.sweep();
      assert.deepEqual(await store.entries(), []);
    });
  }

  test('goes on where it was, and counts nothing twice', async () => {
    const from = await frozen();
    const to = await create();
    await copyOf(from, to, 0, 1);
    await copyOf(from, to, 0, 1);
    assert.deepEqual(await copyOf(from, to, 6 * CHUNK_BYTES), [LENGTH_BYTES]);
    await put('copy', to);
    for (const name of ['blob', 'snapshot', 'copy']) await store.drop(name);
    await store.sweep();
    assert.deepEqual(await store.entries(), []);
  });

  test('that is given up leaves nothing', async () => {
    const to = await create();
    await copyOf(await frozen(), to, 0, 1);
    await transact(store.engine, async (tx) => dropPages(tx, store.extents, to));
    for (const name of ['blob', 'snapshot']) await store.drop(name);
    await store.sweep();
    assert.deepEqual(await store.entries(), []);
  });

  test('stops when its source is dropped, or what it copies to', async () => {
    const from = await frozen();
    const to = await create();
    await store.drop('snapshot');
    await assert.rejects(copyOf(from, to), MapGone);
    const again = await frozen();
    await transact(store.engine, async (tx) => dropPages(tx, store.extents, to));
    await assert.rejects(copyOf(again, to), MapGone);
    await store.sweep();
    assert.ok((await store.read('blob')).equals(bytes));
  });

  test('of what may be written to is refused', async () => {
    const { content } = await store.load('blob');
    await assert.rejects(copyOf(content, await create()), /may be written to/);
  });
});
