import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import {
  byName,
  type Listing,
  listAll,
  namesIn,
  removeDirectory,
  removeFile,
  renameDirectory,
  renameFile,
} from '../../../test/harness/file-tree.ts';
import { Random } from '../../../test/harness/random.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { foldName } from '../../rules/file-names.ts';
import type { Moment } from '../../rules/moment.ts';
import { useKey } from '../records/file-keys.ts';
import type { ShareRecord } from '../records/share-record.ts';
import { listEntries } from './list-entries.ts';
import { lookUpShare } from './use-share.ts';

const list = (share: TestShare, path: string, { snapshot = null, limit = 10 }: Listing = {}) =>
  listEntries(share.store.storage, {
    name: share.nameOf(path, snapshot),
    waitMs: 0,
    prefix: '',
    from: null,
    limit,
  });

describe('a listing', () => {
  test('has files and directories together, in an order that knows no case, with names as they were written', async () => {
    const share = await TestShare.create();
    await share.createFile('delta', 5);
    await share.createDirectory('Bravo');
    await share.createFile('alpha', 1);
    await share.createFile('CHARLIE', 0);
    await share.createDirectory('echo');
    await share.createFile('Bravo/inside', 0);
    const { entries } = await list(share, '');
    assert.deepEqual(
      entries.map(({ kind, name }) => `${kind} ${name}`),
      ['file alpha', 'directory Bravo', 'file CHARLIE', 'file delta', 'directory echo'],
    );
  });

  test('tells which directory it is of, and does not have the root in itself', async () => {
    const share = await TestShare.create();
    const { id } = await share.createDirectory('a');
    assert.equal((await list(share, 'A')).directory.id, id);
    const root = await list(share, '');
    assert.deepEqual([root.directory.name, root.entries.map(({ name }) => name)], ['', ['a']]);
  });

  for (const [prefix, want] of [
    ['', ['Ab', 'aB1', 'abc', 'ac', 'b']],
    ['AB', ['Ab', 'aB1', 'abc']],
    ['ab', ['Ab', 'aB1', 'abc']],
    ['aBC', ['abc']],
    ['abcd', []],
  ] as const) {
    test(`with the prefix ${prefix || 'of no letter'} shows ${want.length} names, in any case and before a snapshot and after`, async () => {
      const share = await TestShare.create();
      for (const name of ['abc', 'Ab', 'b', 'ac', 'aB1']) await share.createFile(name, 0);
      assert.deepEqual(await namesIn(share, '', { prefix }), want);
      const snapshot = await share.snapshot();
      for (const name of ['abc', 'ac']) await removeFile(share, name);
      for (const name of ['ab0', 'abcd']) await share.createFile(name, 0);
      assert.deepEqual(await namesIn(share, '', { prefix, snapshot }), want);
    });
  }

  test('goes on at a name, though that is gone', async () => {
    const share = await TestShare.create();
    for (const name of ['a', 'b', 'c']) await share.createFile(name, 0);
    const { next } = await list(share, '', { limit: 1 });
    assert.equal(next, 'B');
    await removeFile(share, 'b');
    assert.deepEqual(await namesIn(share, '', { from: next }), ['c']);
  });

  test('shows each page full, and the last one without a next', async () => {
    const share = await TestShare.create();
    for (const name of ['a', 'b', 'c', 'd']) await share.createFile(name, 0);
    for (const [limit, pageSizes] of [
      [1, [1, 1, 1, 1]],
      [2, [2, 2]],
      [3, [3, 1]],
      [4, [4]],
      [5, [4]],
    ] as const) {
      assert.deepEqual((await listAll(share, '', { limit })).pageSizes, pageSizes);
    }
  });

  test('orders names beyond the first plane as their keys are ordered, also when two tables are walked', async () => {
    const share = await TestShare.create();
    const names = ['\u{1F600}', '\uFF21', 'a', '\u{10000}b', '\uE000', 'z'];
    for (const name of names) await share.createFile(name, 0);
    const snapshot = await share.snapshot();
    for (const name of [names[0], names[4]] as [string, string]) await removeFile(share, name);
    const want = names.toSorted(byName);
    for (const limit of [1, 2, 10]) assert.deepEqual(await namesIn(share, '', { snapshot, limit }), want);
  });

  test('leaves out what is marked for deletion, and a page is full without it', async () => {
    const share = await TestShare.create();
    const ids = new Map<string, string>();
    for (const name of ['a', 'b', 'c', 'd']) ids.set(name, (await share.createFile(name, 0)).id);
    const snapshot = await share.snapshot();
    const { engine, storage } = share.store;
    const { id: shareId } = (await lookUpShare(storage, share.name)) as ShareRecord;
    const puts = ['a', 'c'].map((name) => ({
      key: useKey(shareId, ids.get(name) as string, 'pending'),
      value: new Uint8Array(0),
    }));
    await engine.commit({ checks: [], puts, deletes: [] });
    assert.deepEqual(await listAll(share, '', { limit: 1 }).then(({ pageSizes }) => pageSizes), [1, 1]);
    assert.deepEqual(await namesIn(share), ['b', 'd']);
    assert.deepEqual(await namesIn(share, '', { snapshot }), ['a', 'b', 'c', 'd']);
  });

  for (const [path, want] of [
    ['nothing', 'ResourceNotFound'],
    ['nothing/below', 'ParentNotFound'],
    ['file', 'ResourceNotFound'],
    ['file/below', 'ParentNotFound'],
  ] as const) {
    test(`of ${path} gets ${want}`, async () => {
      const share = await TestShare.create();
      await share.createFile('file', 0);
      assert.equal(await refusal(list(share, path)), want);
    });
  }
});

describe('a listing of a snapshot', () => {
  test('costs what it shows where few of many entries have changed', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const share = await TestShare.create({ engine });
    const COUNT = 2_000;
    for (let index = 0; index < COUNT; index++) await share.createFile(`f${String(index).padStart(5, '0')}`, 0);
    const snapshot = await share.snapshot();
    for (const index of [3, 700, 1_999]) await removeFile(share, `f${String(index).padStart(5, '0')}`);
    await share.createFile('f00003x', 0);
    const { entriesRead } = await engine.costOf(() => list(share, '', { snapshot, limit: 20 }));
    assert.ok(entriesRead < 60, `${entriesRead} records read for a page of 20`);
    const names = await namesIn(share, '', { snapshot, limit: 333 });
    assert.deepEqual([names.length, names[3], names.at(-1)], [COUNT, 'f00003', 'f01999']);
  });

  test('costs what it shows where all have changed, and jumps over the states of later snapshots', async () => {
    const engine = new CountedEngine(openMemoryEngine());
    const share = await TestShare.create({ engine });
    const names = Array.from({ length: 60 }, (_, index) => `f${String(index).padStart(3, '0')}`);
    for (const name of names) await share.createFile(name, 0);
    const moments: Moment[] = [];
    for (let round = 0; round < 30; round++) {
      moments.push(await share.snapshot());
      for (const name of names) await share.createFile(name, round);
    }
    for (const name of names) await removeFile(share, name);
    const states = names.length * moments.length;
    for (const snapshot of [moments[0], moments[15], moments[29]] as Moment[]) {
      const { entriesRead } = await engine.costOf(async () =>
        assert.deepEqual(await namesIn(share, '', { snapshot }), names),
      );
      assert.ok(entriesRead < states / 1.5, `${entriesRead} of ${states} records read`);
    }
    assert.deepEqual(await namesIn(share), []);
  });

  test('is what it was, whatever is created, removed and renamed since, in pages of any size', async (t) => {
    const random = new Random();
    t.diagnostic(`LARIMAR_SEED=${random.seed}`);
    const share = await TestShare.create();
    await share.createDirectory('d');
    const names = Array.from({ length: 40 }, (_, index) => `${random.chance(0.5) ? 'n' : 'N'}${index}`);
    const live = new Map<string, { readonly name: string; readonly kind: 'file' | 'directory' }>();
    const past: { moment: Moment; names: string[] }[] = [];
    const shown = (): string[] => [...live.values()].map(({ name }) => name).toSorted(byName);
    const change = async (): Promise<void> => {
      const name = random.pick(names);
      const path = `d/${name}`;
      const there = live.get(foldName(name));
      const other = random.pick(names);
      if (there === undefined) {
        const kind = random.chance(0.3) ? 'directory' : 'file';
        await (kind === 'file' ? share.createFile(path, 0) : share.createDirectory(path));
        live.set(foldName(name), { name, kind });
      } else if (random.chance(0.5)) {
        await (there.kind === 'file' ? removeFile(share, path) : removeDirectory(share, path));
        live.delete(foldName(name));
      } else if (!live.has(foldName(other))) {
        await (there.kind === 'file' ? renameFile : renameDirectory)(share, path, `d/${other}`);
        live.delete(foldName(name));
        live.set(foldName(other), { ...there, name: other });
      }
    };
    for (let step = 0; step < 600; step++) {
      await change();
      if (!random.chance(0.05)) continue;
      past.push({ names: shown(), moment: await share.snapshot() });
      if (past.length > 4 && random.chance(0.5)) {
        const [gone] = past.splice(random.below(past.length), 1);
        await share.deleteSnapshot((gone as { moment: Moment }).moment);
        if (random.chance(0.5)) await share.store.sweep();
      }
      for (const { moment, names: want } of past) {
        const limit = random.pick([1, 3, 7, 50]);
        assert.deepEqual(await namesIn(share, 'd', { snapshot: moment, limit }), want);
      }
    }
    assert.deepEqual(await namesIn(share, 'd', { limit: 7 }), shown());
    assert.deepEqual(share.store.errors, []);
  });
});
