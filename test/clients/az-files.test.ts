/**
 * The Azure command line for files (`az storage share`, `directory`, `file`), unmodified, with nothing but a connection
 * string. A call takes seconds, most of them the program's own start: few calls, each telling. Needs Debian's azure-cli.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { missingTool } from '../packages.ts';
import { azSuite } from './az-storage.ts';

const SHARE = 'papers';

interface Shown {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly properties: { readonly quota?: number; readonly contentLength?: number };
}

describe('az', { skip: missingTool('az'), concurrency: 1 }, () => {
  const suite = azSuite();
  const { storage, refused } = suite;

  test('a share is created with a quota and metadata, changed, shown and listed', async () => {
    const create = ['share', 'create', '-n', SHARE, '--quota', '10', '--metadata', 'colour=blue'];
    assert.deepEqual(await storage(...create), { created: true });
    await refused('ShareAlreadyExists', ...create, '--fail-on-exist');
    await storage('share', 'update', '-n', SHARE, '--quota', '20');
    await storage('share', 'metadata', 'update', '-n', SHARE, '--metadata', 'colour=red', 'size=3');
    const shown = await storage<Shown>('share', 'show', '-n', SHARE);
    assert.deepEqual([shown.name, shown.properties.quota, shown.metadata], [SHARE, 20, { colour: 'red', size: '3' }]);
    const listed = await storage<Shown[]>('share', 'list');
    assert.deepEqual(
      listed.map(({ name }) => name),
      [SHARE],
    );
  });

  test('directories and files go up and come down as they were', async () => {
    await storage('directory', 'create', '-s', SHARE, '-n', 'Letters');
    const bytes = randomBytes(5_000_001);
    await writeFile(join(suite.az.folder, 'grüße & co.bin'), bytes);
    await storage('file', 'upload', '-s', SHARE, '--path', 'letters/Grüße.bin', '--source', 'grüße & co.bin');
    const shown = await storage<Shown>('file', 'show', '-s', SHARE, '-p', 'LETTERS/grüße.BIN');
    assert.equal(shown.properties.contentLength, bytes.length);
    const path = ['-s', SHARE, '-p', 'letters/Grüße.bin'];
    await storage('file', 'download', ...path, '--dest', './back.bin', '--no-progress');
    assert.deepEqual(await readFile(join(suite.az.folder, 'back.bin')), bytes);
    await storage('file', 'resize', ...path, '--size', '10');
    await storage('file', 'metadata', 'update', ...path, '--metadata', 'from=ada');
    assert.deepEqual(await storage('file', 'metadata', 'show', ...path), { from: 'ada' });
    await refused('DirectoryNotEmpty', 'directory', 'delete', '-s', SHARE, '-n', 'Letters');
  });

  test('a folder goes up, is listed, comes down and is deleted, all in batches', async () => {
    await mkdir(join(suite.az.folder, 'tree', 'deep', 'deeper'), { recursive: true });
    const names = ['a.txt', 'deep/b.txt', 'deep/deeper/c.txt'];
    for (const name of names) await writeFile(join(suite.az.folder, 'tree', name), `this is ${name}`);
    await storage('file', 'upload-batch', '-d', SHARE, '-s', 'tree', '--no-progress');
    const listed = await storage<Shown[]>('file', 'list', '-s', SHARE, '-p', 'deep');
    assert.deepEqual(listed.map(({ name }) => name).toSorted(), ['b.txt', 'deeper']);
    await mkdir(join(suite.az.folder, 'down'));
    await storage('file', 'download-batch', '-s', SHARE, '-d', 'down', '--pattern', '*.txt', '--no-progress');
    for (const name of names)
      assert.equal(await readFile(join(suite.az.folder, 'down', name), 'utf8'), `this is ${name}`);
    await storage('file', 'delete-batch', '-s', SHARE, '--pattern', 'deep/*');
    assert.deepEqual(await storage('file', 'exists', '-s', SHARE, '-p', 'deep/b.txt'), { exists: false });
  });

  test('a snapshot keeps what was there, and a copy is made of it', async () => {
    const [file, before, now] = [['-s', SHARE, '-p', 'note.txt'], 'as it was', 'as it is'];
    await writeFile(join(suite.az.folder, 'note.txt'), before);
    await storage('file', 'upload', '-s', SHARE, '--source', 'note.txt');
    const { snapshot } = await storage<{ snapshot: string }>('share', 'snapshot', '-n', SHARE);
    await writeFile(join(suite.az.folder, 'note.txt'), now);
    await storage('file', 'upload', '-s', SHARE, '--source', 'note.txt');
    await storage('file', 'download', ...file, '--dest', './now.txt', '--no-progress');
    await storage('file', 'download', ...file, '--snapshot', snapshot, '--dest', './then.txt', '--no-progress');
    assert.equal(await readFile(join(suite.az.folder, 'now.txt'), 'utf8'), now);
    assert.equal(await readFile(join(suite.az.folder, 'then.txt'), 'utf8'), before);
    const copy = ['--source-share', SHARE, '--source-path', 'note.txt', '-s', SHARE, '-p', 'copy.txt'];
    const { status } = await storage<{ status: string }>('file', 'copy', 'start', ...copy);
    assert.equal(status, 'success');
    await storage('file', 'download', '-s', SHARE, '-p', 'copy.txt', '--dest', './copy.txt', '--no-progress');
    assert.equal(await readFile(join(suite.az.folder, 'copy.txt'), 'utf8'), now);
    await refused('ShareHasSnapshots', 'share', 'delete', '-n', SHARE);
  });

  test('a signature for a file reads it and no more', async () => {
    const token = ['-p', 'note.txt', '--permissions', 'r', '--expiry', '2099-01-01T00:00Z'];
    const sas = await storage<string>('file', 'generate-sas', '-s', SHARE, ...token);
    const url = `${suite.server.fileEndpoint()}/${SHARE}/note.txt?${sas}`;
    assert.equal(await (await fetch(url)).text(), 'as it is');
    assert.equal((await fetch(url, { method: 'DELETE' })).status, 403);
  });

  test('a share is deleted with its snapshots', async () => {
    await storage('share', 'delete', '-n', SHARE, '--delete-snapshots', 'include');
    assert.deepEqual(await storage('share', 'exists', '-n', SHARE), { exists: false });
  });
});
