import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { refusal, type TestShare } from '../../../../test/harness/file-store.ts';
import { turns } from '../../../../test/harness/parallel.ts';
import { type SmbClient } from '../../../../test/harness/smb-client.ts';
import { PATIENT_MS, TwoNodes } from '../../../../test/harness/two-nodes.ts';
import { getFile } from '../get-file.ts';
import { NO_CHANGES } from '../properties.ts';
import { setFileProperties } from '../set-file.ts';
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
    test('keeps others from what it has locked', async () => {
      const smb = client();
      const { id } = await smb.open('f');
      await smb.opens.lock(id, [{ offsetBytes: 1n, lengthBytes: 2n, isExclusive: true }], { waitMs: 0 });
      assert.equal(await refusal(nodes.write('f')), 'FileLockConflict');
      assert.equal(await refusal(share.resize('f', 10)), 'FileLockConflict');
      assert.equal(await refusal(nodes.read('f')), 'FileLockConflict');
      const range = { firstOffsetBytes: 3, lastOffsetBytes: null };
      await getFile(share.store.storage, { ...nodes.patient('f'), range });
      const request = { ...share.requestOf('f'), headers: {}, lengthBytes: null, properties: NO_CHANGES };
      await setFileProperties(share.store.storage, request);
      assert.equal(await smb.opens.unlock(id, [{ offsetBytes: 1n, lengthBytes: 1n }]), false);
      assert.equal(await smb.opens.unlock(id, [{ offsetBytes: 1n, lengthBytes: 2n }]), true);
      await nodes.write('f');
      await nodes.read('f');
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
    assert.equal(await nodes.usesCount(), 0);
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
