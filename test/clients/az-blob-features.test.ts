/**
 * The Azure command line (`az storage blob`), unmodified: snapshots, copies, tiers, soft delete, legal holds, queries, page
 * and append blobs. A call takes a second or two, most of it the program's own start. Needs Debian's azure-cli.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { missingTool } from '../packages.ts';
import { azSuite } from './az-storage.ts';

const KIB = 1024;
const container = 'box';

interface Listed {
  readonly name: string;
  readonly snapshot: string | null;
  readonly deleted: boolean | null;
}

interface Shown {
  readonly properties: {
    readonly blobTier: string | null;
    readonly blobType: string;
    readonly contentLength: number;
    readonly copy: { readonly status: string | null; readonly id: string | null };
    readonly rehydrationStatus: string | null;
  };
}

describe('az storage blob', { skip: missingTool('az'), concurrency: 1 }, () => {
  const suite = azSuite();
  const { storage } = suite;
  before(() => storage('container', 'create', '-n', container));

  const blob = <T>(command: string, name: string, ...args: readonly string[]): Promise<T> =>
    storage<T>('blob', ...command.split(' '), '-c', container, '-n', name, ...args);
  const upload = (name: string, text: string, ...args: readonly string[]): Promise<unknown> =>
    blob('upload', name, '--data', text, '--overwrite', '--no-progress', ...args);
  const download = async (name: string, ...args: readonly string[]): Promise<Buffer> => {
    await blob('download', name, '-f', 'back', '--no-progress', ...args);
    return readFile(join(suite.az.folder, 'back'));
  };
  const list = (...args: readonly string[]): Promise<Listed[]> => storage('blob', 'list', '-c', container, ...args);

  test('takes a snapshot, lists it, and reads it after the blob has changed', async () => {
    await upload('letter', 'first');
    const { snapshot } = await blob<{ snapshot: string }>('snapshot', 'letter');
    await upload('letter', 'second');
    const listed = await list('--prefix', 'letter', '--include', 's');
    assert.deepEqual(
      listed.map(({ snapshot: taken }) => taken),
      [snapshot, null],
    );
    assert.equal((await download('letter', '--snapshot', snapshot)).toString(), 'first');
    assert.equal((await download('letter')).toString(), 'second');
  });

  test('copies a blob inside the server', async () => {
    const source = ['--source-container', container, '--source-blob', 'letter'];
    const started = await storage<{ copy_status: string }>(
      'blob',
      'copy',
      'start',
      '--destination-container',
      container,
      '--destination-blob',
      'copy',
      ...source,
    );
    assert.equal(started.copy_status, 'success');
    assert.equal((await blob<Shown>('show', 'copy')).properties.copy.status, 'success');
    assert.equal((await download('copy')).toString(), 'second');
  });

  test('moves a blob to the archive, from where it cannot be read', async () => {
    await upload('cold', 'x', '--tier', 'Cool');
    assert.equal((await blob<Shown>('show', 'cold')).properties.blobTier, 'Cool');
    await blob('set-tier', 'cold', '--tier', 'Archive');
    const { exitCode, stderr } = await suite.az.program.run(
      'storage',
      'blob',
      'download',
      '-c',
      container,
      '-n',
      'cold',
      '-f',
      'no',
    );
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /BlobArchived|archived/u);
    await blob('set-tier', 'cold', '--tier', 'Hot', '--rehydrate-priority', 'High');
    assert.match((await blob<Shown>('show', 'cold')).properties.rehydrationStatus ?? '', /rehydrate-pending-to-hot|^$/);
  });

  test('keeps a blob from being deleted by a legal hold', async () => {
    await upload('held', 'x');
    await blob('set-legal-hold', 'held', '--legal-hold', 'true');
    const { exitCode, stderr } = await suite.az.program.run('storage', 'blob', 'delete', '-c', container, '-n', 'held');
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /BlobImmutableDueToLegalHold/u);
    await blob('set-legal-hold', 'held', '--legal-hold', 'false');
  });

  test('asks a blob of rows a question', async () => {
    await upload('rows.csv', 'name,age\nada,36\ngrace,85\n');
    const query = ['--query-expression', 'SELECT name FROM BlobStorage WHERE age > 40'];
    const format = ['--input-format', 'csv', '--in-has-header', 'true'];
    const answer = await suite.az.program.succeed(
      'storage',
      'blob',
      'query',
      '-c',
      container,
      '-n',
      'rows.csv',
      ...query,
      ...format,
    );
    assert.match(answer, /grace/u);
    assert.doesNotMatch(answer, /ada/u);
  });

  test('uploads page and append blobs', async () => {
    const bytes = randomBytes(64 * KIB);
    await writeFile(join(suite.az.folder, 'disk'), bytes);
    for (const type of ['page', 'append']) {
      await blob('upload', `as-${type}`, '-f', 'disk', '--type', type, '--no-progress');
      const { properties } = await blob<Shown>('show', `as-${type}`);
      assert.equal(properties.blobType.toLowerCase(), `${type}blob`);
      assert.ok(bytes.equals(await download(`as-${type}`)));
    }
  });

  test('has a deleted blob back while soft delete keeps it', async () => {
    await storage('blob', 'service-properties', 'delete-policy', 'update', '--enable', 'true', '--days-retained', '7');
    await upload('treasure', 'gold');
    await blob('delete', 'treasure');
    const listed = await list('--prefix', 'treasure', '--include', 'd');
    assert.deepEqual(
      listed.map(({ deleted }) => deleted),
      [true],
    );
    await blob('undelete', 'treasure');
    assert.equal((await download('treasure')).toString(), 'gold');
    await storage('blob', 'service-properties', 'delete-policy', 'update', '--enable', 'false');
  });

  test('deletes a blob with its snapshots, and many blobs at once', async () => {
    await blob('delete', 'letter', '--delete-snapshots', 'include');
    await storage('blob', 'delete-batch', '-s', container);
    assert.deepEqual(await list(), []);
  });
});
