import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, TestShare } from '../../../test/harness/file-store.ts';
import { pendingCopy } from '../../rules/copy.ts';
import { ARCHIVE, READ_ONLY } from '../../rules/file-attributes.ts';
import type { FileRecord } from '../records/node-record.ts';
import { changeFile, type FileChange } from './change-file.ts';
import { leaseFile } from './lease-file.ts';
import { NO_CHANGES } from './properties.ts';

const LEASE_ID = '00000000-0000-4000-8000-000000000001';
const OTHER_ID = '00000000-0000-4000-8000-000000000002';

const NOTHING: FileChange = { operation: 'set properties', change: (file) => file };
const COPY = pendingCopy({ id: OTHER_ID, source: 'http://127.0.0.1/', lengthBytes: 3 });

async function withFiles(): Promise<TestShare> {
  const share = await TestShare.create();
  const { storage } = share.store;
  await share.createDirectory('dir');
  await share.createFile('plain', 3);
  const properties = { ...NO_CHANGES, attributes: READ_ONLY | ARCHIVE };
  for (const name of ['read-only', 'leased']) await share.createFile(name, 3, { properties });
  const action = { action: 'acquire', proposedId: LEASE_ID, freshId: OTHER_ID, durationSeconds: -1 } as const;
  await leaseFile(storage, { ...share.requestOf('leased'), action });
  await share.createFile('pending', 3);
  await changeFile(storage, share.requestOf('pending'), { ...NOTHING, change: (file) => ({ ...file, copy: COPY }) });
  return share;
}

/** In order of precedence. */
for (const [what, path, leaseId, want] of [
  ['something in a directory that is not there', 'nothing/x', OTHER_ID, 'ParentNotFound'],
  ['nothing', 'nothing', OTHER_ID, 'ResourceNotFound'],
  ['a directory', 'dir', OTHER_ID, 'ResourceTypeMismatch'],
  ['a file that is not leased, with a lease id', 'plain', OTHER_ID, 'LeaseNotPresentWithFileOperation'],
  ['a leased read-only file without its id', 'leased', null, 'LeaseIdMissing'],
  ['a leased read-only file with another id', 'leased', OTHER_ID, 'LeaseIdMismatchWithFileOperation'],
  ['a leased read-only file with its id', 'leased', LEASE_ID, 'ReadOnlyAttribute'],
  ['a read-only file', 'read-only', null, 'ReadOnlyAttribute'],
  ['a file that is being copied into', 'pending', null, 'PendingCopyOperation'],
  ['a file', 'plain', null, null],
] as const) {
  test(`a change of ${what} gets ${want}`, async () => {
    const share = await withFiles();
    assert.equal(await refusal(changeFile(share.store.storage, share.requestOf(path, { leaseId }), NOTHING)), want);
  });
}

describe('whoever takes the mark of read-only off a file', () => {
  for (const [attributes, want] of [
    [ARCHIVE, null],
    [0, null],
    [READ_ONLY, 'ReadOnlyAttribute'],
    [null, 'ReadOnlyAttribute'],
  ] as const) {
    test(`by setting its attributes to ${attributes} gets ${want}`, async () => {
      const share = await withFiles();
      const properties = { ...NO_CHANGES, attributes };
      const change = { ...NOTHING, properties };
      assert.equal(await refusal(changeFile(share.store.storage, share.requestOf('read-only'), change)), want);
    });
  }
});

test('a change frees a file from a broken lease', async () => {
  const share = await withFiles();
  const { storage } = share.store;
  const request = share.requestOf('plain');
  const action = { action: 'acquire', proposedId: LEASE_ID, freshId: OTHER_ID, durationSeconds: -1 } as const;
  await leaseFile(storage, { ...request, action });
  await leaseFile(storage, { ...request, action: { action: 'break', periodSeconds: null } });
  assert.equal((await changeFile(storage, request, NOTHING)).node.lease.state, 'available');
});

function refuseToday(): never {
  throw new Error('not today');
}

test('what a change throws is thrown, and nothing is changed', async () => {
  const share = await withFiles();
  const { storage } = share.store;
  const before = await share.store.records();
  await assert.rejects(changeFile(storage, share.requestOf('plain'), { ...NOTHING, change: refuseToday }), /not today/);
  assert.deepEqual(await share.store.records(), before);
});

const count = (file: FileRecord): number => Number(new Map(file.metadata).get('count') ?? 0);

const countUp = (file: FileRecord): FileRecord => ({ ...file, metadata: [['count', String(count(file) + 1)]] });

test('changes of one file by many at once all happen', async () => {
  const share = await withFiles();
  const { storage } = share.store;
  const changed = await Promise.all(
    Array.from({ length: 32 }, () => changeFile(storage, share.requestOf('plain'), { ...NOTHING, change: countUp })),
  );
  assert.equal(Math.max(...changed.map(({ node }) => count(node))), 32);
  assert.equal(new Set(changed.map(({ node }) => node.etag)).size, 32);
});
