import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Hooks, hookContent } from '../../test/harness/hooked-store.ts';
import { blockIdOf, TestStore } from '../../test/harness/store.ts';
import { openMemoryContent } from '../content/memory/memory-content.ts';
import type { Entry } from '../engine/engine.ts';
import { type CheckReport, checkStore } from './check.ts';
import type { BlobRecord } from './records/blob-record.ts';
import { decodeJson, encodeJson } from './records/codec.ts';
import { encodeInline, type PlacedRecord } from './records/extent-record.ts';
import { blobKeys, extentKey, garbageKey, idOf, layoutKey, parseBlobKey, stagedBlockKey } from './records/keys.ts';
import { decodeLayout, encodeLayout } from './records/layout.ts';

const KIB = 1024;
const large = Buffer.alloc(20 * KIB, 'large');
const small = Buffer.alloc(10, 'small');
const UNUSED_ID = '0123456789abcdef01234567';

/** One of everything: a small, a large, an empty and a block blob, staged blocks, and nothing to sweep. */
async function healthyStore(): Promise<TestStore> {
  const store = await TestStore.open();
  await store.createContainer('box');
  await store.put('box', 'small', small);
  await store.put('box', 'large', large);
  await store.put('box', 'empty', Buffer.alloc(0));
  await store.putBlock('box', 'blocks', blockIdOf(1), small);
  await store.putBlock('box', 'blocks', blockIdOf(2), large);
  await store.putBlockList('box', 'blocks', [
    { kind: 'latest', id: blockIdOf(2) },
    { kind: 'latest', id: blockIdOf(1) },
    { kind: 'latest', id: blockIdOf(2) },
  ]);
  await store.putBlock('box', 'staged', blockIdOf(1), large);
  await store.putBlock('box', 'staged', blockIdOf(2), small);
  await store.sweep();
  await store.close();
  return store;
}

const check = ({ engine, content }: TestStore, { afterCrash = false } = {}): Promise<CheckReport> =>
  checkStore({ engine, content, afterCrash });

const put = (store: TestStore, key: Uint8Array, value: Uint8Array) =>
  store.engine.commit({ checks: [], puts: [{ key, value }], deletes: [] });
const remove = (store: TestStore, key: Uint8Array) => store.engine.commit({ checks: [], puts: [], deletes: [key] });

const inTable = async (store: TestStore, letter: string): Promise<Entry[]> =>
  (await store.entries()).filter(({ key }) => key[0] === letter.charCodeAt(0));

async function blobEntry(store: TestStore, name: string): Promise<Entry & { blob: BlobRecord }> {
  const entries = await inTable(store, 'B');
  const entry = entries.find(
    ({ key }) => parseBlobKey(key).name === name && parseBlobKey(key).kind === 'blob',
  ) as Entry;
  return { ...entry, blob: decodeJson<BlobRecord>(entry.value) };
}

/** The id under which the blob's bytes, or its block list, stand. */
async function contentId(store: TestStore, name: string): Promise<string> {
  return ((await blobEntry(store, name)).blob.content as { id: string }).id;
}

describe('a healthy store', () => {
  test('is clean, and its counts are told', async () => {
    const { findings, ...counts } = await check(await healthyStore());
    assert.deepEqual(findings, []);
    assert.deepEqual(counts, {
      containers: 1,
      blobs: 4,
      stagedBlocks: 2,
      extents: 6,
      contentBytes: 3 * large.length + 3 * small.length,
      awaitingSweep: 0,
      leftByCrash: 0,
    });
  });

  test('is clean while much waits to be swept', async () => {
    const store = await healthyStore();
    await store.reopen();
    await store.put('box', 'large', small);
    await store.put('box', 'blocks', small);
    await store.putBlockList('box', 'staged', [{ kind: 'latest', id: blockIdOf(1) }]);
    await store.putBlock('box', 'staged', blockIdOf(3), large);
    await store.putBlockList('box', 'staged', [{ kind: 'committed', id: blockIdOf(1) }]);
    await store.createContainer('gone');
    await store.put('gone', 'large', large);
    await store.putBlock('gone', 'staged', blockIdOf(1), large);
    await store.deleteContainer('gone');
    await store.close();
    const report = await check(store);
    assert.deepEqual(report.findings, []);
    assert.ok(report.awaitingSweep >= 5, `${report.awaitingSweep}`);
    assert.equal(report.blobs, 5);
  });

  test('is clean when it is empty', async () => {
    const store = await TestStore.open();
    await store.close();
    assert.deepEqual((await check(store)).findings, []);
  });

  test('is told about as it goes', async () => {
    const store = await healthyStore();
    const seen: number[] = [];
    await checkStore({ engine: store.engine, content: store.content, afterCrash: false }, (count) => seen.push(count));
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
    assert.ok((seen.at(-1) as number) >= 14);
  });
});

describe('a fault is found', () => {
  const rows: readonly (readonly [what: string, plant: (store: TestStore) => Promise<unknown>, finding: RegExp])[] = [
    [
      'the row of a large blob’s extent is missing',
      async (store) => remove(store, extentKey({ id: await contentId(store, 'large'), inline: false })),
      /extent \w+ is named by a record and has none itself/,
    ],
    [
      'the row of a small blob’s extent is missing',
      async (store) => remove(store, extentKey({ id: await contentId(store, 'small'), inline: true })),
      /extent \w+ is named by a record and has none itself/,
    ],
    [
      'the row of a committed block’s extent is missing',
      async (store) => {
        const [layout] = await inTable(store, 'L');
        const [block] = decodeLayout((layout as Entry).value);
        await remove(store, extentKey((block as { extent: { id: string; inline: boolean } }).extent));
      },
      /extent \w+ is named by a record and has none itself/,
    ],
    [
      'the row of a staged block’s extent is missing',
      async (store) => {
        const [staged] = await inTable(store, 'K');
        const { extent } = decodeJson<{ extent: { id: string; inline: boolean } }>((staged as Entry).value);
        await remove(store, extentKey(extent));
      },
      /extent \w+ is named by a record and has none itself/,
    ],
    [
      'a small extent has another length than its blob',
      async (store) =>
        put(store, extentKey({ id: await contentId(store, 'small'), inline: true }), encodeInline(Buffer.alloc(11))),
      /extent \w+ has 11 bytes, and is named with 10/,
    ],
    [
      'a blob has another length than its blocks',
      async (store) => {
        const { key, blob } = await blobEntry(store, 'blocks');
        await put(store, key, encodeJson({ ...blob, lengthBytes: 5 }));
      },
      /blob blocks has 5 bytes, its blocks 40970/,
    ],
    [
      'an empty blob has a length',
      async (store) => {
        const { key, blob } = await blobEntry(store, 'empty');
        await put(store, key, encodeJson({ ...blob, lengthBytes: 5 }));
      },
      /blob empty has a length and no content/,
    ],
    [
      'an extent is named by nothing',
      (store) => put(store, extentKey({ id: UNUSED_ID, inline: true }), encodeInline(small)),
      /extent 0123456789abcdef01234567 is named by nothing/,
    ],
    [
      'a block list is named by nothing',
      (store) => put(store, layoutKey(UNUSED_ID), encodeLayout([])),
      /block list 0123456789abcdef01234567 belongs to no blob/,
    ],
    [
      'a block list is missing',
      async (store) => remove(store, layoutKey(await contentId(store, 'blocks'))),
      /blob blocks names block list \w+, which is missing/,
    ],
    [
      'a blob stands in no container',
      async (store) => {
        const { blob } = await blobEntry(store, 'empty');
        const { blob: key } = blobKeys({ account: 'account1', containerId: UNUSED_ID, name: 'lost' });
        await put(store, key, encodeJson(blob));
      },
      /blob lost stands in no container/,
    ],
    [
      'a staged block belongs to no blob',
      async (store) => {
        const [staged] = await inTable(store, 'K');
        await put(store, stagedBlockKey(UNUSED_ID, 'AAAA'), (staged as Entry).value);
      },
      /block AAAA is staged for no blob/,
    ],
    [
      'two containers share an id',
      async (store) => {
        const [container] = await inTable(store, 'C');
        await put(store, Buffer.from('Caccount1\0other'), (container as Entry).value);
      },
      /container other shares its id with another/,
    ],
    [
      'the content of an extent is missing',
      async (store) => {
        for (const { value } of await inTable(store, 'X')) {
          const { placement, lengthBytes } = decodeJson<PlacedRecord>(value);
          await store.content.free(placement, lengthBytes);
        }
      },
      /extent \w+ is missing in the content store/,
    ],
    [
      'the content of an extent is another’s',
      async (store) => {
        const [one, other] = await inTable(store, 'X');
        await put(store, (one as Entry).key, (other as Entry).value);
      },
      /extent \w+ is damaged in the content store/,
    ],
    [
      'the content store holds what nothing names',
      (store) => store.content.write(UNUSED_ID, piecesOf(large), large.length),
      /1 extents \(20480 bytes\) in the content store are named by nothing/,
    ],
    [
      'the block list that garbage is told apart by is missing',
      (store) => put(store, garbageKey(UNUSED_ID), encodeJson({ kind: 'staging', id: UNUSED_ID, keeping: UNUSED_ID })),
      /0123456789abcdef01234567/,
    ],
    ['a record stands in no table', (store) => put(store, Buffer.from('Zsomething'), encodeJson({})), /Zsomething/],
  ];
  for (const [what, plant, finding] of rows) {
    test(`when ${what}`, async () => {
      const store = await healthyStore();
      await plant(store);
      const { findings } = await check(store);
      assert.ok(findings.length > 0, 'something is found');
      assert.ok(
        findings.some((text) => finding.test(text)),
        findings.join('\n'),
      );
    });
  }

  for (const table of ['P', 'G', 'C', 'L', 'B', 'K', 'I', 'X', 'E']) {
    test(`when a record of table ${table} cannot be read`, async () => {
      const store = await healthyStore();
      const [entry] = await inTable(store, table);
      const key = entry?.key ?? Buffer.concat([Buffer.from(table), Buffer.alloc(12, 'x')]);
      await put(store, key, Buffer.from([0xee, 1, 2, 3]));
      const { findings } = await check(store);
      assert.ok(
        findings.some((text) => text.startsWith(`record ${table} `) && /cannot be read/.test(text)),
        findings.join('\n'),
      );
    });
  }
});

test('what a crash left in the content store is counted and is no fault', async () => {
  const store = await healthyStore();
  await store.content.write(UNUSED_ID, piecesOf(large), large.length);
  const report = await check(store, { afterCrash: true });
  assert.deepEqual(report.findings, []);
  assert.equal(report.leftByCrash, 1);
});

test('a crash excuses nothing else', async () => {
  const store = await healthyStore();
  await remove(store, extentKey({ id: await contentId(store, 'large'), inline: false }));
  assert.notDeepEqual((await check(store, { afterCrash: true })).findings, []);
});

test('a check changes nothing', async () => {
  const calls: string[] = [];
  const hooks = new Hooks();
  const store = await TestStore.open({ content: hookContent(openMemoryContent(), hooks) });
  await store.createContainer('box');
  await store.put('box', 'large', large);
  await store.close();
  const before = await store.records();
  hooks.before = ({ what }) => void calls.push(what);
  await check(store);
  assert.deepEqual(await store.records(), before);
  assert.deepEqual(
    calls.filter((what) => what === 'write' || what === 'free'),
    [],
  );
});

test('the ids in findings are those of the records', async () => {
  const store = await healthyStore();
  const [row] = await inTable(store, 'X');
  await remove(store, (row as Entry).key);
  const { findings } = await check(store);
  assert.ok(findings.some((text) => text.includes(idOf((row as Entry).key))));
});

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
