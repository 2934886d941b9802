import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type InUse, NOT_IN_USE, type OpenUse, type Verdict } from './in-use.ts';
import { ALL_ACCESS, DELETES, NO_ACCESS, READS, WRITES } from './share-mode.ts';
import {
  DENIED,
  judgeBelow,
  judgeNewDirectory,
  judgeReplaced,
  refuseSmbRename,
  type SmbRename,
  type SmbReplaced,
} from './smb-rename.ts';

const FREE: SmbRename = {
  kind: 'file',
  isRoot: false,
  isPending: false,
  isCopyPending: false,
  isIntoItself: false,
  replaced: null,
  replaces: false,
  ignoresReadOnly: false,
};
const FILE: SmbReplaced = { kind: 'file', isReadOnly: false, isLeased: false, isCopyPending: false };

/** Each has all the faults of those below it. */
const WORST: SmbReplaced = { kind: 'directory', isReadOnly: true, isLeased: true, isCopyPending: true };
const LAST = { isCopyPending: true, replaced: { ...WORST, kind: 'file' } } as const;

describe('what a rename is refused for, first things first', () => {
  for (const [what, situation, want] of [
    ['of the root', { ...LAST, isRoot: true, isIntoItself: true }, DENIED],
    ['of what is marked for deletion', { ...LAST, isPending: true, isIntoItself: true }, DENIED],
    ['into itself', { ...LAST, kind: 'directory', isIntoItself: true }, 'InvalidInput'],
    ['onto a directory', { isCopyPending: true, replaced: WORST }, 'ResourceAlreadyExists'],
    ['onto a file', LAST, 'ResourceAlreadyExists'],
    ['onto a directory, to replace it', { replaced: { ...FILE, kind: 'directory' }, replaces: true }, DENIED],
    ['of a directory onto a file, to replace it', { kind: 'directory', replaced: FILE, replaces: true }, DENIED],
    ['onto a read-only file', { ...LAST, replaces: true }, DENIED],
    ['onto a leased file', { ...LAST, replaces: true, ignoresReadOnly: true }, 'SharingViolation'],
    [
      'onto what is being copied to',
      { replaces: true, replaced: { ...FILE, isCopyPending: true } },
      'PendingCopyOperation',
    ],
    ['of what is being copied to', { isCopyPending: true }, 'PendingCopyOperation'],
    ['onto a file, to replace it', { replaces: true, replaced: FILE }, null],
    [
      'onto a read-only file, whatever',
      { replaces: true, ignoresReadOnly: true, replaced: { ...FILE, isReadOnly: true } },
      null,
    ],
    ['of a directory to a free name', { kind: 'directory', replaces: true }, null],
    ['to a free name', {}, null],
  ] as const) {
    test(`a rename ${what}: ${want ?? 'none'}`, () => {
      assert.equal(refuseSmbRename({ ...FREE, ...situation }), want);
    });
  }
});

function usedBy(...opens: Partial<OpenUse>[]): InUse {
  return {
    ...NOT_IN_USE,
    opens: opens.map((open, index) => ({
      id: String(index),
      access: READS,
      share: ALL_ACCESS,
      caching: '',
      style: 'lease',
      cacheKey: String(index),
      breakingTo: null,
      ...open,
    })),
  };
}

const shortOf = (verdict: Verdict): string =>
  verdict.verdict === 'refused'
    ? verdict.code
    : [verdict.verdict, ...verdict.breaks.map(({ openId, to }) => `${openId} to ${to || 'none'}`)].join(' ');

describe('the directory that gets the name', () => {
  for (const [what, inUse, want] of [
    ['that nobody has open', NOT_IN_USE, 'admitted'],
    ['that is marked for deletion', { ...usedBy({ access: DELETES }), isPending: true }, 'SMBDeletePending'],
    ['open to be written, and shared', usedBy({ access: READS | WRITES }), 'admitted'],
    ['open to be deleted, and shared', usedBy({ access: ALL_ACCESS }), 'SharingViolation'],
    ['open to be deleted, and not shared', usedBy({ access: ALL_ACCESS, share: NO_ACCESS }), 'SharingViolation'],
    ['open to be read, and not shared', usedBy({ share: NO_ACCESS }), 'SharingViolation'],
    [
      'open to be read, and shared with those who read and delete',
      usedBy({ share: READS | DELETES }),
      'SharingViolation',
    ],
    ['looked at, and not shared', usedBy({ access: NO_ACCESS, share: NO_ACCESS }), 'admitted'],
  ] as const) {
    test(`${what}: ${want}`, () => assert.equal(shortOf(judgeNewDirectory(inUse)), want));
  }
});

describe('what gives way', () => {
  for (const [what, inUse, want] of [
    ['that nobody has open', NOT_IN_USE, 'admitted'],
    ['that is marked for deletion', { ...NOT_IN_USE, isPending: true }, DENIED],
    ['that is looked at', usedBy({ access: NO_ACCESS }), DENIED],
    ['that a client keeps a handle of', usedBy({ caching: 'RH' }), 'waits 0 to R'],
    ['that a client keeps a handle of, and was asked for', usedBy({ caching: 'RWH', breakingTo: 'RW' }), 'waits'],
    ['that one keeps a handle of, and another uses', usedBy({ caching: 'RH' }, {}), DENIED],
  ] as const) {
    test(`${what}: ${want}`, () => assert.equal(shortOf(judgeReplaced(inUse)), want));
  }

  test('what is below a directory is refused with what the caller says', () => {
    assert.equal(shortOf(judgeBelow(usedBy({}), 'SharingViolation')), 'SharingViolation');
    assert.equal(shortOf(judgeBelow(usedBy({ caching: 'RH' }), DENIED)), 'waits 0 to R');
  });
});
