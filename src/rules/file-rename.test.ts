import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from './error-code.ts';
import { type RenameSituation, type Replaced, refuseRename } from './file-rename.ts';
import { AVAILABLE, INFINITE_SECONDS, type Lease } from './lease.ts';

const A = 'aaaaaaaa-0000-0000-0000-000000000000';
const B = 'bbbbbbbb-0000-0000-0000-000000000000';
const leased = (id: string): Lease => ({ state: 'leased', id, durationSeconds: INFINITE_SECONDS, expiresAtMs: null });

const FREE: RenameSituation = {
  kind: 'file',
  lease: AVAILABLE,
  leaseId: null,
  isCopyPending: false,
  isIntoItself: false,
  replaced: null,
  replacedLeaseId: null,
  replaces: false,
  ignoresReadOnly: false,
};
const FILE: Replaced = { kind: 'file', lease: AVAILABLE, isReadOnly: false, isCopyPending: false };
const DIRECTORY: Replaced = { ...FILE, kind: 'directory' };

/** Each has all the faults of those below it. */
const LAST = { isCopyPending: true, replaced: { ...FILE, isReadOnly: true, lease: leased(B), isCopyPending: true } };

for (const [what, situation, want] of [
  ['into itself', { ...LAST, kind: 'directory', isIntoItself: true, lease: leased(A) }, 'InvalidInput'],
  ['onto a file', { ...LAST, lease: leased(A) }, 'ResourceAlreadyExists'],
  ['onto a directory', { replaced: DIRECTORY }, 'ResourceAlreadyExists'],
  ['of a file onto a directory, to replace it', { replaced: DIRECTORY, replaces: true }, 'ResourceTypeMismatch'],
  [
    'of a directory onto a directory, to replace it',
    { kind: 'directory', replaced: DIRECTORY, replaces: true },
    'ResourceAlreadyExists',
  ],
  ['without the lease id', { ...LAST, replaces: true, lease: leased(A) }, 'LeaseIdMissing'],
  [
    'with another lease id',
    { ...LAST, replaces: true, lease: leased(A), leaseId: B },
    'LeaseIdMismatchWithFileOperation',
  ],
  ['with a lease id that nothing has', { leaseId: A }, 'LeaseNotPresentWithFileOperation'],
  ['without the lease id of what it replaces', { ...LAST, replaces: true }, 'LeaseIdMissing'],
  [
    'with another lease id for what it replaces',
    { ...LAST, replaces: true, replacedLeaseId: A },
    'LeaseIdMismatchWithFileOperation',
  ],
  ['with a lease id for what is not there', { replacedLeaseId: A }, 'LeaseNotPresentWithFileOperation'],
  ['onto a read-only file', { ...LAST, replaces: true, replacedLeaseId: B }, 'ReadOnlyAttribute'],
  [
    'onto what is being copied to',
    { ...LAST, isCopyPending: false, replaces: true, replacedLeaseId: B, ignoresReadOnly: true },
    'PendingCopyOperation',
  ],
  ['of what is being copied to', { isCopyPending: true }, 'PendingCopyOperation'],
  ['to a name that is free', {}, null],
  ['with the lease id', { lease: leased(A), leaseId: A }, null],
  ['that replaces a file', { replaced: FILE, replaces: true }, null],
  ['of a directory that replaces a file', { kind: 'directory', replaced: FILE, replaces: true }, null],
  [
    'that may replace a read-only file',
    { replaced: { ...FILE, isReadOnly: true }, replaces: true, ignoresReadOnly: true },
    null,
  ],
] as readonly (readonly [string, Partial<RenameSituation>, ErrorCode | null])[]) {
  test(`a rename ${what} ${want === null ? 'is allowed' : `gets ${want}`}`, () => {
    assert.equal(refuseRename({ ...FREE, ...situation }), want);
  });
}
