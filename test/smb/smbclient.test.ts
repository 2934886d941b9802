/** Samba's command line client, beside the official SDK on the same files. Needs smbclient. */
// tier: system
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, test } from 'node:test';
import { missingTool } from '../packages.ts';
import { ACCOUNT, KEY, type SmbClient, type SmbShare, smbclient, startSmbShare } from './smb-tools.ts';

const MIB = 1024 * 1024;

describe('smbclient', { skip: missingTool('smbclient') }, () => {
  let at: SmbShare;
  let client: SmbClient;

  before(async () => {
    at = await startSmbShare('smbclient');
    client = smbclient(at);
  });
  after(() => at.end());

  const readByRest = async (path: string): Promise<Buffer> =>
    at.share.rootDirectoryClient.getFileClient(path).downloadToBuffer();

  test('what is put is got back, and is what REST reads', async () => {
    const bytes = randomBytes(3 * MIB + 17);
    await writeFile(join(at.folder, 'up.bin'), bytes);
    await client.succeed('put up.bin; get up.bin down.bin');
    assert.deepEqual(await readFile(join(at.folder, 'down.bin')), bytes);
    assert.deepEqual(await readByRest('up.bin'), bytes);
  });

  test('what REST has written is got', async () => {
    const bytes = randomBytes(100_000);
    await at.share.rootDirectoryClient.getFileClient('by-rest.bin').uploadData(bytes);
    await client.succeed('get by-rest.bin');
    assert.deepEqual(await readFile(join(at.folder, 'by-rest.bin')), bytes);
  });

  test('directories are made, listed, renamed and removed', async () => {
    await writeFile(join(at.folder, 'small.txt'), 'small');
    await client.succeed('mkdir one; mkdir one\\two; put small.txt one\\two\\three.txt');
    assert.match(await client.succeed('ls one\\two\\*'), /three\.txt +A +5 /);
    await client.succeed('rename one\\two one\\zwei');
    assert.equal(String(await readByRest('one/zwei/three.txt')), 'small');
    const notEmpty = await client.run('rmdir one\\zwei');
    assert.match(notEmpty.stdout, /NT_STATUS_DIRECTORY_NOT_EMPTY/);
    await client.succeed('del one\\zwei\\three.txt; rmdir one\\zwei; rmdir one');
    assert.doesNotMatch(await client.succeed('ls'), / one /);
  });

  test('a rename onto a file is refused, a rename to another case is not', async () => {
    await client.succeed('put small.txt first.txt; put small.txt second.txt');
    assert.match((await client.run('rename first.txt second.txt')).stdout, /NT_STATUS_OBJECT_NAME_COLLISION/);
    await client.succeed('rename first.txt FIRST.TXT');
    assert.match(await client.succeed('ls first.txt'), /FIRST\.TXT/);
  });

  test('many files are put and got by one command', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `many-${index}.txt`);
    await mkdir(join(at.folder, 'from'));
    await mkdir(join(at.folder, 'to'));
    for (const name of names) await writeFile(join(at.folder, 'from', name), name.repeat(100));
    await client.succeed('mkdir many; cd many; lcd from; prompt; mput *; lcd ../to; mget many-*');
    for (const name of names) assert.equal(String(await readFile(join(at.folder, 'to', name))), name.repeat(100));
  });

  test('a listing of 10,000 files shows each once', async () => {
    const directory = at.share.getDirectoryClient('ten-thousand');
    await directory.create();
    const names = Array.from({ length: 10_000 }, (_, index) => `file-${String(index).padStart(5, '0')}`);
    const left = [...names];
    const lane = async (): Promise<void> => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) await directory.getFileClient(name).create(1);
    };
    await Promise.all(Array.from({ length: 32 }, lane));
    const listed = await client.succeed('ls ten-thousand\\*');
    const shown = [...listed.matchAll(/^ {2}(file-\d{5}) /gm)].map(([, name]) => name as string);
    assert.deepEqual(shown.toSorted(), names);
    assert.match(await client.succeed('ls ten-thousand\\file-012*9'), /file-01239/);
  });

  test('allinfo tells times, attributes, size and stream', async () => {
    await client.succeed('put small.txt info.txt; setmode info.txt +r');
    const told = await client.succeed('allinfo info.txt');
    assert.match(told, /attributes: RA \(21\)/);
    assert.match(told, /stream: \[::\$DATA\], 5 bytes/);
    const properties = await at.share.rootDirectoryClient.getFileClient('info.txt').getProperties();
    assert.match(properties.fileAttributes ?? '', /ReadOnly/);
    assert.match((await client.run('del info.txt')).stdout, /NT_STATUS_CANNOT_DELETE/);
    await client.succeed('setmode info.txt -r; del info.txt');
  });

  test('the shares of the account are listed, with those of the server', async () => {
    const { server } = at;
    const args = ['-L', '//127.0.0.1', '-p', String(server.smbPort), '-U', `${ACCOUNT}%${KEY}`, '-g'];
    const listed = await client.program.run(...args);
    assert.match(listed.stdout, new RegExp(`^Disk\\|${at.share.name}\\|`, 'm'));
    assert.match(listed.stdout, /^IPC\|IPC\$\|/m);
  });

  test('sizes of the volume are those of the quota', async () => {
    await at.share.setQuota(7);
    const told = await client.succeed('du; volume');
    assert.match(told, /1835008 blocks of size 4096/);
  });

  for (const dialect of ['SMB2_10', 'SMB3_00', 'SMB3_02', 'SMB3_11']) {
    for (const protection of dialect === 'SMB2_10' ? ['off', 'sign'] : ['off', 'sign', 'encrypt']) {
      test(`${dialect} with protection ${protection} carries bytes both ways`, async () => {
        const bytes = randomBytes(200_001);
        await writeFile(join(at.folder, 'dialect.bin'), bytes);
        const options = ['-m', dialect, `--client-protection=${protection}`];
        await client.succeed('put dialect.bin; get dialect.bin dialect.back', ...options);
        assert.deepEqual(await readFile(join(at.folder, 'dialect.back')), bytes);
      });
    }
  }

  for (const [what, user] of [
    ['AZURE and the account', `AZURE\\${ACCOUNT}%${KEY}`],
    ['localhost and the account', `localhost\\${ACCOUNT}%${KEY}`],
    ['the account in capitals', `${ACCOUNT.toUpperCase()}%${KEY}`],
  ] as const) {
    test(`${what} signs in`, async () => {
      const { server, share } = at;
      const run = await client.program.run(
        `//127.0.0.1/${share.name}`,
        '-p',
        `${server.smbPort}`,
        '-U',
        user,
        '-c',
        'ls',
      );
      assert.equal(run.exitCode, 0, run.stdout);
    });
  }

  for (const [what, options, status] of [
    ['a wrong key', ['-U', `${ACCOUNT}%${KEY.slice(1)}`], 'LOGON_FAILURE'],
    ['an unknown account', ['-U', `nobody%${KEY}`], 'LOGON_FAILURE'],
    ['nobody', ['-N'], 'LOGON_FAILURE'],
    ['a guest', ['-U', 'guest%'], 'LOGON_FAILURE'],
    ['NTLMv1', ['-U', `${ACCOUNT}%${KEY}`, '--option=client ntlmv2 auth=no'], 'LOGON_FAILURE'],
    ['SMB 2.0.2', ['-U', `${ACCOUNT}%${KEY}`, '-m', 'SMB2_02'], 'protocol negotiation failed'],
    [
      'SMB1',
      ['-U', `${ACCOUNT}%${KEY}`, '-m', 'NT1', '--option=client min protocol=NT1'],
      'protocol negotiation failed',
    ],
  ] as const) {
    test(`${what} is refused`, async () => {
      const { server, share } = at;
      const place = [`//127.0.0.1/${share.name}`, '-p', String(server.smbPort)];
      const run = await client.program.run(...place, ...options, '-c', 'ls');
      assert.notEqual(run.exitCode, 0);
      assert.match(`${run.stdout}${run.stderr}`, new RegExp(status));
    });
  }

  test('an unknown share is refused', async () => {
    const place = ['//127.0.0.1/no-such-share', '-p', String(at.server.smbPort), '-U', `${ACCOUNT}%${KEY}`];
    const run = await client.program.run(...place, '-c', 'ls');
    assert.match(`${run.stdout}${run.stderr}`, /NT_STATUS_BAD_NETWORK_NAME/);
  });

  test('1 GiB goes up and comes down as it was', async () => {
    const path = join(at.folder, 'large.bin');
    const block = randomBytes(MIB);
    const sent = createHash('sha256');
    await pipeline(
      async function* () {
        for (let index = 0; index < 1024; index++) {
          block.writeUInt32LE(index, 0);
          const piece = Buffer.from(block);
          sent.update(piece);
          yield piece;
        }
      },
      (await import('node:fs')).createWriteStream(path),
    );
    await client.succeed('put large.bin; get large.bin large.back');
    const got = createHash('sha256');
    await pipeline(createReadStream(join(at.folder, 'large.back')), got);
    assert.equal(got.digest('hex'), sent.digest('hex'));
  });
});
