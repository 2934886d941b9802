import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { refusal, type TestShare } from '../../../../test/harness/file-store.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import { type SmbClient } from '../../../../test/harness/smb-client.ts';
import { keepAwake } from '../../../../test/harness/store.ts';
import { PATIENT_MS, TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from '../../../rules/share-mode.ts';
import { deleteFile } from '../delete-file.ts';
import { leaseFile } from '../lease-file.ts';
import { BREAK_LIMIT_MS } from './attend.ts';

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
    test('writes what it caches before a read goes on, and a second read asks it for nothing', async () => {
      const smb = client();
      const { id, caching } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(caching, 'RWH');
      const reading = nodes.read('f');
      assert.equal(await smb.told(), 'RWH to RH');
      assert.equal(await smb.opens.acknowledge(id, 'RH'), 'acknowledged');
      await reading;
      await nodes.read('f');
      assert.deepEqual(smb.unheard, []);
      assert.equal(await nodes.cachingOf(id), 'RH');
    });

    test('is told that what it has read is not so any more, and the writer does not wait', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RH', leaseKey: 'k' });
      await nodes.write('f');
      assert.equal(await smb.told(), 'RH to none');
      await nodes.write('f');
      assert.equal(await smb.opens.acknowledge(id, ''), 'acknowledged');
      await nodes.write('f');
      await turns(10);
      assert.deepEqual(smb.unheard, []);
    });

    test('need not answer if it caches reads alone', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'R' });
      await nodes.write('f');
      assert.equal(await smb.told(), 'R to none, unanswered');
      assert.equal(await nodes.cachingOf(id), '');
      assert.equal(await smb.opens.acknowledge(id, ''), 'not breaking');
    });

    test('that has closed the file long ago and says so lets it be deleted', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RH', leaseKey: 'k', share: READS });
      const deleting = deleteFile(share.store.storage, nodes.patient('f'));
      assert.equal(await smb.told(), 'RH to R');
      await smb.opens.close(id);
      await deleting;
      assert.equal(await refusal(nodes.read('f')), 'ResourceNotFound');
      assert.equal(await nodes.usesCount(), 0);
    });

    test('that still uses the file keeps it, and its handle is cached no longer', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      const deleting = refusal(deleteFile(share.store.storage, nodes.patient('f')));
      assert.equal(await smb.told(), 'RWH to RW');
      await smb.opens.acknowledge(id, 'RW');
      assert.equal(await deleting, 'SharingViolation');
      assert.equal(await nodes.cachingOf(id), 'RW');
      assert.equal(await refusal(share.delete('file', 'f')), 'SharingViolation');
      assert.deepEqual(smb.unheard, []);
    });

    test('that does not answer makes requests give up, and go on once it has', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(await refusal(share.read('f')), 'ClientCacheFlushDelay');
      assert.equal(await smb.told(), 'RWH to RH');
      await nodes.beat();
      assert.equal(await refusal(share.read('f')), 'ClientCacheFlushDelay');
      await nodes.beat();
      assert.deepEqual(smb.unheard, [], 'it is told once');
      await smb.opens.acknowledge(id, 'R');
      await share.read('f');
      assert.deepEqual(smb.unheard, []);
    });

    test('that does not answer is given up for after a while', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      const opening = (smb === here ? there : here).open('f', { access: READS });
      assert.equal(await smb.told(), 'RWH to RH');
      nodes.cluster.clock.advance({ seconds: BREAK_LIMIT_MS / 1000 - 1 });
      await nodes.beat();
      assert.equal(await nodes.cachingOf(id), 'RWH');
      nodes.cluster.clock.advance({ seconds: 1 });
      await nodes.beat();
      await opening;
      assert.equal(await nodes.cachingOf(id), '');
      assert.equal(await smb.opens.acknowledge(id, 'RH'), 'not breaking');
    });

    test('is asked for the rest after it has answered', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      const reading = nodes.read('f');
      assert.equal(await smb.told(), 'RWH to RH');
      const writing = nodes.write('f');
      assert.equal(await smb.opens.acknowledge(id, 'RWH'), 'too much');
      await smb.opens.acknowledge(id, 'RH');
      await Promise.all([reading, writing]);
      assert.equal(await smb.told(), 'RH to none');
    });

    test('is asked for its handle by itself where an overwriting open came meanwhile, and all who open wait for that', async () => {
      const smb = client();
      const other = smb === here ? there : here;
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      const opening = other.open('f');
      assert.equal(await smb.told(), 'RWH to RH');
      const overwriting = other.open('f', { overwrites: true });
      while ((await nodes.usesCount()) < 2) await turns(1);
      await smb.opens.acknowledge(id, 'RH');
      assert.equal(await smb.told(), 'RH to R');
      const { isBreaking, caching, id: second } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.deepEqual([isBreaking, caching], [true, 'RH']);
      await nodes.beat();
      assert.equal(await nodes.usesCount(), 3, 'its two opens, and what is asked of it');
      await smb.opens.close(second);
      await smb.opens.acknowledge(id, 'R');
      await Promise.all([opening, overwriting]);
      assert.equal(await smb.told(), 'R to none, unanswered');
      assert.deepEqual(smb.unheard, []);
    });

    test('loses what its application opens elsewhere, without being asked', async () => {
      const smb = client();
      const open = { share: NO_ACCESS, caching: 'RWH' } as const;
      await smb.open('f', { ...open, instance: { id: 'app', clientGuid: 'one' } });
      const instance = { id: 'app', clientGuid: 'two' };
      const { caching } = await (smb === here ? there : here).open('f', { ...open, instance });
      assert.equal(caching, 'RWH');
      assert.equal(await smb.told(), 'closed');
      assert.equal(await nodes.usesCount(), 1);
    });

    test('is told that another has replaced the content, and that one does not wait', async () => {
      const smb = client();
      await smb.open('f', { caching: 'R' });
      await (smb === here ? there : here).open('f', { overwrites: true });
      assert.equal(await smb.told(), 'R to none, unanswered');
    });

    test('opens and closes again and again while it is asked for something, and nothing is closed by mistake', async () => {
      const smb = client();
      smb.answer = (openId, { mustAnswer, to }) => {
        if (mustAnswer) void smb.opens.acknowledge(openId, to).catch(() => {});
      };
      for (let round = 0; round < 100; round++) {
        const { id } = await smb.open('f', { caching: round % 2 === 0 ? 'R' : 'RWH', leaseKey: 'k' });
        const writing = nodes.write('f');
        await turns(round % 4);
        const closing = smb.opens.close(id);
        await turns(round % 3);
        const next = await smb.open('f', { caching: 'R', leaseKey: 'k' });
        await Promise.all([writing, closing]);
        await turns(5);
        await nodes.cachingOf(next.id);
        await smb.opens.close(next.id);
      }
      assert.ok(!smb.unheard.includes('closed'));
      assert.equal(await nodes.usesCount(), 0);
    });

    test('with an oplock gives up more than one with a lease', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH' });
      const reading = nodes.read('f');
      assert.equal(await smb.told(), 'RWH to R');
      await smb.opens.acknowledge(id, 'R');
      await reading;
    });

    test('has one cache for all its opens with one key, and hears of it once', async () => {
      const smb = client();
      const first = await smb.open('f', { caching: 'RH', leaseKey: 'k' });
      const second = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(second.caching, 'RWH');
      assert.equal(await nodes.cachingOf(first.id), 'RWH');
      const reading = nodes.read('f');
      assert.equal(await smb.told(), 'RWH to RH');
      const third = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(third.caching, 'RWH');
      await smb.opens.acknowledge(third.id, 'RH');
      await reading;
      for (const { id } of [first, second, third]) assert.equal(await nodes.cachingOf(id), 'RH');
      assert.deepEqual(smb.unheard, []);
    });

    test('hears with the next beat what word was lost of', async (t) => {
      keepAwake(t);
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      for (const { line } of [nodes.rest, nodes.elsewhere]) line.isCut = true;
      assert.equal(await refusal(share.read('f')), 'ClientCacheFlushDelay');
      await turns(10);
      assert.deepEqual(smb.unheard, []);
      await nodes.beat();
      assert.deepEqual(smb.unheard, ['RWH to RH']);
      // Whoever waits looks by itself.
      const reading = nodes.read('f');
      await turns(10);
      await smb.opens.acknowledge(id, 'RH');
      await reading;
    });
  });
}

test('a request waits no longer than it said, by the clock', async (t) => {
  keepAwake(t);
  await there.open('f', { caching: 'RWH', leaseKey: 'k' });
  const reading = refusal(nodes.read('f'));
  assert.equal(await there.told(), 'RWH to RH');
  nodes.cluster.clock.advance({ seconds: PATIENT_MS / 1000 });
  assert.equal(await reading, 'ClientCacheFlushDelay');
});

test('a request that waits is sent away when its node stops', async () => {
  await there.open('f', { caching: 'RWH', leaseKey: 'k' });
  const reading = refusal(nodes.read('f'));
  assert.equal(await there.told(), 'RWH to RH');
  await nodes.rest.store.storage.opens.stop();
  assert.equal(await reading, 'ServerBusy');
});

describe('a REST lease', () => {
  const acquire = { action: 'acquire', proposedId: null, freshId: 'l', durationSeconds: -1 } as const;
  const lease = () => leaseFile(share.store.storage, { ...nodes.patient('f'), action: acquire });

  test('lets SMB clients read and look, and nothing more, until it is broken', async () => {
    await lease();
    for (const access of [WRITES, DELETES, READS | WRITES, READS | DELETES, WRITES | DELETES, ALL_ACCESS]) {
      assert.equal(await refusal(here.open('f', { access })), 'SharingViolation');
    }
    assert.equal(await refusal(here.open('f', { access: READS, overwrites: true })), 'SharingViolation');
    await here.open('f', { access: NO_ACCESS });
    const { caching } = await here.open('f', { access: READS, caching: 'RWH', leaseKey: 'k' });
    assert.equal(caching, 'RH');
    await leaseFile(share.store.storage, { ...nodes.patient('f'), action: { action: 'break', periodSeconds: null } });
    await here.open('f', { access: READS | WRITES });
  });

  test('takes from readers what they have not written, step by step', async () => {
    const { id } = await there.open('f', { access: READS, caching: 'RWH', leaseKey: 'k' });
    const leasing = lease();
    assert.equal(await there.told(), 'RWH to RW');
    await there.opens.acknowledge(id, 'RW');
    assert.equal(await there.told(), 'RW to R');
    await there.opens.acknowledge(id, 'R');
    await leasing;
  });
});
