import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type FileOptions, refusal, TestShare } from '../../../test/harness/file-store.ts';
import { bodyOf } from '../../../test/harness/store.ts';
import { pendingCopy } from '../../rules/copy.ts';
import { ARCHIVE, READ_ONLY } from '../../rules/file-attributes.ts';
import type { FileRecord } from '../records/node-record.ts';
import { changeFile } from './change-file.ts';
import { createFile } from './create-file.ts';
import { getFileProperties } from './get-file.ts';
import { leaseFile } from './lease-file.ts';
import { NO_CHANGES } from './properties.ts';

const LEASE_ID = '00000000-0000-4000-8000-000000000001';
const OTHER_ID = '00000000-0000-4000-8000-000000000002';

async function lease(share: TestShare, path: string): Promise<void> {
  const action = { action: 'acquire', proposedId: LEASE_ID, freshId: OTHER_ID, durationSeconds: -1 } as const;
  await leaseFile(share.store.storage, { ...share.requestOf(path), action });
}

const readOnly: FileOptions = { properties: { ...NO_CHANGES, attributes: READ_ONLY | ARCHIVE } };

/** In order of precedence: each is also all that stands below it. */
for (const [what, path, leaseId, want] of [
  ['the root', '', OTHER_ID, 'ResourceTypeMismatch'],
  ['a directory', 'dir', OTHER_ID, 'ResourceTypeMismatch'],
  ['something in a file', 'plain/new', OTHER_ID, 'ParentNotFound'],
  ['something in a directory that is not there', 'nothing/new', OTHER_ID, 'ParentNotFound'],
  ['a new file with a lease id', 'new', OTHER_ID, 'LeaseNotPresentWithFileOperation'],
  ['a file that is not leased with a lease id', 'plain', OTHER_ID, 'LeaseNotPresentWithFileOperation'],
  ['a leased read-only file without its id', 'leased', null, 'LeaseIdMissing'],
  ['a leased read-only file with another id', 'leased', OTHER_ID, 'LeaseIdMismatchWithFileOperation'],
  ['a leased read-only file with its id', 'leased', LEASE_ID, 'ReadOnlyAttribute'],
  ['a file that is being copied into', 'pending', null, 'PendingCopyOperation'],
  ['a new file', 'dir/new', null, null],
  ['a file', 'PLAIN', null, null],
] as const) {
  test(`creating ${what} gets ${want}`, async () => {
    const share = await TestShare.create();
    const { storage } = share.store;
    await share.createDirectory('dir');
    await share.createFile('plain', 3);
    await share.createFile('leased', 3, readOnly);
    await lease(share, 'leased');
    await share.createFile('pending', 3);
    const copy = pendingCopy({ id: OTHER_ID, source: 'http://127.0.0.1/', lengthBytes: 3 });
    const change = { operation: 'set properties', change: (file: FileRecord) => ({ ...file, copy }) } as const;
    await changeFile(storage, share.requestOf('pending'), change);
    assert.equal(await refusal(share.createFile(path, 5, { leaseId })), want);
  });
}

describe('a file that is created over another', () => {
  test('has its id, its lease and its name, and all else anew', async () => {
    const share = await TestShare.create();
    const before = await share.createFile('Name', Buffer.from('before'), { metadata: [['colour', 'blue']] });
    await lease(share, 'name');
    const after = await share.createFile('NAME', 10, { leaseId: LEASE_ID });
    assert.deepEqual([after.id, after.name], [before.id, before.name]);
    assert.deepEqual([after.metadata, after.lengthBytes, after.content], [[], 10, { kind: 'empty' }]);
    assert.equal(after.lease.state, 'leased');
    assert.ok(after.etag > before.etag);
    assert.equal(after.contentSince, after.etag);
    assert.deepEqual(await share.read('name'), Buffer.alloc(10));
  });

  test('has no copy any more', async () => {
    const share = await TestShare.create();
    await share.createFile('file', 3);
    const copy = { ...pendingCopy({ id: OTHER_ID, source: 'x', lengthBytes: 3 }), status: 'success' as const };
    const change = { operation: 'set properties', change: (file: FileRecord) => ({ ...file, copy }) } as const;
    await changeFile(share.store.storage, share.requestOf('file'), change);
    assert.equal((await share.createFile('file', 3)).copy, undefined);
  });
});

describe('a body', () => {
  for (const [lengthBytes, bodyBytes] of [
    [0, 0],
    [10, 0],
    [10, 3],
    [512, 512],
    [20_000, 700],
    [300_000, 20_001],
  ] as const) {
    test(`of ${bodyBytes} bytes is what a file of ${lengthBytes} begins with`, async () => {
      const share = await TestShare.create();
      const bytes = Buffer.alloc(bodyBytes, 'body');
      const rest = { lengthBytes, headers: {}, metadata: [], properties: NO_CHANGES, body: bodyOf(bytes) };
      const { md5 } = await createFile(share.store.storage, { ...share.requestOf('file'), ...rest });
      assert.equal(md5 === null, bodyBytes === 0);
      assert.ok((await share.read('file')).equals(Buffer.concat([bytes, Buffer.alloc(lengthBytes - bodyBytes)])));
    });
  }

  test('of a file that is refused leaves nothing', async () => {
    const share = await TestShare.create();
    await share.createDirectory('dir');
    const code = await refusal(share.createFile('dir', Buffer.alloc(20_000)));
    assert.equal(code, 'ResourceTypeMismatch');
    const { extentCount } = await share.store.content.strays((async function* () {})());
    assert.equal(extentCount, 0);
  });
});

test('many who create one file at once leave one of them, whole', async () => {
  const share = await TestShare.create();
  const bodies = Array.from({ length: 16 }, (_, index) => Buffer.alloc(700 + index, 'a'.charCodeAt(0) + index));
  await Promise.all(bodies.map((body) => share.createFile('file', body)));
  const bytes = await share.read('file');
  assert.ok(bodies.some((body) => body.equals(bytes)));
  const { node } = await getFileProperties(share.store.storage, share.requestOf('file'));
  assert.equal(node.lengthBytes, bytes.length);
});
