import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { namesIn, pictureOf, removeDirectory, removeFile } from '../../../test/harness/file-tree.ts';
import { transact } from '../../engine/transact.ts';
import { DIRECTORY, READ_ONLY } from '../../rules/file-attributes.ts';
import { INFINITE_SECONDS } from '../../rules/lease.ts';
import { changeNode } from './keep-past.ts';
import { leaseFile } from './lease-file.ts';
import { type FoundFile, findNode } from './load.ts';
import { NO_CHANGES } from './properties.ts';

const A = 'aaaaaaaa-0000-0000-0000-000000000000';
const B = 'bbbbbbbb-0000-0000-0000-000000000000';

async function createShare(): Promise<TestShare> {
  const share = await TestShare.create();
  await share.createDirectory('d');
  await share.createFile('d/f', Buffer.from('hello'));
  return share;
}

describe('a deleted file', () => {
  test('leaves its name to anybody, under another id', async () => {
    const share = await createShare();
    const { id } = await share.createFile('D/F', 1);
    await removeFile(share, 'd/F');
    assert.equal(await refusal(share.read('d/f')), 'ResourceNotFound');
    await share.createDirectory('d/f');
    assert.deepEqual(await pictureOf(share), ['d/', 'd/f/']);
    await removeDirectory(share, 'd/f');
    assert.notEqual((await share.createFile('d/f', 1)).id, id);
  });

  for (const [path, want] of [
    ['d/nothing', 'ResourceNotFound'],
    ['nothing/f', 'ParentNotFound'],
    ['d', 'ResourceTypeMismatch'],
    ['', 'ResourceTypeMismatch'],
  ] as const) {
    test(`was not ${path || 'the root'}: ${want}`, async () => {
      const share = await createShare();
      assert.equal(await refusal(removeFile(share, path)), want);
      assert.deepEqual(await pictureOf(share), ['d/', 'd/f hello']);
    });
  }

  test('was deleted with the id of its lease', async () => {
    const share = await createShare();
    assert.equal(await refusal(removeFile(share, 'd/f', A)), 'LeaseNotPresentWithFileOperation');
    const action = { action: 'acquire', proposedId: A, freshId: A, durationSeconds: INFINITE_SECONDS } as const;
    await leaseFile(share.store.storage, { ...share.requestOf('d/f'), action });
    assert.equal(await refusal(removeFile(share, 'd/f')), 'LeaseIdMissing');
    assert.equal(await refusal(removeFile(share, 'd/f', B)), 'LeaseIdMismatchWithFileOperation');
    assert.equal(await refusal(removeFile(share, 'd/f', A)), null);
  });

  test('was not read-only', async () => {
    const share = await createShare();
    await share.createFile('r', 0, { properties: { ...NO_CHANGES, attributes: READ_ONLY } });
    assert.equal(await refusal(removeFile(share, 'r')), 'ReadOnlyAttribute');
  });

  test('was not the destination of a copy under way', async () => {
    const share = await createShare();
    const { engine, storage } = share.store;
    const copy = { id: A, source: 'http://elsewhere', status: 'pending', bytesCopied: 0, bytesTotal: 1 } as const;
    await transact(engine, async (tx) => {
      const found = (await findNode(tx, share.nameOf('d/f'), storage.known)) as FoundFile;
      await changeNode(tx, found, (file) => ({ ...file, copy }));
    });
    assert.equal(await refusal(removeFile(share, 'd/f')), 'PendingCopyOperation');
  });
});

describe('a deleted directory', () => {
  test('was empty', async () => {
    const share = await createShare();
    assert.equal(await refusal(removeDirectory(share, 'd')), 'DirectoryNotEmpty');
    await removeFile(share, 'd/f');
    await removeDirectory(share, 'D');
    assert.deepEqual(await namesIn(share), []);
    assert.equal(await refusal(share.createFile('d/f', 0)), 'ParentNotFound');
  });

  for (const [path, want] of [
    ['', 'InvalidUri'],
    ['nothing', 'ResourceNotFound'],
    ['nothing/d', 'ParentNotFound'],
    ['d/f', 'ResourceTypeMismatch'],
  ] as const) {
    test(`was not ${path || 'the root'}: ${want}`, async () => {
      const share = await createShare();
      assert.equal(await refusal(removeDirectory(share, path)), want);
      assert.deepEqual(await pictureOf(share), ['d/', 'd/f hello']);
    });
  }

  test('was not read-only', async () => {
    const share = await createShare();
    await share.createDirectory('r', { properties: { ...NO_CHANGES, attributes: READ_ONLY | DIRECTORY } });
    assert.equal(await refusal(removeDirectory(share, 'r')), 'ReadOnlyAttribute');
  });

  test('is another one when it is created again, also to those who knew the first', async () => {
    const share = await createShare();
    await removeFile(share, 'd/f');
    await removeDirectory(share, 'd');
    await share.createDirectory('d');
    await share.createFile('d/g', 0);
    assert.deepEqual(await pictureOf(share), ['d/', 'd/g ']);
  });
});
