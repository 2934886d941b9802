import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { usedBytes } from './usage.ts';
import { lookUpShare } from './use-share.ts';

const GIB = 1024 ** 3;
const TIB = 1024 ** 4;

async function used(share: TestShare): Promise<number> {
  const { id } = (await lookUpShare(share.store.storage, share.name)) as { id: string };
  const snapshot = share.store.engine.snapshot();
  return usedBytes(snapshot, { account: share.name.account, shareId: id }).finally(() => snapshot.close());
}

test('the bytes of all files are counted, as they are created, resized, overwritten, replaced and deleted', async () => {
  const share = await TestShare.create();
  await share.createDirectory('dir');
  await share.createFile('a', 1_000);
  await share.createFile('dir/b', 4 * TIB);
  assert.equal(await used(share), 4 * TIB + 1_000);
  await share.write('a', 0, Buffer.alloc(500));
  await share.clear('a', 0, 1_000);
  assert.equal(await used(share), 4 * TIB + 1_000);
  await share.resize('dir/b', 10);
  assert.equal(await used(share), 1_010);
  await share.createFile('a', Buffer.from('abc'));
  assert.equal(await used(share), 13);
  await share.rename('file', 'dir/b', 'a', { replaces: true });
  assert.equal(await used(share), 10);
  await share.snapshot();
  await share.delete('file', 'a');
  assert.equal(await used(share), 0);
});

describe('the quota', () => {
  test('is what files may have together, to the byte', async () => {
    const share = await TestShare.create({}, { quotaGiB: 1 });
    await share.createFile('a', GIB - 10);
    assert.equal(await refusal(share.createFile('b', 11)), 'ShareSizeLimitReached');
    await share.createFile('b', 10);
    assert.equal(await refusal(share.resize('a', GIB)), 'ShareSizeLimitReached');
    await share.createFile('c', 0);
    await share.resize('a', GIB - 11);
    await share.createFile('c', 1);
    assert.equal(await refusal(share.createFile('c', 2)), 'ShareSizeLimitReached');
    assert.equal(await used(share), GIB);
  });

  test('does not hinder those who shrink or write where they are', async () => {
    const share = await TestShare.create({}, { quotaGiB: 1 });
    await share.createFile('a', GIB);
    await share.write('a', 0, Buffer.from('text'));
    await share.resize('a', GIB - 1);
    await share.delete('file', 'a');
    assert.equal(await used(share), 0);
  });

  for (const quotaGiB of [1, 65]) {
    test(`of ${quotaGiB} GiB is not exceeded by many who create files at once`, async () => {
      const share = await TestShare.create({}, { quotaGiB });
      const before = quotaGiB * GIB - 100;
      await share.createFile('before', before);
      const codes = await Promise.all(
        Array.from({ length: 32 }, (_, index) => refusal(share.createFile(`f${index}`, 10))),
      );
      assert.equal(codes.filter((code) => code === null).length, 10);
      assert.equal(codes.filter((code) => code === 'ShareSizeLimitReached').length, 22);
      assert.equal(await used(share), quotaGiB * GIB);
    });
  }
});

test('far from the quota, creating a file depends on the count of nobody else', async () => {
  const engine = new CountedEngine(openMemoryEngine());
  const share = await TestShare.create({ engine });
  for (const name of ['warm', 'warmer']) await share.createFile(name, 10);
  const few = await engine.costOf(() => share.createFile('a', 10));
  await Promise.all(Array.from({ length: 64 }, (_, index) => share.createFile(`f${index}`, 10)));
  const many = await engine.costOf(() => share.createFile('b', 10));
  assert.equal(many.checks, few.checks);
  assert.equal(await used(share), 68 * 10);
});
