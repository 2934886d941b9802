import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestShare } from '../../../test/harness/file-store.ts';
import { ManualClock } from '../../base/clock.ts';
import { transact } from '../../engine/transact.ts';
import { ARCHIVE, DIRECTORY, HIDDEN, READ_ONLY } from '../../rules/file-attributes.ts';
import { fileTimeAt, parseFileTime } from '../../rules/file-time.ts';
import { encodeJson } from '../records/codec.ts';
import { placeKey } from '../records/file-keys.ts';
import { ROOT_ID } from '../records/node-record.ts';
import { changeFile } from './change-file.ts';
import { findNode } from './load.ts';
import { NO_CHANGES, newNodeId, type PropertyChanges } from './properties.ts';

const EXACT = parseFileTime('2001-02-03T04:05:06.7890123Z') as string;

async function changed(share: TestShare, properties: PropertyChanges) {
  const change = { operation: 'set properties', properties, change: <T>(file: T): T => file } as const;
  return (await changeFile(share.store.storage, share.requestOf('file'), change)).node;
}

describe('something new', () => {
  test('has the usual attributes, the time it is, and what its directory gives it', async () => {
    const clock = new ManualClock();
    const share = await TestShare.create({ clock });
    const now = fileTimeAt(clock.nowMs());
    const [file, directory] = [await share.createFile('file', 0), await share.createDirectory('dir')];
    assert.deepEqual([file.attributes, directory.attributes], [ARCHIVE, DIRECTORY]);
    for (const { createdAt, writtenAt, changedAt, lastModifiedMs } of [file, directory]) {
      assert.deepEqual([createdAt, writtenAt, changedAt, lastModifiedMs], [now, now, now, clock.nowMs()]);
    }
    assert.notEqual(file.permission, directory.permission);
  });

  for (const [what, attributes, want] of [
    ['none', 0, ARCHIVE],
    ['some', HIDDEN | READ_ONLY, HIDDEN | READ_ONLY],
  ] as const) {
    test(`that is asked to have ${what} of the attributes`, async () => {
      const share = await TestShare.create();
      const file = await share.createFile('file', 0, { properties: { ...NO_CHANGES, attributes } });
      assert.equal(file.attributes, want);
    });
  }

  test('has the times that are given, exactly', async () => {
    const share = await TestShare.create();
    const properties = { ...NO_CHANGES, createdAt: { at: EXACT }, writtenAt: { at: '0' }, changedAt: '1' };
    const { createdAt, writtenAt, changedAt } = await share.createFile('file', 0, { properties });
    assert.deepEqual([createdAt, writtenAt, changedAt], [EXACT, '0', '1']);
  });
});

describe('a change', () => {
  test('that says nothing moves ETag, Last-Modified and the time of the change, and nothing else', async () => {
    const clock = new ManualClock();
    const share = await TestShare.create({ clock });
    const before = await share.createFile('file', 3, { properties: { ...NO_CHANGES, attributes: HIDDEN } });
    clock.advance({ seconds: 5 });
    const after = await changed(share, NO_CHANGES);
    const { etag, lastModifiedMs, changedAt, ...rest } = after;
    const { etag: _etag, lastModifiedMs: _modified, changedAt: _changed, ...restBefore } = before;
    assert.deepEqual(rest, restBefore);
    assert.ok(etag > before.etag);
    assert.deepEqual([lastModifiedMs, changedAt], [clock.nowMs(), fileTimeAt(clock.nowMs())]);
  });

  test('sets what it says', async () => {
    const clock = new ManualClock();
    const share = await TestShare.create({ clock });
    await share.createFile('file', 3);
    clock.advance({ seconds: 5 });
    const properties = {
      ...NO_CHANGES,
      attributes: 0,
      createdAt: 'now',
      writtenAt: { at: EXACT },
      changedAt: '7',
    } as const;
    const { attributes, createdAt, writtenAt, changedAt } = await changed(share, properties);
    assert.deepEqual([attributes, createdAt, writtenAt, changedAt], [0, fileTimeAt(clock.nowMs()), EXACT, '7']);
  });

  test('never takes Last-Modified back, though the clock was set back', async () => {
    const clock = new ManualClock();
    const share = await TestShare.create({ clock });
    const before = await share.createFile('file', 3);
    clock.advance({ seconds: -100 });
    const after = await changed(share, NO_CHANGES);
    assert.equal(after.lastModifiedMs, before.lastModifiedMs);
    assert.ok(after.etag > before.etag);
  });
});

describe('ids', () => {
  test('are different for all that is created at one moment, and kept over renames and overwrites', async () => {
    const share = await TestShare.create();
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 2 === 0 ? share.createFile(`f${index}`, 0) : share.createDirectory(`d${index}`),
      ),
    );
    assert.equal(new Set(made.map(({ id }) => id)).size, 50);
    const { id } = await share.createFile('f0', 5);
    assert.equal(id, made[0]?.id);
    assert.equal((await share.rename('file', 'f0', 'g0')).id, id);
    await share.delete('file', 'g0');
    assert.notEqual((await share.createFile('g0', 0)).id, id);
  });

  test('that are taken are passed over', async () => {
    const share = await TestShare.create();
    const { storage } = share.store;
    const id = await transact(storage.engine, async (tx) => {
      const found = await findNode(tx, share.nameOf('file'), storage.known);
      for (const taken of ['08dc000000000001', '08dc000000000002']) {
        tx.put(placeKey(found.tree, taken), encodeJson({ parentId: ROOT_ID, name: 'X' }));
      }
      return newNodeId(tx, found, '0x8DC000000000001');
    });
    assert.equal(id, '08dc000000000003');
  });
});
