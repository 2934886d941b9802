import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestShare } from '../../../test/harness/file-store.ts';
import { checkStore } from '../check.ts';
import { decodeJson } from '../records/codec.ts';
import { parseEndedNodeKey, parsePastNodeKey } from '../records/file-keys.ts';
import type { FileRecord, NodeRecord } from '../records/node-record.ts';

/** Earlier states as they stand: name, first and last epoch. */
async function pastStates({ store }: TestShare): Promise<string[]> {
  const rows = (await store.entries()).filter(({ key }) => key[0] === 'h'.charCodeAt(0));
  return rows.map(({ key, value }) => {
    const { name, epoch } = parsePastNodeKey(key);
    return `${name} ${decodeJson<NodeRecord>(value).since}-${epoch}`;
  });
}

async function indexed({ store }: TestShare): Promise<string[]> {
  const rows = (await store.entries()).filter(({ key }) => key[0] === 'j'.charCodeAt(0));
  return rows
    .map(({ key }) => parseEndedNodeKey(key))
    .map(({ name, since, epoch }) => `${name} ${since}-${epoch}`)
    .sort();
}

/** All rows of maps of pages, and of their bytes. */
const contentRows = async ({ store }: TestShare): Promise<string[]> =>
  (await store.records()).filter((key) => 'HIMNVX'.includes(key.charAt(0)));

async function checkClean({ store: { engine, content } }: TestShare): Promise<void> {
  assert.deepEqual((await checkStore({ engine, content, afterCrash: false })).findings, []);
}

describe('a state is kept', () => {
  test('once, when it first changes after a snapshot', async () => {
    const share = await TestShare.create();
    await share.createFile('file', Buffer.from('first'));
    await share.write('file', 0, Buffer.from('still'));
    assert.deepEqual(await pastStates(share), []);
    await share.snapshot();
    assert.deepEqual(await pastStates(share), []);
    for (const text of ['after', 'later', 'newer']) await share.write('file', 0, Buffer.from(text));
    assert.deepEqual(await pastStates(share), ['FILE 1-1']);
    await share.snapshot();
    await share.snapshot();
    await share.write('file', 0, Buffer.from('third'));
    assert.deepEqual(await pastStates(share), ['FILE 1-1', 'FILE 2-3']);
    assert.deepEqual(await indexed(share), await pastStates(share));
    await checkClean(share);
  });

  test('not of what came after the snapshot', async () => {
    const share = await TestShare.create();
    await share.snapshot();
    await share.createFile('file', Buffer.from('new'));
    await share.createFile('file', Buffer.from('newer'));
    await share.delete('file', 'file');
    assert.deepEqual(await pastStates(share), []);
  });

  test('not for a snapshot that is gone', async () => {
    const share = await TestShare.create();
    const first = await share.snapshot();
    await share.createFile('file', Buffer.from('1'));
    const second = await share.snapshot();
    await share.deleteSnapshot(second);
    await share.write('file', 0, Buffer.from('2'));
    assert.deepEqual(await pastStates(share), []);
    await share.deleteSnapshot(first);
    await share.store.sweep();
    await checkClean(share);
  });

  test('for an older snapshot under the newest that saw it, and goes with the last of them', async () => {
    const share = await TestShare.create();
    await share.createFile('file', Buffer.from('1'));
    const [first, second] = [await share.snapshot(), await share.snapshot()];
    await share.write('file', 0, Buffer.from('2'));
    assert.deepEqual(await pastStates(share), ['FILE 1-2']);
    await share.deleteSnapshot(second);
    await share.store.sweep();
    assert.equal((await share.read('file', first)).toString(), '1');
    await share.deleteSnapshot(first);
    await share.store.sweep();
    assert.deepEqual(await pastStates(share), []);
    assert.deepEqual(await indexed(share), []);
    await checkClean(share);
  });
});

describe('a snapshot sees', () => {
  test('an overwritten, a renamed and a deleted file as they were', async () => {
    const share = await TestShare.create();
    await share.createDirectory('dir');
    for (const name of ['over', 'moved', 'gone']) await share.createFile(`dir/${name}`, Buffer.from(name));
    const snapshot = await share.snapshot();
    await share.createFile('dir/over', Buffer.from('another'));
    await share.rename('file', 'dir/moved', 'dir/gone', { replaces: true });
    await share.write('dir/gone', 0, Buffer.from('MOVED'));
    await share.rename('directory', 'dir', 'other');
    for (const name of ['over', 'moved', 'gone']) {
      assert.equal((await share.read(`dir/${name}`, snapshot)).toString(), name);
    }
    assert.equal((await share.read('other/gone')).toString(), 'MOVED');
    await checkClean(share);
  });

  test('a file under two names, if it was renamed between two snapshots', async () => {
    const share = await TestShare.create();
    await share.createFile('a', Buffer.from('text'));
    const first = await share.snapshot();
    await share.rename('file', 'a', 'b');
    const second = await share.snapshot();
    await share.rename('file', 'b', 'a');
    await share.write('a', 0, Buffer.from('TEXT'));
    assert.equal((await share.read('a', first)).toString(), 'text');
    assert.equal((await share.read('b', second)).toString(), 'text');
    assert.equal((await share.read('a')).toString(), 'TEXT');
    await checkClean(share);
  });

  test('a name in the case it had', async () => {
    const share = await TestShare.create();
    await share.createFile('name', 3);
    const snapshot = await share.snapshot();
    const { name } = (await share.rename('file', 'name', 'NAME')) as FileRecord;
    assert.equal(name, 'NAME');
    assert.deepEqual(await pastStates(share), ['NAME 1-1']);
    assert.equal((await share.read('name', snapshot)).length, 3);
    await checkClean(share);
  });
});

describe('content is let go of', () => {
  for (const [what, act] of [
    ['by an overwrite', (share: TestShare) => share.createFile('file', 0)],
    ['by a delete', (share: TestShare) => share.delete('file', 'file')],
    ['by a rename over it', async (share: TestShare) => share.rename('file', 'empty', 'file', { replaces: true })],
    ['by a resize to nothing', (share: TestShare) => share.resize('file', 0)],
  ] as const) {
    test(`${what}, and with the snapshot that saw it`, async () => {
      for (const isSeen of [false, true]) {
        const share = await TestShare.create();
        await share.createFile('file', Buffer.alloc(20_000, 'x'));
        await share.createFile('empty', 0);
        const snapshot = isSeen ? await share.snapshot() : null;
        await act(share);
        await share.store.sweep();
        if (snapshot !== null) {
          assert.equal((await share.read('file', snapshot)).toString(), 'x'.repeat(20_000));
          await share.deleteSnapshot(snapshot);
          await share.store.sweep();
        }
        const left = await contentRows(share);
        // A file of no length may keep its map, which is nothing but a note of its epoch.
        assert.deepEqual(
          left.filter((key) => !key.startsWith('V')),
          [],
        );
        await checkClean(share);
      }
    });
  }
});
