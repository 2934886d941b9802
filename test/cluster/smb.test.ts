// engines: postgres
/**
 * SMB clients of three nodes over one database: they race as those of one server do, hear of each other's changes, and go on
 * at another node where theirs is killed, with everything that was acknowledged.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileAt, textOf } from '../file/racing.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { SmbConnectionLost, smbOutcome } from '../harness/smb-refusal.ts';
import { DIRECTORY_FILE } from '../harness/smb-wire.ts';
import { until } from '../harness/until.ts';
import { CREATE, OPEN, SHARES_NOTHING, WireShare } from '../harness/wire-share.ts';
import { missingTool } from '../packages.ts';
import { Ground, RACES } from '../smb/wire-races.ts';

/** A node that died is found out after a while. */
const DEATH_LIMIT_SECONDS = 120;
const ACKNOWLEDGED_BEFORE_KILL = 25;
/** What would let it delete the directory keeps others from renaming what is in it. */
const LISTS = 0x10_0081;

describe('SMB clients of three nodes', { skip: missingTool('postgres') }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ optionsOf: () => ({ smb: 'optional' }) });
  });
  after(() => cluster?.stop());

  const onGround = async (run: (ground: Ground) => Promise<void>): Promise<void> => {
    const ground = await Ground.open(() => cluster.nodes);
    await run(ground).finally(() => ground.close());
  };

  for (const [sentence, run] of RACES) test(sentence, () => onGround(run));

  test('whoever watches a directory through one node hears what is created, renamed and deleted through the others', () =>
    onGround(async (ground) => {
      const [watcher, ...others] = (await ground.smb(3)) as [WireShare, WireShare, WireShare];
      await ground.share.createDirectory('dir');
      const watched = await watcher.create('dir', { disposition: OPEN, options: DIRECTORY_FILE, access: LISTS });
      const hears = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
        const { interims } = watcher.client;
        const before = interims.length;
        const heard = watched.nextChange();
        await until({ what: 'the watch has begun', limitSeconds: 30 }, () => interims.length > before);
        const done = await act();
        assert.equal(await heard, name);
        return done;
      };
      for (const [index, client] of others.entries()) {
        const open = await hears(`new-${index}`, () => client.create(`dir/new-${index}`, { disposition: CREATE }));
        await hears(`new-${index}`, () => open.rename(`dir/other-${index}`));
        await open.markForDeletion(true);
        await hears(`other-${index}`, () => open.close());
      }
      await watched.close();
    }));

  test('a client whose node is killed finds at another what was acknowledged, and soon has the file alone again', () =>
    onGround(async (ground) => {
      const [, , client] = (await ground.smb(3)) as [WireShare, WireShare, WireShare];
      const open = await client.create('file', { disposition: CREATE, share: SHARES_NOTHING });
      await open.lock(0, 10);
      const acknowledged: number[] = [];
      const writing = (async () => {
        for (let at = 0; ; at++) {
          await open.write(6 * at, lineOf(at));
          acknowledged.push(at);
        }
      })();
      const ended = assert.rejects(writing, SmbConnectionLost);
      await until(
        { what: 'much is acknowledged', limitSeconds: 60 },
        () => acknowledged.length >= ACKNOWLEDGED_BEFORE_KILL,
      );
      await cluster.node(2).kill9();
      await ended;
      const other = await WireShare.connect(cluster.node(0), ground.share.name);
      const terms = { disposition: OPEN, share: SHARES_NOTHING };
      assert.equal(await smbOutcome(other.create('file', terms)), 'SHARING_VIOLATION');
      const again = await until({ what: 'the open of the dead node is gone', limitSeconds: DEATH_LIMIT_SECONDS }, () =>
        other.create('file', terms).catch(() => null),
      );
      const text = (await again.read(0, 6 * (acknowledged.length + 1))).toString();
      const lines = acknowledged.map(lineOf);
      assert.ok([lines.join(''), [...lines, lineOf(lines.length)].join('')].includes(text), text);
      await again.lock(0, 10);
      await again.close();
      other.leave();
      assert.equal(await textOf(fileAt(ground.rest(1), 'file')), text);
      await cluster.node(2).start();
    }));
});

const lineOf = (at: number): string => `${String(at).padStart(5, '0')}\n`;
