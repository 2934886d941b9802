/**
 * restic keeping a backup repository: it knows Azure only as https://ACCOUNT.blob.core.windows.net, lists its lock
 * blobs right after writing them, and reads back by hash every byte it wrote. Needs restic.
 */
// tier: system
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { writeCertificate } from '../harness/certificate.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { missingTool } from '../packages.ts';
import { azureBlobHost, startTunnelProxy, type TunnelProxy } from './azure-names.ts';
import { type Tool, tool } from './tool.ts';
import { digestFolder, writeTree } from './tree.ts';

const MIB = 1024 * 1024;

describe('restic', { skip: missingTool('restic') }, () => {
  let folder: string;
  let server: ServerProcess;
  let proxy: TunnelProxy;
  let restic: Tool;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'larimar-restic-'));
    const tls = writeCertificate(folder, azureBlobHost(SECOND_ACCOUNT.name));
    server = await startServerProcess({ accounts: [SECOND_ACCOUNT], tls });
    proxy = await startTunnelProxy(Number(new URL(server.url).port));
    restic = tool('restic', {
      cwd: folder,
      env: {
        RESTIC_REPOSITORY: 'azure:repository:/',
        RESTIC_PASSWORD: 'not a secret',
        RESTIC_CACHE_DIR: join(folder, 'cache'),
        AZURE_ACCOUNT_NAME: SECOND_ACCOUNT.name,
        AZURE_ACCOUNT_KEY: SECOND_ACCOUNT.key,
        HTTPS_PROXY: proxy.url,
        SSL_CERT_FILE: tls.certFile,
      },
    });
    await writeTree(
      join(folder, 'files'),
      new Map([
        ['empty', new Uint8Array()],
        ['small.txt', Buffer.from('small')],
        ['deep/er/medium.bin', randomBytes(3 * MIB)],
        ['large.bin', randomBytes(24 * MIB)],
      ]),
    );
  });
  after(async () => {
    await server.stop();
    await proxy.close();
    await rm(folder, { recursive: true });
  });

  const snapshots = async (): Promise<{ id: string; paths: string[] }[]> =>
    JSON.parse(await restic.succeed('snapshots', '--json')) as { id: string; paths: string[] }[];
  const locks = async (): Promise<string> => (await restic.succeed('list', 'locks', '--no-lock')).trim();

  test('a repository is made once', async () => {
    await restic.succeed('init');
    const again = await restic.run('init');
    assert.notEqual(again.exitCode, 0);
    assert.match(again.stderr, /already initialized/);
  });

  test('two backups in turn leave two snapshots, whole to the last byte', async () => {
    await restic.succeed('backup', 'files');
    await writeTree(join(folder, 'files'), new Map([['added.bin', randomBytes(2 * MIB)]]));
    await restic.succeed('backup', 'files');
    assert.equal((await snapshots()).length, 2);
    await restic.succeed('check', '--read-data');
  });

  test('what is restored is what was backed up', async () => {
    await restic.succeed('restore', 'latest', '--target', 'restored');
    assert.deepEqual(await digestFolder(join(folder, 'restored', 'files')), await digestFolder(join(folder, 'files')));
  });

  test('two backups at once both succeed and leave no lock behind', async () => {
    for (const name of ['left', 'right']) {
      await mkdir(join(folder, name));
      await writeTree(join(folder, name), new Map([['own.bin', randomBytes(8 * MIB)]]));
    }
    await Promise.all([restic.succeed('backup', 'left'), restic.succeed('backup', 'right')]);
    assert.equal((await snapshots()).length, 4);
    assert.equal(await locks(), '');
  });

  test('forgotten snapshots are pruned, and the rest stays whole', async () => {
    await restic.succeed('forget', '--prune', '--keep-last', '1', '--group-by', 'paths');
    assert.equal((await snapshots()).length, 3);
    await restic.succeed('check', '--read-data');
    assert.equal(await locks(), '');
  });

  test('every request went to the account’s own name', () => {
    assert.deepEqual([...proxy.hostsAsked], [`${azureBlobHost(SECOND_ACCOUNT.name)}:443`]);
  });
});
