/**
 * The Azure command line (`az storage`), unmodified, with nothing but a connection string. A call takes a second or
 * two, most of it the program's own start: few calls, each telling. Needs Debian's azure-cli.
 */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { missingTool } from '../packages.ts';
import { type AzStorage, azStorage } from './az-storage.ts';
import { tool } from './tool.ts';
import { digestFolder, writeTree } from './tree.ts';

const MIB = 1024 * 1024;
/** az 2.45 sends up to 64 MiB in one Put Blob; above, it stages blocks of 4 MiB. */
const BLOCKWISE_BYTES = 66 * MIB + 1;

interface BlobProperties {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly properties: { readonly contentLength: number; readonly etag: string; readonly lease: { state: string } };
}

describe('az', { skip: missingTool('az'), concurrency: 2 }, () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ accounts: [SECOND_ACCOUNT] });
  });
  after(() => server.stop());

  for (const account of [DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT]) {
    describe(`as ${account.name}`, { concurrency: 1 }, () => {
      let az: AzStorage;
      const container = 'letters';

      before(async () => {
        az = await azStorage(server.connectionString(account));
      });
      after(() => az.remove());

      const storage = <T>(...args: readonly string[]): Promise<T> => az.storage<T>(...args);
      const refused = (code: string, ...args: readonly string[]): Promise<void> => az.refused(code, ...args);
      const showBlob = (name: string): Promise<BlobProperties> =>
        storage<BlobProperties>('blob', 'show', '-c', container, '-n', name);

      const listBlobs = async (...args: string[]): Promise<string[]> =>
        (await storage<{ name: string }[]>('blob', 'list', '-c', container, ...args)).map(({ name }) => name);

      test('a container is created once, shown and listed', async () => {
        assert.deepEqual(await storage('container', 'create', '-n', container, '--metadata', 'kind=post'), {
          created: true,
        });
        assert.deepEqual(await storage('container', 'create', '-n', container), { created: false });
        const shown = await storage<{ name: string; metadata: object }>('container', 'show', '-n', container);
        assert.equal(shown.name, container);
        assert.deepEqual(shown.metadata, { kind: 'post' });
        const listed = await storage<{ name: string }[]>('container', 'list', '--prefix', 'let');
        assert.deepEqual(
          listed.map(({ name }) => name),
          [container],
        );
      });

      test('a text uploaded only if absent comes back, and a second such upload is refused', async () => {
        const upload = ['blob', 'upload', '-c', container, '-n', 'notes/one.txt', '--no-progress'];
        await storage(...upload, '--data', 'dear reader', '--if-none-match', '*', '--content-type', 'text/plain');
        await refused('BlobAlreadyExists', ...upload, '--data', 'other', '--if-none-match', '*', '--overwrite');
        await storage('blob', 'download', '-c', container, '-n', 'notes/one.txt', '-f', 'one.txt', '--no-progress');
        assert.equal(await readFile(join(az.folder, 'one.txt'), 'utf8'), 'dear reader');
      });

      test('a shared access signature reads the blob that it names, and no more than that', async () => {
        const generate = ['blob', 'generate-sas', '-c', container, '-n', 'notes/one.txt', '--full-uri'];
        const url = await storage<string>(...generate, '--permissions', 'r', '--expiry', '2099-01-01T00:00Z');
        const answer = await fetch(url);
        assert.equal(answer.status, 200);
        assert.equal(await answer.text(), 'dear reader');
        assert.equal((await fetch(url.replace('one.txt', 'two.txt'))).status, 403);
        assert.equal((await fetch(url, { method: 'DELETE' })).status, 403);

        const sasOnly = tool('az', { cwd: az.folder, env: az.environment });
        await sasOnly.succeed('storage', 'blob', 'download', '--blob-url', url, '-f', 'sas.txt', '--no-progress');
        assert.equal(await readFile(join(az.folder, 'sas.txt'), 'utf8'), 'dear reader');
      });

      // A call costs a second: what does not hang on the account is told once.
      if (account !== DEVELOPMENT_ACCOUNT) return;

      for (const [name, sizeBytes] of [
        ['one-put.bin', 20 * MIB],
        ['blockwise.bin', BLOCKWISE_BYTES],
      ] as const) {
        test(`a file of ${sizeBytes} bytes comes back as it was`, async () => {
          const bytes = randomBytes(sizeBytes);
          await writeFile(join(az.folder, name), bytes);
          await storage('blob', 'upload', '-c', container, '-n', name, '-f', name, '--no-progress');
          const copy = `${name}.back`;
          await storage('blob', 'download', '-c', container, '-n', name, '-f', copy, '--no-progress');
          assert.ok(bytes.equals(await readFile(join(az.folder, copy))));
        });
      }

      test('a folder goes up and comes down whole', async () => {
        await writeTree(
          join(az.folder, 'up'),
          new Map(['a/1', 'a/2', 'b/ü 3', '4'].map((path) => [path, Buffer.from(`this is ${path}`)])),
        );
        const batch = ['--no-progress', '--source'];
        await storage('blob', 'upload-batch', '-d', container, '--destination-path', 'batch', ...batch, 'up');
        await mkdir(join(az.folder, 'down'));
        await storage('blob', 'download-batch', '-d', 'down', '--pattern', 'batch/*', ...batch, container);
        assert.deepEqual(
          await digestFolder(join(az.folder, 'down', 'batch')),
          await digestFolder(join(az.folder, 'up')),
        );
      });

      test('a listing keeps to its prefix and folds names at its delimiter', async () => {
        assert.deepEqual((await listBlobs('--delimiter', '/')).sort(), [
          'batch/',
          'blockwise.bin',
          'notes/',
          'one-put.bin',
        ]);
        assert.deepEqual(await listBlobs('--prefix', 'notes/'), ['notes/one.txt']);
      });

      test('metadata is updated with the current ETag and refused with the one before', async () => {
        const { properties } = await showBlob('notes/one.txt');
        const update = ['blob', 'metadata', 'update', '-c', container, '-n', 'notes/one.txt'];
        await storage(...update, '--metadata', 'turn=first', '--if-match', properties.etag);
        await refused('ConditionNotMet', ...update, '--metadata', 'turn=second', '--if-match', properties.etag);
        const now = await showBlob('notes/one.txt');
        assert.deepEqual(now.metadata, { turn: 'first' });
        assert.notEqual(now.properties.etag, properties.etag);
      });

      test('a lease is acquired by one alone, renewed, changed, broken, and released', async () => {
        const lease = (verb: string, ...args: readonly string[]): string[] => {
          return ['blob', 'lease', verb, '-c', container, '-b', 'notes/one.txt', ...args];
        };
        const first = await storage<string>(...lease('acquire'));
        await refused('LeaseAlreadyPresent', ...lease('acquire', '--lease-duration', '15'));
        const upload = ['blob', 'upload', '-c', container, '-n', 'notes/one.txt', '--overwrite', '--no-progress'];
        await refused('LeaseIdMissing', ...upload, '--data', 'without the lease');
        assert.equal(await storage(...lease('renew', '--lease-id', first)), first);
        const second = '11111111-2222-4333-8444-555555555555';
        await storage(...lease('change', '--lease-id', first, '--proposed-lease-id', second));
        await refused('LeaseIdMismatchWithLeaseOperation', ...lease('release', '--lease-id', first));
        await storage(...upload, '--data', 'with the lease', '--lease-id', second);
        assert.equal(await storage(...lease('break', '--lease-break-period', '0')), 0);
        assert.equal((await showBlob('notes/one.txt')).properties.lease.state, 'broken');
        await storage(...lease('release', '--lease-id', second));
        assert.equal((await showBlob('notes/one.txt')).properties.lease.state, 'available');
      });

      test('a deleted blob and a deleted container are gone', async () => {
        await storage('blob', 'delete', '-c', container, '-n', 'notes/one.txt');
        assert.deepEqual(await storage('blob', 'exists', '-c', container, '-n', 'notes/one.txt'), { exists: false });
        assert.deepEqual(await storage('container', 'delete', '-n', container), { deleted: true });
        assert.deepEqual(await storage('container', 'exists', '-n', container), { exists: false });
      });
    });
  }
});
