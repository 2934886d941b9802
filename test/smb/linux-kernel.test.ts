/** Linux's own client, cifs.ko, in an emulated machine: mounts, writes, renames, locks; two machines compete for one file. */
// tier: system
// engines: embedded
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type GuestRun, runInGuest } from '../harness/linux-guest.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';
import { ACCOUNT, KEY, type SmbShare, startSmbShare } from './smb-tools.ts';

/** A script that adds lines to a file that others add to, each under a lock. */
const append = (name: string): string =>
  `for i in $(seq 40); do ( flock -x 9; echo ${name}-$i >> both.log ) 9<> both.lock; done`;

describe("Linux's own client", { skip: missingTool('linuxGuest') }, () => {
  let at: SmbShare;

  before(async () => {
    at = await startSmbShare('kernel');
  });
  after(() => at.end());

  const guest = (script: string, options?: string): Promise<GuestRun> =>
    runInGuest({
      port: at.server.smbPort,
      share: at.share.name,
      account: ACCOUNT,
      key: KEY,
      script: `set -e\n${script}`,
      ...(options === undefined ? {} : { options }),
    });

  const fileByRest = (path: string) => at.share.rootDirectoryClient.getFileClient(path);

  const isOpen = async (path: string): Promise<boolean> => {
    const handles = fileByRest(path).listHandles();
    return (await handles.next()).done !== true;
  };

  for (const options of [
    'vers=2.1',
    'vers=3.0,seal',
    'vers=3.0.2',
    'vers=3.1.1',
    'vers=3.1.1,seal',
    'vers=3.1.1,cache=none',
  ]) {
    test(`mounts, writes, reads and renames with ${options}`, async () => {
      const folder = options.replace(/\W/g, '-');
      const bytes = randomBytes(300_000);
      await at.share.getDirectoryClient(folder).create();
      await fileByRest(`${folder}/by-rest`).uploadData(bytes);
      const { exitCode, output } = await guest(
        `
        cd ${folder}
        cp by-rest copy
        cmp by-rest copy
        mkdir -p a/b
        echo one > a/b/first; echo two >> a/b/first
        mv a/b/first a/second
        mv a c
        cat c/second
        rmdir c/b
        dd if=/dev/urandom of=big bs=64k count=64 2>/dev/null
        truncate -s 1000000 big
        stat -c %s big
        touch gone; rm gone; [ ! -e gone ]
        ls | tr '\\n' ' '; df -k . | tail -n 1 >/dev/null
        `,
        options,
      );
      assert.equal(exitCode, 0, output);
      assert.match(output, /one\ntwo\n1000000\nbig by-rest c copy/);
      assert.deepEqual(await fileByRest(`${folder}/copy`).downloadToBuffer(), bytes);
      assert.equal((await fileByRest(`${folder}/big`).getProperties()).contentLength, 1_000_000);
      assert.equal(String(await fileByRest(`${folder}/c/second`).downloadToBuffer()), 'one\ntwo\n');
    });
  }

  test('of two machines that add to one counter under a lock, none loses an addition', async () => {
    await fileByRest('counter').create(0);
    const add = `
      for i in $(seq 40); do
        ( flock -x 9; n=$(cat counter); echo $((\${n:-0} + 1)) > counter ) 9<> lockfile
      done
    `;
    const runs = await Promise.all([guest(add), guest(add)]);
    for (const { exitCode, output } of runs) assert.equal(exitCode, 0, output);
    assert.equal(String(await fileByRest('counter').downloadToBuffer()).trim(), '80');
  });

  test('of two machines that append to one file under a lock, all lines are there', async () => {
    const runs = await Promise.all([guest(append('one')), guest(append('two'))]);
    for (const { exitCode, output } of runs) assert.equal(exitCode, 0, output);
    const lines = String(await fileByRest('both.log').downloadToBuffer())
      .trim()
      .split('\n');
    const wanted = ['one', 'two'].flatMap((name) => Array.from({ length: 40 }, (_, index) => `${name}-${index + 1}`));
    assert.deepEqual(lines.toSorted(), wanted.toSorted());
  });

  test('what a machine has written and keeps to itself, REST reads while it is still open', async () => {
    const run = guest(`
      exec 8> held
      echo cached >&8
      touch written
      until [ -e enough ]; do sleep 0.1; done
      exec 8>&-
    `);
    const isWritten = until({ what: 'the file is written', limitSeconds: 120 }, () => fileByRest('written').exists());
    await Promise.race([isWritten, run]);
    assert.equal(String(await fileByRest('held').downloadToBuffer()), 'cached\n');
    assert.ok(await isOpen('held'));
    await fileByRest('enough').create(0);
    const { exitCode, output } = await run;
    assert.equal(exitCode, 0, output);
  });
});
