import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { refusal, TestShare } from '../../../../test/harness/file-store.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { keepAwake } from '../../../../test/harness/store.ts';
import { TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { until } from '../../../../test/harness/until.ts';
import { EngineUnavailable } from '../../../engine/engine.ts';
import { openLmdbEngine } from '../../../engine/lmdb/lmdb-engine.ts';
import { NO_ACCESS, READS, WRITES } from '../../../rules/share-mode.ts';
import { StorageError } from '../../storage-error.ts';
import { getFileProperties } from '../get-file.ts';
import type { UsedPlace } from './open-node.ts';
import { OpenClosed } from './use-open.ts';

const HELLO = Buffer.from('hello');

let nodes: TwoNodes;
let share: TestShare;
let here: SmbClient;
let there: SmbClient;

beforeEach(async () => {
  nodes = await TwoNodes.start();
  ({ share, here, there } = nodes);
  await share.createFile('f', HELLO);
});

afterEach(() => nodes.end());

for (const [where, client] of [
  ['on the same node', () => here],
  ['on another node', () => there],
] as const) {
  describe(`a client ${where}`, () => {
    test('keeps others out with what it does not share, until it closes', async () => {
      const smb = client();
      const opened = await smb.open('f', { access: WRITES, share: NO_ACCESS });
      assert.equal(await refusal(nodes.read('f')), 'SharingViolation');
      assert.equal(await refusal(nodes.write('f')), 'SharingViolation');
      assert.equal(await refusal(share.delete('file', 'f')), 'SharingViolation');
      assert.equal(await refusal(there.open('f', { access: READS })), 'SharingViolation');
      assert.equal(await refusal(here.open('f', { access: READS })), 'SharingViolation');
      await getFileProperties(share.store.storage, share.requestOf('f'));
      await smb.opens.close(opened.id);
      await nodes.write('f');
      await share.delete('file', 'f');
      assert.equal(await nodes.usesCount(), 0);
    });
  });
}

describe('what is open in a snapshot', () => {
  test('locks nothing', async () => {
    const snapshot = await share.snapshot();
    const opened = await here.open('f', { access: READS, share: NO_ACCESS, caching: 'RWH', leaseKey: 'k', snapshot });
    assert.equal(opened.caching, '');
    await nodes.write('f');
    await share.read('f', snapshot);
    await here.opens.close(opened.id);
    assert.equal(await nodes.usesCount(), 0);
  });

  test('is read though the file is locked', async () => {
    const snapshot = await share.snapshot();
    await here.open('f', { share: NO_ACCESS });
    assert.equal(await refusal(share.read('f')), 'SharingViolation');
    assert.deepEqual(await share.read('f', snapshot), HELLO);
  });
});

describe('a node that dies', () => {
  test('locks nothing any more, and whoever waited goes on', async (t) => {
    keepAwake(t);
    await there.open('f', { caching: 'RWH', leaseKey: 'k' });
    const reading = nodes.read('f');
    assert.equal(await there.told(), 'RWH to RH');
    await nodes.forgetUsesOf(there.opens.owner);
    await reading;
  });

  test('leaves nothing of what it was asked for', async (t) => {
    keepAwake(t);
    await there.open('f', { caching: 'RWH', leaseKey: 'k' });
    nodes.elsewhere.line.isCut = true;
    const reading = nodes.read('f');
    await until({ what: 'the client is asked', limitSeconds: 10 }, async () => (await nodes.usesCount()) === 2);
    await nodes.rest.store.beat();
    assert.equal(await nodes.usesCount(), 2);
    await nodes.forgetUsesOf(there.opens.owner);
    await reading;
    await nodes.rest.store.beat();
    assert.equal(await nodes.usesCount(), 0);
  });

  test('and lives after all closes what the engine has forgotten', async () => {
    const { id } = await there.open('f');
    await nodes.forgetUsesOf(there.opens.owner);
    await nodes.elsewhere.store.beat();
    assert.equal(await there.told(), 'closed');
    await assert.rejects(async () => there.opens.unlock(id, []), OpenClosed);
    await there.opens.close(id);
  });

  test('with the last open leaves a deletion to the node that marked it', async () => {
    const a = await here.open('f');
    await there.open('f');
    await here.opens.markForDeletion(a.id, true);
    await here.opens.close(a.id);
    await nodes.rest.store.beat();
    assert.equal(await refusal(nodes.read('f')), 'SMBDeletePending');
    await nodes.forgetUsesOf(there.opens.owner);
    await nodes.rest.store.beat();
    assert.equal(await refusal(nodes.read('f')), 'ResourceNotFound');
    assert.equal(await nodes.usesCount(), 0);
  });
});

function failOnceCommitted(): void {
  nodes.rest.hooks.before = ({ what }) => {
    if (what !== 'committed') return;
    nodes.rest.hooks.clear();
    throw new EngineUnavailable('lost');
  };
}

describe('a commit of which nobody knows whether it took effect', () => {
  test('leaves no open behind', async () => {
    failOnceCommitted();
    await assert.rejects(here.open('f', { share: NO_ACCESS }), EngineUnavailable);
    assert.equal(await refusal(nodes.read('f')), 'SharingViolation');
    await nodes.rest.store.beat();
    await nodes.read('f');
  });

  test('closes in the end what was to be closed', async () => {
    const { id } = await here.open('f', { deletesOnClose: true });
    nodes.rest.hooks.before = ({ what }) => {
      if (what !== 'commit') return;
      nodes.rest.hooks.clear();
      throw new EngineUnavailable('lost');
    };
    await assert.rejects(here.opens.close(id), EngineUnavailable);
    await nodes.read('f');
    await nodes.rest.store.beat();
    assert.equal(await refusal(nodes.read('f')), 'ResourceNotFound');
  });
});

test('what is opened anew while this node attends to what was closed stays open', async () => {
  const { id, place } = await there.open('f');
  const { hooks } = nodes.elsewhere;
  const releases: (() => void)[] = [];
  const held = new Promise<void>((resolve) => {
    hooks.before = ({ what }) => {
      if (what !== 'range') return;
      hooks.clear();
      resolve();
      return new Promise((goOn) => {
        releases.push(goOn);
      });
    };
  });
  here.opens.say(place as UsedPlace);
  await held;
  await there.opens.close(id);
  await there.open('f', { share: NO_ACCESS });
  for (const release of releases) release();
  await turns(20);
  await nodes.beat();
  assert.equal(await refusal(nodes.read('f')), 'SharingViolation');
  assert.deepEqual(there.unheard, []);
});

describe('opening and deleting at the same time', () => {
  const ROUNDS = 50;

  async function race(one: TestShare, smb: SmbClient): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      await one.createFile('r', 1);
      const [opened, deleted] = await Promise.allSettled([
        turns(round % 3).then(() => smb.open('r', { share: NO_ACCESS })),
        turns(round % 2).then(() => one.delete('file', 'r')),
      ]);
      assert.notEqual(opened.status, deleted.status, 'one of them wins');
      if (opened.status === 'fulfilled') {
        await smb.opens.close(opened.value.id);
        await one.delete('file', 'r');
      } else {
        assert.ok(opened.reason instanceof StorageError);
      }
    }
  }

  test('has one winner between two nodes in memory', async () => {
    await race(share, there);
  });

  test('has one winner on disk', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'larimar-opens-'));
    t.after(() => rm(folder, { recursive: true }));
    const engine = await openLmdbEngine({ path: folder });
    const onDisk = await TestShare.create({ engine });
    await race(onDisk, new SmbClient(onDisk.store.storage, onDisk.name));
    await onDisk.store.close();
    await engine.close();
  });
});
