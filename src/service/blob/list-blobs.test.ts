import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { ACCOUNT, blockIdOf, TestStore } from '../../../test/harness/store.ts';
import { StorageError } from '../storage-error.ts';
import { type ListBlobsRequest, listBlobs } from './list-blobs.ts';

type State = 'committed' | 'staged' | 'both';
type Blobs = ReadonlyMap<string, State>;
type Question = Pick<ListBlobsRequest, 'prefix' | 'delimiter' | 'includeUncommitted'>;

const utf8Order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Every item of the whole listing, as its kind and name. */
function expectedItems(blobs: Blobs, { prefix, delimiter, includeUncommitted }: Question): string[] {
  const items: string[] = [];
  for (const name of [...blobs.keys()].sort(utf8Order)) {
    const isUncommitted = blobs.get(name) === 'staged';
    if (!name.startsWith(prefix) || (isUncommitted && !includeUncommitted)) continue;
    const cut = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
    const kind = isUncommitted ? 'uncommitted' : 'blob';
    const item = cut === -1 ? `${kind} ${name}` : `prefix ${name.slice(0, cut + delimiter.length)}`;
    if (items.at(-1) !== item) items.push(item);
  }
  return items;
}

async function makeStore(blobs: Blobs): Promise<TestStore> {
  const store = await TestStore.open();
  for (const container of ['before', 'box', 'behind']) await store.createContainer(container);
  await store.put('before', 'z', Buffer.from('x'));
  await store.put('behind', 'a', Buffer.from('x'));
  for (const [name, state] of blobs) {
    if (state !== 'staged') await store.put('box', name, Buffer.from('x'));
    if (state !== 'committed') await store.putBlock('box', name, blockIdOf(1), Buffer.from('x'));
  }
  return store;
}

interface Paged {
  readonly items: string[];
  readonly pageSizes: number[];
}

async function listAll(
  store: TestStore,
  question: Question & { limit: number; from?: string; before?: string },
): Promise<Paged> {
  const items: string[] = [];
  const pageSizes: number[] = [];
  for (let from: string | null = question.from ?? ''; from !== null; ) {
    const name = { account: ACCOUNT, container: 'box' };
    const page = await listBlobs(store.storage, { ...question, name, from });
    items.push(...page.items.map(({ kind, name }) => `${kind} ${name}`));
    pageSizes.push(page.items.length);
    assert.ok(page.next === null || page.next !== from || page.items.length > 0, 'a page gets on');
    from = page.next;
  }
  return { items, pageSizes };
}

const texts = (maxLength: number) =>
  fc
    .array(fc.constantFrom('a', 'b', '/', '//', '-', '\x01', '\x10', '\xff', '\uffff', '\u{1f600}'), { maxLength })
    .map((parts) => parts.join(''));
const blobs = fc
  .array(fc.tuple(texts(5), fc.constantFrom<State>('committed', 'committed', 'staged', 'both')), { maxLength: 40 })
  .map((rows) => new Map(rows.filter(([name]) => name !== '')));
const questions = fc.record(
  {
    prefix: texts(2),
    delimiter: fc.constantFrom('', '/', '//', 'a/', '-', '\u{1f600}'),
    includeUncommitted: fc.boolean(),
  },
  { noNullPrototype: true },
);

test('page by page, a listing gives every item exactly once and in order, on full pages', async () => {
  await fc.assert(
    fc.asyncProperty(blobs, fc.array(questions, { minLength: 4, maxLength: 8 }), async (blobs, asked) => {
      const store = await makeStore(blobs);
      for (const question of asked) {
        const expected = expectedItems(blobs, question);
        for (const limit of [1, 2, 3, 7, 5_000]) {
          const { items, pageSizes } = await listAll(store, { ...question, limit });
          assert.deepEqual(items, expected, `limit ${limit}`);
          assert.ok(
            pageSizes.slice(0, -1).every((size) => size === limit),
            `pages of ${pageSizes.join(', ')} with limit ${limit}`,
          );
        }
      }
      await store.close();
    }),
    { ...seeded, numRuns: 60 },
  );
});

test('from a marker that no page gave, a listing goes on with the first item at or behind it', async () => {
  await fc.assert(
    fc.asyncProperty(blobs, questions, texts(3), async (blobs, question, from) => {
      const store = await makeStore(blobs);
      const fromOn: Blobs = new Map([...blobs].filter(([name]) => utf8Order(name, from) >= 0));
      const { items } = await listAll(store, { ...question, from, limit: 3 });
      assert.deepEqual(items, expectedItems(fromOn, question));
      await store.close();
    }),
    { ...seeded, numRuns: 200 },
  );
});

test('a listing that ends before a name gives exactly the items in front of it', async () => {
  await fc.assert(
    fc.asyncProperty(blobs, questions, texts(3), texts(3), async (blobs, question, from, before) => {
      const store = await makeStore(blobs);
      const within: Blobs = new Map(
        [...blobs].filter(([name]) => utf8Order(name, from) >= 0 && utf8Order(name, before) < 0),
      );
      const { items } = await listAll(store, { ...question, from, before, limit: 2 });
      assert.deepEqual(items, expectedItems(within, question));
      await store.close();
    }),
    { ...seeded, numRuns: 200 },
  );
});

test('more records than are read at a time, half of them hidden, are listed without a gap', async () => {
  const all: Blobs = new Map(
    Array.from({ length: 1_300 }, (_, index) => [
      String(index).padStart(4, '0'),
      (['committed', 'staged', 'both', 'staged'] as const)[index % 4] as State,
    ]),
  );
  const store = await makeStore(all);
  for (const includeUncommitted of [false, true]) {
    const question = { prefix: '', delimiter: '', includeUncommitted };
    for (const limit of [1, 99, 499, 500, 501, 5_000]) {
      assert.deepEqual(
        (await listAll(store, { ...question, limit })).items,
        expectedItems(all, question),
        `limit ${limit}`,
      );
    }
  }
  await store.close();
});

test('uncommitted blobs without end hide a single committed one no longer than the listing takes', async () => {
  const all: Blobs = new Map([
    ...Array.from({ length: 1_200 }, (_, index) => [`a${index}`, 'staged'] as const),
    ['z', 'committed'] as const,
  ]);
  const store = await makeStore(all);
  const { items, pageSizes } = await listAll(store, { prefix: '', delimiter: '', includeUncommitted: false, limit: 1 });
  assert.deepEqual(items, ['blob z']);
  assert.deepEqual(pageSizes, [1]);
  await store.close();
});

test('a prefix that only uncommitted blobs have is no prefix, unless they are asked for', async () => {
  const store = await makeStore(
    new Map([
      ['dir/staged', 'staged'],
      ['top', 'committed'],
    ]),
  );
  const question = { prefix: '', delimiter: '/', limit: 10 };
  assert.deepEqual((await listAll(store, { ...question, includeUncommitted: false })).items, ['blob top']);
  assert.deepEqual((await listAll(store, { ...question, includeUncommitted: true })).items, [
    'prefix dir/',
    'blob top',
  ]);
  await store.close();
});

test('a container that is not there is refused', async () => {
  const store = await TestStore.open();
  const request = { prefix: '', delimiter: '', from: '', limit: 1, includeUncommitted: false };
  await assert.rejects(
    listBlobs(store.storage, { ...request, name: { account: ACCOUNT, container: 'none' } }),
    (error) => error instanceof StorageError && error.code === 'ContainerNotFound',
  );
  await store.close();
});
