import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { PageStore } from '../../../test/harness/page-store.ts';
import { gather } from '../../../test/harness/store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { UnreadableRecord } from '../records/codec.ts';
import { freshSnapshots } from '../records/scan.ts';
import { pageRanges, pageRangesDiff } from './list-pages.ts';
import { PAGE_SETTINGS } from './page-settings.ts';
import { readPages } from './read-pages.ts';

const PAGE_BYTES = 512;
const MIB = 1024 ** 2;
const TIB = 1024 ** 4;
const { chunkBytes: CHUNK_BYTES } = PAGE_SETTINGS;

const page = (text: string): Buffer => Buffer.alloc(PAGE_BYTES, text);

async function sparseStore(): Promise<{ store: PageStore; engine: CountedEngine }> {
  const engine = new CountedEngine(openMemoryEngine());
  const store = new PageStore({ engine });
  await store.create('blob', 8 * TIB);
  await store.write('blob', 4 * TIB, page('middle'));
  await store.write('blob', 8 * TIB - PAGE_BYTES, page('end'), false);
  await store.freeze('blob', 'snapshot');
  return { store, engine };
}

describe('a range', () => {
  for (const [what, offsetBytes, lengthBytes] of [
    ['of zeros', 0, 10],
    ['around a page', 4 * TIB - 100, PAGE_BYTES + 300],
    ['within a page', 4 * TIB + 3, 5],
    ['up to the end', 8 * TIB - MIB, MIB],
    ['of nothing', 4 * TIB, 0],
  ] as const) {
    test(`${what} is read from 8 TiB, and from their snapshot`, async () => {
      const { store } = await sparseStore();
      const expected = Buffer.alloc(lengthBytes);
      for (const [at, text] of [
        [4 * TIB, 'middle'],
        [8 * TIB - PAGE_BYTES, 'end'],
      ] as const) {
        for (const [index, byte] of page(text).entries()) {
          const place = at + index - offsetBytes;
          if (place >= 0 && place < lengthBytes) expected[place] = byte;
        }
      }
      for (const name of ['blob', 'snapshot']) {
        assert.ok((await store.read(name, { offsetBytes, lengthBytes })).equals(expected));
      }
    });
  }

  for (const name of ['blob', 'snapshot']) {
    test(`of all 8 TiB costs no more to begin with than its two pages: ${name}`, async () => {
      const { store, engine } = await sparseStore();
      const { entriesRead } = await engine.costOf(async () => {
        const { reader, hold } = await store.open(name);
        assert.equal(hold, null);
        assert.ok(((await reader.next()).value as Uint8Array).every((byte) => byte === 0));
        await reader.return?.();
      });
      // The record, two chunks, two extents.
      assert.equal(entriesRead, 5);
    });
  }

  test('of one extent over many chunks is read in one piece', async () => {
    const store = new PageStore();
    await store.create('blob', 4 * MIB);
    const bytes = Buffer.alloc(4 * MIB, 'some text ');
    await store.write('blob', 0, bytes, false);
    const snapshot = store.engine.snapshot();
    const asked: number[] = [];
    const reader = await readPages({
      snapshot,
      content: (await store.load('blob')).content,
      range: { offsetBytes: 100, lengthBytes: 4 * MIB - 100 },
      pin: () => () => {},
      async *readPiece({ lengthBytes, offsetBytes }) {
        asked.push(offsetBytes, lengthBytes);
        yield bytes.subarray(offsetBytes, offsetBytes + lengthBytes);
      },
    });
    assert.ok((await gather(reader as AsyncIterable<Uint8Array>)).equals(bytes.subarray(100)));
    assert.deepEqual(asked, [100, 4 * MIB - 100]);
    snapshot.close();
  });

  test('with more pieces than are planned at once needs a hold', async () => {
    const { placedPieces, inlinePieces } = { placedPieces: 2, inlinePieces: 3 };
    const settings = { ...PAGE_SETTINGS, plan: { rows: 2, placedPieces, inlinePieces } };
    for (const [inline, count, isHeld] of [
      [false, placedPieces, false],
      [false, placedPieces + 1, true],
      [true, inlinePieces, false],
      [true, inlinePieces + 1, true],
    ] as const) {
      const store = new PageStore({ settings });
      await store.create('blob', MIB);
      for (let index = 0; index < count; index++) await store.write('blob', index * PAGE_BYTES, page('a'), inline);
      const { hold, reader } = await store.open('blob');
      assert.equal(hold !== null, isHeld, `${count} pieces, inline: ${inline}`);
      assert.equal((await gather(reader)).length, MIB);
    }
    const store = new PageStore({ settings });
    await store.create('blob', MIB);
    for (let chunk = 0; chunk < 3; chunk++) await store.write('blob', chunk * CHUNK_BYTES, page('a'));
    assert.notEqual((await store.open('blob')).hold, null);
  });

  test('that was given up, or read to the end, or failed has let go of what it had pinned', async () => {
    for (const end of ['given up', 'given up at once', 'read', 'failed']) {
      const store = new PageStore();
      await store.create('blob', MIB);
      await store.write('blob', 0, page('a'), false);
      await store.write('blob', PAGE_BYTES, page('b'), false);
      const snapshot = store.engine.snapshot();
      let pinned = 0;
      const reader = await readPages({
        snapshot,
        content: (await store.load('blob')).content,
        range: { offsetBytes: 0, lengthBytes: MIB },
        pin: () => {
          pinned++;
          return () => {
            pinned--;
          };
        },
        async *readPiece({ lengthBytes }) {
          if (end === 'failed') throw new Error('no');
          yield Buffer.alloc(lengthBytes);
        },
      });
      snapshot.close();
      assert.ok(reader);
      assert.equal(pinned, 2);
      if (end === 'given up') await reader.next();
      if (end === 'read') await gather(reader);
      else if (end === 'failed') await assert.rejects(reader.next());
      else await reader.return?.();
      assert.equal(pinned, 0, end);
    }
  });

  test('whose extent is gone is an error, not zeros', async () => {
    const store = new PageStore();
    await store.create('blob', MIB);
    await store.write('blob', 0, page('a'));
    const [extent] = (await store.entries()).filter(({ key }) => key[0] === 'I'.charCodeAt(0));
    await store.engine.commit({ checks: [], puts: [], deletes: [(extent as { key: Uint8Array }).key] });
    await assert.rejects(store.read('blob'), UnreadableRecord);
  });
});

async function ranges(store: PageStore, name: string, offsetBytes: number): Promise<string[]> {
  const { content, lengthBytes } = await store.load(name);
  const range = { offsetBytes, lengthBytes: lengthBytes - offsetBytes };
  const found: string[] = [];
  for await (const one of pageRanges(freshSnapshots(store.engine), content, range)) {
    found.push(`${one.offsetBytes}+${one.lengthBytes}`);
  }
  return found;
}

describe('a list of pages', () => {
  test('joins pages over the borders of extents and chunks, and begins anywhere', async () => {
    const store = new PageStore();
    await store.create('blob', MIB);
    await store.write('blob', 0, page('a'));
    await store.write('blob', CHUNK_BYTES - PAGE_BYTES, Buffer.alloc(2 * PAGE_BYTES, 'b'));
    await store.write('blob', CHUNK_BYTES + PAGE_BYTES, page('c'));
    const joined = `${CHUNK_BYTES - PAGE_BYTES}+${3 * PAGE_BYTES}`;
    assert.deepEqual(await ranges(store, 'blob', 0), ['0+512', joined]);
    assert.deepEqual(await ranges(store, 'blob', 100), ['100+412', joined]);
    assert.deepEqual(await ranges(store, 'blob', CHUNK_BYTES), [`${CHUNK_BYTES}+${2 * PAGE_BYTES}`]);
  });

  test('tells states of one map apart, and not those of two', async () => {
    const { store } = await sparseStore();
    await store.clear('blob', { offsetBytes: 4 * TIB, lengthBytes: PAGE_BYTES });
    await store.write('blob', PAGE_BYTES, page('new'));
    const [previous, current] = [(await store.load('snapshot')).content, (await store.load('blob')).content];
    const range = { offsetBytes: 0, lengthBytes: 8 * TIB };
    const reader = freshSnapshots(store.engine);
    const found: string[] = [];
    for await (const one of pageRangesDiff(reader, { previous, current }, range)) {
      found.push(`${one.kind} ${one.offsetBytes}+${one.lengthBytes}`);
    }
    assert.deepEqual(found, ['page 512+512', `clear ${4 * TIB}+512`]);
    await store.create('other', MIB);
    const other = (await store.load('other')).content;
    await assert.rejects(pageRangesDiff(reader, { previous: other, current }, range).next());
  });
});
