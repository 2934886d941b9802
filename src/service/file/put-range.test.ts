import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CountedEngine } from '../../../test/harness/counted-engine.ts';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { bodyOf } from '../../../test/harness/store.ts';
import { ManualClock } from '../../base/clock.ts';
import { openMemoryEngine } from '../../engine/memory/memory-engine.ts';
import { ARCHIVE, READ_ONLY } from '../../rules/file-attributes.ts';
import { fileTimeAt } from '../../rules/file-time.ts';
import { StorageError } from '../storage-error.ts';
import { NO_CHANGES } from './properties.ts';
import { putRange } from './put-range.ts';

const LEASE_ID = '00000000-0000-4000-8000-000000000001';

/** A short body rides in the commit, a long one goes to the content store first: both are judged alike. */
for (const lengthBytes of [10, 20_000]) {
  describe(`a write of ${lengthBytes} bytes`, () => {
    for (const [what, path, offsetBytes, leaseId, want] of [
      ['to nothing', 'nothing', 0, null, 'ResourceNotFound'],
      ['to a directory', 'dir', 0, null, 'ResourceTypeMismatch'],
      ['to the root', '', 0, null, 'ResourceTypeMismatch'],
      [
        'with a lease id where there is no lease, behind the end',
        'file',
        50_001,
        LEASE_ID,
        'LeaseNotPresentWithFileOperation',
      ],
      ['to what is read-only, behind the end', 'read-only', 50_001, null, 'ReadOnlyAttribute'],
      ['over the end', 'file', 50_001 - lengthBytes, null, 'InvalidRange'],
      ['up to the end', 'file', 50_000 - lengthBytes, null, null],
    ] as const) {
      test(`${what} gets ${want}, and leaves nothing unless it is done`, async () => {
        const share = await TestShare.create();
        await share.createDirectory('dir');
        await share.createFile('file', 50_000);
        const properties = { ...NO_CHANGES, attributes: READ_ONLY | ARCHIVE };
        await share.createFile('read-only', 50_000, { properties });
        assert.equal(await refusal(share.write(path, offsetBytes, Buffer.alloc(lengthBytes), { leaseId })), want);
        const { extentCount } = await share.store.content.strays((async function* () {})());
        assert.equal(extentCount, want === null && lengthBytes > 10 ? 1 : 0);
      });
    }
  });
}

test('a range over the end is refused with the length that the file has', async () => {
  const share = await TestShare.create();
  await share.createFile('file', 1_000);
  for (const act of [() => share.write('file', 999, Buffer.alloc(2)), () => share.clear('file', 999, 2)]) {
    await assert.rejects(act(), (error: unknown) => {
      assert.ok(error instanceof StorageError);
      assert.deepEqual([error.code, error.details.headers], ['InvalidRange', { 'Content-Range': 'bytes */1000' }]);
      return true;
    });
  }
});

test('a write moves the time of the last write, unless it is told to keep it; a clear does so as well', async () => {
  const clock = new ManualClock();
  const share = await TestShare.create({ clock });
  const { writtenAt: before } = await share.createFile('file', 1_000);
  const range = { offsetBytes: 0, lengthBytes: 4 };
  for (const body of [bodyOf(Buffer.from('text')), null]) {
    clock.advance({ seconds: 1 });
    const kept = await putRange(share.store.storage, { ...share.requestOf('file'), range, body, keepsWriteTime: true });
    const { writtenAt: keptAt, changedAt } = kept.node;
    assert.equal(changedAt, fileTimeAt(clock.nowMs()));
    if (body !== null) assert.equal(keptAt, before);
    const moved = await putRange(share.store.storage, {
      ...share.requestOf('file'),
      range,
      body,
      keepsWriteTime: false,
    });
    assert.equal(moved.node.writtenAt, fileTimeAt(clock.nowMs()));
    assert.equal(moved.md5 === null, body === null);
  }
});

test('writes to different pages of one file, many at once, are all there', async () => {
  const share = await TestShare.create();
  await share.createFile('file', 64 * 1_024);
  await Promise.all(
    Array.from({ length: 32 }, (_, index) => share.write('file', index * 2_048 + 7, Buffer.alloc(1_500, index + 1))),
  );
  const bytes = await share.read('file');
  for (let index = 0; index < 32; index++) {
    const at = index * 2_048 + 7;
    assert.ok(bytes.subarray(at, at + 1_500).every((byte) => byte === index + 1));
  }
});

test('a write keeps what does not concern it, and says since when the content is no other', async () => {
  const share = await TestShare.create();
  const before = await share.createFile('file', 1_000, { metadata: [['colour', 'blue']] });
  const after = await share.write('file', 3, Buffer.from('text'));
  assert.deepEqual([after.id, after.metadata, after.lengthBytes], [before.id, before.metadata, before.lengthBytes]);
  assert.equal(after.contentSince, before.contentSince);
  assert.ok(after.etag > before.etag);
});

test('a write costs the same in a file of one page and in the midst of one of terabytes, whatever else is in it', async () => {
  const engine = new CountedEngine(openMemoryEngine());
  const share = await TestShare.create({ engine });
  const CHUNK_BYTES = 256 * 1024;
  const bytes = Buffer.alloc(4096, 'x');
  await share.createFile('small', 4096);
  await share.createFile('large', 3 * 1024 ** 4);
  for (let chunk = 0; chunk < 300; chunk++) await share.write('large', chunk * 7 * CHUNK_BYTES, bytes);
  const costs = [];
  for (const [path, offsetBytes] of [
    ['small', 0],
    ['large', 150 * 7 * CHUNK_BYTES],
  ] as const) {
    await share.write(path, offsetBytes, bytes);
    costs.push(await engine.costOf(() => share.write(path, offsetBytes, bytes)));
  }
  const [small, large] = costs.map((cost) => ({ ...cost, bytesRead: 0, bytesWritten: 0 }));
  assert.deepEqual(large, small);
  assert.ok(Math.abs((costs[1]?.bytesWritten as number) - (costs[0]?.bytesWritten as number)) < 100);
});
