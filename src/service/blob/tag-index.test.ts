import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/harness/random.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { transact } from '../../engine/transact.ts';
import type { Tags } from '../../rules/tags.ts';
import type { BlobAddress } from '../records/keys.ts';
import { tableRange } from '../records/keys.ts';
import { indexTags, parseTagKey, type TagRow, tagPrefix } from './tag-index.ts';

const CONTAINER = '0123456789abcdef01234567';
const WHOLE_ACCOUNT = '0'.repeat(24);

const at = (name: string, containerId = CONTAINER): BlobAddress => ({ account: 'account1', containerId, name });

class Index {
  readonly #engine = openMemoryEngine();

  async change(address: BlobAddress, before: Tags | undefined, after: Tags | undefined): Promise<void> {
    await transact(this.#engine, async (tx) => indexTags(tx, address, { before, after }));
  }

  async rows(): Promise<{ readonly scope: string; readonly row: TagRow }[]> {
    const snapshot = this.#engine.snapshot();
    const entries = await snapshot.range(tableRange('T'), { limit: 10_000 }).finally(() => snapshot.close());
    return entries.map(({ key }) => {
      const scopeAt = 1 + 'account1'.length + 1;
      return { scope: Buffer.from(key.subarray(scopeAt, scopeAt + 12)).toString('hex'), row: parseTagKey(key) };
    });
  }

  async texts(): Promise<string[]> {
    const rows = await this.rows();
    return rows.map(
      ({ scope, row }) => `${scope === WHOLE_ACCOUNT ? 'all' : 'one'} ${row.tag}=${row.value} ${row.blob}`,
    );
  }
}

test('a tag has a row for its container and one for the account', async () => {
  const index = new Index();
  await index.change(at('blob'), undefined, [['colour', 'red']]);
  assert.deepEqual(await index.texts(), ['all colour=red blob', 'one colour=red blob']);
});

test('what changes is the tags that change', async () => {
  const index = new Index();
  const first: Tags = [
    ['a', '1'],
    ['b', '1'],
  ];
  await index.change(at('blob'), undefined, first);
  await index.change(at('blob'), first, [
    ['b', '1'],
    ['a', '2'],
  ]);
  assert.deepEqual(await index.texts(), ['all a=2 blob', 'all b=1 blob', 'one a=2 blob', 'one b=1 blob']);
  await index.change(at('blob'), [['a', '2']], undefined);
  await index.change(at('blob'), [['b', '1']], []);
  assert.deepEqual(await index.texts(), []);
});

test('values stand in the order of their text, the empty one first', async () => {
  const index = new Index();
  for (const value of ['b', 'a b', '', 'ab', 'a', 'a/b', 'B'])
    await index.change(at(`blob`), undefined, [['k', value]]);
  const values = (await index.rows()).filter(({ scope }) => scope === WHOLE_ACCOUNT).map(({ row }) => row.value);
  assert.deepEqual(values, ['', 'B', 'a', 'a b', 'a/b', 'ab', 'b']);
});

test('one tag’s rows are not among those of a tag whose name begins alike', () => {
  const key = Buffer.concat([tagPrefix('account1', null, 'colours'), Buffer.from('x')]);
  assert.ok(
    !key.subarray(0, tagPrefix('account1', null, 'colour').length).equals(tagPrefix('account1', null, 'colour')),
  );
});

test('a row tells what it was made of, whatever the name of the blob', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const names = ['x', 'ü/日本/🎉', ' = ', 'x'.repeat(1024), '日'.repeat(1024), '\u{1}\u{2}'];
  for (const name of names) {
    const index = new Index();
    const containerId = random.bytes(12).toString('hex');
    const tag = ['t'.repeat(1 + random.below(128)), 'v'.repeat(random.below(257))] as const;
    await index.change(at(name, containerId), undefined, [tag]);
    const row: TagRow = { account: 'account1', containerId, blob: name, tag: tag[0], value: tag[1] };
    assert.deepEqual(
      (await index.rows()).map((found) => found.row),
      [row, row],
    );
  }
});

test('after any changes the rows are the tags that the blobs have', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  const index = new Index();
  const tagsOf = new Map<string, Tags>();
  const someTags = (): Tags =>
    ['a', 'b', 'c'].filter(() => random.chance(0.5)).map((name) => [name, random.pick(['', '1', '2'])] as const);
  for (let step = 0; step < 200; step++) {
    const name = random.pick(['x', 'y', 'z']);
    const after = random.chance(0.2) ? undefined : someTags();
    await index.change(at(name), tagsOf.get(name), after);
    if (after === undefined) tagsOf.delete(name);
    else tagsOf.set(name, after);
  }
  const expected = [...tagsOf].flatMap(([name, tags]) => tags.map(([tag, value]) => `${tag}=${value} ${name}`));
  const everywhere = ['all', 'one'].flatMap((scope) => expected.map((text) => `${scope} ${text}`));
  assert.deepEqual((await index.texts()).toSorted(), everywhere.toSorted());
});
