// engines: postgres
/**
 * Files on three nodes over one database, clients spread over them: what holds of one server holds of all of them together.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ShareClient } from '@azure/storage-file-share';
import {
  CLIENTS,
  EXISTS,
  fileAt,
  LEASED,
  MISSING,
  NO_PARENT,
  NOT_EMPTY,
  namesIn,
  putFile,
  raceOn,
  textOf,
} from '../file/racing.ts';
import { outcome, outcomes } from '../harness/clients.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { freshShare, shareClient } from '../harness/file-clients.ts';
import { successes, tally, winnerOf } from '../harness/parallel.ts';
import { missingTool } from '../packages.ts';

const NODE_COUNT = 3;

describe('files on three nodes', { skip: missingTool('postgres') }, () => {
  let cluster: Cluster;
  let race: ReturnType<typeof raceOn>;
  before(async () => {
    cluster = await startCluster({ nodeCount: NODE_COUNT });
    race = raceOn(...cluster.nodes);
  });
  after(() => cluster?.stop());

  /** A new share by way of each node. */
  async function spreadShare(): Promise<ShareClient[]> {
    const { name } = await freshShare(cluster.node(0));
    return cluster.nodes.map((node) => shareClient(node, name));
  }

  test('what one node has acknowledged every other shows at once', async () => {
    const shares = await spreadShare();
    for (let round = 0; round < 12; round++) {
      const [writer, reader, other] = [0, 1, 2].map((step) => shares[(round + step) % NODE_COUNT] as ShareClient) as [
        ShareClient,
        ShareClient,
        ShareClient,
      ];
      await writer.createDirectory(`d${round}`);
      await putFile(reader, `d${round}/file`, `text ${round}`);
      assert.equal(await textOf(fileAt(other, `D${round}/FILE`)), `text ${round}`);
      await other.getDirectoryClient(`d${round}`).rename(`e${round}`);
      // Each node has met the directory under its old name.
      for (const share of shares) {
        assert.equal(await outcome(fileAt(share, `d${round}/file`).getProperties()), NO_PARENT);
        assert.equal(await textOf(fileAt(share, `e${round}/file`)), `text ${round}`);
      }
    }
  });

  test('of many who create a directory, or rename to one name, one succeeds', async () => {
    const [share] = (await spreadShare()) as [ShareClient];
    const created = await race(share, (client) => client.getDirectoryClient('dir').create());
    assert.deepEqual(tally(outcomes(created)), { ok: 1, [EXISTS]: CLIENTS - 1 });
    for (let index = 0; index < CLIENTS; index++) await putFile(share, `from-${index}`, String(index));
    const renamed = await race(share, (client, index) => fileAt(client, `from-${index}`).rename('dir/to'));
    assert.deepEqual(tally(outcomes(renamed)), { ok: 1, [EXISTS]: CLIENTS - 1 });
    assert.equal(await textOf(fileAt(share, 'dir/to')), String(winnerOf(renamed)));
  });

  test('writers of one page through all nodes: every byte is there, every ETag another', async () => {
    const shares = await spreadShare();
    const [share] = shares as [ShareClient];
    await fileAt(share, 'page').create(CLIENTS);
    const written = successes(
      await race(share, (client, index) =>
        fileAt(client, 'page').uploadRange(String.fromCharCode(65 + index), index, 1),
      ),
    );
    assert.equal(new Set(written.map(({ etag }) => etag)).size, CLIENTS);
    const expected = Array.from({ length: CLIENTS }, (_, index) => String.fromCharCode(65 + index)).join('');
    for (const each of shares) assert.equal(await textOf(fileAt(each, 'page')), expected);
  });

  test('a directory goes empty, or not at all', async () => {
    const [share] = (await spreadShare()) as [ShareClient];
    for (let round = 0; round < 12; round++) {
      const name = `dir-${round}`;
      await share.createDirectory(name);
      const answers = successes(
        await race(
          share,
          (client, index) =>
            outcome(
              index === round % 3
                ? client.getDirectoryClient(name).delete()
                : fileAt(client, `${name}/f${index}`).create(0),
            ),
          3,
        ),
      );
      const deleted = answers[round % 3];
      const created = answers.filter((_, index) => index !== round % 3);
      const isGone = deleted === 'ok';
      assert.ok(isGone || deleted === NOT_EMPTY, deleted);
      assert.deepEqual(
        [...new Set(created)].filter((answer) => answer !== (isGone ? NO_PARENT : 'ok')),
        [],
      );
      const left = await outcome(share.getDirectoryClient(name).getProperties());
      assert.equal(left, isGone ? MISSING : 'ok');
    }
  });

  test('a lease that was acquired through one node holds on all', async () => {
    const shares = await spreadShare();
    const [share] = shares as [ShareClient];
    await putFile(share, 'file', 'x');
    const results = await race(share, (client) => fileAt(client, 'file').getShareLeaseClient().acquireLease());
    assert.deepEqual(tally(outcomes(results)), { ok: 1, '409 LeaseAlreadyPresent': CLIENTS - 1 });
    for (const each of shares) assert.equal(await outcome(fileAt(each, 'file').uploadRange('y', 0, 1)), LEASED);
  });

  test('a snapshot that was taken through one node is read through all, whatever is written', async () => {
    const shares = await spreadShare();
    const [share] = shares as [ShareClient];
    await share.createDirectory('d');
    for (let index = 0; index < 6; index++) await putFile(share, `d/f${index}`, `old ${index}`);
    const { snapshot } = await share.createSnapshot();
    successes(
      await race(
        share,
        (client, index) => {
          const file = fileAt(client, `d/f${index}`);
          return index % 2 === 0 ? file.delete() : file.uploadRange('new', 0, 3);
        },
        6,
      ),
    );
    for (const each of shares) {
      const then = each.withSnapshot(snapshot as string);
      assert.deepEqual(await namesIn(then, 'd'), ['f0', 'f1', 'f2', 'f3', 'f4', 'f5']);
      for (let index = 0; index < 6; index++) assert.equal(await textOf(fileAt(then, `d/f${index}`)), `old ${index}`);
    }
  });
});
