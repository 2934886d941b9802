/** Paths that only files have, signed with the account's key by the official client. */
// engines: embedded
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshShare } from '../harness/file-clients.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();

test('the official client signs paths of whatever names there can be', async () => {
  const share = await freshShare(server);
  const names = ['a b', ' b', 'ü文😀', "o'b+1%20&c=d;e,f@g!h$(i)[j]{k}^l~m`n#o", '100%', 'straße', '%2F'];
  let directory = share.rootDirectoryClient;
  for (const name of names) {
    directory = directory.getDirectoryClient(name);
    await directory.create();
    const file = directory.getFileClient(`${name}.txt`);
    await file.create(3);
    await file.uploadRange('abc', 0, 3);
    assert.equal((await file.downloadToBuffer()).toString(), 'abc', name);
    const listed: string[] = [];
    for await (const entry of directory.listFilesAndDirectories({ prefix: name })) listed.push(entry.name);
    assert.deepEqual(listed, [`${name}.txt`]);
  }
});
