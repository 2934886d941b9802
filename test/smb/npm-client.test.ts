/** An SMB client from npm, written in JavaScript: @tryjsky/v9u-smb2. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { ACCOUNT, KEY, type SmbShare, startSmbShare } from './smb-tools.ts';

interface JavaScriptClient {
  writeFile(path: string, bytes: Buffer | string): Promise<void>;
  readFile(path: string): Promise<Buffer>;
  readdir(path: string): Promise<string[]>;
  mkdir(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  truncate(path: string, lengthBytes: number): Promise<void>;
  disconnect(): void;
}

const Client = createRequire(import.meta.url)('@tryjsky/v9u-smb2') as new (options: object) => JavaScriptClient;

describe('@tryjsky/v9u-smb2', () => {
  let at: SmbShare;
  let client: JavaScriptClient;

  before(async () => {
    at = await startSmbShare('npm');
    client = new Client({
      share: `\\\\127.0.0.1\\${at.share.name}`,
      port: at.server.smbPort,
      domain: 'AZURE',
      username: ACCOUNT,
      password: KEY,
      autoCloseTimeout: 0,
    });
  });
  after(async () => {
    client.disconnect();
    await at.end();
  });

  test('writes and reads, and REST reads the same', async () => {
    const bytes = randomBytes(500_000);
    await client.writeFile('a.bin', bytes);
    assert.deepEqual(await client.readFile('a.bin'), bytes);
    assert.deepEqual(await at.share.rootDirectoryClient.getFileClient('a.bin').downloadToBuffer(), bytes);
  });

  test('makes, lists, renames and removes', async () => {
    await client.mkdir('folder');
    await client.writeFile('folder\\one.txt', 'one');
    await client.rename('folder\\one.txt', 'folder\\two.txt');
    // This client leaves open what it has listed, so that could not be removed.
    assert.ok((await client.readdir('')).includes('folder'));
    assert.equal(await client.exists('folder\\one.txt'), false);
    await client.truncate('folder\\two.txt', 2);
    assert.equal(String(await client.readFile('folder\\two.txt')), 'on');
    await client.unlink('folder\\two.txt');
    await client.rmdir('folder');
    assert.equal(await client.exists('folder'), false);
  });

  test('is told what is not there', async () => {
    await assert.rejects(client.readFile('no-such-file'), { code: 'STATUS_OBJECT_NAME_NOT_FOUND' });
  });
});
