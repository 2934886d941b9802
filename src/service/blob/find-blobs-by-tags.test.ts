import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { ACCOUNT, blobRequest, bodyOf, NEW_BLOB, TestStore } from '../../../test/harness/store.ts';
import type { Key } from '../../engine/engine.ts';
import { matchesTagQuery, parseTagQuery, type TagQuery } from '../../rules/tag-expression.ts';
import type { Tags } from '../../rules/tags.ts';
import { StorageError } from '../storage-error.ts';
import { findBlobsByTags } from './find-blobs-by-tags.ts';
import { putBlob } from './put-blob.ts';
import { setBlobTags } from './set-blob-tags.ts';
import { tagPrefix } from './tag-index.ts';

async function openStore(t: TestContext, ...containers: string[]): Promise<TestStore> {
  const store = await TestStore.open();
  t.after(() => store.close());
  for (const container of containers) await store.createContainer(container);
  return store;
}

async function put(store: TestStore, container: string, blob: string, tags: Tags): Promise<void> {
  const rest = { ...NEW_BLOB, tags, mayOverwrite: true };
  await putBlob(store.storage, { ...blobRequest(container, blob), ...rest, body: bodyOf(Buffer.alloc(0)) });
}

const isRefusal =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof StorageError && error.code === code;

interface Asked {
  readonly container?: string;
  readonly limit?: number;
}

const page = (store: TestStore, where: string, { container, limit = 5_000 }: Asked, from: Key | null = null) =>
  findBlobsByTags(store.storage, {
    account: ACCOUNT,
    container: container ?? null,
    query: parseTagQuery(where) as TagQuery,
    from,
    limit,
  });

/** All pages, one after the other. */
async function find(store: TestStore, where: string, asked: Asked = {}): Promise<string[]> {
  const found: string[] = [];
  for (let from: Key | null = null; ; ) {
    const { blobs, next } = await page(store, where, asked, from);
    assert.ok(blobs.length <= (asked.limit ?? 5_000));
    found.push(...blobs.map(({ container, blob }) => `${container}/${blob}`));
    if (next === null) return found;
    assert.equal(blobs.length, asked.limit, 'a page that is not the last is full');
    from = next;
  }
}

test('many rows come in pages of any size, each once and in order', async (t) => {
  const store = await openStore(t, 'one', 'two');
  const names = Array.from({ length: 1_203 }, (_, index) => `blob-${String(index).padStart(4, '0')}`);
  for (const [index, name] of names.entries()) {
    const tags = [['kind', 'x'] as const, ['parity', index % 2 === 0 ? 'even' : 'odd'] as const];
    await put(store, index < 1_000 ? 'one' : 'two', name, tags);
  }
  const inOne = names.slice(0, 1_000).map((name) => `one/${name}`);
  const inTwo = names.slice(1_000).map((name) => `two/${name}`);
  for (const limit of [7, 500, 501, 5_000]) {
    assert.deepEqual(await find(store, "kind = 'x'", { limit }), [...inOne, ...inTwo], `pages of ${limit}`);
  }
  assert.deepEqual(await find(store, "kind = 'x'", { container: 'two', limit: 20 }), inTwo);
  const even = [...inOne, ...inTwo].filter((_, index) => index % 2 === 0);
  // By the first term every second row is walked in vain.
  assert.deepEqual(await find(store, "kind = 'x' AND parity = 'even'", { limit: 100 }), even);
  assert.deepEqual(await find(store, "kind > 'x'"), []);
});

test('pages go on where they ended, though blobs come and go in between', async (t) => {
  const store = await openStore(t, 'one');
  for (const name of ['a', 'b', 'c', 'd']) await put(store, 'one', name, [['k', 'v']]);
  const first = await page(store, "k = 'v'", { limit: 2 });
  for (const name of ['a', 'c']) await store.delete('one', name);
  await put(store, 'one', 'aa', [['k', 'v']]);
  await put(store, 'one', 'cc', [['k', 'v']]);
  const { blobs, next } = await page(store, "k = 'v'", { limit: 5 }, first.next);
  assert.deepEqual(
    blobs.map(({ blob }) => blob),
    ['cc', 'd'],
  );
  assert.equal(next, null);
});

test('a deleted container is out of the index at once, and one made anew begins without', async (t) => {
  const store = await openStore(t, 'one', 'two');
  for (const container of ['one', 'two']) {
    for (const blob of ['a', 'b']) await put(store, container, blob, [['k', 'v']]);
  }
  await store.deleteContainer('one');
  assert.deepEqual(await find(store, "k = 'v'", { limit: 1 }), ['two/a', 'two/b']);
  await store.createContainer('one');
  assert.deepEqual(await find(store, "k = 'v'"), ['two/a', 'two/b']);
  assert.deepEqual(await find(store, "k = 'v'", { container: 'one' }), []);
  await put(store, 'one', 'c', [['k', 'v']]);
  assert.deepEqual((await find(store, "k = 'v'")).toSorted(), ['one/c', 'two/a', 'two/b']);
  await store.sweep();
  assert.deepEqual((await find(store, "k = 'v'")).toSorted(), ['one/c', 'two/a', 'two/b']);
  // A process that has seen none of it yet.
  await store.reopen();
  assert.deepEqual((await find(store, "k = 'v'")).toSorted(), ['one/c', 'two/a', 'two/b']);
});

test('a query names its container, or one that is not there', async (t) => {
  const store = await openStore(t, 'one', 'two');
  await put(store, 'one', 'a', [['k', 'v']]);
  await put(store, 'two', 'a', [['k', 'v']]);
  assert.deepEqual(await find(store, "@container = 'two' AND k = 'v'"), ['two/a']);
  assert.deepEqual(await find(store, "@container = 'three' AND k = 'v'"), []);
  await assert.rejects(find(store, "k = 'v'", { container: 'three' }), isRefusal('ContainerNotFound'));
});

test('a marker reaches nothing outside of what is asked for', async (t) => {
  const store = await openStore(t, 'one', 'two');
  await put(store, 'one', 'a', [['k', 'v']]);
  await put(store, 'two', 'a', [['k', 'v']]);
  const refused = isRefusal('InvalidQueryParameterValue');
  for (const marker of [
    Buffer.from('A'),
    tagPrefix(ACCOUNT, null, 'k'),
    tagPrefix(ACCOUNT, null, 'a'),
    tagPrefix('account0', null, 'k'),
    Buffer.from('Z'),
  ]) {
    await assert.rejects(page(store, "k = 'v'", { container: 'two' }, marker), refused, marker.toString('latin1'));
  }
});

test('bounds that leave nothing between them find nothing', async (t) => {
  const store = await openStore(t, 'one');
  for (const value of ['1', '2', '3']) await put(store, 'one', value, [['k', value]]);
  for (const where of ["k > '2' AND k < '2'", "k > '3' AND k < '1'", "k >= '2' AND k < '2'", "k = '1' AND k = '2'"]) {
    assert.deepEqual(await find(store, where), [], where);
  }
  assert.deepEqual(await find(store, "k >= '2' AND k <= '2'"), ['one/2']);
});

const NAMES = ['a', 'b', 'a b'];
const VALUES = ['', '0', '1', '10', '2', 'a', 'b'];

const someTags = (random: Random): Tags =>
  NAMES.filter(() => random.chance(0.6)).map((name) => [name, random.pick(VALUES)] as const);

function someQuery(random: Random): string {
  const term = (): string =>
    `"${random.pick(NAMES)}" ${random.pick(['=', '<', '<=', '>', '>='])} '${random.pick(VALUES)}'`;
  return Array.from({ length: 1 + random.below(3) }, term).join(' AND ');
}

test('what is found is what the tags of all blobs say', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const store = await openStore(t, 'one', 'two');
  const tagsOf = new Map<string, Tags>();
  for (let step = 0; step < 150; step++) {
    const container = random.pick(['one', 'two']);
    const blob = `blob-${random.below(25)}`;
    const tags = someTags(random);
    const name = `${container}/${blob}`;
    const isThere = tagsOf.has(name);
    const what = random.pick(['put', 'put', 'tags', 'delete']);
    if (what === 'put' || (what === 'tags' && !isThere)) await put(store, container, blob, tags);
    else if (what === 'tags') await setBlobTags(store.storage, { ...blobRequest(container, blob), tags });
    else if (isThere) await store.delete(container, blob);
    if (what === 'delete') tagsOf.delete(name);
    else tagsOf.set(name, tags);
    const where = someQuery(random);
    const query = parseTagQuery(where) as TagQuery;
    const expected = [...tagsOf].filter(([, own]) => matchesTagQuery(query, own)).map(([found]) => found);
    assert.deepEqual((await find(store, where, { limit: 4 })).toSorted(), expected.toSorted(), where);
    const inOne = expected.filter((found) => found.startsWith('one/'));
    assert.deepEqual((await find(store, where, { container: 'one' })).toSorted(), inOne.toSorted(), where);
  }
});
