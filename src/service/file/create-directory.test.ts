import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';

for (const [what, path, want] of [
  ['a new name', 'dir/new', null],
  ['the name of a directory', 'dir', 'ResourceAlreadyExists'],
  ['the name of a directory in another case', 'DIR', 'ResourceAlreadyExists'],
  ['the name of a file', 'file', 'ResourceAlreadyExists'],
  ['the root', '', 'ResourceAlreadyExists'],
  ['something in a directory that is not there', 'nothing/new', 'ParentNotFound'],
  ['something in a file', 'file/new', 'ParentNotFound'],
] as const) {
  test(`creating ${what} gets ${want}`, async () => {
    const share = await TestShare.create();
    await share.createDirectory('dir');
    await share.createFile('file', 0);
    assert.equal(await refusal(share.createDirectory(path)), want);
  });
}

test('in a share that is not there nothing is created', async () => {
  const share = new TestShare((await TestShare.create()).store, 'other');
  assert.equal(await refusal(share.createDirectory('dir')), 'ShareNotFound');
});

test('a directory keeps its metadata and the case of its name', async () => {
  const share = await TestShare.create();
  const { name, metadata, kind } = await share.createDirectory('Dir', { metadata: [['colour', 'blue']] });
  assert.deepEqual([name, metadata, kind], ['Dir', [['colour', 'blue']], 'directory']);
});

test('of many who create one directory at once one does', async () => {
  const share = await TestShare.create();
  const codes = await Promise.all(Array.from({ length: 16 }, () => refusal(share.createDirectory('dir'))));
  assert.equal(codes.filter((code) => code === null).length, 1);
  assert.equal(codes.filter((code) => code === 'ResourceAlreadyExists').length, 15);
});
