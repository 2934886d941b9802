import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { NEW_SHARE, refusal, TestShare } from '../../../../test/harness/file-store.ts';
import { type ClusterNode, MemoryCluster } from '../../../../test/harness/memory-cluster.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import { SmbClient } from '../../../../test/harness/smb-client.ts';
import { bodyOf, keepAwake } from '../../../../test/harness/store.ts';
import { EngineUnavailable } from '../../../engine/engine.ts';
import { openLmdbEngine } from '../../../engine/lmdb/lmdb-engine.ts';
import { READ_ONLY } from '../../../rules/file-attributes.ts';
import type { Caching } from '../../../rules/oplock.ts';
import { ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from '../../../rules/share-mode.ts';
import { shareUsesRange, usesRange } from '../../records/file-keys.ts';
import { StorageError } from '../../storage-error.ts';
import { createShare } from '../create-share.ts';
import { deleteFile } from '../delete-file.ts';
import { getFile, getFileProperties } from '../get-file.ts';
import { leaseFile } from '../lease-file.ts';
import { listEntries } from '../list-entries.ts';
import { NO_CHANGES } from '../properties.ts';
import { putRange } from '../put-range.ts';
import { setFileProperties } from '../set-file.ts';
import { usedBytes } from '../usage.ts';
import { BREAK_LIMIT_MS } from './attend.ts';
import { OpenClosed } from './use-open.ts';

const HELLO = Buffer.from('hello');
/** More than any test takes. */
const PATIENT_MS = 20_000;

let cluster: MemoryCluster;
let rest: ClusterNode;
let elsewhere: ClusterNode;
/** REST requests come to this one's node. */
let share: TestShare;
let here: SmbClient;
let there: SmbClient;

beforeEach(async () => {
  cluster = new MemoryCluster();
  rest = await cluster.join();
  elsewhere = await cluster.join();
  share = new TestShare(rest.store, 'share');
  await createShare(rest.store.storage, share.name, NEW_SHARE);
  await share.createFile('f', HELLO);
  here = new SmbClient(rest.store.storage, share.name);
  there = new SmbClient(elsewhere.store.storage, share.name);
});

afterEach(async () => {
  await rest.store.close();
  await elsewhere.store.close();
  assert.deepEqual([...rest.store.errors, ...elsewhere.store.errors], []);
});

const patient = (path: string) => ({ ...share.requestOf(path), waitMs: PATIENT_MS });

const read = (path: string) => getFile(share.store.storage, { ...patient(path), range: null });

const write = (path: string) =>
  putRange(share.store.storage, {
    ...patient(path),
    range: { offsetBytes: 0, lengthBytes: 1 },
    body: bodyOf(Buffer.from('x')),
    keepsWriteTime: false,
  });

async function usesCount(): Promise<number> {
  const { shareId } = await address('f').catch(() => address(''));
  const snapshot = cluster.engine.snapshot();
  const entries = await snapshot.range(shareUsesRange(shareId), { limit: 1_000 });
  snapshot.close();
  return entries.length;
}

async function address(path: string): Promise<{ shareId: string; nodeId: string }> {
  const opened = await here.open(path, { access: NO_ACCESS });
  await here.opens.close(opened.id);
  const { shareId, nodeId } = opened.place as NonNullable<typeof opened.place>;
  return { shareId, nodeId };
}

async function stateOf(openId: string): Promise<Caching> {
  const { shareId, nodeId } = await address('f');
  const snapshot = cluster.engine.snapshot();
  const entries = await snapshot.range(usesRange(shareId, nodeId), { limit: 100 });
  snapshot.close();
  const entry = entries.find(({ key }) => Buffer.from(key).toString('hex').endsWith(openId));
  return JSON.parse(Buffer.from(entry?.value.subarray(1) ?? '').toString()).caching;
}

for (const [where, client] of [
  ['on the same node', () => here],
  ['on another node', () => there],
] as const) {
  describe(`a client ${where}`, () => {
    test('keeps others out with what it does not share, until it closes', async () => {
      const smb = client();
      const opened = await smb.open('f', { access: WRITES, share: NO_ACCESS });
      assert.equal(await refusal(read('f')), 'SharingViolation');
      assert.equal(await refusal(write('f')), 'SharingViolation');
      assert.equal(await refusal(share.delete('file', 'f')), 'SharingViolation');
      assert.equal(await refusal(there.open('f', { access: READS })), 'SharingViolation');
      assert.equal(await refusal(here.open('f', { access: READS })), 'SharingViolation');
      await getFileProperties(share.store.storage, share.requestOf('f'));
      await smb.opens.close(opened.id);
      await write('f');
      await share.delete('file', 'f');
      assert.equal(await usesCount(), 0);
    });

    test('writes what it caches before a read goes on, and a second read asks it for nothing', async () => {
      const smb = client();
      const { id, caching } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(caching, 'RWH');
      const reading = read('f');
      assert.equal(await smb.told(), 'RWH to RH');
      assert.equal(await smb.opens.acknowledge(id, 'RH'), 'acknowledged');
      await reading;
      await read('f');
      assert.deepEqual(smb.unheard, []);
      assert.equal(await stateOf(id), 'RH');
    });

    test('is told that what it has read is not so any more, and the writer does not wait', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RH', leaseKey: 'k' });
      await write('f');
      assert.equal(await smb.told(), 'RH to none');
      await write('f');
      assert.equal(await smb.opens.acknowledge(id, ''), 'acknowledged');
      await write('f');
      await turns(10);
      assert.deepEqual(smb.unheard, []);
    });

    test('need not answer if it caches reads alone', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'R' });
      await write('f');
      assert.equal(await smb.told(), 'R to none, unanswered');
      assert.equal(await stateOf(id), '');
      assert.equal(await smb.opens.acknowledge(id, ''), 'not breaking');
    });

    test('that has closed the file long ago and says so lets it be deleted', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RH', leaseKey: 'k', share: READS });
      const deleting = deleteFile(share.store.storage, patient('f'));
      assert.equal(await smb.told(), 'RH to R');
      await smb.opens.close(id);
      await deleting;
      assert.equal(await refusal(read('f')), 'ResourceNotFound');
      assert.equal(await usesCount(), 0);
    });

    test('that still uses the file keeps it, and its handle is cached no longer', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      const deleting = refusal(deleteFile(share.store.storage, patient('f')));
      assert.equal(await smb.told(), 'RWH to RW');
      await smb.opens.acknowledge(id, 'RW');
      assert.equal(await deleting, 'SharingViolation');
      assert.equal(await stateOf(id), 'RW');
      assert.equal(await refusal(share.delete('file', 'f')), 'SharingViolation');
      assert.deepEqual(smb.unheard, []);
    });

    test('that does not answer makes requests give up, and go on once it has', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(await refusal(share.read('f')), 'ClientCacheFlushDelay');
      assert.equal(await smb.told(), 'RWH to RH');
      assert.equal(await refusal(share.read('f')), 'ClientCacheFlushDelay');
      await smb.opens.acknowledge(id, 'R');
      await share.read('f');
      assert.deepEqual(smb.unheard, []);
    });

    test('that does not answer is given up for after a while', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      const opening = (smb === here ? there : here).open('f', { access: READS });
      assert.equal(await smb.told(), 'RWH to RH');
      cluster.clock.advance({ seconds: BREAK_LIMIT_MS / 1000 - 1 });
      await rest.store.beat();
      await elsewhere.store.beat();
      assert.equal(await stateOf(id), 'RWH');
      cluster.clock.advance({ seconds: 1 });
      await rest.store.beat();
      await elsewhere.store.beat();
      await opening;
      assert.equal(await stateOf(id), 'RH');
      assert.equal(await smb.opens.acknowledge(id, 'RH'), 'not breaking');
    });

    test('is asked for the rest after it has answered', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      const reading = read('f');
      assert.equal(await smb.told(), 'RWH to RH');
      const writing = write('f');
      assert.equal(await smb.opens.acknowledge(id, 'RWH'), 'too much');
      await smb.opens.acknowledge(id, 'RH');
      await Promise.all([reading, writing]);
      assert.equal(await smb.told(), 'RH to none');
    });

    test('with an oplock gives up more than one with a lease', async () => {
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH' });
      const reading = read('f');
      assert.equal(await smb.told(), 'RWH to R');
      await smb.opens.acknowledge(id, 'R');
      await reading;
    });

    test('has one cache for all its opens with one key, and hears of it once', async () => {
      const smb = client();
      const first = await smb.open('f', { caching: 'RH', leaseKey: 'k' });
      const second = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(second.caching, 'RWH');
      assert.equal(await stateOf(first.id), 'RWH');
      const reading = read('f');
      assert.equal(await smb.told(), 'RWH to RH');
      const third = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      assert.equal(third.caching, 'RWH');
      await smb.opens.acknowledge(third.id, 'RH');
      await reading;
      for (const { id } of [first, second, third]) assert.equal(await stateOf(id), 'RH');
      assert.deepEqual(smb.unheard, []);
    });

    test('hears with the next beat what word was lost of', async (t) => {
      keepAwake(t);
      const smb = client();
      const { id } = await smb.open('f', { caching: 'RWH', leaseKey: 'k' });
      for (const { line } of [rest, elsewhere]) line.isCut = true;
      assert.equal(await refusal(share.read('f')), 'ClientCacheFlushDelay');
      await turns(10);
      assert.deepEqual(smb.unheard, []);
      await rest.store.beat();
      await elsewhere.store.beat();
      assert.deepEqual(smb.unheard, ['RWH to RH']);
      // Whoever waits looks by itself.
      const reading = read('f');
      await turns(10);
      await smb.opens.acknowledge(id, 'RH');
      await reading;
    });

    test('keeps others from what it has locked', async () => {
      const smb = client();
      const { id } = await smb.open('f');
      await smb.opens.lock(id, [{ offsetBytes: 1n, lengthBytes: 2n, isExclusive: true }], { waitMs: 0 });
      assert.equal(await refusal(write('f')), 'FileLockConflict');
      assert.equal(await refusal(share.resize('f', 10)), 'FileLockConflict');
      assert.equal(await refusal(read('f')), 'FileLockConflict');
      const range = { firstOffsetBytes: 3, lastOffsetBytes: null };
      await getFile(share.store.storage, { ...patient('f'), range });
      const request = { ...share.requestOf('f'), headers: {}, lengthBytes: null, properties: NO_CHANGES };
      await setFileProperties(share.store.storage, request);
      assert.equal(await smb.opens.unlock(id, [{ offsetBytes: 1n, lengthBytes: 1n }]), false);
      assert.equal(await smb.opens.unlock(id, [{ offsetBytes: 1n, lengthBytes: 2n }]), true);
      await write('f');
      await read('f');
    });
  });
}

describe('locks', () => {
  const lock = { offsetBytes: 0n, lengthBytes: 10n, isExclusive: true };

  test('of two clients exclude each other, and one waits for the other if it wants to', async () => {
    const [a, b] = [await here.open('f'), await there.open('f')];
    await here.opens.lock(a.id, [lock], { waitMs: 0 });
    assert.equal(await refusal(there.opens.lock(b.id, [lock], { waitMs: 0 })), 'FileLockConflict');
    const locking = there.opens.lock(b.id, [lock], { waitMs: PATIENT_MS });
    await turns(10);
    await here.opens.unlock(a.id, [lock]);
    await locking;
    assert.equal(await refusal(here.opens.lock(a.id, [lock], { waitMs: 0 })), 'FileLockConflict');
  });

  test('go with their open, and whoever waits gets them', async () => {
    const [a, b] = [await here.open('f'), await there.open('f')];
    await here.opens.lock(a.id, [lock], { waitMs: 0 });
    const locking = there.opens.lock(b.id, [lock], { waitMs: PATIENT_MS });
    await turns(10);
    await here.opens.close(a.id);
    await locking;
    await there.opens.close(b.id);
    assert.equal(await usesCount(), 0);
  });

  test('of one request are all granted or none', async () => {
    const [a, b] = [await here.open('f'), await there.open('f')];
    await here.opens.lock(a.id, [lock], { waitMs: 0 });
    const apart = { ...lock, offsetBytes: 100n };
    assert.equal(await refusal(there.opens.lock(b.id, [apart, lock], { waitMs: 0 })), 'FileLockConflict');
    await here.opens.lock(a.id, [apart], { waitMs: 0 });
    assert.equal(
      await refusal(here.opens.lock(a.id, [{ ...lock, offsetBytes: 2n ** 64n }], { waitMs: 0 })),
      'InvalidRange',
    );
  });

  test('take from others what they cache', async () => {
    const a = await here.open('f', { caching: 'RWH', leaseKey: 'k' });
    here.answer = (openId, { to }) => void here.opens.acknowledge(openId, to);
    const b = await there.open('f');
    assert.equal(await here.told(), 'RWH to RH');
    await there.opens.lock(b.id, [lock], { waitMs: 0 });
    assert.equal(await here.told(), 'RH to none');
    assert.notEqual(a.id, b.id);
  });

  test('of what is closed are refused', async () => {
    const { id } = await here.open('f');
    await here.opens.close(id);
    await assert.rejects(here.opens.lock(id, [lock], { waitMs: 0 }), OpenClosed);
  });
});

describe('a mark for deletion', () => {
  const names = async (): Promise<string[]> => {
    const request = { ...share.requestOf(''), prefix: '', from: null, limit: 100 };
    return (await listEntries(share.store.storage, request)).entries.map(({ name }) => name);
  };

  test('hides the file from REST until it is taken back', async () => {
    const { id } = await there.open('f');
    await there.opens.markForDeletion(id, true);
    for (const act of [
      () => read('f'),
      () => write('f'),
      () => share.createFile('f', 1),
      () => share.delete('file', 'f'),
      () => getFileProperties(share.store.storage, share.requestOf('f')),
      () => share.rename('file', 'f', 'g'),
      () => here.open('f', { access: NO_ACCESS }),
    ]) {
      assert.equal(await refusal(act()), 'SMBDeletePending');
    }
    assert.deepEqual(await names(), []);
    await there.opens.markForDeletion(id, false);
    await read('f');
    assert.deepEqual(await names(), ['f']);
    await there.opens.close(id);
    await read('f');
  });

  test('is carried out when the last client closes, on whatever node', async () => {
    const [a, b] = [await here.open('f'), await there.open('f')];
    await here.opens.markForDeletion(a.id, true);
    await here.opens.close(a.id);
    assert.equal(await refusal(read('f')), 'SMBDeletePending');
    await there.opens.close(b.id);
    assert.equal(await refusal(read('f')), 'ResourceNotFound');
    assert.equal(await usesCount(), 0);
    const { shareId } = await address('');
    assert.equal(await usedBytes(cluster.engine.snapshot(), { account: share.name.account, shareId }), 0);
  });

  test('is made by the closing of an open that was made for it', async () => {
    const [a, b] = [await here.open('f', { deletesOnClose: true }), await there.open('f')];
    await read('f');
    await here.opens.close(a.id);
    assert.equal(await refusal(read('f')), 'SMBDeletePending');
    await there.opens.close(b.id);
    assert.equal(await refusal(read('f')), 'ResourceNotFound');
  });

  test('is refused for what is read-only, and for a directory that is not empty', async () => {
    const properties = { ...NO_CHANGES, attributes: READ_ONLY };
    await share.createFile('r', 1, { properties });
    assert.equal(await refusal(here.open('r', { access: READS | WRITES })), 'ReadOnlyAttribute');
    assert.equal(
      await refusal(here.open('r', { access: DELETES, deletesOnClose: true })),
      'CannotDeleteFileOrDirectory',
    );
    const file = await here.open('r', { access: DELETES });
    assert.equal(await refusal(here.opens.markForDeletion(file.id, true)), 'CannotDeleteFileOrDirectory');
    await share.createDirectory('d');
    await share.createFile('d/f', 1);
    const directory = await here.open('d');
    assert.equal(await refusal(here.opens.markForDeletion(directory.id, true)), 'DirectoryNotEmpty');
    const root = await here.open('');
    assert.equal(await refusal(here.opens.markForDeletion(root.id, true)), 'CannotDeleteFileOrDirectory');
  });

  test('keeps a directory from getting anything new, and is forgotten where it came too late', async () => {
    await share.createDirectory('d');
    const [a, b] = [await here.open('d', { deletesOnClose: true }), await there.open('d')];
    await there.opens.markForDeletion(b.id, true);
    assert.equal(await refusal(share.createFile('d/f', 1)), 'SMBDeletePending');
    assert.equal(await refusal(share.createDirectory('d/e')), 'SMBDeletePending');
    await there.opens.markForDeletion(b.id, false);
    await share.createFile('d/f', 1);
    await here.opens.close(a.id);
    await there.opens.close(b.id);
    await share.read('d/f');
  });

  test('takes from others the handles that they cache', async () => {
    const a = await here.open('f', { caching: 'RH', leaseKey: 'k' });
    const b = await there.open('f');
    const marking = there.opens.markForDeletion(b.id, true);
    assert.equal(await here.told(), 'RH to R');
    await here.opens.close(a.id);
    await marking;
    await there.opens.close(b.id);
    assert.equal(await refusal(read('f')), 'ResourceNotFound');
  });

  test('outlives a share that is gone without harm', async () => {
    const { id } = await here.open('f', { deletesOnClose: true });
    await share.store.storage.engine.commit({
      checks: [],
      puts: [],
      deletes: [Buffer.from(`s${share.name.account}\0${share.name.share}`)],
    });
    await here.opens.close(id);
  });
});

describe('a REST lease', () => {
  const acquire = { action: 'acquire', proposedId: null, freshId: 'l', durationSeconds: -1 } as const;
  const lease = () => leaseFile(share.store.storage, { ...patient('f'), action: acquire });

  test('lets SMB clients read and look, and nothing more, until it is broken', async () => {
    await lease();
    for (const access of [WRITES, DELETES, READS | WRITES, READS | DELETES, WRITES | DELETES, ALL_ACCESS]) {
      assert.equal(await refusal(here.open('f', { access })), 'SharingViolation');
    }
    assert.equal(await refusal(here.open('f', { access: READS, overwrites: true })), 'SharingViolation');
    await here.open('f', { access: NO_ACCESS });
    const { caching } = await here.open('f', { access: READS, caching: 'RWH', leaseKey: 'k' });
    assert.equal(caching, 'RH');
    await leaseFile(share.store.storage, { ...patient('f'), action: { action: 'break', periodSeconds: null } });
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

describe('what is open in a snapshot', () => {
  test('locks nothing', async () => {
    const snapshot = await share.snapshot();
    const opened = await here.open('f', { access: READS, share: NO_ACCESS, caching: 'RWH', leaseKey: 'k', snapshot });
    assert.equal(opened.caching, '');
    await write('f');
    await share.read('f', snapshot);
    await here.opens.close(opened.id);
    assert.equal(await usesCount(), 0);
  });

  test('is read though the file is locked', async () => {
    const snapshot = await share.snapshot();
    await here.open('f', { share: NO_ACCESS });
    assert.equal(await refusal(share.read('f')), 'SharingViolation');
    assert.deepEqual(await share.read('f', snapshot), HELLO);
  });
});

describe('a node that dies', () => {
  /** The engine forgets what the node wrote. */
  async function forgetOpensOf(owner: string): Promise<void> {
    const { shareId } = await address('');
    const snapshot = cluster.engine.snapshot();
    const entries = await snapshot.range(shareUsesRange(shareId), { limit: 1_000 });
    snapshot.close();
    const deletes = entries
      .filter(({ value }) => Buffer.from(value).includes(`"owner":"${owner}"`))
      .map(({ key }) => key);
    assert.ok(deletes.length > 0);
    await cluster.engine.commit({ checks: [], puts: [], deletes });
  }

  test('locks nothing any more, and whoever waited goes on', async (t) => {
    keepAwake(t);
    await there.open('f', { caching: 'RWH', leaseKey: 'k' });
    const reading = read('f');
    assert.equal(await there.told(), 'RWH to RH');
    await forgetOpensOf(there.opens.owner);
    await reading;
  });

  test('and lives after all closes what the engine has forgotten', async () => {
    const { id } = await there.open('f');
    await forgetOpensOf(there.opens.owner);
    await elsewhere.store.beat();
    assert.equal(await there.told(), 'closed');
    await assert.rejects(async () => there.opens.unlock(id, []), OpenClosed);
    await there.opens.close(id);
  });

  test('with the last open leaves a deletion to the node that marked it', async () => {
    const a = await here.open('f');
    await there.open('f');
    await here.opens.markForDeletion(a.id, true);
    await here.opens.close(a.id);
    await rest.store.beat();
    assert.equal(await refusal(read('f')), 'SMBDeletePending');
    await forgetOpensOf(there.opens.owner);
    await rest.store.beat();
    assert.equal(await refusal(read('f')), 'ResourceNotFound');
    assert.equal(await usesCount(), 0);
  });
});

describe('a commit of which nobody knows whether it took effect', () => {
  function failOnceCommitted(): void {
    rest.hooks.before = ({ what }) => {
      if (what !== 'committed') return;
      rest.hooks.clear();
      throw new EngineUnavailable('lost');
    };
  }

  test('leaves no open behind', async () => {
    failOnceCommitted();
    await assert.rejects(here.open('f', { share: NO_ACCESS }), EngineUnavailable);
    assert.equal(await refusal(read('f')), 'SharingViolation');
    await rest.store.beat();
    await read('f');
  });

  test('closes in the end what was to be closed', async () => {
    const { id } = await here.open('f', { deletesOnClose: true });
    rest.hooks.before = ({ what }) => {
      if (what !== 'commit') return;
      rest.hooks.clear();
      throw new EngineUnavailable('lost');
    };
    await assert.rejects(here.opens.close(id), EngineUnavailable);
    await read('f');
    await rest.store.beat();
    assert.equal(await refusal(read('f')), 'ResourceNotFound');
  });
});

test('a request that waits is sent away when its node stops', async () => {
  await there.open('f', { caching: 'RWH', leaseKey: 'k' });
  const reading = refusal(read('f'));
  assert.equal(await there.told(), 'RWH to RH');
  await rest.store.storage.opens.stop();
  assert.equal(await reading, 'ServerBusy');
});

test('a request waits no longer than it said, by the clock', async (t) => {
  keepAwake(t);
  await there.open('f', { caching: 'RWH', leaseKey: 'k' });
  const reading = refusal(read('f'));
  assert.equal(await there.told(), 'RWH to RH');
  cluster.clock.advance({ seconds: PATIENT_MS / 1000 });
  assert.equal(await reading, 'ClientCacheFlushDelay');
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

  test('has one winner on disk', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'larimar-opens-'));
    const engine = await openLmdbEngine({ folder });
    const onDisk = await TestShare.create({ engine });
    await race(onDisk, new SmbClient(onDisk.store.storage, onDisk.name));
    await onDisk.store.close();
    await engine.close();
    await rm(folder, { recursive: true });
  });
});
