/**
 * rclone keeping a folder and a container alike, both ways it can be pointed at us: a URL with a shared access
 * signature (path-style, plain HTTP), and an account with its key (host-style, over TLS). Needs rclone.
 */
// tier: system
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { writeCertificate } from '../harness/certificate.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { missingTool } from '../packages.ts';
import { azureBlobHost, startTunnelProxy, type TunnelProxy } from './azure-names.ts';
import { type Tool, tool } from './tool.ts';
import { digestFolder, digestTree, type Tree, writeTree } from './tree.ts';

const MIB = 1024 * 1024;

/** Names that a URL, a header or a listing in XML could spoil. */
const ODD_NAMES = [
  'with space.txt',
  ' leading and trailing ',
  'plus+percent%41%2F.txt',
  'hash#query?amp&equals=semi;colon:at@.txt',
  'less<than>and"quotes\'and`ticks`.xml',
  'ümläut-日本語-🙂.txt',
  'e\u0301 decomposed.txt',
  'back\\slash.txt',
  'tilde~dollar$paren(1)[2]{3}!*.txt',
  '.hidden',
  'trailing-dot.',
  'UPPER.txt',
  'upper.txt',
];

const TREE: Tree = new Map<string, Uint8Array>([
  ...ODD_NAMES.map((name, index): [string, Uint8Array] => [`odd names/${name}`, randomBytes(10 + index)]),
  ['empty', new Uint8Array()],
  ['deep/er/and/deeper/empty', new Uint8Array()],
  ...Array.from({ length: 40 }, (_, index): [string, Uint8Array] => [`many/${index}.bin`, randomBytes(index * 997)]),
  ['large.bin', randomBytes(30 * MIB)],
]);

function signedUrl(server: ServerProcess): string {
  const signature = generateAccountSASQueryParameters(
    {
      expiresOn: new Date(Date.now() + 3_600_000),
      permissions: AccountSASPermissions.parse('rwdlac'),
      protocol: SASProtocol.HttpsAndHttp,
      resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
      services: AccountSASServices.parse('b').toString(),
    },
    new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key),
  );
  return `${server.url}/${SECOND_ACCOUNT.name}?${signature.toString()}`;
}

function rcloneStory(rclone: () => Tool, folder: () => string): void {
  const remote = 'az:tree';
  const local = (name: string): string => join(folder(), name);

  test('a folder with odd names, empty files and a large file is copied up and found equal', async () => {
    await writeTree(local('source'), TREE);
    await rclone().succeed('mkdir', remote);
    await rclone().succeed('copy', local('source'), remote);
    await rclone().succeed('check', local('source'), remote);
    await rclone().succeed('check', '--download', local('source'), remote);
  });

  test('the listing and the MD5 sums are those of the folder', async () => {
    const listed = JSON.parse(await rclone().succeed('lsjson', '-R', '--files-only', remote)) as {
      Path: string;
      Size: number;
    }[];
    assert.deepEqual(new Map(listed.map(({ Path, Size }) => [Path, Size])), sizes(TREE));
    // A name may end with a space.
    const sums = (await rclone().succeed('md5sum', remote)).replace(/\n$/, '').split('\n');
    assert.deepEqual(
      sums.sort(),
      digestTree(TREE, 'md5')
        .map(([path, digest]) => `${digest}  ${path}`)
        .sort(),
    );
  });

  test('a sync carries over changes and deletions, and nothing else', async () => {
    await unlink(local('source/many/7.bin'));
    await unlink(local('source/odd names/back\\slash.txt'));
    await writeTree(
      local('source'),
      new Map([
        ['many/8.bin', Buffer.from('changed')],
        ['new/one.txt', Buffer.from('new')],
        ['empty', Buffer.from('no longer')],
      ]),
    );
    const { exitCode, stderr } = await rclone().run('sync', '-v', '--stats-one-line', local('source'), remote);
    assert.equal(exitCode, 0, stderr);
    assert.equal([...stderr.matchAll(/: Copied \(/g)].length, 3, stderr);
    assert.equal([...stderr.matchAll(/: Deleted$/gm)].length, 2, stderr);
    await rclone().succeed('check', local('source'), remote);
  });

  test('a copy down is the same folder again', async () => {
    await rclone().succeed('copy', remote, local('back'));
    assert.deepEqual(await digestFolder(local('back')), await digestFolder(local('source')));
  });

  test('a purged container is gone', async () => {
    await rclone().succeed('purge', remote);
    assert.equal(await rclone().succeed('lsf', 'az:'), '');
  });
}

const sizes = (tree: Tree): Map<string, number> => new Map([...tree].map(([path, bytes]) => [path, bytes.byteLength]));

describe('rclone with a signed URL', { skip: missingTool('rclone') }, () => {
  let folder: string;
  let server: ServerProcess;
  let rclone: Tool;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'larimar-rclone-'));
    server = await startServerProcess({ accounts: [SECOND_ACCOUNT] });
    rclone = tool('rclone', {
      cwd: folder,
      env: { RCLONE_CONFIG_AZ_TYPE: 'azureblob', RCLONE_CONFIG_AZ_SAS_URL: signedUrl(server) },
    });
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });
  rcloneStory(
    () => rclone,
    () => folder,
  );
});

describe('rclone with an account and its key', { skip: missingTool('rclone') }, () => {
  let folder: string;
  let server: ServerProcess;
  let proxy: TunnelProxy;
  let rclone: Tool;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'larimar-rclone-'));
    const tls = writeCertificate(folder, azureBlobHost(SECOND_ACCOUNT.name));
    server = await startServerProcess({ accounts: [SECOND_ACCOUNT], tls });
    proxy = await startTunnelProxy(Number(new URL(server.url).port));
    rclone = tool('rclone', {
      cwd: folder,
      env: {
        RCLONE_CONFIG_AZ_TYPE: 'azureblob',
        RCLONE_CONFIG_AZ_ACCOUNT: SECOND_ACCOUNT.name,
        RCLONE_CONFIG_AZ_KEY: SECOND_ACCOUNT.key,
        HTTPS_PROXY: proxy.url,
        SSL_CERT_FILE: tls.certFile,
      },
    });
  });
  after(async () => {
    await server.stop();
    await proxy.close();
    await rm(folder, { recursive: true });
  });
  rcloneStory(
    () => rclone,
    () => folder,
  );
  test('every request went to the account’s own name', () => {
    assert.deepEqual([...proxy.hostsAsked], [`${azureBlobHost(SECOND_ACCOUNT.name)}:443`]);
  });
});
