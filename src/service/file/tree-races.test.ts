/**
 * Renames, writes, creations and deletions that meet in one tree: whatever the order, what remains is a tree in which each
 * thing stands once, and everybody was told what became of theirs.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import {
  namesIn,
  pictureOf,
  removeDirectory,
  removeFile,
  renameDirectory,
  renameFile,
} from '../../../test/harness/file-tree.ts';
import { successes, tally, together, turns, winnerOf } from '../../../test/harness/parallel.ts';
import { Random } from '../../../test/harness/random.ts';
import type { Engine } from '../../engine/engine.ts';
import { openLmdbEngine } from '../../engine/lmdb/lmdb-engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { decodeJson } from '../records/codec.ts';
import { nodePlaceOf, nodesRange, placedIdOf, placesRange } from '../records/file-keys.ts';
import type { NodePlace, NodeRecord } from '../records/node-record.ts';
import { snapshotReader } from '../records/record-reader.ts';
import type { ShareRecord } from '../records/share-record.ts';
import { treeOf } from './load.ts';
import { usedBytes } from './usage.ts';
import { lookUpShare } from './use-share.ts';

const PAGE_BYTES = 512;
const ROWS_MAX = 10_000;

async function openOnDisk(t: TestContext): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-tree-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const engine = await openLmdbEngine({ path: join(folder, 'records') });
  t.after(() => engine.close());
  return engine;
}

interface Rows {
  /** By id. */
  readonly nodes: ReadonlyMap<string, NodeRecord & { readonly place: NodePlace }>;
  readonly usedBytes: number;
}

/** What is stored of the tree, whether a path leads to it or not. */
async function rowsOf(share: TestShare): Promise<Rows> {
  const { storage } = share.store;
  const tree = treeOf(share.name, (await lookUpShare(storage, share.name)) as ShareRecord);
  return storage.readers.inSnapshot(async (snapshot) => {
    const rows = await snapshot.range(nodesRange(tree), { limit: ROWS_MAX });
    const places = await snapshot.range(placesRange(tree), { limit: ROWS_MAX });
    const all = rows.map(({ key, value }) => ({ ...decodeJson<NodeRecord>(value), place: nodePlaceOf(key) }));
    const nodes = new Map(all.filter(({ place }) => place.name !== '').map((node) => [node.id, node]));
    assert.equal(nodes.size, all.length - 1, 'nothing stands twice');
    const indexed = places.map(({ key, value }) => [placedIdOf(key), decodeJson<NodePlace>(value)] as const);
    assert.deepEqual(new Map(indexed), new Map([...nodes].map(([id, { place }]) => [id, place])));
    return { nodes, usedBytes: await usedBytes(snapshotReader(snapshot), tree) };
  });
}

/** Every row is where a path leads, and the bytes of the files are counted. */
async function checkTree(share: TestShare): Promise<string[]> {
  const { nodes, usedBytes: counted } = await rowsOf(share);
  const picture = await pictureOf(share);
  assert.equal(picture.length, nodes.size, 'a path leads to everything');
  const sum = [...nodes.values()].reduce((bytes, node) => bytes + (node.kind === 'file' ? node.lengthBytes : 0), 0);
  assert.equal(counted, sum);
  return picture;
}

const outcomesOf = (results: readonly PromiseSettledResult<string | null>[]): Record<string, number> =>
  tally(successes(results).map((code) => code ?? 'done'));

for (const [where, open, rounds] of [
  ['in memory', async () => openMemoryEngine(), 20],
  ['on disk', openOnDisk, 6],
] as readonly (readonly [string, (t: TestContext) => Promise<Engine>, number])[]) {
  const createShare = async (t: TestContext): Promise<TestShare> => {
    const share = await TestShare.create({ engine: await open(t) });
    t.after(() => share.store.close());
    return share;
  };

  describe(`races in a tree ${where}`, () => {
    test('of two directories that are moved into each other, one is', async (t) => {
      const share = await createShare(t);
      for (let round = 0; round < rounds; round++) {
        const [a, b] = [`a${round}`, `b${round}`];
        for (const path of [a, b]) await share.createDirectory(path);
        const results = await together(2, async (index) => {
          await turns((round * (index + 1)) % 4);
          await (index === 0 ? renameDirectory(share, a, `${b}/${a}`) : renameDirectory(share, b, `${a}/${b}`));
        });
        const [inner, outer] = winnerOf(results) === 0 ? [a, b] : [b, a];
        assert.deepEqual(await namesIn(share, outer), [inner]);
      }
      await checkTree(share);
    });

    test('directories that are moved at random, many at once, stay a tree', async (t) => {
      const random = new Random();
      t.diagnostic(`LARIMAR_SEED=${random.seed}`);
      const share = await createShare(t);
      const names = Array.from({ length: 14 }, (_, index) => `d${index}`);
      for (const name of names) await share.createDirectory(name);
      for (let round = 0; round < rounds; round++) {
        const paths = (await pictureOf(share)).map((line) => line.slice(0, -1));
        const moves = Array.from({ length: 20 }, () => {
          const source = random.pick(paths);
          const below = random.pick(['', ...paths]);
          const name = source.split('/').at(-1) as string;
          return [source, below === '' ? name : `${below}/${name}`] as const;
        });
        const results = await together(moves.length, (index) =>
          refusal(renameDirectory(share, ...(moves[index] as [string, string]))),
        );
        const allowed = ['done', 'ParentNotFound', 'ResourceNotFound', 'InvalidInput'];
        assert.deepEqual(
          Object.keys(outcomesOf(results)).filter((code) => !allowed.includes(code)),
          [],
        );
        assert.equal((await checkTree(share)).length, names.length);
      }
    });

    test('a file is written under the name it has, or not at all, while it is renamed to and fro', async (t) => {
      const share = await createShare(t);
      const WRITERS = 24;
      await share.createDirectory('d');
      await share.createFile('d/a', WRITERS * PAGE_BYTES);
      let renameCount = 0;
      const results = await together(WRITERS + 1, async (index) => {
        if (index === WRITERS) {
          for (; renameCount < 2 * rounds; renameCount++) {
            const [from, to] = renameCount % 2 === 0 ? ['d/a', 'd/b'] : ['d/b', 'd/a'];
            await renameFile(share, from, to);
          }
          return null;
        }
        await turns(index);
        return refusal(share.write(index % 2 === 0 ? 'd/a' : 'd/b', index * PAGE_BYTES, Buffer.alloc(PAGE_BYTES, 'x')));
      });
      const codes = successes(results);
      const bytes = await share.read('d/a');
      for (let index = 0; index < WRITERS; index++) {
        const isWritten = codes[index] === null;
        if (!isWritten) assert.equal(codes[index], 'ResourceNotFound');
        const want = isWritten ? 'x'.charCodeAt(0) : 0;
        assert.ok(bytes.subarray(index * PAGE_BYTES, (index + 1) * PAGE_BYTES).every((byte) => byte === want));
      }
      await checkTree(share);
    });

    test('a file is either renamed or deleted', async (t) => {
      const share = await createShare(t);
      for (let round = 0; round < rounds; round++) {
        await share.createFile('f', 10);
        const results = await together(2, async (index) => {
          await turns((round * (index + 2)) % 3);
          await (index === 0 ? renameFile(share, 'f', 'g') : removeFile(share, 'f'));
        });
        const picture = await checkTree(share);
        assert.equal(picture.length, winnerOf(results) === 0 ? 1 : 0);
        if (picture.length === 1) await removeFile(share, 'g');
      }
    });

    test('a directory is deleted before anything is put into it, or stays', async (t) => {
      const share = await createShare(t);
      const outcomes: Record<string, number>[] = [];
      for (let round = 0; round < rounds; round++) {
        await share.createDirectory('d');
        await share.createFile(`f${round}`, 1);
        const results = await together(6, async (index) => {
          await turns((round + index) % 4);
          if (index < 2) return refusal(share.createFile(`d/${index}`, 1));
          if (index === 2) return refusal(share.createDirectory('d/2'));
          if (index === 3) return refusal(renameFile(share, `f${round}`, 'd/3'));
          return refusal(removeDirectory(share, 'd'));
        });
        const codes = successes(results);
        const put = codes.slice(0, 4);
        const removed = codes.slice(4).filter((code) => code === null).length;
        outcomes.push(outcomesOf(results));
        if (removed === 0) {
          assert.deepEqual(put, [null, null, null, null]);
          assert.deepEqual(codes.slice(4), ['DirectoryNotEmpty', 'DirectoryNotEmpty']);
        } else {
          assert.equal(removed, 1);
          assert.deepEqual(put, ['ParentNotFound', 'ParentNotFound', 'ParentNotFound', 'ParentNotFound']);
        }
        await checkTree(share);
        if (removed === 0) await renameDirectory(share, 'd', `kept${round}`);
      }
      t.diagnostic(JSON.stringify(outcomes));
    });

    test('what is created below a directory that is moved goes with it, or is refused', async (t) => {
      const share = await createShare(t);
      await share.createDirectory('d');
      await share.createDirectory('d/e');
      const COUNT = 16;
      const results = await together(COUNT + 1, async (index) => {
        if (index === COUNT) {
          await turns(3);
          return refusal(renameDirectory(share, 'd', 'moved'));
        }
        await turns(index % 8);
        return refusal(share.createFile(`d/e/${index}`, 1));
      });
      const codes = successes(results);
      assert.equal(codes[COUNT], null);
      const created = codes.slice(0, COUNT).filter((code) => code === null).length;
      assert.deepEqual(
        codes.slice(0, COUNT).filter((code) => code !== null && code !== 'ParentNotFound'),
        [],
      );
      assert.equal((await namesIn(share, 'moved/e')).length, created);
      await checkTree(share);
    });

    test('one of many gets a name that is free, and the others are told', async (t) => {
      const share = await createShare(t);
      const COUNT = 12;
      for (let index = 0; index < COUNT; index++) await share.createFile(`f${index}`, index);
      const results = await together(COUNT, (index) => refusal(renameFile(share, `f${index}`, 'name')));
      assert.deepEqual(outcomesOf(results), { done: 1, ResourceAlreadyExists: COUNT - 1 });
      assert.equal((await checkTree(share)).length, COUNT);
    });

    test('of many that replace each other the last remains, and only its bytes count', async (t) => {
      const share = await createShare(t);
      const COUNT = 12;
      for (let index = 0; index < COUNT; index++) await share.createFile(`f${index}`, Buffer.alloc(index + 1, 'x'));
      await share.createFile('name', 1_000);
      await share.snapshot();
      const results = await together(COUNT, (index) =>
        refusal(renameFile(share, `f${index}`, 'name', { replaces: true })),
      );
      assert.deepEqual(outcomesOf(results), { done: COUNT });
      assert.equal((await checkTree(share)).length, 1);
    });
  });
}
