import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { PageStore } from '../../../test/harness/page-store.ts';
import type { Id } from '../../base/ids.ts';
import type { Entry, Key } from '../../engine/engine.ts';
import { decodeChunk, encodeChunk, type PageChunk } from '../records/page-chunk.ts';
import { chunkKey, copiedKey, cutKey, endedKey, epochKey, pastChunkKey } from '../records/page-keys.ts';
import { freshSnapshots } from '../records/scan.ts';
import { checkPages, type PagesReport } from './check-pages.ts';
import { PAGE_SETTINGS } from './page-settings.ts';

const PAGE_BYTES = 512;
const { chunkBytes: CHUNK_BYTES } = PAGE_SETTINGS;

let store: PageStore;
let mapId: Id;

/** A chunk whose first page was written over after a snapshot, and an extent that lies in two chunks. */
beforeEach(async () => {
  store = new PageStore();
  await store.create('blob', 4 * CHUNK_BYTES);
  await store.write('blob', 0, Buffer.alloc(2 * PAGE_BYTES, 'a'));
  await store.write('blob', 2 * CHUNK_BYTES - PAGE_BYTES, Buffer.alloc(2 * PAGE_BYTES, 'b'), false);
  await store.freeze('blob', 'snapshot');
  await store.write('blob', 0, Buffer.alloc(PAGE_BYTES, 'c'));
  mapId = (await store.load('blob')).content.id;
});

async function check(epochs: readonly number[] = [1, 2], sweptMaps: readonly Id[] = []): Promise<PagesReport> {
  const holders = new Map([[mapId, new Set(epochs)]]);
  return checkPages({ reader: freshSnapshots(store.engine), holders, sweptMaps: new Set(sweptMaps) });
}

async function commit(puts: readonly (readonly [Key, Uint8Array])[], deletes: readonly Key[] = []): Promise<void> {
  await store.engine.commit({ checks: [], puts: puts.map(([key, value]) => ({ key, value })), deletes });
}

async function valueAt(key: Key): Promise<Uint8Array> {
  const snapshot = store.engine.snapshot();
  const [entry] = await snapshot.get([key]).finally(() => snapshot.close());
  return (entry as Entry).value;
}

async function changeChunk(key: Key, change: (chunk: PageChunk) => PageChunk): Promise<void> {
  await commit([[key, encodeChunk(change(decodeChunk(await valueAt(key))))]]);
}

test('maps in order are found so, with the references and lengths that their extents should have', async () => {
  const { findings, extents, recordCount } = await check();
  assert.deepEqual(findings, []);
  assert.equal(recordCount, 7);
  const named = [...extents.values()].map(({ extent, references, endBytes }) => ({
    inline: extent.inline,
    references,
    endBytes,
  }));
  assert.deepEqual(named, [
    { inline: true, references: 1, endBytes: 2 * PAGE_BYTES },
    { inline: true, references: 1, endBytes: PAGE_BYTES },
    { inline: false, references: 2, endBytes: 2 * PAGE_BYTES },
  ]);
});

for (const [what, damage, finding] of [
  ['a chunk that cannot be read', () => commit([[chunkKey(mapId, 0), Uint8Array.of(9)]]), /chunk 0 .* cannot be read/],
  [
    'an earlier state that is not in the index',
    () => commit([], [endedKey(mapId, { epoch: 1, since: 1, chunk: 0 })]),
    /chunk 0 .* is missing from the index/,
  ],
  ['an index of what is not there', () => commit([], [pastChunkKey(mapId, 0, 1)]), /lists an earlier state of chunk 0/],
  [
    'two states of one time',
    () => changeChunk(chunkKey(mapId, 0), (chunk) => ({ ...chunk, since: 1 })),
    /two states of chunk 0 .* overlap/,
  ],
  [
    'a state that ends before it begins',
    () => changeChunk(pastChunkKey(mapId, 0, 1), (chunk) => ({ ...chunk, since: 2 })),
    /ends before it begins/,
  ],
  [
    'a piece outside of its chunk',
    () =>
      changeChunk(chunkKey(mapId, 2), (chunk) => ({
        ...chunk,
        pieces: chunk.pieces.map((piece) => ({ ...piece, offsetBytes: CHUNK_BYTES })),
      })),
    /outside/,
  ],
  [
    'an extent in two states that is not marked as shared',
    () =>
      changeChunk(chunkKey(mapId, 0), (chunk) => ({
        ...chunk,
        pieces: chunk.pieces.map((piece) => ({ ...piece, isShared: false })),
      })),
    /in two states of a chunk, but not marked/,
  ],
  [
    'an extent in two chunks that is not marked as shared',
    () =>
      changeChunk(chunkKey(mapId, 1), (chunk) => ({
        ...chunk,
        pieces: chunk.pieces.map((piece) => ({ ...piece, isShared: false })),
      })),
    /is shared, but not marked/,
  ],
  ['an epoch that is not noted', () => commit([], [epochKey(mapId, 2)]), /holds epoch 2 .* which does not exist/],
  ['an epoch that nobody holds', () => commit([[epochKey(mapId, 3), new Uint8Array()]]), /no record holds epoch 3/],
  [
    'a cut that nobody will carry out',
    () => commit([[cutKey(mapId, 2), new Uint8Array()]]),
    /a cleared range .* is not scheduled/,
  ],
] as const) {
  test(`found is ${what}`, async () => {
    await damage();
    const { findings } = await check();
    assert.ok(
      findings.some((one) => finding.test(one)),
      findings.join('; '),
    );
  });
}

test('states that nobody sees are found, unless they are to be swept', async () => {
  await commit([], [epochKey(mapId, 1)]);
  const { findings } = await check([2]);
  assert.deepEqual(findings, [`page map ${mapId} keeps earlier states of chunks that no record needs: 1`]);
  assert.deepEqual((await check([2], [mapId])).findings, []);
});

test('extents of a map that was copied need no mark', async () => {
  await changeChunk(chunkKey(mapId, 1), (chunk) => ({
    ...chunk,
    pieces: chunk.pieces.map((piece) => ({ ...piece, isShared: false })),
  }));
  await commit([[copiedKey(mapId), new Uint8Array()]]);
  assert.deepEqual((await check()).findings, []);
});
