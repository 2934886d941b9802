import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { TestShare } from '../../../test/harness/file-store.ts';
import { type Call, Hooks, hookEngine } from '../../../test/harness/hooked-store.ts';
import { EngineUnavailable } from '../../engine/engine.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { INLINE_BYTES_MAX } from '../extents/extents.ts';
import { deleteShare } from './delete-share.ts';
import { STEP_RECORDS } from './sweep-tree.ts';

async function open(t: TestContext): Promise<{ share: TestShare; hooks: Hooks }> {
  const hooks = new Hooks();
  const share = await TestShare.create({ engine: hookEngine(openMemoryEngine(), hooks) });
  t.after(() => share.store.close());
  return { share, hooks };
}

const LARGE = Buffer.alloc(INLINE_BYTES_MAX + 1, 'x');

/** More than one step of files, each with an earlier state, some of them in the content store. */
async function fill(share: TestShare): Promise<string> {
  await share.createDirectory('d');
  const paths = Array.from({ length: STEP_RECORDS + 10 }, (_, index) => `d/${index}`);
  await Promise.all(paths.map((path, index) => share.createFile(path, index < 5 ? LARGE : Buffer.from(path))));
  const moment = await share.snapshot();
  await Promise.all(paths.map((path) => share.createFile(path, Buffer.from('new'))));
  return moment;
}

const remove = ({ store, name }: TestShare): Promise<void> =>
  deleteShare(store.storage, { name, leaseId: null, snapshot: null, deleteSnapshots: 'include' });

/** Every second commit of all passes fails, before or after it takes effect, until one has nothing left to do; how many. */
async function sweepCutOff({ store }: TestShare, hooks: Hooks, at: Call['what']): Promise<number> {
  let failureCount = 0;
  let commitCount = 0;
  hooks.before = ({ what }) => {
    if (what !== at || ++commitCount % 2 !== 0) return;
    failureCount++;
    throw new EngineUnavailable('cut off');
  };
  while ((await store.garbage()).length > 0) {
    await store.sweeper.sweep().catch((error: unknown) => {
      if (!(error instanceof EngineUnavailable)) throw error;
    });
  }
  hooks.clear();
  return failureCount;
}

for (const [at, when] of [
  ['commit', 'before'],
  ['committed', 'after'],
] as const) {
  test(`a sweep that is cut off again and again, ${when} its commits, leaves nothing of a deleted share`, async (t) => {
    const { share, hooks } = await open(t);
    await fill(share);
    await remove(share);
    assert.ok((await sweepCutOff(share, hooks, at)) > 5);
    await share.store.sweep();
    assert.deepEqual(await share.store.records(), []);
    const nothing = (async function* (): AsyncGenerator<never> {})();
    assert.equal((await share.store.content.strays(nothing)).extentCount, 0);
  });

  test(`a sweep that is cut off again and again, ${when} its commits, leaves what an older snapshot sees`, async (t) => {
    const { share, hooks } = await open(t);
    const first = await fill(share);
    const second = await share.snapshot();
    for (const path of ['d/0', 'd/1']) await share.createFile(path, Buffer.from('newer'));
    await share.deleteSnapshot(second);
    assert.ok((await sweepCutOff(share, hooks, at)) > 1);
    await share.store.sweep();
    const letters = (await share.store.records()).map((key) => key[0]);
    assert.equal(letters.filter((letter) => letter === 'h').length, STEP_RECORDS + 10);
    assert.ok((await share.read('d/0', first)).equals(LARGE));

    await share.deleteSnapshot(first);
    assert.ok((await sweepCutOff(share, hooks, at)) > 1);
    await share.store.sweep();
    assert.ok((await share.store.records()).every((key) => !'hjpXG'.includes(key[0] as string)));
    assert.equal((await share.read('d/0')).toString(), 'newer');
    assert.equal((await share.read('d/9')).toString(), 'new');
  });
}

for (const [letter, what] of [
  ['p', 'which snapshots there are'],
  ['j', 'which states they do not see'],
] as const) {
  test(`a snapshot that is taken when a sweep has looked up ${what} keeps what it sees`, async (t) => {
    const { share, hooks } = await open(t);
    await share.createFile('a', Buffer.from('1'));
    const first = await share.snapshot();
    await share.createFile('a', Buffer.from('2'));
    await share.deleteSnapshot(first);
    let second = '';
    hooks.before = async (call) => {
      if (call.what !== 'ranged' || call.from[0] !== letter.charCodeAt(0)) return;
      hooks.clear();
      second = await share.snapshot();
      await share.createFile('a', Buffer.from('3'));
    };
    await share.store.sweep();
    assert.notEqual(second, '');
    assert.equal((await share.read('a', second)).toString(), '2');
    assert.equal((await share.read('a')).toString(), '3');
    assert.equal((await share.store.records()).filter((key) => key[0] === 'h').length, 1);
  });
}

test('a reader of a snapshot reads on to the end, though the snapshot was deleted and swept meanwhile', async (t) => {
  const { share } = await open(t);
  const bytes = Buffer.alloc(6 * 1024 * 1024, 'abc');
  await share.createFile('a', bytes.length);
  for (let at = 0; at < bytes.length; at += 4 * 1024 * 1024) {
    await share.write('a', at, bytes.subarray(at, at + 4 * 1024 * 1024));
  }
  const moment = await share.snapshot();
  await share.createFile('a', 0);
  const reading = share.read('a', moment);
  const deleting = share.deleteSnapshot(moment).then(() => share.store.sweep());
  assert.ok((await reading).equals(bytes));
  await deleting;
  await share.store.sweep();
  assert.ok((await share.store.records()).every((key) => !'hjpXVG'.includes(key[0] as string)));
});
