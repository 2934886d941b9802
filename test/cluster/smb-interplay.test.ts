// engines: postgres
// tier: system
/**
 * SMB clients on one node and REST on the others, three nodes over one database: share modes, locks, marks for deletion and
 * caches hold everywhere, SMB clients of different nodes keep to each other's, and a node that dies leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ShareClient } from '@azure/storage-file-share';
import { fileAt, MISSING, namesIn, putFile, textOf } from '../file/racing.ts';
import { outcome } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { freshShare, shareClient } from '../harness/file-clients.ts';
import { startImpacket } from '../harness/impacket.ts';
import type { ImpacketClient } from '../harness/impacket-client.ts';
import { smbOutcome } from '../harness/smb-refusal.ts';
import { until } from '../harness/until.ts';
import { missingTool } from '../packages.ts';

const VIOLATION = '409 SharingViolation';
const PENDING = '409 SMBDeletePending';
const LOCKED = '409 FileLockConflict';
const TEXT = 'some text';

/** A node that died is found out after a while. */
const DEATH_LIMIT_SECONDS = 120;

const impacket = startImpacket();

const read = (share: ShareClient) => textOf(fileAt(share, 'file'));
const write = (share: ShareClient) => fileAt(share, 'file').uploadRange('other', 0, 5);
const look = (share: ShareClient) => fileAt(share, 'file').getProperties();
const remove = (share: ShareClient) => fileAt(share, 'file').delete();

/** What each node answers, if they agree. */
async function everywhere(
  shares: readonly ShareClient[],
  act: (share: ShareClient) => Promise<unknown>,
): Promise<string> {
  const answers = new Set<string>();
  for (const share of shares) answers.add(await outcome(act(share)));
  return [...answers].join(' or ');
}

describe('SMB clients and REST on three nodes', { skip: missingTool('postgres') || missingTool('impacket') }, () => {
  let cluster: Cluster;
  let clientCount = 0;
  before(async () => {
    cluster = await startCluster({ optionsOf: () => ({ smb: 'optional' }) });
  });
  after(async () => {
    await impacket.close();
    await cluster?.stop();
  });

  const smbOn = (node: number, { name }: ShareClient): Promise<ImpacketClient> =>
    impacket.connect(`client ${clientCount++}`, { port: cluster.node(node).smbPort, share: name });

  /** A share with a file, by way of each node. */
  async function spreadShare(): Promise<[ShareClient, ShareClient, ShareClient]> {
    const { name } = await freshShare(cluster.node(0));
    const shares = cluster.nodes.map((node) => shareClient(node, name)) as [ShareClient, ShareClient, ShareClient];
    await putFile(shares[0], 'file', TEXT);
    return shares;
  }

  test('what is open and not shared no node reads, writes or deletes until it is closed; all show its properties', async () => {
    const shares = await spreadShare();
    const smb = await smbOn(0, shares[0]);
    const open = await smb.open('file', { share: '' });
    for (const act of [read, write, remove]) assert.equal(await everywhere(shares, act), VIOLATION);
    assert.equal(await everywhere(shares, look), 'ok');
    await open.close();
    for (const act of [read, write]) assert.equal(await everywhere(shares, act), 'ok');
    await remove(shares[2]);
  });

  test('what a client has cached is written before another node reads it', async () => {
    const shares = await spreadShare();
    const smb = await smbOn(0, shares[0]);
    for (const [index, share] of shares.entries()) {
      const open = await smb.open('file', { lease: 'RWH' });
      assert.equal(open.lease, 'RWH');
      const reading = read(share);
      assert.equal((await open.nextBreak()).what, 'RWH to RH');
      await open.write(`flush ${index}`);
      await open.answer('RH');
      assert.equal(await reading, `flush ${index}${TEXT.slice(7)}`);
      await write(share);
      const asked = await open.nextBreak();
      assert.equal(asked.what, 'RH to none');
      await open.answer(asked.to);
      await smb.echo();
      assert.deepEqual(open.unheard, []);
      await open.close();
    }
  });

  test('a handle that its client has closed long ago does not keep another node from deleting', async () => {
    const shares = await spreadShare();
    const smb = await smbOn(0, shares[0]);
    const open = await smb.open('file', { lease: 'RH', share: 'R' });
    const deleting = outcome(remove(shares[1]));
    assert.equal((await open.nextBreak()).what, 'RH to R');
    await open.close();
    assert.equal(await deleting, 'ok');
    assert.equal(await everywhere(shares, look), MISSING);
  });

  test('a file that is marked for deletion is out of reach and out of sight on all nodes, then back, then gone', async () => {
    const shares = await spreadShare();
    await putFile(shares[0], 'last', TEXT);
    const smb = await smbOn(0, shares[0]);
    const open = await smb.open('file');
    await open.markForDeletion(true);
    for (const act of [read, look, write, remove]) assert.equal(await everywhere(shares, act), PENDING);
    for (const share of shares) assert.deepEqual(await namesIn(share), ['last']);
    for (const node of [1, 2]) {
      const other = await smbOn(node, shares[0]);
      assert.equal(await smbOutcome(other.open('file')), 'DELETE_PENDING');
    }
    await open.markForDeletion(false);
    assert.equal(await everywhere(shares, read), 'ok');
    await open.markForDeletion(true);
    await open.close();
    assert.equal(await everywhere(shares, read), MISSING);
  });

  test('while a range is locked no node writes to the file', async () => {
    const shares = await spreadShare();
    const smb = await smbOn(0, shares[0]);
    const open = await smb.open('file');
    await open.lock(100, 4);
    assert.equal(await everywhere(shares, write), LOCKED);
    assert.equal(await everywhere(shares, read), 'ok');
    await open.unlock(100, 4);
    assert.equal(await everywhere(shares, write), 'ok');
    await open.close();
  });

  test('SMB clients on two nodes keep to what the other shares, locks and caches', async () => {
    const shares = await spreadShare();
    const [smb, other] = [await smbOn(0, shares[0]), await smbOn(1, shares[0])];
    const open = await smb.open('file', { share: 'R' });
    assert.equal(await smbOutcome(other.open('file', { access: 'W' })), 'SHARING_VIOLATION');
    const reader = await other.open('file', { access: 'R' });
    await open.lock(0, 4);
    assert.equal(await smbOutcome(reader.lock(3, 4)), 'LOCK_NOT_GRANTED');
    assert.equal(await smbOutcome(reader.read(0, 4)), 'FILE_LOCK_CONFLICT');
    const waiting = reader.beginLock(0, 4);
    await waiting.pending;
    await open.unlock(0, 4);
    await waiting.answer;
    assert.equal(await smbOutcome(open.lock(0, 4)), 'LOCK_NOT_GRANTED');
    for (const each of [open, reader]) await each.close();
    const cached = await smb.open('file', { lease: 'RWH' });
    const opening = other.beginOpen('file', { access: 'R' });
    assert.equal((await cached.nextBreak()).what, 'RWH to RH');
    await cached.write('CACHE');
    await cached.answer('RH');
    const second = await opening.answer;
    assert.equal(await second.read(0, 5), 'CACHE');
    for (const each of [cached, second]) await each.close();
  });

  test('what one client writes through a node another reads through another', async () => {
    const shares = await spreadShare();
    const clients = [await smbOn(0, shares[0]), await smbOn(1, shares[0]), await smbOn(2, shares[0])];
    const opens = [];
    for (const client of clients) opens.push(await client.open('file'));
    for (let round = 0; round < 9; round++) {
      await opens[round % 3]?.write(`round ${round}`);
      assert.equal(await opens[(round + 1) % 3]?.read(0, 7), `round ${round}`);
      assert.equal((await read(shares[(round + 2) % 3] as ShareClient)).slice(0, 7), `round ${round}`);
    }
    for (const open of opens) await open.close();
  });

  test('handles are listed and closed by force through any node', async () => {
    const shares = await spreadShare();
    const smb = await smbOn(0, shares[0]);
    const open = await smb.open('file', { share: '' });
    for (const share of shares) {
      const paths = [];
      for await (const handle of share.rootDirectoryClient.listHandles({ recursive: true })) paths.push(handle.path);
      assert.deepEqual(paths, ['file']);
    }
    assert.equal((await fileAt(shares[2], 'file').forceCloseAllHandles()).closedHandlesCount, 1);
    assert.equal(await smbOutcome(open.read()), 'FILE_CLOSED');
    assert.equal(await everywhere(shares, read), 'ok');
  });

  test('a node that is killed takes its clients’ opens, locks and marks with it', async () => {
    const shares = await spreadShare();
    const left = [shares[0], shares[1]];
    for (const path of ['locked', 'marked']) await putFile(shares[0], path, TEXT);
    const smb = await smbOn(2, shares[0]);
    await smb.open('file', { share: '' });
    await (await smb.open('locked')).lock(0, 4);
    await (await smb.open('marked')).markForDeletion(true);
    assert.equal(await everywhere(left, read), VIOLATION);
    await cluster.node(2).kill9();
    await until({ what: 'the opens of the dead node are gone', limitSeconds: DEATH_LIMIT_SECONDS }, async () => {
      const answers = [
        await everywhere(left, read),
        await everywhere(left, (share) => fileAt(share, 'locked').uploadRange('x', 0, 1)),
        await everywhere(left, (share) => fileAt(share, 'marked').getProperties()),
      ];
      return answers.every((answer) => answer === 'ok');
    });
    await remove(shares[1]);
    const survivor = await smbOn(0, shares[0]);
    await survivor.with('locked', { share: '' }, (open) => open.lock(0, 4));
    await cluster.node(2).start();
    assert.equal(await everywhere(shares, look), MISSING);
  });
});
