import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { CountedEngine } from '../../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../../test/harness/file-store.ts';
import { Random } from '../../../../test/harness/random.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { openMemoryEngine } from '../../../engine/memory/memory-engine.ts';
import { foldName } from '../../../rules/file-names.ts';
import { type NamePattern, parsePattern } from '../../../rules/name-pattern.ts';
import { listOpen, type OpenPage } from './list-open.ts';
import type { ThroughOpen } from './through-open.ts';
import { OpenClosed } from './use-open.ts';

let engine: CountedEngine;
let share: TestShare;
let client: SmbClient;

beforeEach(async () => {
  engine = new CountedEngine(openMemoryEngine());
  share = await TestShare.create({ engine });
  client = new SmbClient(share.store.storage, share.name);
});

afterEach(() => share.store.close());

async function openPath(path: string, snapshot: string | null = null): Promise<ThroughOpen> {
  const { id, place } = await client.open(path, { snapshot });
  return { openId: id, place, name: share.nameOf(path, snapshot) };
}

const patternOf = (text: string): NamePattern => parsePattern(text) as NamePattern;

const pageOf = (open: ThroughOpen, from: string | null, limit = 100, pattern = '*'): Promise<OpenPage> =>
  listOpen(share.store.storage, open, { pattern: patternOf(pattern), from, limit });

async function namesIn(open: ThroughOpen, { limit = 100, pattern = '*' } = {}): Promise<string[]> {
  const names: string[] = [];
  for (let from: string | null | undefined; from !== null; ) {
    const page: OpenPage = await pageOf(open, from ?? null, limit, pattern);
    assert.ok(page.entries.length <= limit);
    names.push(...page.entries.map(({ node }) => node.name));
    from = page.next;
  }
  return names;
}

const fill = async (directory: string, names: readonly string[]): Promise<void> => {
  for (const name of names) await share.createFile(`${directory}/${name}`, 0);
};

test('entries come in the order of folded names, however long the pages are', async () => {
  await share.createDirectory('d');
  await fill('d', ['b', 'C', 'a', 'ü', 'a.txt', 'Ab']);
  await share.createDirectory('d/dir');
  const open = await openPath('d');
  for (const limit of [1, 2, 3, 7, 100]) {
    assert.deepEqual(await namesIn(open, { limit }), ['a', 'a.txt', 'Ab', 'b', 'C', 'dir', 'ü']);
  }
});

test('the directory and the one above come with a page, and the root is above itself', async () => {
  await share.createDirectory('d');
  const page = await pageOf(await openPath('d'), null);
  assert.equal(page.directory.name, 'd');
  assert.equal(page.parent.name, '');
  assert.equal(page.next, null);
  const root = await pageOf(await openPath(''), null);
  assert.equal(root.directory.id, root.parent.id);
  assert.deepEqual(
    root.entries.map(({ node }) => node.name),
    ['d'],
  );
});

test('what is marked for deletion is told until it is closed', async () => {
  await fill('', ['a', 'b']);
  const open = await openPath('');
  const { id } = await client.open('a');
  await client.opens.markForDeletion(id, true);
  assert.deepEqual(await namesIn(open), ['a', 'b']);
  await client.opens.close(id);
  assert.deepEqual(await namesIn(open), ['b']);
});

test('the directory is listed though it was renamed after it was opened', async () => {
  await share.createDirectory('d');
  await fill('d', ['a']);
  const open = await openPath('d');
  await share.rename('directory', 'd', 'other');
  assert.deepEqual(await namesIn(open), ['a']);
});

test('a snapshot is listed as it was', async () => {
  await share.createDirectory('d');
  await fill('d', ['a', 'b', 'c']);
  const moment = await share.snapshot();
  await share.delete('file', 'd/a');
  await share.createFile('d/d', 0);
  const open = await openPath('d', moment);
  for (const limit of [1, 2, 100]) assert.deepEqual(await namesIn(open, { limit }), ['a', 'b', 'c']);
  assert.deepEqual(await namesIn(open, { pattern: 'B' }), ['b']);
});

test('what stays is told once, while others come and go', async () => {
  const random = new Random();
  const stays = Array.from({ length: 40 }, (_, index) => `stays${String(index).padStart(2, '0')}`);
  const goes = Array.from({ length: 40 }, (_, index) => `stays${String(index).padStart(2, '0')}goes`);
  await share.createDirectory('d');
  await fill('d', [...stays, ...goes]);
  const open = await openPath('d');
  const there = new Set(goes);
  const names: string[] = [];
  for (let from: string | null | undefined; from !== null; ) {
    const page: OpenPage = await pageOf(open, from ?? null, 1 + random.below(5));
    names.push(...page.entries.map(({ node }) => node.name));
    from = page.next;
    for (let change = 0; change < 6; change++) {
      const name = random.pick(goes);
      if (there.has(name)) await share.delete('file', `d/${name}`);
      else await share.createFile(`d/${name}`, 0);
      if (!there.delete(name)) there.add(name);
    }
  }
  assert.deepEqual(
    names.filter((name) => !name.endsWith('goes')),
    stays,
    `seed ${random.seed}`,
  );
  assert.equal(new Set(names).size, names.length, `seed ${random.seed}`);
});

test('a name is found at once, though many begin with it', async () => {
  await share.createDirectory('d');
  await fill('d', ['a', ...Array.from({ length: 200 }, (_, index) => `a${index}`)]);
  const open = await openPath('d');
  const beside = await engine.costOf(() => pageOf(open, null, 100, 'nothing'));
  const cost = await engine.costOf(async () => assert.deepEqual(await namesIn(open, { pattern: 'A' }), ['a']));
  assert.ok(cost.entriesRead - beside.entriesRead <= 2, `${cost.entriesRead}`);
  assert.equal(cost.rangesAsked, beside.rangesAsked);
});

test('a listing in single entries reads each row no more than a few times, few as match', async () => {
  const count = 600;
  await share.createDirectory('d');
  const names = Array.from({ length: count }, (_, index) => `f${String(index).padStart(3, '0')}`);
  await fill('d', names);
  const open = await openPath('d');
  for (const [pattern, want] of [
    ['*', names],
    ['*7', names.filter((name) => name.endsWith('7'))],
    ['*5?9', ['f509', 'f519', 'f529', 'f539', 'f549', 'f559', 'f569', 'f579', 'f589', 'f599']],
    ['*none', []],
  ] as const) {
    const cost = await engine.costOf(async () => assert.deepEqual(await namesIn(open, { limit: 1, pattern }), want));
    // Each page reads the open as well.
    assert.ok(cost.entriesRead < 6 * count + 10 * want.length, `${pattern}: ${cost.entriesRead}`);
    assert.ok(cost.rangesAsked < 20 + 10 * want.length, `${pattern}: ${cost.rangesAsked}`);
  }
});

test('whoever has it no longer open is refused, and so is who has a file open', async () => {
  await share.createFile('f', 0);
  assert.equal(await refusal(pageOf(await openPath('f'), null)), 'ResourceTypeMismatch');
  const open = await openPath('');
  await client.opens.close(open.openId);
  await assert.rejects(pageOf(open, null), OpenClosed);
});

test('names are kept as they were written', async () => {
  await share.createFile('ÄrgeR', 0);
  const { entries } = await pageOf(await openPath(''), null);
  assert.deepEqual(
    entries.map(({ name, node }) => [name, node.name]),
    [[foldName('ÄrgeR'), 'ÄrgeR']],
  );
});
