import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ACCOUNT, TestStore } from '../../../test/harness/store.ts';
import { checkStore } from '../check.ts';
import { doWhatIsDue } from '../do-what-is-due.ts';
import { DEFAULT_SETTINGS } from '../storage.ts';
import { type ContainerPage, listContainers } from './list-containers.ts';
import { restoreContainer } from './restore-container.ts';

const DAY_SECONDS = 86_400;
const RETENTION_DAYS = 3;

let store: TestStore;
beforeEach(async () => {
  store = await TestStore.open({ settings: () => ({ ...DEFAULT_SETTINGS, containerRetentionDays: RETENTION_DAYS }) });
});
afterEach(async () => {
  assert.deepEqual(store.errors, []);
  const { findings } = await checkStore({ engine: store.engine, content: store.content, afterCrash: false });
  assert.deepEqual(findings, []);
  await store.close();
});

const page = (limit = 5_000, from = '', prefix = ''): Promise<ContainerPage> =>
  listContainers(store.storage, { account: ACCOUNT, prefix, from, limit, includeDeleted: true });
const describePage = ({ containers }: ContainerPage): string[] =>
  containers.map(({ name, container }) => (container.deleted === undefined ? name : `${name} deleted`));
const versionsOf = async (name: string): Promise<string[]> =>
  (await page()).containers
    .filter((listed) => listed.name === name && listed.container.deleted !== undefined)
    .map(({ container }) => container.id);
const restore = (container: string, version: string) =>
  restoreContainer(store.storage, { name: { account: ACCOUNT, container }, version });

/** A container with one blob that says which one it is; then deleted. */
async function makeAndDelete(container: string, text: string): Promise<void> {
  await store.createContainer(container);
  await store.put(container, 'blob', Buffer.alloc(20 * 1024, text));
  await store.deleteContainer(container);
}

describe('a deleted container', () => {
  test('is kept with everything in it, and comes back as it was', async () => {
    await store.createContainer('box');
    await store.put('box', 'blob', Buffer.from('a'));
    const [before] = (await page()).containers;
    await store.deleteContainer('box');
    await assert.rejects(store.read('box', 'blob'), { code: 'ContainerNotFound' });
    await store.sweep();
    const restored = await restore('box', before?.container.id as string);
    assert.deepEqual(restored, before?.container);
    assert.equal((await store.read('box', 'blob')).toString(), 'a');
    assert.deepEqual(describePage(await page()), ['box']);
  });

  test('is told apart from others of its name', async () => {
    for (const text of ['a', 'b', 'c']) await makeAndDelete('box', text);
    await store.createContainer('box');
    assert.deepEqual(describePage(await page()), ['box', 'box deleted', 'box deleted', 'box deleted']);
    const [, second = ''] = await versionsOf('box');
    await assert.rejects(restore('box', second), { code: 'ContainerAlreadyExists' });
    await store.deleteContainer('box');
    await restore('box', second.toUpperCase());
    assert.equal((await store.read('box', 'blob')).toString('latin1', 0, 1), 'b');
    assert.equal((await versionsOf('box')).length, 3);
  });

  test('is not found by a version that nobody gave, or under another name', async () => {
    await makeAndDelete('box', 'a');
    const [version = ''] = await versionsOf('box');
    for (const other of ['', 'x', '0'.repeat(24), `${version}0`, '\0'.repeat(24), 'f'.repeat(10_000)]) {
      await assert.rejects(restore('box', other), { code: 'ContainerNotFound' });
    }
    await assert.rejects(restore('box2', version), { code: 'ContainerNotFound' });
  });

  test('is gone when its days are over, swept or not', async () => {
    await makeAndDelete('box', 'a');
    const [version = ''] = await versionsOf('box');
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS - 1 });
    assert.equal(await doWhatIsDue(store.storage), 0);
    assert.deepEqual(describePage(await page()), ['box deleted']);
    store.clock.advance({ seconds: 1 });
    assert.deepEqual(describePage(await page()), []);
    await assert.rejects(restore('box', version), { code: 'ContainerNotFound' });
    assert.equal(await doWhatIsDue(store.storage), 1);
    await store.sweep();
    assert.deepEqual(await store.records(), [], 'records and extents are gone');
  });

  test('that was restored stays, and has days of its own when it is deleted again', async () => {
    await makeAndDelete('box', 'a');
    const [version = ''] = await versionsOf('box');
    store.clock.advance({ seconds: DAY_SECONDS });
    await restore('box', version);
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS });
    assert.equal(await doWhatIsDue(store.storage), 0);
    await store.deleteContainer('box');
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS - 1 });
    assert.equal(await doWhatIsDue(store.storage), 0);
    await restore('box', version);
    assert.equal((await store.read('box', 'blob')).toString('latin1', 0, 1), 'a');
  });
});

describe('a listing of containers', () => {
  test('has deleted ones where they are asked for, page by page, each exactly once', async () => {
    for (const name of ['b', 'a', 'a-1', 'c', 'ab'].map((short) => `box-${short}`)) {
      for (const text of ['x', 'y']) await makeAndDelete(name, text);
      if (name !== 'box-c') await store.createContainer(name);
    }
    const all = ['a', 'a-1', 'ab', 'b', 'c'].flatMap((short) => [
      ...(short === 'c' ? [] : [`box-${short}`]),
      `box-${short} deleted`,
      `box-${short} deleted`,
    ]);
    for (const limit of [1, 2, 3, 5, 5_000]) {
      for (const prefix of ['', 'box-', 'box-a', 'box-ab', 'none']) {
        const seen: string[] = [];
        const ids = new Set<string>();
        for (let from: string | null = ''; from !== null; ) {
          const next: ContainerPage = await page(limit, from, prefix);
          seen.push(...describePage(next));
          for (const { container } of next.containers) ids.add(container.id);
          assert.ok(next.next === null || next.containers.length === limit, 'pages are full');
          from = next.next;
        }
        const wanted = all.filter((text) => text.startsWith(prefix));
        assert.deepEqual(seen, wanted, `limit ${limit}, prefix ${prefix}`);
        assert.equal(ids.size, wanted.length);
      }
    }
    const live = await listContainers(store.storage, { account: ACCOUNT, prefix: '', from: '', limit: 9 });
    assert.deepEqual(
      describePage(live),
      all.filter((text) => !text.endsWith('deleted')),
    );
  });

  test('passes over many that are gone already', async () => {
    for (let count = 0; count < 30; count++) await makeAndDelete('box', 'x');
    store.clock.advance({ seconds: RETENTION_DAYS * DAY_SECONDS });
    await makeAndDelete('box', 'y');
    await store.createContainer('last');
    assert.deepEqual(describePage(await page(2)), ['box deleted', 'last']);
  });
});
