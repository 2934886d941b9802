// engines: postgres
// tier: system
/**
 * SMB clients of three nodes over one database: they race as those of one server do, hear of each other's changes, and go on
 * at another node where theirs is killed, with everything that was acknowledged.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileAt, textOf } from '../file/racing.ts';
import { type Cluster, startCluster } from '../harness/cluster.ts';
import { SmbConnectionLost } from '../harness/smb-refusal.ts';
import { DIRECTORY_FILE } from '../harness/smb-wire.ts';
import { until } from '../harness/until.ts';
import { CREATE, OPEN, WireShare } from '../harness/wire-share.ts';
import { missingTool } from '../packages.ts';
import { Ground, RACES } from '../smb/wire-races.ts';

const LIMIT = { timeout: 60_000 };
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

  for (const [sentence, run] of RACES) test(sentence, LIMIT, () => onGround(run));

  test(
    'whoever watches a directory through one node hears what is created, renamed and deleted through the others',
    LIMIT,
    () =>
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
      }),
  );

  test('a client whose node is killed finds at another what was acknowledged, and goes on there', LIMIT, () =>
    onGround(async (ground) => {
      const [, , client] = (await ground.smb(3)) as [WireShare, WireShare, WireShare];
      const open = await client.create('file', { disposition: CREATE });
      let acknowledgedCount = 0;
      const writing = (async () => {
        for (;;) {
          await open.write(LINE_BYTES * acknowledgedCount, lineOf(acknowledgedCount));
          acknowledgedCount += 1;
        }
      })();
      const ended = assert.rejects(writing, SmbConnectionLost);
      const isMuch = (): boolean => acknowledgedCount >= ACKNOWLEDGED_BEFORE_KILL;
      await until({ what: 'much is acknowledged', limitSeconds: 60 }, isMuch);
      await cluster.node(2).kill9();
      await ended;
      const other = await WireShare.connect(cluster.node(0), ground.share.name);
      await other.with('file', { disposition: OPEN }, async (again) => {
        const text = (await again.read(0, LINE_BYTES * (acknowledgedCount + 1))).toString();
        const foundCount = text.length / LINE_BYTES;
        assert.ok(foundCount === acknowledgedCount || foundCount === acknowledgedCount + 1, `${foundCount} lines`);
        assert.equal(text, linesUpTo(foundCount));
        await again.write(text.length, lineOf(foundCount));
        assert.equal(await textOf(fileAt(ground.rest(1), 'file')), linesUpTo(foundCount + 1));
      });
      other.leave();
    }),
  );
});

const LINE_BYTES = 6;
const lineOf = (at: number): string => `${String(at).padStart(LINE_BYTES - 1, '0')}\n`;
const linesUpTo = (count: number): string => Array.from({ length: count }, (_, at) => lineOf(at)).join('');
